"""Counts what a report tells: sites by their worst verdict, findings by what they are."""

from pathaudit import __version__
from pathaudit.policy import Told
from pathaudit.results import Report, Severity, Source, Summary, Verdict
from pathaudit.ruleset import Ruleset
from pathaudit.sources import SourceTree


def report_of_nothing(rules: Ruleset) -> Report:
    """The report on files of which none is in a tree: there was nothing to judge."""
    return Report(
        tool=f"pathaudit {__version__}",
        source=Source(label="no tree", version=None),
        rules=tuple(rule.id for rule in rules.rules),
        findings=(),
        entries=(),
        gaps=(),
        summary=Summary(**dict.fromkeys(Summary.__struct_fields__, 0)),
    )


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
