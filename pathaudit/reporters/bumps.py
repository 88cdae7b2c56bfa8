"""What a change of dependencies brings, for people at a terminal."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from textwrap import dedent
from typing import TextIO

import msgspec

from pathaudit.reporters.changes import lines_of
from pathaudit.reporters.changes import lines_wanted as wanted_of
from pathaudit.reporters.diagnostics import Block, block_lines
from pathaudit.reporters.escaping import visible
from pathaudit.reporters.phrases import counted, listed, shown_path
from pathaudit.reporters.terminal import GLUE, Line, Page, Styled, cut, hanging, table, write_lines
from pathaudit.results import Finding, Severity, fails
from pathaudit.results.bumps import (
    Aim,
    Arrival,
    BumpReport,
    ComparedLine,
    Comparison,
    Pin,
    PinChange,
    PinSource,
    Regression,
    Unfetched,
    brings_failure,
    new_errors,
)
from pathaudit.results.versions import Origin, ReportDiff

_NARROWEST = 40
_FAILING = 10  # findings of a version without another one to compare with
_GUTTER = 8
Excerpts = Mapping[str, Mapping[int, str]]


def render(
    report: BumpReport,
    out: TextIO,
    *,
    excerpts: Mapping[str, Excerpts],
    width: int = 80,
    color: bool = False,
    verbose: bool = False,
    seconds: float | None = None,
) -> None:
    """Write what a change of dependencies brings to ``out`` in ``width`` columns.

    ``excerpts`` are source lines by file, of each new version by its name: those that
    ``lines_wanted`` names. ``verbose`` lists all of everything.
    """
    page = Page({}, max(width, _NARROWEST), verbose)
    write_lines(_lines(report, excerpts, page, seconds), out, color)


def lines_wanted(report: BumpReport) -> Mapping[str, Mapping[str, frozenset[int]]]:
    """Return the numbers of the source lines that ``render`` may show, by version and file."""
    return {item.new: wanted_of(_ordered(item.diff)) for item in report.comparisons}


def _ordered(diff: ReportDiff) -> ReportDiff:
    """A difference with what got worse in known code before what is wrong in new code."""
    added = sorted(diff.added, key=lambda item: item.origin is Origin.NEW)
    return msgspec.structs.replace(diff, added=tuple(added))


def _lines(
    report: BumpReport, excerpts: Mapping[str, Excerpts], page: Page, seconds: float | None
) -> Iterator[Line]:
    yield from _changes(report, page)
    yield from _disagreements(report, page)
    for item in report.comparisons:
        yield from _comparison(item, msgspec.structs.replace(page, excerpts=excerpts[item.new]))
    for arrival in report.arrivals:
        yield from _arrival(arrival, page)
    yield from _gaps(report, page)
    yield from _unfetched(report.unfetched, page)
    told = "; ".join(filter(None, (errors_text(report), counts_of(report, seconds))))
    yield from hanging((summary_of(report), ("", ": ")), told, 2, page)


# ---- pins ---------------------------------------------------------------------------------------


def _changes(report: BumpReport, page: Page) -> Iterator[Line]:
    if not report.changes:
        return
    yield (("bold", f"Pins of {visible(report.package)} that changed: {len(report.changes)}"),)
    for item in report.changes:
        shown = item.new or item.old
        if shown is not None:
            lead = ("", f"  {pin_place(shown.pin)}  "), ("bold", f"{item.change} ")
            yield from hanging(lead, change_text(item), 6, page)
            for remark in remarks_of(item):
                yield from hanging((("", "      "),), remark, 6, page)
    yield ()


def change_text(item: PinChange) -> str:
    """What a pin was, and what it is: the versions, or the fields that changed."""
    if item.change == "same":
        shown = item.new or item.old
        version = f" ({visible(shown.version)})" if shown is not None and shown.version else ""
        return f"version{version}; other {', '.join(item.fields)}"
    sides = [aim_text(aim) for aim in (item.old, item.new) if aim is not None]
    return " -> ".join(sides)


def aim_text(aim: Aim) -> str:
    """The version that a pin stands for, or what is written where none can be told."""
    return visible(aim.version or aim.tree or aim.pin.text)


def remarks_of(item: PinChange) -> list[str]:
    """How the versions follow from the pins, and what is written there."""
    sides = [("was", item.old), ("is", item.new)]
    found = []
    for word, aim in sides:
        if aim is not None and aim.remark and item.change != "same":
            written = "" if aim.pin.text in aim.remark else f"{visible(aim.pin.text)}; "
            found.append(f"{word}: {written}{visible(aim.remark)}")
    return found


def pin_place(pin: Pin) -> str:
    """A pin's file and line, and what it belongs to there."""
    part = f" ({visible(pin.part)})" if pin.part and pin.source is not PinSource.SUBMODULE else ""
    return f"{shown_path(pin.file)}:{pin.line}{part}"


