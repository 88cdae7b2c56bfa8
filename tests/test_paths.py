"""What the executor says of small forwards: body in, ``condition layers`` of each path out."""

from textwrap import indent

import pytest

from pathaudit.audit import audit
from pathaudit.results import Report
from pathaudit.sources import from_text
from tests.labels import MODELS, SUPPORT, audit_model, capture_rules
from tests.programs import HEAD, TAIL

HELPERS = """
    def run_rest(self, hidden, low, high):
        for i in range(low, high):
            hidden = self.layers[i](hidden)
        return hidden

    def run_collecting(self, hidden, low, high, collected):
        for i in range(low, high):
            collected.append(hidden)
            hidden = self.layers[i](hidden)
        return hidden

    def run_returning(self, hidden):
        own = []
        for i in range(self.start_layer, self.end_layer):
            own.append(hidden)
            hidden = self.layers[i](hidden)
        return hidden, own

    def rearm(self):
        self.f0 = True
"""
FORWARD = """
    def forward(self, hidden):
        aux = []
{}
        return hidden, aux
"""

# What most bodies end with: a loop that runs all layers and does not collect.
BARE = """
for i in range(self.start_layer, self.end_layer):
    hidden = self.layers[i](hidden)
"""
ALL = "[start_layer, end_layer)"


def audit_body(body: str) -> Report:
    text = FORWARD.format(indent(body.strip("\n"), " " * 8))
    return audit_model("demo", f"{HEAD}{HELPERS}{text}{TAIL}")


def answers(body: str) -> list[str]:
    """``verdict: condition layers`` of every path of every finding; gaps too."""
    report = audit_body(body)
    paths = [
        f"{finding.verdict}: {path.condition} {path.layers}"
        for finding in report.findings
        for path in finding.paths
    ]
    return [*paths, *(f"gap {gap.kind}: {gap.message}" for gap in report.gaps)]


def loop(header: str, *lines: str) -> str:
    return "\n".join((header, *(f"    {line}" for line in lines)))


RUN = "hidden = self.layers[i](hidden)"
CALL = "hidden = layer(hidden)"
KEEP = "aux.append(hidden)"
RANGE = "for i in range(self.start_layer, self.end_layer):"
SLICE = "for layer in self.layers[self.start_layer:self.end_layer]:"
VIOLATED = f"violated: always {ALL}"

