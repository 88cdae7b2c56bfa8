"""Source lines with the regions of interest underlined and labelled."""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate

from msgspec import Struct
from rich.cells import cell_len

from pathaudit.reporters.escaping import pieces
from pathaudit.reporters.phrases import word_of
from pathaudit.reporters.terminal import Line, Page, wrap
from pathaudit.results import Finding, Step

_CONTINUED = 2  # further lines that are shown of a statement that goes on


class Spot(Struct, frozen=True):
    """A region of source to underline."""

    file: str
    line: int
    column: int
    end_line: int
    end_column: int


def spot_of(region: Finding | Step) -> Spot:
    """The region of a finding or of a step of its path."""
    return Spot(region.file, region.line, region.column, region.end_line, region.end_column)


def numbers_shown(spots: Iterable[Spot]) -> list[int]:
    """Lines to show for regions of one file, with the start of what goes on over lines."""
    numbers = {number for spot in spots for number in range(spot.line, last_shown(spot) + 1)}
    # An elision mark in place of one line would save nothing.
    return sorted(numbers | {number + 1 for number in numbers if number + 2 in numbers})


def last_shown(spot: Spot) -> int:
    """The last line to show of a region: of a long statement only the start."""
    return max(spot.line, min(spot.end_line, spot.line + _CONTINUED))


def source_lines(
    spots: Mapping[Spot, str], finding: Finding, gutter: int, page: Page
) -> Iterator[Line]:
    """Yield the lines of one file's regions, numbered, with ``...`` where lines are left out.

    ``spots`` maps each region to its label; that of the finding itself is marked apart.
    """
    known = page.excerpts.get(next(iter(spots)).file, {})
    previous = None
    for number in numbers_shown(spots):
        if number not in known:
            continue
        if previous is not None and number > previous + 1:
            yield (("dim", "..."),)
        previous = number
        here = {spot: label for spot, label in spots.items() if spot.line == number}
        yield from _numbered(number, known[number], here, finding, gutter, page)


def _numbered(
    number: int,
    source: str,
    here: Mapping[Spot, str],
    finding: Finding,
    gutter: int,
    page: Page,
) -> Iterator[Line]:
    """One source line, and below it an underline with a label for each region."""
    window = _Window.of(source, here, page.width - gutter - 3)
    yield ("dim", f"{number:>{gutter}} |"), ("", f" {window.text}".rstrip())
    for spot in sorted(here, key=lambda spot: spot.column):
        start, length = window.columns(*_ends(spot, source))
        primary = spot == spot_of(finding)
        style = word_of(finding) if primary else "step"
        rows = _underline(start, length, "^" if primary else "-", here[spot], window.room)
        yield from ((("dim", " " * gutter + " |"), (style, f" {row}")) for row in rows)


def _ends(spot: Spot, source: str) -> tuple[int, int]:
    """Columns to underline; of a region that goes on over lines, the rest of the first one."""
    last = len(source.rstrip())
    end = min(spot.end_column, last) if spot.end_line == spot.line else last
    start = min(spot.column, max(last - 1, 0))
    keyword = re.match(r"(el)?if (?=[^(])", source[start:])
    if keyword and spot.end_line == spot.line:
        start += keyword.end()  # the test is what decides
    return start, max(end, start + 1)


def _underline(start: int, length: int, mark: str, label: str, room: int) -> list[str]:
    line = " " * start + mark * length
    if not label:
        return [line]
    if cell_len(f"{line} {label}") <= room:
        return [f"{line} {label}"]
    indent = min(start, room - min(cell_len(label), room * 2 // 3))
    return [line, *(" " * indent + part for part in wrap(label, room - indent))]


class _Window(Struct, frozen=True):
    """The part of a source line that fits, ``room`` columns at most.

    ``first`` and ``last`` are the characters shown, ``cells`` the column where each one begins.
    """

    text: str
    room: int
    first: int
    last: int
    cells: tuple[int, ...]

    @classmethod
    def of(cls, source: str, here: Iterable[Spot], room: int) -> "_Window":
        """Cut ``source`` so that the regions ``here`` stay visible, the first above all."""
        shown = pieces(source.rstrip(), tab="    ")
        cells = (0, *accumulate(cell_len(piece) for piece in shown))
        first, last = 0, len(shown)
        if cells[-1] > room:
            start, end = next((_ends(spot, source) for spot in here), (0, 1))
            dots = 3 if end < last else 0
            while first < start and cells[end] - cells[first] > room - dots - (3 if first else 0):
                first += 1
            left = room - (3 if first else 0)
            while cells[last] - cells[first] > left - (3 if last < len(shown) else 0):
                last -= 1
        before, after = "..." if first else "", "..." if last < len(shown) else ""
        text = "".join([before, *shown[first:last], after])
        return cls(text, room, first, last, cells)

    def columns(self, start: int, end: int) -> tuple[int, int]:
        """Where characters ``start`` to ``end`` are shown: a column of the text, and a length."""
        shown = [max(self.first, min(position, self.last)) for position in (start, end)]
        left, right = (self.cells[position] - self.cells[self.first] for position in shown)
        return left + (3 if self.first else 0), max(right - left, 1)