def version_said(pin: Pin) -> str:
    """The version that a pin names, or the condition on it."""
    return visible(pin.version or pin.specifier or "any")


def _disagreements(report: BumpReport, page: Page) -> Iterator[Line]:
    for item in report.disagreements:
        yield (("warning", f"Pins that disagree {item.when} the change: {len(item.pins)}"),)
        rows = [(pin_place(pin), version_said(pin), visible(pin.text)) for pin in item.pins]
        yield from table(rows, 2, page)
        yield ()


# ---- versions -----------------------------------------------------------------------------------


def _comparison(item: Comparison, page: Page) -> Iterator[Line]:
    regressions = {x.fingerprint: x for x in item.regressions}
    old = visible(item.diff.old.version or item.old)
    new = visible(item.diff.new.version or item.new)

    def beside(finding: Finding) -> Iterable[Line]:
        found = regressions.get(finding.fingerprint)
        return _beside(found, old, new, page) if found is not None else ()

    title = f"{visible(item.old)} -> {visible(item.new)}"
    yield from hanging((("bold", title), ("", " for ")), listed(item.pins), 2, page)
    yield ()
    if item.inert:
        yield from hanging((("error", inert_text(item)), ("", " ")), listed(item.inert), 2, page)
        yield ()
    yield from lines_of(_ordered(item.diff), page, None, beside=beside, said=True)
    yield ()


def inert_text(item: Comparison) -> str:
    """What to say of rules that have nothing to look at any more."""
    new = visible(item.diff.new.version or item.new)
    return f"What these rules rely on is gone from {new}:"


def _beside(item: Regression, old: str, new: str, page: Page) -> Iterator[Line]:
    """The lines of both versions, each with its numbers."""
    where = f"{shown_path(item.old_file)}:{item.old_line}"
    yield from hanging((("", f"  in {old}: "),), where + unchanged_text(item), 6, page)
    yield (("dim", f"{cut(old, _GUTTER):>{_GUTTER}} {cut(new, _GUTTER):>{_GUTTER}}"),)
    for style, text in _numbered(item.lines):
        yield ((style, cut(text, page.width)),)


def unchanged_text(item: Regression) -> str:
    """What to say where the method itself is the same in both versions."""
    return "" if item.changed else " (the method is the same; what it uses changed)"


def _numbered(lines: Sequence[ComparedLine]) -> Iterator[Styled]:
    previous: ComparedLine | None = None
    for line, text in zip(lines, dedented(lines), strict=True):
        if previous is not None and is_gap(previous, line):
            yield "dim", " " * _GUTTER + "..."
        previous = line
        numbers = [f"{number or '':>{_GUTTER}}" for number in (line.old, line.new)]
        sign = sign_of(line)
        style = {"-": "error", "+": "good"}.get(sign, "bold" if line.mark else "")
        yield style, f"{' '.join(numbers)} {sign}{'>' if line.mark else ' '} {text}".rstrip()


