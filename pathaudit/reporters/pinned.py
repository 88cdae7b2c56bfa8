"""Findings of new versions at the pins that bring them, for programs that show a repository.

The framework's own files are not in that repository, so that a place there is only said.
"""

from collections.abc import Iterator

import msgspec

from pathaudit.reporters.bumps import inert_text, tree_said
from pathaudit.results import Finding, Gap, Report, Severity, Source, Summary, Verdict
from pathaudit.results.bumps import Arrival, BumpReport, Comparison, Disagreement, pin_place

_NOTHING = Summary(
    files=0,
    entries=0,
    sites=0,
    holds=0,
    violated=0,
    unknown=0,
    errors=0,
    warnings=0,
    notes=0,
    suppressed=0,
    gaps=0,
)


def as_report(report: BumpReport) -> Report:
    """What a change of dependencies brings, as the report of a scan: each finding at a pin.

    What could not be had, pins that disagree and files that could not be read are its gaps.
    """
    findings = [x for item in report.comparisons for x in _worse(item)]
    findings += [x for item in report.arrivals if item.fails for x in _new(item)]
    gaps = (*_gaps(report), *report.gaps)
    told = [x for x in findings if x.suppressed is None and x.verdict is Verdict.VIOLATED]
    severities = [finding.severity for finding in told]
    summary = msgspec.structs.replace(
        _NOTHING,
        violated=len(told),
        unknown=len([x for x in findings if x.verdict is Verdict.UNKNOWN]),
        errors=severities.count(Severity.ERROR),
        warnings=severities.count(Severity.WARNING),
        notes=severities.count(Severity.NOTE),
        suppressed=len([x for x in findings if x.suppressed is not None]),
        gaps=len(gaps),
    )
    return Report(
        tool=report.tool,
        source=Source(label=f"{report.base} -> {report.head}", version=None),
        rules=report.rules,
        findings=tuple(findings),
        entries=(),
        gaps=gaps,
        summary=summary,
    )


def _worse(item: Comparison) -> Iterator[Finding]:
    """What a version adds, and what of it changed; where it was before, if that is known."""
    known = {x.fingerprint: x for x in item.regressions}
    old = item.diff.old.version or item.old
    for added in item.diff.added:
        was = known.get(added.finding.fingerprint)
        before = f"; in {old} at {was.old_file}:{was.old_line}" if was is not None else ""
        yield _at_pin(added.finding, item.pins, item.new, before)
    for kept in item.diff.changed:
        before = f"; in {old} at {kept.old.file}:{kept.old.line}"
        yield _at_pin(kept.new, item.pins, item.new, before)


def _new(item: Arrival) -> Iterator[Finding]:
    yield from (_at_pin(finding, item.pins, item.tree, "") for finding in item.report.findings)


def _at_pin(finding: Finding, pins: tuple[str, ...], tree: str, before: str) -> Finding:
    """A finding moved to the first of some pins; the steps of its paths are in no file there."""
    file, line = _split(pins[0])
    return msgspec.structs.replace(
        finding,
        file=file,
        line=line,
        column=0,
        end_line=line,
        end_column=0,
        message=f"{finding.message} ({finding.file}:{finding.line} of {tree}{before})",
        steps=(),
        siblings=(),
        paths=tuple(msgspec.structs.replace(path, steps=()) for path in finding.paths),
    )


def _split(place: str) -> tuple[str, int]:
    file, _, line = place.rpartition(":")
    return file, int(line)


def _gaps(report: BumpReport) -> Iterator[Gap]:
    for item in report.unfetched:
        tree = tree_said(item)
        yield _gap(item.pins[0], f"not audited: {tree}{item.reason}")
    for pair in report.comparisons:
        if pair.inert:
            yield _gap(pair.pins[0], f"{inert_text(pair)} {', '.join(pair.inert)}")
    known = {item.reason for item in report.unfetched}
    for arrival in report.arrivals:
        if not arrival.fails and arrival.reason not in known:
            text = f"{arrival.tree} was scanned alone: {arrival.reason}"
            yield _gap(arrival.pins[0], text)
    yield from map(_disagreement, report.disagreements)


def _disagreement(item: Disagreement) -> Gap:
    pins = (f"{pin_place(pin)} {pin.version or pin.specifier}" for pin in item.pins)
    return _gap(pin_place(item.pins[0]), f"pins disagree {item.when} the change: {', '.join(pins)}")


def _gap(place: str, message: str) -> Gap:
    file, line = _split(place)
    return Gap(kind="pin", file=file, line=line, message=message)
