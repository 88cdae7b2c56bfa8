"""Compare two versions: what an upgrade breaks, what it fixes, and what is merely new."""

from collections.abc import Sequence

import msgspec

from pathaudit import __version__
from pathaudit.diff.matching import mark_of, match
from pathaudit.diff.naming import Naming, definitions, find_names, owner_of
from pathaudit.diff.verdicts import ended, undecided
from pathaudit.diff.version import Side, Version, is_about, narrowed, owners
from pathaudit.diff.ways import compare_ways
from pathaudit.results import Finding
from pathaudit.results.versions import (
    Added,
    Basis,
    DiffSummary,
    Ending,
    FieldChange,
    Kept,
    Origin,
    ReportDiff,
)

__all__ = ["Version", "compare", "is_about"]

_COMPARED = ("severity", "verdict", "reach", "suppressed")


def compare(old: Version, new: Version, *, entry: str | None = None) -> ReportDiff:
    """Compare two versions that were judged by the same rules.

    With ``entry``, a class, only what is told of it. UsageError if neither tells of that.
    """
    surveys = (old.survey, new.survey)
    has = (definitions(old.tree), definitions(new.tree))
    naming = find_names(*map(owners, surveys), old_has=has[0], new_has=has[1])
    if entry is not None:
        surveys = narrowed(*surveys, entry)
    return _compare(Side(surveys[0], has[0]), Side(surveys[1], has[1]), naming)


def _compare(old: Side, new: Side, naming: Naming) -> ReportDiff:
    before, now = old.survey.report, new.survey.report
    pairs = match(
        [mark_of(x) for x in before.findings],
        [mark_of(x) for x in now.findings],
        naming,
        old_has=old.has,
        new_has=new.has,
    )
    kept = [_kept(before.findings[x.old], now.findings[x.new], x.basis, x.remark) for x in pairs]
    come = _left_over(now.findings, {pair.new for pair in pairs})
    gone = _left_over(before.findings, {pair.old for pair in pairs})
    endings = [ended(finding, old, new, naming) for finding in gone]
    ways = compare_ways(old.survey, new.survey, naming)
    return _counted(
        ReportDiff(
            tool=f"pathaudit {__version__}",
            old=before.source,
            new=now.source,
            rules=now.rules,
            added=tuple(_added(finding, old, naming) for finding in come),
            fixed=tuple(x for x in endings if x.ending is Ending.FIXED),
            dropped=tuple(x for x in endings if x.ending is not Ending.FIXED),
            changed=tuple(item for item in kept if item.changes),
            unchanged=tuple(item for item in kept if not item.changes),
            undecided=tuple(undecided(before, now, naming)),
            entries=ways.entries,
            variants=ways.variants,
            events=ways.events,
            summary=_NOTHING,
            left_out=now.left_out,
        )
    )


_NOTHING = DiffSummary(
    added=0, fixed=0, dropped=0, unchanged=0, changed=0, undecided=0, variants=0, events=0
)


def _counted(diff: ReportDiff) -> ReportDiff:
    counts = {name: len(getattr(diff, name)) for name in DiffSummary.__struct_fields__}
    return msgspec.structs.replace(diff, summary=DiffSummary(**counts))


def _left_over(findings: Sequence[Finding], paired: set[int]) -> list[Finding]:
    return [finding for number, finding in enumerate(findings) if number not in paired]


def _kept(old: Finding, new: Finding, basis: Basis, remark: str) -> Kept:
    changes = tuple(
        FieldChange(field, str(before or ""), str(after or ""))
        for field in _COMPARED
        if (before := getattr(old, field)) != (after := getattr(new, field))
    )
    return Kept(old=old, new=new, basis=basis, remark=remark, changes=changes)


def _added(finding: Finding, old: Side, naming: Naming) -> Added:
    """A new finding, in code that is new or in code that was there."""
    owner = owner_of(finding.file, finding.symbol)
    known = not owner.name or old.has(owner.file, owner.name) or owner in naming.renamed.values()
    return Added(finding, Origin.CHANGED if known else Origin.NEW)
