"""As much of a text as fits: whole entries in sections, from the first one on."""

from collections.abc import Iterator, Sequence

from msgspec import Struct

LIMIT = 65_536  # characters of a comment on GitHub


class Unit(Struct, frozen=True):
    """Lines that are shown together or not at all.

    ``opening`` goes before the first unit of a ``section`` that is shown, ``closing`` behind the
    last. ``word`` says what it is, to count those that are left out.
    """

    section: str
    lines: tuple[str, ...]
    opening: tuple[str, ...]
    closing: tuple[str, ...]
    word: str = ""


def fitting(units: Sequence[Unit], room: int) -> list[Unit]:
    """The first units, as far as there is room for them and for what is around them."""
    shown: list[Unit] = []
    for unit in units:
        new = not shown or shown[-1].section != unit.section
        around = (*unit.opening, *unit.closing) if new else ()
        room -= size((*unit.lines, *around))
        if room < 0:
            break
        shown.append(unit)
    return shown


def size(lines: Sequence[str]) -> int:
    """Bytes of lines in UTF-8, their ends included."""
    return sum(len(line.encode("utf-8", "replace")) + 1 for line in lines)


def lines_of(units: Sequence[Unit]) -> Iterator[str]:
    """The lines of units, with what is around each section."""
    for position, unit in enumerate(units):
        before = units[position - 1].section if position else None
        after = units[position + 1].section if position + 1 < len(units) else None
        if unit.section != before:
            yield from unit.opening
        yield from unit.lines
        if unit.section != after:
            yield from unit.closing
