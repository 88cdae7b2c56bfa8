"""What is said of comments that accept findings, when they accept none; data only."""

from msgspec import Struct

from pathaudit.results import Severity


class Remark(Struct, frozen=True):
    """A remark as a rule has it: ``message`` is given the ids that stand in the comment."""

    id: str
    severity: Severity
    title: str
    message: str
    why: str
    fix: str


WITHOUT_REASON = Remark(
    id="allow-without-reason",
    severity=Severity.WARNING,
    title="a finding is to be accepted without a reason",
    message="allow[{rules}] gives no reason and accepts nothing",
    why="Nobody can tell later whether what was accepted is still acceptable.",
    fix="Say behind the bracket why the finding does no harm here.",
)
UNUSED = Remark(
    id="unused-allow",
    severity=Severity.NOTE,
    title="nothing is left to accept",
    message="allow[{rules}] accepts no finding",
    why="It would hide the next finding that appears at this place.",
    fix="Remove the comment, or put it on the statement or above the function of the finding.",
)
UNKNOWN = Remark(
    id="unknown-allow",
    severity=Severity.WARNING,
    title="a comment accepts findings of a rule that does not exist",
    message="allow[{rules}] names no rule",
    why="It accepts nothing, whatever its author meant to accept.",
    fix="Name a rule that `pathaudit rules list` has.",
)

REMARKS = (WITHOUT_REASON, UNUSED, UNKNOWN)
