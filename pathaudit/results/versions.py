"""Answers about several versions, as data: what changed between two, and how many came to be.

Field names are the names in the JSON report, places are as in the report of a scan.
"""

from enum import StrEnum

from msgspec import Struct

from pathaudit.results import Finding, Report, Source, Verdict


class EventUse(Struct, frozen=True):
    """Where an event happens for layers that run in one way: ``file:line`` each."""

    event: str
    evidence: tuple[str, ...]


class Variant(Struct, frozen=True, kw_only=True):
    """One way in which a method runs layers, whatever rules may ask of it.

    ``entry`` is ``Class.method``, where the framework or a class that holds the model begins;
    ``symbol`` the method that has the place in it. ``kind`` is ``loop``, ``call`` (of one layer)
    or ``handoff`` to ``callee``. ``layers`` are half-open ranges. ``events`` are those that come
    with the layers on some path, whatever the form in which the code calls for them.
    """

    entry: str
    symbol: str
    file: str
    line: int
    kind: str
    callee: str
    layers: tuple[str, ...]
    events: tuple[EventUse, ...]
    architectures: tuple[str, ...]


class Survey(Struct, frozen=True):
    """A report, and every way in which the tree runs layers, also where no rule looks."""

    report: Report
    variants: tuple[Variant, ...]


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

    ``place``: it has another fingerprint, since others of its kind came or went, or another
    severity of certainty. ``resemblance``: its class was renamed or moved, or its layers changed.
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
    """``change`` is ``appeared``, ``vanished`` or ``renamed``; ``was`` is the old name and file."""

    change: str
    entry: str
    file: str
    line: int
    was: str = ""


class DiffSummary(Struct, frozen=True, kw_only=True):
    """Counts. ``worse`` are findings of both versions that are reachable errors only now."""

    added: int
    worse: int
    fixed: int
    gone: int
    unjudged: int
    unchanged: int
    undecided: int
    variants: int
    events: int


class ReportDiff(Struct, frozen=True, kw_only=True):
    """What changed from one version to another, in a fixed order: by rule, file, line."""

    tool: str
    old: Source
    new: Source
    rules: tuple[str, ...]
    added: tuple[Added, ...]
    ended: tuple[Ended, ...]
    kept: tuple[Kept, ...]
    undecided: tuple[Undecided, ...]
    entries: tuple[EntryChange, ...]
    variants: tuple[VariantChange, ...]
    events: tuple[EventLoss, ...]
    summary: DiffSummary
    schema: int = 1
