"""What a patch relies on, and what became of it: a tree, a patch, another tree, what is said."""

import pytest

from pathaudit.errors import UsageError
from pathaudit.relies.record import record_patch
from pathaudit.ruleset.patches import Reliance
from pathaudit.sources import from_text
from tests.patches import MODEL, PROFILE, edited, faults, judged, noted, patch_of

UTILS = "sglang/srt/utils.py"
OLD = {
    UTILS: """
class Batch:
    rows: int = 0

    def is_idle(self):
        return not self.rows


def count(layer_id, rows, *, weight=1):
    total = TOTALS.get(layer_id, 0) + rows * weight
    TOTALS[layer_id] = total
    print("counted", layer_id, rows)
    return total


TOTALS = {}
""",
    MODEL: """
from torch import nn
from sglang.srt.utils import Batch


class Base(nn.Module):
    def note(self, states, at):
        self.seen = (states, at)


class Tapped(Base):
    def __init__(self, config):
        super().__init__()
        self.layers_to_capture = []
        self.layers = nn.ModuleList([nn.Identity() for _ in range(config.num_layers)])

    def forward(self, positions, batch: Batch):
        states = self.embed(positions)
        residual = None
        aux = []
        for layer in self.layers:
            states, residual = layer(states, residual)
        return states, aux
""",
}
ANCHOR = "        aux = []\n"
LOOP = "        for layer in self.layers:\n"


def adding(line: str, head: str = "") -> dict[str, str]:
    """The old tree with a line before the loop, and one on top of the module."""
    new = edited(OLD, (MODEL, ANCHOR, f"{ANCHOR}        {line}\n"))
    return {**new, MODEL: head + new[MODEL]} if head else new


def uses(reliance: Reliance) -> list[tuple[str, str]]:
    found = (use for file in reliance.files for item in file.functions for use in item.uses)
    return [(use.kind, use.code) for use in found]


# ---- what is noted ----------------------------------------------------------------------------

CALL = "self.note(states, at=-1)"
IMPORT = "from sglang.srt.utils import count\n"
NEEDS = [
    pytest.param("aux.append(states)", "", [("local", "aux"), ("local", "states")], id="locals"),
    pytest.param("own = 1; own += own", "", [], id="what the patch binds itself"),
    pytest.param("print(len([1]))", "", [], id="built-in names"),
    pytest.param(
        "self.layers_to_capture", "", [("attribute", "self.layers_to_capture")], id="self"
    ),
    pytest.param("self.new = 1; self.new", "", [], id="an attribute that the patch adds"),
    pytest.param("batch.rows", "", [("attribute", "batch.rows"), ("local", "batch")], id="typed"),
    pytest.param("positions.shape", "", [("local", "positions")], id="of no known class"),
    pytest.param(
        CALL,
        "",
        [("call", "self.note"), ("attribute", "self.note"), ("local", "states")],
        id="a method",
    ),
    pytest.param("nn.Linear(1, 1)", "", [], id="outside the tree"),
    pytest.param("Batch()", "", [("name", "Batch")], id="a name of the module"),
    pytest.param(
        "count(0, 1)",
        IMPORT,
        [("import", f"{IMPORT.strip()}"), ("call", "count")],
        id="what the patch imports",
    ),
    pytest.param("helper()", "def helper():\n    pass\n", [], id="what the patch defines"),
]


@pytest.mark.parametrize(("line", "head", "expected"), NEEDS)
def test_what_the_added_lines_need(line: str, head: str, expected: list[tuple[str, str]]) -> None:
    assert expected == uses(noted(OLD, adding(line, head)))


def test_a_guarded_import_is_no_need() -> None:
    head = "try:\n    from sglang.srt.utils import count\nexcept ImportError:\n    count = None\n"
    assert uses(noted(OLD, adding("pass", head))) != [("name", "count")]
    assert uses(noted(OLD, adding("pass", head))) == []


def test_of_a_call_only_what_the_patch_changes() -> None:
    """An argument that is added to a call needs the callee; the other arguments were there."""
    old = adding("self.note(\n            states,\n            at=1,\n        )")
    old[MODEL] = old[MODEL].replace(
        "def note(self, states, at)", "def note(self, states, at, by=0)"
    )
    new = edited(old, (MODEL, "            at=1,\n", "            at=1,\n            by=2,\n"))
    assert uses(noted(old, new)) == [("call", "self.note")]


def test_a_callee_that_the_patch_changes_is_no_need() -> None:
    new = edited(adding("self.note(states, 1, 2)"), (MODEL, "states, at):", "states, at, by):"))
    assert ("call", "self.note") not in uses(noted(OLD, new))


def test_hunks_know_their_function_and_their_own_lines() -> None:
    (hunk,) = noted(OLD, adding("aux.append(states)")).files[0].hunks
    assert hunk.symbol == "Tapped.forward"
    assert [hunk.lines[at] for at in hunk.own] == ["+        aux.append(states)"]


def test_the_patched_tree_is_told_from_the_other() -> None:
    new = adding("aux.append(states)")
    before, after = noted(OLD, new), noted(OLD, new, patched=True)
    assert (before.patched, after.patched) == (False, True)
    assert before.files == after.files