def sign_of(line: ComparedLine) -> str:
    """As in a patch: what only the old version has, what only the new one has, or both."""
    if line.old and line.new:
        return " "
    return "-" if line.old else "+"


def is_gap(before: ComparedLine, after: ComparedLine) -> bool:
    """Are lines left out between two that are shown?"""
    if after.old and before.old:
        return after.old > before.old + 1
    if after.new and before.new:
        return after.new > before.new + 1
    return False


def dedented(lines: Sequence[ComparedLine]) -> list[str]:
    """The texts of lines, safe to show, without the indentation that all have."""
    texts = [visible(line.text.rstrip(), tab="    ") for line in lines]
    return dedent("\n".join(texts)).split("\n")


def _arrival(item: Arrival, page: Page) -> Iterator[Line]:
    yield from hanging((("bold", visible(item.tree)), ("", " for ")), listed(item.pins), 2, page)
    yield from hanging((("", "  scanned alone: "),), visible(item.reason), 4, page)
    failing = [x for x in item.report.findings if fails(x, Severity.ERROR)]
    shown = failing if page.verbose else failing[:_FAILING]
    for finding in shown:
        yield from block_lines(Block((finding,), "short"), page, frozenset())
    if len(failing) > len(shown):
        yield (("", f"  and {len(failing) - len(shown)} more; --verbose lists all"),)
    yield ()


# ---- what was not looked at ---------------------------------------------------------------------


def _gaps(report: BumpReport, page: Page) -> Iterator[Line]:
    if not report.gaps:
        return
    yield (("warning", f"Dependency files not read: {len(report.gaps)}"),)
    for gap in report.gaps:
        lead = f"  {shown_path(gap.file)}:{gap.line}: "
        yield from hanging((("", lead),), visible(gap.message), 6, page)
    yield ()


def _unfetched(items: Sequence[Unfetched], page: Page) -> Iterator[Line]:
    if not items:
        return
    yield (("error", f"NOT AUDITED, because it could not be had: {len(items)}"),)
    for item in items:
        lead = ("", f"  {visible(tree_said(item))}for {listed(item.pins)}: ")
        yield from hanging((lead,), visible(item.reason), 6, page)
    yield ()


def tree_said(item: Unfetched) -> str:
    """The version that could not be had, unless the reason says which."""
    return f"{item.tree} " if item.tree and item.tree not in item.reason else ""


def summary_of(report: BumpReport) -> Styled:
    """The answer in a few words."""
    if brings_failure(report):
        return "error", "Something new is broken"
    if report.unfetched:
        return "warning", "Not everything was audited"
    if not report.changes:
        return "good", f"No pin of {visible(report.package)} changed"
    if not report.comparisons and not report.arrivals:
        return "good", "No version changed"
    return "good", "Nothing new is broken"


def errors_text(report: BumpReport) -> str:
    """How many errors are new, and where."""
    number, known = new_errors(report)
    if not number:
        return ""
    fresh = number - known
    places = [
        f"{known} in code that was there before" if known else "",
        f"{fresh} in new code" if fresh else "",
    ]
    return f"{counted(number, 'new error')}, {' and '.join(filter(None, places))}"


def counts_of(report: BumpReport, seconds: float | None) -> str:
    """What was looked at, in numbers."""
    parts = [
        f"from {visible(report.base)} to {visible(report.head)}",
        f"{counted(report.pins, 'pin')} of {visible(report.package)}, "
        f"{counted(len(report.changes), 'change')}",
    ]
    if report.comparisons:
        parts.append(f"{counted(len(report.comparisons), 'pair')} of versions compared")
    if report.unfetched:
        parts.append(f"{len(report.unfetched)} not audited")
    if report.gaps:
        parts.append(counted(len(report.gaps), "gap"))
    if seconds is not None:
        parts.append(f"{seconds:.1f}{GLUE}s")
    return "; ".join(parts)
