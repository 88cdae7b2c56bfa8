"""What is configured too late: judged by the paths of a function, not by its lines."""

import textwrap

import pytest

from pathaudit.audit import audit
from pathaudit.results import Report
from pathaudit.ruleset import load_ruleset, rules_directory
from pathaudit.sources import from_text

RULES = load_ruleset(rules_directory() / "sglang", only=("late-configuration",))
SERVED = "class M:\n    def forward(self, x):\n        return x\n\n\nEntryClass = M\n"
RUNNER = "sglang/srt/model_executor/runner.py"


def judge(source: str, **others: str) -> Report:
    """Audit a file of the framework beside a model."""
    files = {f"sglang/srt/{name}.py": text for name, text in others.items()}
    return audit(
        from_text({"sglang/srt/models/m.py": SERVED, RUNNER: source, **files}, version="1"), RULES
    )


def late(body: str, parameters: str = "self") -> list[str]:
    """The lines of a method's body that configure too late, without their indentation."""
    text = textwrap.dedent(body).strip()
    lines = [f"class R:\n    def run({parameters}):", textwrap.indent(text, " " * 8), ""]
    source = "\n".join(lines)
    report = judge(source)
    assert report.gaps == ()
    return [source.splitlines()[finding.line - 1].strip() for finding in report.findings]