def test_a_patch_that_fits_neither_is_refused() -> None:
    tree = from_text(edited(OLD, (MODEL, ANCHOR, "        aux = [0]\n")))
    with pytest.raises(UsageError) as caught:
        record_patch(tree, PROFILE, patch_of(OLD, adding("aux.append(states)")), name="fix")
    assert caught.value.message == (
        f"fix.diff:4: does not fit text: {MODEL}: there is no line 'aux = []'"
    )


# ---- what became of it ------------------------------------------------------------------------

TAP = adding("aux.append(states + residual)")
COUNT = adding("count(0, rows=1)", IMPORT)
NOTE = adding(CALL)
FAR = "\n".join(f"# {number}" for number in range(9)) + "\n"


FATES = [
    pytest.param(TAP, [], "unpatched", [], id="nothing changed"),
    pytest.param(
        TAP, [(MODEL, "class Base", f"{FAR}class Base")], "unpatched", [], id="lines move"
    ),
    pytest.param(
        TAP,
        [(MODEL, "layers = nn", "layers = 2 * nn")],
        "unpatched",
        [],
        id="elsewhere",
    ),
    pytest.param(
        TAP,
        [(MODEL, "    def forward(", "    def run("), (MODEL, ANCHOR, f"{FAR}{ANCHOR}")],
        "neither",
        [
            (
                "error",
                "changes Tapped.forward, which is not there; Tapped.run seems to be what it is "
                "here: 100% alike",
            )
        ],
        id="renamed",
    ),
    pytest.param(
        TAP,
        [(MODEL, OLD[MODEL][OLD[MODEL].index("    def forward") :], "")],
        "neither",
        [("error", "changes Tapped.forward, which is not there")],
        id="gone",
    ),
    pytest.param(
        TAP,
        [(MODEL, ANCHOR, "        aux = [0]\n")],
        "neither",
        [
            (
                "warning",
                "does not fit in Tapped.forward: there is no line `aux = []`, but `aux = [0]`",
            )
        ],
        id="another line around it",
    ),
    pytest.param(
        TAP,
        [(MODEL, ANCHOR, f"{ANCHOR}        first = True\n")],
        "neither",
        [
            (
                "warning",
                "does not fit in Tapped.forward: its lines are there, but with others between "
                "them such as `first = True`",
            )
        ],
        id="a line between",
    ),
    pytest.param(
        TAP,
        [
            (MODEL, "states, residual = layer(states, residual)", "states = layer(states)"),
            (MODEL, "        residual = None\n", ""),
        ],
        "neither",
        [
            ("error", "needs `residual`, which Tapped.forward does not bind"),
            ("warning", "does not fit in Tapped.forward: there is no line `residual = None`"),
        ],
        id="a local that is gone",
    ),
    pytest.param(
        NOTE,
        [(MODEL, "def note(self, states, at)", "def mark(self, states, at)")],
        "unpatched",
        [("error", "needs `self.note`, which Tapped does not have")],
        id="a method that is gone",
    ),
    pytest.param(
        NOTE,
        [(MODEL, "def note(self, states, at)", "def note(self, states)")],
        "unpatched",
        [
            (
                "error",
                "calls Base.note in a way that it does not take: got an unexpected keyword "
                "argument 'at'",
            )
        ],
        id="a parameter that is gone",
    ),
    pytest.param(
        NOTE,
        [(MODEL, "def note(self, states, at)", "def note(self, states, at, by)")],
        "unpatched",
        [
            (
                "error",
                "calls Base.note in a way that it does not take: missing a required argument: 'by'",
            )
        ],
        id="a parameter that is needed",
    ),
    pytest.param(
        NOTE,
        [(MODEL, "def note(self, states, at)", "def note(self, states, *, at=0, **rest)")],
        "unpatched",
        [],
        id="a signature that the call still fits",
    ),
    pytest.param(
        NOTE,
        [(MODEL, "class Tapped(Base)", "class Tapped(Elsewhere)")],
        "unpatched",
        [],
        id="a base that is not known",
    ),
    pytest.param(
        NOTE,
        [(MODEL, "def note(self, states, at)", "def __getattr__(self, name)")],
        "unpatched",
        [],
        id="attributes that are made",
    ),
    pytest.param(
        COUNT,
        [(UTILS, "def count(", "def tally(")],
        "unpatched",
        [
            (
                "error",
                "imports `count`, which sglang.srt.utils does not have; tally seems to be what "
                "it is here: 100% alike",
            )
        ],
        id="an import that is renamed",
    ),
    pytest.param(
        COUNT,
        [(UTILS, "rows, *, weight=1", "weight=1")],
        "unpatched",
        [
            (
                "error",
                "calls count in a way that it does not take: got an unexpected keyword argument "
                "'rows'",
            )
        ],
        id="a function that takes something else",
    ),
    pytest.param(
        COUNT,
        [(UTILS, "\ndef count(", "\nfrom numpy import *\n\n\ndef tally(")],
        "unpatched",
        [],
        id="a star import that may bring it",
    ),
]


@pytest.mark.parametrize(("new", "edits", "standing", "expected"), FATES)
def test_what_became_of_it(
    new: dict[str, str],
    edits: list[tuple[str, str, str]],
    standing: str,
    expected: list[tuple[str, str]],
) -> None:
    found = judged(noted(OLD, new), edited(OLD, *edits))
    assert (standing, expected) == (found[0], faults(found[1]))
