"""The kind ``covers``: on every path, each run of a layer comes with the required event."""

from collections.abc import Iterable, Iterator

from pathaudit.check.answer import Answer
from pathaudit.check.covers_drafts import check_drafts
from pathaudit.check.judging import JUDGED, Judged
from pathaudit.check.present import present_entry, present_findings
from pathaudit.check.subjects import find_declared, find_layer_subjects, find_subjects
from pathaudit.results import EntryReport, Gap
from pathaudit.ruleset import CoversRule
from pathaudit.work import Work


def check_covers(work: Work, rule: CoversRule, entry: str | None) -> Answer:
    """Judge the rule on every subject of a tree, or on those of one served class."""
    if rule.subject == "drafts":
        return check_drafts(work, rule, entry)
    no_gaps: list[Gap] = []
    if rule.declared:
        subjects, unarmed = find_declared(work, rule, entry), no_gaps
    elif rule.subject == "features":
        subjects, unarmed = find_subjects(work, entry)
    else:
        subjects, unarmed = find_layer_subjects(work, entry), no_gaps
    judged = work.run(JUDGED, subjects, rule)
    gaps = (gap for item in judged for gap in (item.cut, item.gate.gap) if gap is not None)
    entries = tuple(_present_entries(rule, judged))
    return Answer(
        findings=tuple(present_findings(rule, judged)),
        entries=entries,
        gaps=(*unarmed, *gaps),
        examined=len(subjects),
    )


def _present_entries(rule: CoversRule, judged: Iterable[Judged]) -> Iterator[EntryReport]:
    for item in judged:
        report = present_entry(rule, item)
        if report is not None:
            yield report
