"""Patches that a tree should have, that it has already, and that replace a method."""

import pytest

from pathaudit.errors import UsageError
from pathaudit.relies.record import record_patch
from pathaudit.sources import from_text
from pathaudit.sources.patches import read_patch
from tests.patches import MODEL, PROFILE, edited, faults, judged, noted
from tests.test_patches import ANCHOR, OLD, TAP, UTILS

# ---- a tree that should have it ---------------------------------------------------------------


def test_a_merge_that_drops_a_line_is_found() -> None:
    reliance = noted(OLD, TAP, patched=True)
    assert faults(judged(reliance, TAP)[1]) == []
    standing, points = judged(reliance, OLD)
    assert standing == "unpatched"
    assert faults(points) == [
        (
            "error",
            "is lost in this tree: `aux.append(states + residual)` is not there in Tapped.forward; "
            "it would fit",
        )
    ]


def test_what_is_there_in_other_surroundings_is_not_lost() -> None:
    tree = edited(TAP, (MODEL, "        residual = None\n", "        residual = 0\n"))
    standing, points = judged(noted(OLD, TAP, patched=True), tree)
    assert (standing, faults(points)) == ("patched", [])


def test_what_the_framework_has_already_can_be_dropped() -> None:
    standing, points = judged(noted(OLD, TAP), TAP)
    assert (standing, faults(points)) == ("patched", [("note", "is in this tree already")])


def test_a_part_of_it_is_told() -> None:
    both = edited(TAP, (UTILS, "TOTALS = {}", "TOTALS = {0: 0}"))
    half = edited(OLD, (UTILS, "TOTALS = {}", "TOTALS = {0: 0}"))
    _, points = judged(noted(OLD, both), half)
    assert faults(points) == [
        ("warning", "is in this tree in part: 1 of 2 hunks, here `TOTALS = {0: 0}`")
    ]


def test_what_a_patch_takes_out_may_be_gone() -> None:
    note = OLD[MODEL][OLD[MODEL].index("    def note") : OLD[MODEL].index("\n\nclass Tapped")]
    without = edited(OLD, (MODEL, note, "    pass\n"))
    assert faults(judged(noted(OLD, without), without)[1]) == [("note", "is in this tree already")]
    standing, points = judged(noted(OLD, without, patched=True), without)
    assert (standing, faults(points)) == ("patched", [])


def test_a_file_that_a_patch_takes_out_may_be_gone() -> None:
    extra = "sglang/srt/extra.py"
    old = {**OLD, extra: "def helper():\n    return 1\n"}
    standing, points = judged(noted(old, OLD), OLD)
    assert (standing, faults(points)) == ("patched", [("note", "is in this tree already")])
    assert faults(judged(noted(old, OLD), old)[1]) == []


# ---- what replaces a method -------------------------------------------------------------------

OURS = "sglang/srt/models/ours.py"
REPLACES = {
    **OLD,
    OURS: """
from sglang.srt.models.tapped import Tapped


def forward(self, positions, batch):
    return self.embed(positions), self.layers_to_capture


Tapped.forward = forward
""",
}
REPLACED = [
    pytest.param([], [], id="the same"),
    pytest.param(
        [
            (
                MODEL,
                "def forward(self, positions, batch: Batch)",
                "def forward(self, positions, b, c)",
            )
        ],
        [
            (
                "error",
                "replaces Tapped.forward, which takes (self, positions, b, c) here, and what "
                "replaces it does not: missing a required argument: 'batch'",
            )
        ],
        id="another signature",
    ),
    pytest.param(
        [(MODEL, ANCHOR, "        aux = [states]\n")],
        [("warning", "replaces Tapped.forward, whose body is another here: what differs is lost")],
        id="another body",
    ),
    pytest.param(
        [(MODEL, "    def forward(", "    def run(")],
        [
            (
                "error",
                "replaces Tapped.forward, which is not there; Tapped.run seems to be what it is "
                "here: 100% alike",
            )
        ],
        id="another name",
    ),
    pytest.param(
        [(MODEL, "        self.layers_to_capture = []\n", "")],
        [("error", "needs `self.layers_to_capture`, which Tapped does not have")],
        id="what it needs of the object",
    ),
]


@pytest.mark.parametrize(("edits", "expected"), REPLACED)
def test_a_method_that_is_replaced(
    edits: list[tuple[str, str, str]], expected: list[tuple[str, str]]
) -> None:
    assert expected == faults(judged(noted(OLD, REPLACES), edited(OLD, *edits))[1])


def test_a_patch_of_something_else_is_refused() -> None:
    patch = read_patch(b"--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-a\n+b\n", "x.diff")
    with pytest.raises(UsageError, match="changes no Python file of sglang"):
        record_patch(from_text(OLD), PROFILE, patch, name="x")