CASES: dict[str, tuple[str, list[str]]] = {
    # conditions and merging
    "bare": (BARE, [VIOLATED]),
    "flag": (f"if self.f0:\n    pass\nelse:\n    raise ValueError\n{BARE}", [VIOLATED]),
    "early return": (f"if self.f0:\n    return hidden, aux\n{BARE}", [f"violated: not f0 {ALL}"]),
    "elif": (
        "if self.f0:\n    return hidden, aux\nelif self.f1:\n    return hidden, aux\n" + BARE,
        [f"violated: not f0 and not f1 {ALL}"],
    ),
    "no merge across literals": (
        "a = self.f1 if self.f0 else self.f2\nif a:\n    return hidden, aux\n" + BARE,
        [f"violated: (f0 and not f1) or (not f0 and not f2) {ALL}"],
    ),
    "local reassigned": (
        "a = self.f0\nif self.f1:\n    a = False\nif not a:\n    return hidden, aux\n" + BARE,
        [f"violated: f0 and not f1 {ALL}"],
    ),
    "guarded": (f"if self.layers_to_capture:\n    return hidden, aux\n{BARE}", []),
    "guard and other": (
        f"if self.layers_to_capture and self.f0:\n    return hidden, aux\n{BARE}",
        [f"violated: not f0 {ALL}"],
    ),
    "captured or empty": (
        "wanted = self.layers_to_capture or ()\n"
        f"if len(wanted) > 0:\n    return hidden, aux\n{BARE}",
        [],
    ),
    "walrus": (
        f"if (n := self.k) < self.start_layer:\n    return hidden, aux\nif n < self.start_layer:\n"
        f"    {RUN.replace('i]', '0]')}\n" + loop(RANGE, KEEP, RUN),
        [],
    ),
    "walrus that may not run": (
        "a = self.f0\nif self.f1 and (a := self.f2):\n    pass\n"
        f"if a:\n    return hidden, aux\n{BARE}",
        [f"violated: (not f0 and not f1) or (f1 and not f2) {ALL}"],
    ),
    "walrus before a raise": (
        "a = self.f0\nif (a := self.f1):\n    raise ValueError\n"
        f"if a:\n    return hidden, aux\n{BARE}",
        [f"violated: not f1 {ALL}"],
    ),
    "walrus in a value": (
        f"a = self.f0\nb = (a := self.f2)\nif a:\n    return hidden, aux\n{BARE}",
        [f"violated: not f2 {ALL}"],
    ),
    "match": (
        "match self.mode:\n    case 'a':\n        return hidden, aux\n    case _:\n        pass\n"
        "if self.mode == 'a':\n" + indent(BARE.strip(), "    "),
        [],
    ),
    "store makes a new version": (
        "if not self.f0:\n    return hidden, aux\nself.f0 = False\n"
        "if self.f0:\n    return hidden, aux\n" + BARE,
        [f"violated: f0 {ALL}"],
    ),
    "method that stores": (
        "if self.f0:\n    return hidden, aux\nself.rearm()\n"
        "if not self.f0:\n    return hidden, aux\n" + BARE,
        [f"violated: not f0 and f0_later {ALL}"],
    ),
    # arithmetic
    "empty range": (loop("for i in range(self.end_layer, self.start_layer):", RUN), []),
    "one of two ends": (
        "mid = self.k if self.f0 else self.end_layer\n"
        + loop("for i in range(mid, self.end_layer):", RUN),
        ["violated: f0 and k < end_layer [k, end_layer)"],
    ),
    "offset": (
        loop("for i in range(self.start_layer, self.start_layer + 1):", KEEP, RUN)
        + "\n"
        + loop("for i in range(self.start_layer + 1, self.end_layer):", RUN),
        ["violated: start_layer + 2 <= end_layer [start_layer + 1, end_layer)"],
    ),
    "excluded by order": (
        "if self.k >= self.end_layer:\n    return hidden, aux\nif self.k == self.end_layer:\n"
        + indent(BARE.strip(), "    "),
        [],
    ),
    "equal to a number": (f"if self.k == 1 and self.k > 1:\n{indent(BARE.strip(), '    ')}", []),
    # loops
    "slice": (loop(SLICE, CALL), [VIOLATED]),
    "slice kept": (loop(SLICE, CALL, KEEP), []),
    "enumerate with start": (
        loop("for n, layer in enumerate(self.layers[self.k:self.end_layer], self.k):", CALL),
        ["violated: k < end_layer [k, end_layer)"],
    ),
    "zip": (
        loop("for n, layer in zip(range(9), self.layers[self.k:]):", CALL),
        ["violated: k < len(layers) [k, len(layers))"],
    ),
    "shortest part of zip": (
        loop("for n, layer in zip(range(self.k, self.k), self.layers[self.k:]):", CALL),
        [],
    ),
    "difference with a sum": (
        loop(
            "for i, layer in enumerate(self.layers[self.start_layer + 1 : self.end_layer]):",
            "if i == self.k:",
            "    " + CALL,
        ),
        [
            "violated: (i - (start_layer + 1)) == k and start_layer + 2 <= end_layer "
            "[start_layer + 1, end_layer)"
        ],
    ),
    "reversed": (loop(SLICE.replace("in ", "in reversed(").replace("]:", "]):"), CALL), [VIOLATED]),
    "slice of a slice": (
        "part = self.layers[self.start_layer:]\n" + loop("for layer in part[1:3]:", CALL),
        ["violated: always [start_layer + 1, start_layer + 3)"],
    ),
    "empty slice": (loop("for layer in self.layers[self.k:self.k]:", CALL), []),
    "while": (
        "i = self.k\n" + loop("while i < self.end_layer:", RUN, "i += 1"),
        ["violated: k < end_layer [k, end_layer)"],
    ),
    "while kept": ("i = self.k\n" + loop("while i < self.end_layer:", KEEP, RUN, "i += 1"), []),
    "while around a loop": (
        "i = self.k\n"
        + loop("while i < self.end_layer:", KEEP, "for j in range(2):", "    " + RUN, "i += 1"),
        [],
    ),
    "while counts up": (
        "i = self.start_layer\n"
        + loop(
            "while i < self.end_layer:",
            "if i >= self.start_layer:",
            "    " + KEEP,
            RUN,
            "i += 1",
        ),
        [],
    ),
    "for else": (loop(RANGE, KEEP, RUN) + "\nelse:\n" + indent(BARE.strip(), "    "), [VIOLATED]),
    "break skips else": (
        loop(RANGE, KEEP, RUN, "if self.f0:", "    break")
        + "\nelse:\n    return hidden, aux\n"
        + BARE,
        [f"violated: f0 {ALL}"],
    ),
    "continue before capture": (
        loop(RANGE, RUN, "if self.f0:", "    continue", KEEP),
        [f"violated: f0 {ALL}"],
    ),
    "raise excuses": (loop(RANGE, RUN, "if self.f0:", "    raise ValueError", KEEP), []),
    "index": (loop(RANGE, "if i < self.k:", "    continue", RUN), ["violated: k <= i " + ALL]),
    "loop in a loop": (
        loop("for _ in range(2):", *BARE.strip().splitlines()),
        [VIOLATED],
    ),
    "kept by an inner loop": (loop(RANGE, RUN, "for _ in range(2):", "    " + KEEP), []),
    "kept before the loop only": (f"{KEEP}\n{BARE}", [VIOLATED]),
    # try
    "handler without capture": (
        loop(RANGE, "try:", "    " + KEEP, "except ValueError:", "    pass", RUN),
        [VIOLATED],
    ),
    "a failure that an outer handler catches": (
        loop(
            RANGE,
            "try:",
            "    try:",
            "        " + RUN,
            "        " + KEEP,
            "    finally:",
            "        pass",
            "except ValueError:",
            "    pass",
        ),
        [VIOLATED],
    ),
    "finally keeps": (loop(RANGE, "try:", "    " + RUN, "finally:", "    " + KEEP), []),
    "handler after a failure inside a branch": (
        loop(
            RANGE,
            "try:",
            "    if self.f0:",
            "        " + RUN,
            "        " + KEEP,
            "except ValueError:",
            "    pass",
        ),
        [f"violated: f0 {ALL}"],
    ),
    "raise under a local": (
        "a = self.f0\nif a:\n    raise ValueError\n"
        + loop(RANGE, "if not self.f0:", "    " + KEEP, RUN),
        [],
    ),
    "caught raise": (
        "try:\n    if self.f0:\n        raise ValueError\n"
        f"except ValueError:\n    return hidden, aux\n{BARE}",
        [f"violated: not f0 {ALL}"],
    ),
    "raise in try": (
        "try:\n    if self.f0:\n        raise ValueError\n    return hidden, aux\n"
        "except ValueError:\n    pass\n" + BARE,
        [VIOLATED],
    ),
    "caught in the iteration": (
        loop(
            RANGE,
            "try:",
            "    " + RUN,
            "    if self.f0:",
            "        raise ValueError",
            "    " + KEEP,
            "except ValueError:",
            "    pass",
        ),
        [VIOLATED],
    ),
    # accumulators
    "plus equals": (loop(RANGE, "aux += [hidden]", RUN), []),
    "plus": (loop(RANGE, "aux = aux + [hidden]", RUN), []),
    "plus equals at the end": (
        "hidden = self.layers[self.start_layer](hidden)\naux += [hidden]",
        [],
    ),
    "item": ("aux = [None] * 9\n" + loop(RANGE, "aux[i] = hidden", RUN), []),
    "bound method": ("keep = aux.append\n" + loop(RANGE, "keep(hidden)", RUN), []),
    "alias of the list": ("other = aux\n" + loop(RANGE, "other.append(hidden)", RUN), []),
    "scratch list": ("other = []\n" + loop(RANGE, "other.append(hidden)", RUN), [VIOLATED]),
    "handed when asked": (
        loop(
            RANGE,
            "asked = i in self.layers_to_capture",
            "hidden = self.layers[i](hidden, captured=aux if asked else None)",
        ),
        [],
    ),
    "handed under a flag": (
        loop(RANGE, "hidden = self.layers[i](hidden, captured=aux if self.f0 else None)"),
        [f"violated: not f0 {ALL}"],
    ),
    "star arguments": (
        "more = (hidden, aux)\n" + loop(RANGE, "hidden = self.layers[i](*more)"),
        [],
    ),
    # callees
    "nested function": (
        "def run(layers):\n    state = hidden\n"
        "    for layer in layers:\n        state = layer(state)\n"
        "    return state\nhidden = run(self.layers)",
        ["violated: always [0, len(layers))"],
    ),
    "nested function keeps": (
        "def keep(state):\n    aux.append(state)\n" + loop(RANGE, "keep(hidden)", RUN),
        [],
    ),
    "helper": (
        "hidden = self.run_rest(hidden, self.k, self.end_layer)",
        ["violated: k < end_layer [k, end_layer)"],
    ),
    "helper with a local bound": (
        "mid = self.end_layer\nhidden = self.run_rest(hidden, mid, self.end_layer)",
        [],
    ),
    "helper keeps": (
        "hidden = self.run_collecting(hidden, self.start_layer, self.end_layer, aux)",
        [],
    ),
    "helper returns the list": ("hidden, aux = self.run_returning(hidden)", []),
    "helper's list is dropped": ("hidden, _ = self.run_returning(hidden)", [VIOLATED]),
    "one layer after a test of its id": (
        "if self.start_layer in self.layers_to_capture:\n    aux.append(hidden)\n"
        "hidden = self.layers[self.start_layer](hidden)",
        [],
    ),
    "not the first": (
        loop(RANGE, "if i != self.start_layer:", "    " + KEEP, RUN),
        [],
    ),
    "comprehension": (
        "[layer(hidden) for layer in self.layers]",
        ["violated: always [0, len(layers))"],
    ),
}


