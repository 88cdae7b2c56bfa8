"""Answers about several versions, as data: what changed between two, and how many came to be.

Field names are the names in the JSON report, places are as in the report of a scan.
"""

from enum import StrEnum

from msgspec import Struct

from pathaudit.results import Finding, Report, Severity, Source, Verdict, fails
from pathaudit.results.settings import LeftOut


class EventUse(Struct, frozen=True):
    """Where an event happens for layers that run in one way: ``file:line`` each."""

    event: str
    evidence: tuple[str, ...]


class Variant(Struct, frozen=True, kw_only=True):
    """One way in which a method runs layers, whatever rules may ask of it.

    ``entry`` is the method under audit, ``Class.method`` in ``entry_file``; ``symbol`` the one that
    has the place in it. ``kind`` is ``loop``, ``call`` (of one layer) or ``handoff`` to ``callee``.
    ``layers`` are half-open ranges. ``events`` are those that come with the layers on some path,
    whatever the form in which the code calls for them.
    """

    entry: str
    entry_file: str
    symbol: str
    file: str
    line: int
    kind: str
    callee: str
    layers: tuple[str, ...]
    events: tuple[EventUse, ...]
    architectures: tuple[str, ...]


class EntryName(Struct, frozen=True, order=True):
    """A method under audit: ``Class.method`` and the file that defines it."""

    file: str
    entry: str


class Survey(Struct, frozen=True):
    """A report, and every way in which the tree runs layers, also where no rule looks.

    ``cut`` are the methods that were not followed to the end: some ways may be missing.
    """

    report: Report
    variants: tuple[Variant, ...]
    cut: tuple[EntryName, ...]


class Origin(StrEnum):
    """Where a new finding comes from: ``changed`` code, or code that is ``new``."""

    CHANGED = "changed"
    NEW = "new"


class Added(Struct, frozen=True):
    """A finding that the old version does not have."""

    finding: Finding
    origin: Origin


class Ending(StrEnum):
    """Why a finding is no longer there.

    ``fixed``: the place is right now. ``gone``: the class or function is. ``unjudged``: the
    code is still there, but the rule no longer looks at it, as when its setter was removed.
    ``unknown``: it can no longer be decided.
    """

    FIXED = "fixed"
    GONE = "gone"
    UNJUDGED = "unjudged"
    UNKNOWN = "unknown"


class Ended(Struct, frozen=True):
    """A finding of the old version that the new one does not have; ``remark`` says more."""

    finding: Finding
    ending: Ending
    remark: str = ""


class Basis(StrEnum):
    """By what a finding of one version was known again in the other.

    ``place``: it says the same of the same method, but others of its kind came or went before it.
    ``resemblance``: its class was renamed, or its layers, condition or method changed.
    """

    FINGERPRINT = "fingerprint"
    PLACE = "place"
    RESEMBLANCE = "resemblance"


class FieldChange(Struct, frozen=True):
    """A field of a finding that differs: ``severity``, ``verdict``, ``reach``, ``suppressed``."""

    field: str
    old: str
    new: str


class Kept(Struct, frozen=True, kw_only=True):
    """A finding that both versions have; ``remark`` says what resembles what."""

    old: Finding
    new: Finding
    basis: Basis
    remark: str
    changes: tuple[FieldChange, ...]


class Undecided(Struct, frozen=True, kw_only=True):
    """An entry whose verdict was known and is unknown now; ``reason`` where one is known."""

    rule: str
    entry: str
    file: str
    line: int
    before: Verdict
    reason: str


class VariantChange(Struct, frozen=True, kw_only=True):
    """``change`` is ``appeared``, ``vanished`` or ``changed``: other layers, another place."""

    change: str
    entry: str
    old: Variant | None
    new: Variant | None


class EventLoss(Struct, frozen=True, kw_only=True):
    """Layers that came with an event and still run in the same way, now without it."""

    event: str
    entry: str
    old: Variant
    new: Variant
    evidence: tuple[str, ...]


class EntryChange(Struct, frozen=True, kw_only=True):
    """A method under audit that ``appeared``, ``vanished``, or was ``renamed`` or ``moved``.

    ``was`` is its old name or its old file. ``architectures`` are the served classes.
    """

    change: str
    entry: str
    file: str
    was: str
    architectures: tuple[str, ...]