FREEZE = "self.init_device_graphs()"
SET = "self.model.set_eagle3_layers_to_capture(self.ids)"
BODIES = {
    "in time": (f"{SET}\n{FREEZE}", []),
    "late": (f"{FREEZE}\n{SET}", [SET]),
    "another feature": (
        f"{FREEZE}\nself.model.set_dspark_layers_to_capture(self.ids)",
        ["self.model.set_dspark_layers_to_capture(self.ids)"],
    ),
    "frozen in an arm": (f"if self.cuda:\n    {FREEZE}\n{SET}", [SET]),
    "in the other arm": (f"if self.cuda:\n    {FREEZE}\nelse:\n    {SET}", []),
    "in the other elif": (
        f"if self.kind == 'a':\n    {FREEZE}\nelif self.kind == 'b':\n    {SET}",
        [],
    ),
    "in a later arm that excludes it": (
        f"if self.cuda:\n    {FREEZE}\nif not self.cuda:\n    {SET}",
        [],
    ),
    "in a later arm for another value": (
        f"if self.kind in ('a', 'b'):\n    {FREEZE}\nif self.kind == 'c':\n    {SET}",
        [],
    ),
    "in a later arm for one of the values": (
        f"if self.kind in ('a', 'b'):\n    {FREEZE}\nif self.kind == 'b':\n    {SET}",
        [SET],
    ),
    "a local decides": (
        f"on = self.cuda and self.fast\nif on:\n    {FREEZE}\nif not on:\n    {SET}",
        [],
    ),
    "a local that is changed decides nothing": (
        f"on = self.cuda\nif on:\n    {FREEZE}\non = self.other\nif not on:\n    {SET}",
        [SET],
    ),
    "an attribute that is changed decides nothing": (
        f"if self.on:\n    {FREEZE}\nself.on = self.other\nif not self.on:\n    {SET}",
        [SET],
    ),
    "a constant that is stored decides": (
        f"self.on = False\nif self.on:\n    {FREEZE}\n{SET}",
        [],
    ),
    "left before": (f"if self.cuda:\n    {FREEZE}\n    return\n{SET}", []),
    "raised before": (f"if self.cuda:\n    {FREEZE}\n    raise ValueError\n{SET}", []),
    "left unless": (f"if not self.cuda:\n    return\n{FREEZE}\n{SET}", [SET]),
    "what raises afterwards does no harm": (f"{FREEZE}\n{SET}\nraise ValueError", []),
    "set before to the same": (f"{SET}\n{FREEZE}\n{SET}", []),
    "set before to something else": (
        f"self.model.set_eagle3_layers_to_capture()\n{FREEZE}\n{SET}",
        [SET],
    ),
    "set before in one arm only": (f"if self.early:\n    {SET}\n{FREEZE}\n{SET}", [SET]),
    "set to something else in between": (
        f"{SET}\nself.model.set_eagle3_layers_to_capture()\n{FREEZE}\n{SET}",
        [SET],
    ),
    "frozen again": (f"{FREEZE}\n{SET}\n{FREEZE}", []),
    "frozen again in one arm only": (f"{FREEZE}\n{SET}\nif self.again:\n    {FREEZE}", [SET]),
    "frozen again by another call": (f"{FREEZE}\n{SET}\nself.init_piecewise_cuda_graphs()", [SET]),
    "in the next round": (
        f"for ids in self.all:\n    {SET}\n    if self.first:\n        {FREEZE}",
        [],
    ),
    "with other ids in the next round": (
        "for ids in self.all:\n"
        "    self.model.set_eagle3_layers_to_capture(ids)\n"
        f"    if ids[0]:\n        {FREEZE}",
        ["self.model.set_eagle3_layers_to_capture(ids)"],
    ),
    "another object in each round": (
        "for runner in self.runners:\n"
        "    runner.model.set_eagle3_layers_to_capture(runner.ids)\n"
        "    runner.init_device_graphs()",
        [],
    ),
    "late in each round": (
        "for runner in self.runners:\n"
        "    runner.init_device_graphs()\n"
        "    runner.model.set_eagle3_layers_to_capture(runner.ids)",
        ["runner.model.set_eagle3_layers_to_capture(runner.ids)"],
    ),
    "after a loop that froze": (f"while self.more():\n    {FREEZE}\n{SET}", [SET]),
    "after a loop without an end": (f"while True:\n    {FREEZE}\n{SET}", []),
    "after a loop that is left": (
        f"while True:\n    {FREEZE}\n    if self.done():\n        break\n{SET}",
        [SET],
    ),
    "not in the round that froze": (
        f"for x in self.all:\n    if x:\n        {FREEZE}\n        break\n    {SET}",
        [],
    ),
    "in a handler": (f"try:\n    {FREEZE}\nexcept ValueError:\n    {SET}", [SET]),
    "in finally": (f"try:\n    {FREEZE}\nfinally:\n    {SET}", [SET]),
    "in a try": (f"try:\n    {SET}\nexcept ValueError:\n    pass\n{FREEZE}", []),
    "of another object": (
        f"{FREEZE}\nother.model.set_eagle3_layers_to_capture(self.ids)",
        [],
    ),
    "of another part of the object": (
        "self.target.init_device_graphs()\nself.draft.model.set_eagle3_layers_to_capture(self.ids)",
        [],
    ),
    "under another name": (
        f"model = self.model\n{FREEZE}\nmodel.set_eagle3_layers_to_capture(self.ids)",
        ["model.set_eagle3_layers_to_capture(self.ids)"],
    ),
    "functions, and their first arguments": (
        "capture_decode_graph(model_runner=runner)\nregister_forward_hooks(runner.model, self.x)",
        ["register_forward_hooks(runner.model, self.x)"],
    ),
    "a function for another object": (
        "capture_decode_graph(model_runner=runner)\nregister_forward_hooks(self.model, runner.x)",
        [],
    ),
    "one after the other in an expression": (
        f"return self.init_device_graphs(), {SET}",
        [f"return self.init_device_graphs(), {SET}"],
    ),
    "only if the first is not done": (f"self.ready or {FREEZE}\nif self.ready:\n    {SET}", []),
    "arms of an expression": (f"x = {FREEZE} if self.cuda else {SET}", []),
    "an arm of an expression excludes it": (
        f"x = {FREEZE} if self.cuda else None\nif not self.cuda:\n    {SET}",
        [],
    ),
    "a case excludes it": (
        f"match self.kind:\n    case 'a':\n        {FREEZE}\nif self.kind == 'b':\n    {SET}",
        [],
    ),
    "not now": (f"{FREEZE}\nself.later = lambda: {SET}", []),
    "a nested function": (f"{FREEZE}\ndef later():\n    {SET}\nself.later = later", []),
    "cases": (f"match self.kind:\n    case 'a':\n        {FREEZE}\n    case _:\n        {SET}", []),
    "after a case": (f"match self.kind:\n    case 'a':\n        {FREEZE}\n{SET}", [SET]),
    "what freezing stored decides at run time": (
        f"{FREEZE}\nif self.ready:\n    {SET}",
        [SET],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BODIES)
def test_paths(name: str) -> None:
    body, expected = BODIES[name]
    assert late(body, "self, other, runner") == expected


HELPERS = """
class Base:
    def capture(self):
        self.init_device_graphs()

    def init_device_graphs(self):
        self.ready = True


class R(Base):
    def run(self):
        {body}

    def set_up(self, model=None, wanted=True):
        if wanted:
            (model or self.model).set_eagle3_layers_to_capture(self.ids)

    def arm(self, wanted=True):
        if wanted:
            self.model.set_eagle3_layers_to_capture(self.ids)

    def arm_and_capture(self):
        self.arm()
        self.capture()
"""
CALLS = {
    "late": ("self.capture(); self.arm()", ["R.arm"]),
    "in time": ("self.arm(); self.capture()", []),
    "both in one": ("self.arm_and_capture()", []),
    "both in one, twice": ("self.arm_and_capture(); self.arm_and_capture()", []),
    "not asked for": ("self.capture(); self.arm(wanted=False)", []),
    "through super": ("super().capture(); self.arm()", ["R.arm"]),
    "by a class": ("Base.capture(self); self.arm()", ["R.arm"]),
    "what freezing stored": (
        "\n        ".join(["self.capture()", "if not self.ready:", "    self.arm()"]),
        [],
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_calls_are_followed(name: str) -> None:
    body, expected = CALLS[name]
    report = judge(HELPERS.format(body=body))
    assert [finding.symbol for finding in report.findings] == expected


def test_functions_of_other_files_are_followed() -> None:
    setup = "def configure(model, ids):\n    model.set_eagle3_layers_to_capture(ids)\n"
    source = """
class R:
    def run(self):
        from sglang.srt.setup import configure

        self.init_device_graphs()
        configure(self.model, self.ids)

    def fine(self):
        from sglang.srt.setup import configure

        configure(self.model, self.ids)
        self.init_device_graphs()
"""
    (finding,) = judge(source, setup=setup).findings
    assert (finding.file, finding.line, finding.symbol) == ("sglang/srt/setup.py", 2, "configure")
    assert finding.entry == "R.run"
    assert [step.line for step in finding.steps] == [6, 7, 2]


def test_what_is_said_of_it() -> None:
    source = """
class R:
    def run(self):
        if self.device in ("cuda", "npu"):
            self.init_device_graphs()
        if self.hooks:
            register_forward_hooks(self.model, self.hooks)
        self.init_piecewise_cuda_graphs()
"""
    (finding,) = judge(source).findings
    assert finding.severity == "note"
    assert finding.message == (
        "register_forward_hooks() comes after init_device_graphs(), which captured without it: "
        "the hooks run on the eager path only, never on a replay; "
        "init_piecewise_cuda_graphs() comes after it"
    )
    assert finding.condition == "hooks and (device == 'cuda' or device == 'npu')"


def test_a_comment_accepts_it() -> None:
    source = """
class R:
    def run(self):
        self.init_device_graphs()
        # pathaudit: allow[late-configuration] for the eager path only
        register_forward_hooks(self.model, self.hooks)
"""
    (finding,) = judge(source).findings
    assert finding.suppressed == "for the eager path only"


def test_too_many_paths_are_a_gap() -> None:
    arms = "".join(
        f"        if self.x{n}:\n            self.m{n}.set_eagle3_layers_to_capture(1)\n"
        for n in range(9)
    )
    source = f"class R:\n    def run(self):\n{arms}        self.init_device_graphs()\n"
    report = judge(source)
    assert report.findings == ()
    assert [gap.message for gap in report.gaps] == [
        "R.run was not analysed to the end: it has too many paths"
    ]


RUNNERS = """
class GraphRunner:
    def __init__(self, owner):
        self.owner = owner
        {set}


class R:
    def run(self):
        self.init_device_graphs()
        self.model.set_eagle3_layers_to_capture({ids})

    def init_device_graphs(self):
        self.runner = GraphRunner(self)
"""


@pytest.mark.parametrize(
    ("set_", "ids", "found"),
    [
        pytest.param("self.owner.model.set_eagle3_layers_to_capture()", "", [], id="the same"),
        pytest.param(
            "self.owner.model.set_eagle3_layers_to_capture()", "self.ids", ["R.run"], id="a default"
        ),
        pytest.param("owner.model.set_eagle3_layers_to_capture()", "", [], id="by parameter"),
        pytest.param("other.model.set_eagle3_layers_to_capture()", "", ["R.run"], id="of another"),
    ],
)
def test_constructors_are_followed(set_: str, ids: str, found: list[str]) -> None:
    """A default that is armed for the time of the capture is what the graphs replay."""
    report = judge(RUNNERS.format(set=set_, ids=ids))
    assert [finding.symbol for finding in report.findings] == found