# Known wrong answers of the executor.
FAULTS = {
    "helper's list is dropped": "what a helper returns is taken to reach the caller's caller",
}


def parameters() -> list[object]:
    return [
        pytest.param(
            name,
            marks=pytest.mark.xfail(strict=True, reason=FAULTS[name]) if name in FAULTS else (),
        )
        for name in CASES
    ]


@pytest.mark.parametrize("name", parameters())
def test_answers(name: str) -> None:
    body, expected = CASES[name]
    assert answers(body) == expected


HANDED = loop(RANGE, "hidden = self.layers[i](hidden, captured=aux if self.f0 else None)")
MESSAGES = {
    "a layer that never collects": (
        "len(captured)",
        "layers [start_layer, end_layer) run without aux hidden-state capture: "
        "what they are handed is ignored in DemoDecoderLayer.forward",
    ),
    "a layer that is not always asked to": (
        "captured.append(hidden)",
        "layers [start_layer, end_layer) run without aux hidden-state capture",
    ),
}


@pytest.mark.parametrize("name", MESSAGES)
def test_says_whether_layers_ignore_what_they_are_handed(name: str) -> None:
    does, message = MESSAGES[name]
    head = HEAD.replace("captured.append(hidden)", does)
    text = FORWARD.format(indent(HANDED.strip("\n"), " " * 8))
    (finding,) = audit_model("demo", f"{head}{HELPERS}{text}{TAIL}").findings
    assert finding.message == message


MODULES = {
    "from sglang.srt import runner": "runner.run_all",
    "import sglang.srt.runner as run": "run.run_all",
    "from sglang.srt import deeper": "deeper.runner.run_all",
    "import sglang": "sglang.srt.deeper.runner.run_all",
}


@pytest.mark.parametrize(("line", "call"), MODULES.items(), ids=MODULES)
def test_a_function_of_an_imported_module_is_followed(line: str, call: str) -> None:
    text = FORWARD.format(indent(f"hidden = {call}(self.layers, hidden)", " " * 8))
    runner = "def run_all(layers, x):\n    for layer in layers: x = layer(x)\n    return x\n"
    tree = from_text(
        {
            **SUPPORT,
            f"{MODELS}/demo.py": f"{line}\n{HEAD}{text}{TAIL}",
            "sglang/srt/runner.py": runner,
            "sglang/srt/deeper/runner.py": runner,
        }
    )
    (finding,) = audit(tree, capture_rules()).findings
    assert (
        finding.message == "layers [0, len(layers)) run without aux hidden-state capture in run_all"
    )