class DiffSummary(Struct, frozen=True, kw_only=True):
    """Counts, of the lists of a ``ReportDiff``."""

    added: int
    fixed: int
    dropped: int
    unchanged: int
    changed: int
    undecided: int
    variants: int
    events: int


class ReportDiff(Struct, frozen=True, kw_only=True):
    """What changed from one version to another, each list in a fixed order.

    ``fixed`` are findings whose place is right now, ``dropped`` those that are not there for
    another reason. ``unchanged`` are findings of both versions, ``changed`` those of them whose
    severity, verdict, reach or acceptance differs. ``left_out`` is that of the new version.
    """

    tool: str
    old: Source
    new: Source
    rules: tuple[str, ...]
    added: tuple[Added, ...]
    fixed: tuple[Ended, ...]
    dropped: tuple[Ended, ...]
    changed: tuple[Kept, ...]
    unchanged: tuple[Kept, ...]
    undecided: tuple[Undecided, ...]
    entries: tuple[EntryChange, ...]
    variants: tuple[VariantChange, ...]
    events: tuple[EventLoss, ...]
    summary: DiffSummary
    left_out: LeftOut | None = None
    schema: int = 1


def fails_newly(diff: ReportDiff, fail_on: Severity, *, strict: bool = False) -> bool:
    """Does the new version have what fails a scan and did not fail one of the old version?

    ``strict`` counts what can no longer be decided.
    """
    if any(fails(item.finding, fail_on, strict=strict) for item in diff.added):
        return True
    if strict and diff.undecided:
        return True
    return any(
        fails(item.new, fail_on, strict=strict) and not fails(item.old, fail_on, strict=strict)
        for item in diff.changed
    )


# ---- many versions ------------------------------------------------------------------------------


class RuleCount(Struct, frozen=True, kw_only=True):
    """Findings of a rule in one version: those that fail a scan, others, and undecided ones."""

    rule: str
    failing: int
    others: int
    unknown: int


class HistoryRow(Struct, frozen=True, kw_only=True):
    """One version. ``entries`` are the methods judged, ``gaps`` what was not analysed."""

    source: Source
    counts: tuple[RuleCount, ...]
    entries: int
    gaps: int


class State(StrEnum):
    """What a rule says of a class in one version.

    ``broken``: a finding fails a scan. ``latent``: there is one that does not, as its path
    cannot run or it is too mild. ``unjudged``: the class is there, but the rule does not look
    at it. ``absent``: it is not there.
    """

    BROKEN = "broken"
    LATENT = "latent"
    UNKNOWN = "unknown"
    HOLDS = "holds"
    UNJUDGED = "unjudged"
    ABSENT = "absent"


class Moment(Struct, frozen=True, kw_only=True):
    """The state in one version, with the places of the findings: ``file:line``."""

    source: Source
    state: State
    places: tuple[str, ...]


class Commit(Struct, frozen=True, kw_only=True):
    """A commit of a git history; ``date`` is the committer's, as ``YYYY-MM-DD``."""

    id: str
    date: str
    subject: str


class Bisection(Struct, frozen=True, kw_only=True):
    """The first commits with the later state: one, or several where those between cannot be told.

    ``commits`` lie between the two versions, of which ``judged`` had to be looked at.
    """

    first: tuple[Commit, ...]
    commits: int
    judged: int


class Turn(Struct, frozen=True, kw_only=True):
    """Between two versions something ``broke``, was ``fixed``, or otherwise ``changed``."""

    change: str
    before: Moment
    after: Moment
    bisection: Bisection | None = None


class Trace(Struct, frozen=True, kw_only=True):
    """What a rule says of one class, version by version, and the turns between them."""

    rule: str
    entry: str
    moments: tuple[Moment, ...]
    turns: tuple[Turn, ...]


class History(Struct, frozen=True, kw_only=True):
    """Many versions, in the order asked for."""

    tool: str
    rules: tuple[str, ...]
    rows: tuple[HistoryRow, ...]
    trace: Trace | None = None
    schema: int = 1
