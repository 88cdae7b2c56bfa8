"""Lines of a terminal: wrapped, cut and put in columns as plain text, then painted."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import TextIO

from msgspec import Struct
from rich.cells import cell_len

GLUE = "\xa0"  # a space that does not break; never in audited text, which has it escaped
PATH_LENGTH = 255  # a longer word is no path that anybody can click
_PARAGRAPH = 16  # lines of one attribute
_LEAST_NAME = 18  # columns that a name needs beside a place, with two spaces
_CODES = {
    "error": "1;31",
    "warning": "1;33",
    "unknown": "1;35",
    "note": "1;34",
    "good": "1;32",
    "bold": "1",
    "suppressed": "2",
    "dim": "2",
    "step": "36",
    "": "",
}
Styled = tuple[str, str]  # style and text
Line = tuple[Styled, ...]


class Page(Struct, frozen=True):
    """What all parts of the output depend on."""

    excerpts: Mapping[str, Mapping[int, str]]
    width: int
    verbose: bool


def hanging(lead: Line, text: str, indent: int, page: Page, style: str = "") -> Iterator[Line]:
    """Yield ``text`` after ``lead``, wrapped, with ``indent`` columns before further lines."""
    used = sum(cell_len(span) for _, span in lead)
    lines = wrap(text, page.width - indent, used - indent)
    if len(lines) > _PARAGRAPH and not page.verbose:
        lines = [*lines[:_PARAGRAPH], "..."]
    for position, line in enumerate(lines):
        start = lead if position == 0 else (("", " " * indent),)
        yield *start, (style, line)


def table(rows: Sequence[tuple[str, str, str]], indent: int, page: Page) -> Iterator[Line]:
    """Rows of a place, a name and a remark, which goes below where it does not fit."""
    room = page.width - indent
    left = max((cell_len(row[0]) for row in rows if cell_len(row[0]) <= room * 2 // 3), default=0)
    middle = max((cell_len(row[1]) for row in rows if cell_len(row[1]) <= room // 2), default=0)
    margin = ("", " " * indent)
    for place, name, remark in rows:
        line = f"{padded(place, left)}  {name}"
        whole = f"{padded(line, left + 2 + middle)}  {remark}".replace(GLUE, " ").rstrip()
        if cell_len(whole) <= room:
            yield margin, ("", whole)
            continue
        if cell_len(padded(place, left)) + _LEAST_NAME <= room:
            yield margin, ("", cut(line, room))
        else:
            yield margin, ("", place)
            yield margin, ("", "    " + cut(name, room - 4))
        if remark:
            yield from hanging((("", " " * (indent + 4)),), remark, indent + 4, page)


def wrap(text: str, room: int, used: int = 0) -> list[str]:
    """Break ``text`` into lines of ``room`` columns, of which the first has ``used`` less.

    A path longer than that exceeds it; another word is cut.
    """
    lines, left = [""], room - used
    for word in _words(text, room):
        size = cell_len(word) + (1 if lines[-1] else 0)
        if size <= left or (not lines[-1] and left == room):
            lines[-1] += f" {word}" if lines[-1] else word
            left -= size
        else:
            lines.append(word)
            left = room - cell_len(word)
    return lines


def _words(text: str, room: int) -> Iterator[str]:
    for chunk in filter(None, text.split(" ")):
        parts = [chunk] if cell_len(chunk) <= room else chunk.split(GLUE)
        for word in parts:
            limit = max(room, PATH_LENGTH) if "/" in word else room
            yield cut(word, limit).replace(GLUE, " ")


def padded(text: str, width: int) -> str:
    """Fill up to ``width`` columns."""
    return text + " " * (width - cell_len(text))


def cut(text: str, room: int) -> str:
    """Shorten to ``room`` columns, and show that something is missing."""
    if cell_len(text) <= room:
        return text
    sizes = accumulate(cell_len(character) for character in text)
    return text[: sum(size <= room - 3 for size in sizes)] + "..."


def paint(style: str, text: str) -> str:
    """Put the escape codes of a style around a text."""
    code = _CODES[style]
    return f"\x1b[{code}m{text}\x1b[0m" if code and text else text


def write_lines(lines: Iterable[Line], out: TextIO, color: bool) -> None:
    """Write styled lines to ``out``, in colours if they are wanted."""
    write_plain((_painted(line, color) for line in lines), out)


def write_glued(lines: Iterable[Line], out: TextIO, color: bool) -> None:
    """As ``write_lines``, of lines that may hold ``GLUE``, and spaces at their end."""
    painted = (_painted(line, color) for line in lines)
    write_plain((text.replace(GLUE, " ").rstrip() for text in painted), out)


def write_plain(lines: Iterable[str], out: TextIO) -> None:
    """Write lines to ``out``; what its encoding does not have is escaped."""
    encoding = out.encoding or "utf-8"
    for line in lines:
        out.write(line.encode(encoding, "backslashreplace").decode(encoding) + "\n")


def _painted(line: Line, color: bool) -> str:
    return "".join(paint(style, text) if color else text for style, text in line)
