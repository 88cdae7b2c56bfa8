"""Why a finding is no longer there, and which verdicts became unknown."""

from collections.abc import Iterable, Iterator

from pathaudit.diff.naming import Naming
from pathaudit.diff.version import Side
from pathaudit.results import EntryReport, Finding, Gap, Report, Verdict
from pathaudit.results.versions import Ended, Ending, Undecided

Place = tuple[str, str, str]


def ended(finding: Finding, old: Side, new: Side, naming: Naming) -> Ended:
    """Say why a finding of the old version has no partner in the new one."""
    if not finding.symbol:
        return Ended(finding, Ending.FIXED)
    file, symbol = naming.translate(finding.file, finding.symbol)
    owner = symbol.partition(".")[0]
    gap = _file_gap(new.survey.report, file)
    if gap is not None:
        return Ended(finding, Ending.UNKNOWN, gap.message)
    if not new.has(file, owner):
        return Ended(finding, Ending.GONE, f"{owner} is no longer in {file}")
    before = _judging(old.survey.report, finding.rule, finding.entry, finding.symbol)
    now = _judging(new.survey.report, finding.rule, finding.entry, symbol)
    if before and not now:
        return Ended(finding, Ending.UNJUDGED, f"{finding.rule} no longer looks at {owner}")
    if any(entry.verdict is Verdict.UNKNOWN for entry in now):
        return Ended(finding, Ending.UNKNOWN, _reason(new.survey.report, now))
    return Ended(finding, Ending.FIXED, _evidence(finding, file, now))


def _judging(report: Report, rule: str, entry: str, symbol: str) -> list[EntryReport]:
    """What a rule says of the method that a finding is in, or of a class that runs it."""
    owner = symbol.partition(".")[0]
    receiver = entry.partition(".")[0]
    return [
        item
        for item in report.entries
        if item.rule == rule
        and (item.entry.partition(".")[0] == owner or receiver in item.receivers)
    ]


def _evidence(finding: Finding, file: str, now: Iterable[EntryReport]) -> str:
    """Where the event happens now for these layers, if they still run in the file."""
    sites = [site for entry in now for site in entry.sites if site.file == file]
    same = [site for site in sites if site.layers == finding.layers] or sites
    places = dict.fromkeys(text for site in same for text in site.evidence)
    return f"now at {' and '.join(list(places)[:2])}" if places else ""


def undecided(old: Report, new: Report, naming: Naming) -> Iterator[Undecided]:
    """The methods whose verdict was known and is not any more."""
    before, now = _verdicts(old), _verdicts(new)
    for (rule, file, entry), entries in before.items():
        verdict = _worst(entries)
        moved, name = naming.translate(file, entry)
        found = now.get((rule, moved, name), [])
        gap = None if found else _file_gap(new, moved)
        if verdict is Verdict.UNKNOWN or (_worst(found) is not Verdict.UNKNOWN and gap is None):
            continue
        yield Undecided(
            rule=rule,
            entry=name,
            file=moved,
            line=found[0].line if found else 1,
            before=verdict,
            reason=gap.message if gap else _reason(new, found),
        )


def _verdicts(report: Report) -> dict[Place, list[EntryReport]]:
    found: dict[Place, list[EntryReport]] = {}
    for entry in report.entries:
        found.setdefault((entry.rule, entry.file, entry.entry), []).append(entry)
    return found


def _worst(entries: Iterable[EntryReport]) -> Verdict:
    verdicts = {entry.verdict for entry in entries}
    order = (Verdict.VIOLATED, Verdict.UNKNOWN)
    return next((verdict for verdict in order if verdict in verdicts), Verdict.HOLDS)


def _file_gap(report: Report, file: str) -> Gap | None:
    """Why a file was not read, if it was not."""
    return next((gap for gap in report.gaps if gap.kind == "file" and gap.file == file), None)


def _reason(report: Report, entries: Iterable[EntryReport]) -> str:
    """Why a verdict is unknown: what was cut, or the layers that went where nobody can follow."""
    served = {name for entry in entries for name in entry.architectures}
    files = {entry.file for entry in entries}
    for gap in report.gaps:
        if served.intersection(gap.entries):
            return gap.message
    for finding in report.findings:
        if finding.verdict is Verdict.UNKNOWN and finding.file in files:
            return finding.message
    return ""
