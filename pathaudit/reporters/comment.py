"""Findings as Markdown for a comment on a pull request, or for the summary of a CI run.

The worst come first and in full, each behind a click, then notes in a table. What exceeds the
limit of a comment is left out whole, from the end, and counted.
"""

from collections.abc import Iterator, Sequence
from typing import TextIO

from msgspec import Struct

from pathaudit.reporters.diagnostics import attributes
from pathaudit.reporters.escaping import visible
from pathaudit.reporters.markdown_text import MARKER, cell, code, escaped, in_html, with_code
from pathaudit.reporters.phrases import (
    Locate,
    answer_of,
    by_urgency,
    counted,
    here,
    version_beside,
    word_of,
)
from pathaudit.reporters.terminal import GLUE, cut
from pathaudit.results import Finding, Gap, Reach, Report

LIMIT = 65_536  # characters of a comment on GitHub
_LONGEST = 1_000  # characters of one text
_RESERVE = 1_000  # bytes for what is said last
_HEADINGS = {
    "error": "Errors",
    "warning": "Warnings",
    "unknown": "Could not be decided",
    "note": "Notes",
    "suppressed": "Accepted",
}
_IN_FULL = ("error", "warning", "unknown")
_CODE = frozenset({"in", "when", "layers", "example", "also when", "enabled by", "for"})


class _Unit(Struct, frozen=True):
    """Lines that are shown together or not at all; ``findings`` are in them.

    ``opening`` goes before the first unit of a ``section`` that is shown, ``closing`` behind the
    last.
    """

    section: str
    lines: tuple[str, ...]
    opening: tuple[str, ...]
    closing: tuple[str, ...]
    word: str = ""


def render(report: Report, out: TextIO, *, locate: Locate = here, limit: int = LIMIT) -> None:
    """Write the report to ``out``, in at most ``limit`` bytes of UTF-8.

    ``locate`` gives the path of a file of the tree from the root of the reader's repository.
    """
    head = [MARKER, *_head(report)]
    ordered = list(_findings(report.findings, locate))
    urgent = [unit for unit in ordered if unit.word in _IN_FULL]
    units = [*urgent, *_gaps(report.gaps, locate), *ordered[len(urgent) :]]
    shown = _fitting(units, limit - _size(head) - _RESERVE)
    lines = [*head, *_sections(shown), *_left(units[len(shown) :]), *_inert(report)]
    out.write("\n".join(lines).rstrip("\n") + "\n")


def _head(report: Report) -> Iterator[str]:
    counts, version = report.summary, version_beside(report.source)
    tree = code(report.source.label) + (f" ({code(version)})" if version else "")
    yield f"### pathaudit: {answer_of(report)[1]} in {tree}"
    yield ""
    yield (
        f"{counted(counts.entries, 'entry', 'entries')} audited, "
        f"{counted(counts.sites, 'layer-running site')} judged: "
        f"{counted(counts.holds, 'holds', 'hold')}, {counts.violated} violated, "
        f"{counts.unknown} unknown; {counts.suppressed} suppressed; {counted(counts.gaps, 'gap')}."
    )
    yield ""


def _inert(report: Report) -> Iterator[str]:
    if report.inert:
        names = ", ".join(code(rule) for rule in report.inert)
        yield f"Nothing to look at in this tree for: {names}"
    if report.baseline is not None and report.baseline.unused:
        number = counted(len(report.baseline.unused), "entry", "entries")
        yield f"No longer found: {number} of {code(report.baseline.file)}"


# ---- as much as fits ----------------------------------------------------------------------------


def _fitting(units: Sequence[_Unit], room: int) -> list[_Unit]:
    """The first units, as far as there is room for them and for what is around them."""
    shown: list[_Unit] = []
    for unit in units:
        new = not shown or shown[-1].section != unit.section
        around = (*unit.opening, *unit.closing) if new else ()
        room -= _size((*unit.lines, *around))
        if room < 0:
            break
        shown.append(unit)
    return shown


def _size(lines: Sequence[str]) -> int:
    return sum(len(line.encode("utf-8", "replace")) + 1 for line in lines)


def _sections(units: Sequence[_Unit]) -> Iterator[str]:
    for position, unit in enumerate(units):
        before = units[position - 1].section if position else ""
        after = units[position + 1].section if position + 1 < len(units) else ""
        if unit.section != before:
            yield from unit.opening
        yield from unit.lines
        if unit.section != after:
            yield from unit.closing


def _left(units: Sequence[_Unit]) -> Iterator[str]:
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


def _findings(findings: Sequence[Finding], locate: Locate) -> Iterator[_Unit]:
    told: frozenset[str] = frozenset()
    ordered = by_urgency(findings)
    words = [word_of(finding) for finding in ordered]
    for finding, word in zip(ordered, words, strict=True):
        heading = f"{_HEADINGS[word]}: {words.count(word)}"
        if word in _IN_FULL:
            lines = (*_folded(finding, locate, told), "")
            yield _Unit(heading, lines, (f"#### {heading}", ""), (), word)
            told |= {finding.why, finding.fix}
        else:
            yield _Unit(heading, (_row(finding, locate),), _table(heading), _END, word)


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


def _gaps(gaps: Sequence[Gap], locate: Locate) -> Iterator[_Unit]:
    heading = f"Not analysed: {len(gaps)}"
    for gap in gaps:
        entries = f"; leaves {', '.join(gap.entries)} unknown" if gap.entries else ""
        place = f"{locate(gap.file)}:{gap.line}" if gap.line > 0 else locate(gap.file)
        line = f"- {code(_short(place))} {escaped(_short(gap.message + entries))}"
        yield _Unit(heading, (line,), (f"<details><summary>{heading}</summary>", ""), _END)
