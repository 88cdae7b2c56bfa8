"""Hooks that a later definition replaces, and definitions that replace nothing."""

import textwrap

import pytest

from pathaudit.audit import audit
from pathaudit.results import Report
from pathaudit.ruleset import load_ruleset, rules_directory
from pathaudit.sources import from_text

RULES = load_ruleset(rules_directory() / "sglang", only=("shadowed-hook",))
RUNNER = 'def run(model):\n    model.get_embed_and_head()\n    getattr(model, "warm_up", None)\n'


def judge(source: str) -> Report:
    """Audit one model beside a runner that calls hooks of it."""
    files = {"sglang/srt/models/m.py": source, "sglang/srt/runner.py": RUNNER}
    return audit(from_text(files, version="1"), RULES)


def replaced(body: str) -> list[tuple[str, int, str]]:
    """What is found in the body of a class: name, line in the body, severity."""
    text = textwrap.indent(textwrap.dedent(body).strip(), " " * 4)
    report = judge(f"class M:\n{text}\n\n\nEntryClass = M\n")
    assert report.gaps == ()
    return [(x.symbol, x.line - 1, str(x.severity)) for x in report.findings]


A, B = "def forward(self, x):\n    return x\n", "def forward(self, x):\n    return self.y(x)\n"
BODIES = {
    "once": (A, []),
    "another body": (A + B, [("M.forward", 3, "warning")]),
    "the same": (A + A, [("M.forward", 3, "note")]),
    "the same with a docstring": (
        A + 'def forward(self, x):\n    """Run."""\n    return x\n',
        [("M.forward", 3, "note")],
    ),
    "another signature": (
        A + "def forward(self, x, *, y=1):\n    return x\n",
        [("M.forward", 3, "warning")],
    ),
    "three times": (A + B + A, [("M.forward", 3, "warning"), ("M.forward", 5, "warning")]),
    "a hook that the framework calls": (
        "def get_embed_and_head(self): ...\ndef get_embed_and_head(self): return 1\n",
        [("M.get_embed_and_head", 2, "warning")],
    ),
    "a hook that the framework probes": (
        "def warm_up(self): ...\ndef warm_up(self): return 1\n",
        [("M.warm_up", 2, "warning")],
    ),
    "a setter that nobody calls yet": (
        "def set_x_layers_to_capture(self): ...\ndef set_x_layers_to_capture(self): return 1\n",
        [("M.set_x_layers_to_capture", 2, "warning")],
    ),
    "no hook": ("def helper(self): ...\ndef helper(self): return 1\n", []),
    "a value": (A + "forward = other\n", [("M.forward", 3, "warning")]),
    "a wrapped value": (A + "forward = compile(forward)\n", []),
    "kept under another name": (A + "forward_native = forward\n" + B, []),
    "in arms": (
        f"if on:\n{textwrap.indent(A, '    ')}else:\n{textwrap.indent(B, '    ')}",
        [],
    ),
    "in an arm": (f"{A}if on:\n{textwrap.indent(B, '    ')}", []),
    "overloads": (f"@overload\n{A}@overload\n{A}{B}", []),
    "a property and its setter": (
        f"@property\ndef forward(self): ...\n@forward.setter\n{A}",
        [],
    ),
    "registered with it": (f"@singledispatchmethod\n{A}@forward.register\n{B}", []),
    "only read when it is called": (
        A + "def other(self):\n    return forward\n" + B,
        [("M.forward", 5, "warning")],
    ),
    "an annotation without a value": (A + "forward: object\n", []),
}  # fmt: skip


@pytest.mark.parametrize("name", BODIES)
def test_bodies(name: str) -> None:
    body, expected = BODIES[name]
    assert replaced(body) == expected


MODULES = {
    "a class": ("class N: x = 1\nclass N: x = 2\n", [("N", 2)]),
    "a class by a function": ("class N: x = 1\ndef N(): ...\n", [("N", 2)]),
    "a class that extends it": ("class N: x = 1\nclass N(N): x = 2\n", []),
    "a class that was used in between": ("class N: x = 1\nclass O(N): ...\nclass N: x = 2\n", []),
    "a function": ("def f(): return 1\ndef f(): return 2\n", []),
    "a stand-in where an import fails": (
        "try:\n    from x import N\nexcept ImportError:\n    class N: ...\n",
        [],
    ),
}


@pytest.mark.parametrize("name", MODULES)
def test_modules(name: str) -> None:
    source, expected = MODULES[name]
    report = judge(f"{source}class M:\n    def forward(self): ...\nEntryClass = M\n")
    assert [(x.symbol, x.line) for x in report.findings] == expected


def test_what_is_said_of_it() -> None:
    body = "    def get_embed_and_head(self): ...\n    get_embed_and_head = None\n"
    (finding,) = judge(f"class M:\n{body}\n\nEntryClass = M\n").findings
    assert finding.message == (
        "M.get_embed_and_head of line 2 is replaced here by a value; "
        "sglang/srt/runner.py:2 calls it by name"
    )
    assert finding.entries == ("M",)
    assert [(step.line, step.text) for step in finding.steps] == [
        (2, "is replaced"),
        (3, "replaces it"),
    ]


def test_classes_that_are_not_served_are_not_judged() -> None:
    other = {"sglang/srt/models/n.py": f"class N:\n{textwrap.indent(A + B, '    ')}"}
    served = {"sglang/srt/models/m.py": "class M: ...\nEntryClass = M\n"}
    assert audit(from_text({**other, **served}, version="1"), RULES).findings == ()


def test_bases_are_judged_once() -> None:
    base = {"sglang/srt/models/n.py": f"class N:\n{textwrap.indent(A + B, '    ')}"}
    served = "from sglang.srt.models.n import N\nclass M(N): ...\nclass O(N): ...\n"
    files = {**base, "sglang/srt/models/m.py": f"{served}EntryClass = [M, O]\n"}
    (finding,) = audit(from_text(files, version="1"), RULES).findings
    assert (finding.symbol, finding.entries) == ("N.forward", ("M", "O"))
