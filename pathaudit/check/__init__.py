"""Judge rules: one module for each kind of invariant."""

from collections.abc import Iterable, Iterator

from msgspec import Struct

from pathaudit.check.judging import JUDGED, Judged
from pathaudit.check.present import present_entry, present_findings
from pathaudit.check.subjects import find_entries, find_subjects
from pathaudit.results import EntryReport, Finding, Gap
from pathaudit.ruleset import Rule
from pathaudit.work import Work

__all__ = ["Answer", "check_rule", "find_entries"]


class Answer(Struct, frozen=True):
    """What a rule says of a tree."""

    findings: tuple[Finding, ...]
    entries: tuple[EntryReport, ...]
    gaps: tuple[Gap, ...]


def check_rule(work: Work, rule: Rule, entry: str | None = None) -> Answer:
    """Judge one rule on every subject of a tree, or on those of one served class."""
    subjects, unarmed = find_subjects(work, entry)
    judged = work.run(JUDGED, subjects, rule)
    gaps = (gap for item in judged for gap in (item.cut, item.gate.gap) if gap is not None)
    return Answer(
        findings=tuple(present_findings(rule, judged)),
        entries=tuple(_present_entries(rule, judged)),
        gaps=(*unarmed, *gaps),
    )


def _present_entries(rule: Rule, judged: Iterable[Judged]) -> Iterator[EntryReport]:
    for item in judged:
        report = present_entry(rule, item)
        if report is not None:
            yield report
