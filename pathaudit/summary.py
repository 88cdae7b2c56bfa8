"""What a report says of itself: how much it tells, and what it says nothing of."""

from pathaudit.check import Answer
from pathaudit.policy import Told
from pathaudit.results import EntryReport, Gap, Severity, Summary, Verdict
from pathaudit.sources import SourceTree
from pathaudit.work import Work


def summary_of(tree: SourceTree, told: Told) -> Summary:
    """Count what is told of a tree; a site that several entries share is one."""
    sites = {
        (item.rule, site.file, site.line, site.column, site.verdict)
        for item in told.entries
        for site in item.sites
    }
    worst = {place[:-1]: Verdict.HOLDS for place in sites}
    for *place, verdict in sites:
        if verdict is not Verdict.HOLDS and worst[tuple(place)] is not Verdict.VIOLATED:  # type: ignore[index]
            worst[tuple(place)] = verdict  # type: ignore[index]
    verdicts = list(worst.values())
    judged = [x for x in told.findings if x.suppressed is None and x.verdict is Verdict.VIOLATED]
    severities = [finding.severity for finding in judged]
    return Summary(
        files=len(tree.paths),
        entries=len({(item.rule, item.file, item.entry) for item in told.entries}),
        sites=len(worst),
        holds=verdicts.count(Verdict.HOLDS),
        violated=verdicts.count(Verdict.VIOLATED),
        unknown=verdicts.count(Verdict.UNKNOWN),
        errors=severities.count(Severity.ERROR),
        warnings=severities.count(Severity.WARNING),
        notes=severities.count(Severity.NOTE),
        suppressed=len([x for x in told.findings if x.suppressed is not None]),
        gaps=len(told.gaps),
    )


def gaps_of(work: Work, answers: list[Answer], entries: tuple[EntryReport, ...]) -> tuple[Gap, ...]:
    """Files that could not be read, calls and budgets: what the verdicts do not speak of."""
    unlisted = [
        Gap(kind="file", file=path, line=1, message=reason) for path, reason in work.tree.skipped
    ]
    found = [
        *work.gaps,
        *work.index.modules.gaps,
        *unlisted,
        *(gap for answer in answers for gap in answer.gaps),
    ]
    if work.focus:
        told = {name for item in entries for name in item.architectures}
        found = [x for x in found if x.file in work.focus or told.intersection(x.entries)]
    return tuple(sorted(set(found), key=lambda gap: (gap.file, gap.line, gap.kind, gap.message)))
