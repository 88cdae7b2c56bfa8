"""Findings as Markdown for a comment on a pull request, or for the summary of a CI run.

The worst come first and in full, each behind a click, then notes in a table. What exceeds the
limit of a comment is left out whole, from the end, and counted.
"""

from collections.abc import Iterator, Sequence
from typing import TextIO

from pathaudit.reporters.diagnostics import attributes
from pathaudit.reporters.escaping import visible
from pathaudit.reporters.fitting import LIMIT, Unit, fitting, lines_of, size
from pathaudit.reporters.markdown_text import MARKER, cell, code, escaped, in_html, with_code
from pathaudit.reporters.phrases import (
    Locate,
    answer_of,
    by_urgency,
    counted,
    here,
    left_out_phrases,
    version_beside,
    word_of,
)
from pathaudit.reporters.terminal import GLUE, cut
from pathaudit.results import Finding, Gap, Reach, Report

_LONGEST = 1_000  # characters of one text
_RESERVE = 400  # bytes for what is said of things left out
_HEADINGS = {
    "error": "Errors",
    "warning": "Warnings",
    "unknown": "Could not be decided",
    "note": "Notes",
    "suppressed": "Accepted",
}
_IN_FULL = ("error", "warning", "unknown")
_CODE = frozenset({"in", "when", "layers", "example", "also when", "enabled by", "for"})


def render(report: Report, out: TextIO, *, locate: Locate = here, limit: int = LIMIT) -> None:
    """Write the report to ``out``, in at most ``limit`` bytes of UTF-8.

    ``locate`` gives the path of a file of the tree from the root of the reader's repository.
    """
    head, last = [MARKER, *_head(report)], list(_last(report))
    ordered = list(_findings(report.findings, locate))
    urgent = [unit for unit in ordered if unit.word in _IN_FULL]
    units = [*urgent, *_gaps(report.gaps, locate), *ordered[len(urgent) :]]
    shown = fitting(units, limit - size(head) - size(last) - _RESERVE)
    lines = [*head, *lines_of(shown), *_left(units[len(shown) :]), *last]
    out.write("\n".join(lines).rstrip("\n") + "\n")


def _head(report: Report) -> Iterator[str]:
    counts, version = report.summary, version_beside(report.source)
    tree = code(_short(report.source.label)) + (f" ({code(_short(version))})" if version else "")
    yield f"### pathaudit: {answer_of(report)[1]} in {tree}"
    yield ""
    yield (
        f"{counted(counts.entries, 'entry', 'entries')} audited, "
        f"{counted(counts.sites, 'layer-running site')} judged: "
        f"{counted(counts.holds, 'holds', 'hold')}, {counts.violated} violated, "
        f"{counts.unknown} unknown; {counts.suppressed} suppressed; {counted(counts.gaps, 'gap')}."
    )
    yield from (f"{phrase}." for phrase in left_out_phrases(report.left_out))
    yield ""


def _last(report: Report) -> Iterator[str]:
    if report.inert:
        names = _short(", ".join(report.inert))
        yield f"Nothing to look at in this tree for: {escaped(names)}"
        yield ""
    if report.baseline is not None and report.baseline.unused:
        number = counted(len(report.baseline.unused), "entry", "entries")
        yield f"No longer found: {number} of {code(_short(report.baseline.file))}"


def _left(units: Sequence[Unit]) -> Iterator[str]:
    words = [unit.word for unit in units if unit.word]
    if words:
        numbers = [
            f"{_HEADINGS[word].lower()}: {words.count(word)}" for word in _HEADINGS if word in words
        ]
        number = counted(len(words), "more finding")
        yield f"**{number} left out** ({', '.join(numbers)}); `--format json` has all."
        yield ""
    gaps = len(units) - len(words)
    if gaps:
        yield f"**{counted(gaps, 'more gap')} left out.**"
        yield ""


# ---- findings -----------------------------------------------------------------------------------


def _findings(findings: Sequence[Finding], locate: Locate) -> Iterator[Unit]:
    told: frozenset[str] = frozenset()
    ordered = by_urgency(findings)
    words = [word_of(finding) for finding in ordered]
    for finding, word in zip(ordered, words, strict=True):
        heading = f"{_HEADINGS[word]}: {words.count(word)}"
        if word in _IN_FULL:
            lines = (*_folded(finding, locate, told), "")
            yield Unit(heading, lines, (f"#### {heading}", ""), (), word)
            told |= {finding.why, finding.fix}
        else:
            yield Unit(heading, (_row(finding, locate),), _table(heading), _END, word)


_END = ("", "</details>", "")


def _table(heading: str) -> tuple[str, ...]:
    columns = ("| place | rule | method | what |", "| --- | --- | --- | --- |")
    return (f"<details><summary>{heading}</summary>", "", *columns)


def _row(finding: Finding, locate: Locate) -> str:
    reach = "" if finding.reach is Reach.REACHABLE else f" ({finding.reach})"
    reason = f"; {escaped(_short(finding.suppressed))}" if finding.suppressed else ""
    what = f"{escaped(_short(finding.message))}{reach}{reason}"
    place = cell(_short(f"{locate(finding.file)}:{finding.line}"))
    columns = (place, cell(finding.rule), cell(_short(finding.symbol)), what)
    return f"| {' | '.join(columns)} |"


def _folded(finding: Finding, locate: Locate, told: frozenset[str]) -> Iterator[str]:
    """The message for all to see; what is known beside it behind a click."""
    place = f"{locate(finding.file)}:{finding.line}"
    where, what = in_html(_short(place)), in_html(_short(finding.message))
    rule = in_html(_short(finding.rule))
    yield f"<details><summary><code>{where}</code> {what} [<code>{rule}</code>]</summary>"
    yield ""
    for key, text in attributes(finding, told):
        if text == "as above":
            continue
        shown = _short(text.replace(GLUE, " "))
        prose = with_code(shown) if key in ("why", "fix") else escaped(shown)
        yield f"- **{key}**: {code(shown) if key in _CODE else prose}"
    yield ""
    yield "</details>"


def _short(text: str) -> str:
    return cut(visible(text), _LONGEST)


def _gaps(gaps: Sequence[Gap], locate: Locate) -> Iterator[Unit]:
    heading = f"Not analysed: {len(gaps)}"
    for gap in gaps:
        entries = f"; leaves {', '.join(gap.entries)} unknown" if gap.entries else ""
        place = f"{locate(gap.file)}:{gap.line}" if gap.line > 0 else locate(gap.file)
        line = f"- {code(_short(place))} {escaped(_short(gap.message + entries))}"
        yield Unit(heading, (line,), (f"<details><summary>{heading}</summary>", ""), _END)
