"""Findings as workflow commands: annotations at the lines of a pull request on GitHub.

A command is ``::error file=...,line=...::message``. Values are escaped as GitHub's own
toolkit does.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import TextIO

from msgspec import Struct

from pathaudit.reporters.diagnostics import attributes
from pathaudit.reporters.escaping import visible
from pathaudit.reporters.phrases import (
    Locate,
    answer_of,
    by_urgency,
    counted,
    here,
    left_out_phrases,
    source_name,
    word_of,
)
from pathaudit.reporters.terminal import GLUE, write_plain
from pathaudit.results import Finding, Gap, Report, Severity, Verdict
from pathaudit.results.versions import ReportDiff

SHOWN = 10  # annotations of one level that GitHub shows of a step
_TOLD = ("suppressed", "reach", "proof", "when", "example", "enabled by", "effect", "fix")


class _Annotation(Struct, frozen=True):
    """``place`` are the properties that say where; ``line`` is how it is listed in the log."""

    level: str
    title: str
    place: tuple[tuple[str, str], ...]
    message: str
    line: str


def render(report: Report, out: TextIO, *, locate: Locate = here) -> None:
    """Write the report to ``out``: the worst findings as commands, then the rest as lines.

    ``locate`` gives the path of a file of the tree from the root of the reader's repository.
    Accepted findings are only counted.
    """
    counts = report.summary
    extent = (
        f"{counted(counts.entries, 'entry', 'entries')} audited, {counts.suppressed} suppressed, "
        f"{counted(counts.gaps, 'gap')}"
    )
    extent = "; ".join((extent, *left_out_phrases(report.left_out)))
    where = source_name(report.source)
    last = f"pathaudit: {answer_of(report)[1]} in {where}: {extent}".replace(GLUE, " ")
    write_annotations(report.findings, report.gaps, last, out, locate)


def render_diff(diff: ReportDiff, out: TextIO, *, locate: Locate = here) -> None:
    """Write to ``out`` what the new version adds, and what of it got worse or otherwise changed."""
    findings = [x.finding for x in diff.added] + [x.new for x in diff.changed]
    versions = f"{source_name(diff.old)} -> {source_name(diff.new)}".replace(GLUE, " ")
    counts = diff.summary
    last = f"pathaudit: {versions}: {counts.added} added, {counts.changed} changed"
    last = "; ".join((f"{last}, {counts.fixed} fixed", *left_out_phrases(diff.left_out)))
    write_annotations(findings, (), last, out, locate)


def write_annotations(
    findings: Iterable[Finding], gaps: Sequence[Gap], last: str, out: TextIO, locate: Locate = here
) -> None:
    """Write findings and gaps to ``out``, then the ``last`` line, which is no command."""
    told = by_urgency(finding for finding in findings if finding.suppressed is None)
    found = [_of_finding(finding, locate) for finding in told]
    found += [_of_gap(gap, locate) for gap in gaps]
    write_plain((*_lines(found), last), out)


def _lines(found: Sequence[_Annotation]) -> Iterator[str]:
    """Commands as far as GitHub shows them; to see the rest takes a click in the log."""
    rest: list[_Annotation] = []
    for level in ("error", "warning", "notice"):
        members = [item for item in found if item.level == level]
        yield from (_command(item) for item in members[:SHOWN])
        rest += members[SHOWN:]
    if rest:
        numbers = {level: [x.level for x in rest].count(level) for level in ("error", "warning")}
        worse = ", ".join(counted(n, level) for level, n in numbers.items() if n)
        yield f"::group::{len(rest)} more{f', of them {worse}' if worse else ''}"
        yield from (item.line for item in rest)
        yield "::endgroup::"


def _command(item: _Annotation) -> str:
    properties = ",".join(f"{name}={_property(value)}" for name, value in item.place)
    return f"::{item.level} {properties},title={_property(item.title)}::{_data(item.message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def _of_finding(finding: Finding, locate: Locate) -> _Annotation:
    file, word = visible(locate(finding.file)), word_of(finding)
    lines = [(key, text) for key, text in attributes(finding) if key in _TOLD]
    body = [f"{key}: {text}".replace(GLUE, " ") for key, text in lines]
    title = f"{word}[{visible(finding.rule)}]"
    message = visible(finding.message)
    return _Annotation(
        level=_level(finding),
        title=title,
        place=(("file", file), *_region(finding)),
        message="\n".join((message, *body)),
        line=f"{file}:{finding.line}: {title}: {message}",
    )


def _level(finding: Finding) -> str:
    if finding.verdict is Verdict.UNKNOWN:
        return "warning"
    return "notice" if finding.severity is Severity.NOTE else finding.severity.value


def _region(finding: Finding) -> Iterator[tuple[str, str]]:
    """Columns are only taken of a region in one line."""
    if finding.line < 1:
        return
    yield "line", str(finding.line)
    yield "endLine", str(max(finding.end_line, finding.line))
    if finding.line == finding.end_line:
        yield "col", str(finding.column + 1)
        yield "endColumn", str(max(finding.end_column, finding.column + 1))


def _of_gap(gap: Gap, locate: Locate) -> _Annotation:
    file, message = visible(locate(gap.file)), visible(gap.message)
    title = f"gap[{visible(gap.kind)}]"
    line = (("line", str(gap.line)),) if gap.line > 0 else ()
    return _Annotation(
        level="warning",
        title=title,
        place=(("file", file), *line),
        message=message,
        line=f"{file}:{gap.line}: {title}: {message}",
    )
