"""What each served class supports, as a table for people at a terminal.

A number in a cell is that of its note below, which says why and where.
"""

from collections.abc import Iterator, Sequence
from typing import TextIO

from msgspec import Struct
from msgspec.structs import replace
from rich.cells import cell_len

from pathaudit.reporters.cells import (
    Marks,
    Note,
    Numbers,
    Told,
    is_bare,
    legend,
    marks_of,
    notes_of,
    numbers_of,
    places,
    reason_of,
    summary,
)
from pathaudit.reporters.escaping import visible
from pathaudit.reporters.phrases import counted, source_name
from pathaudit.reporters.terminal import GLUE, Line, Page, cut, hanging, padded, paint, wrap
from pathaudit.results.matrices import Cell, Column, Matrix, Part, Row, Support

_NARROWEST = 80  # six columns take this much beside names that break
_LEAST_NAME = 18
_CELL = 9  # columns that a cell may take before it breaks, unless a word of it is longer
_STYLES = {
    Support.NO: "error",
    Support.UNKNOWN: "unknown",
    Support.BLOCKED: "note",
    Support.GATED: "note",
    Support.YES: "good",
    Support.NONE: "dim",
}


class _Layout(Struct, frozen=True, eq=False):
    """Widths of the name and of each column, the marks of features, the numbers of notes."""

    name: int
    sizes: tuple[int, ...]
    gap: int
    marks: Marks
    numbers: Numbers
    told: Told


def render(
    matrix: Matrix,
    out: TextIO,
    *,
    width: int = 80,
    color: bool = False,
    verbose: bool = False,
    entry: bool = False,
) -> None:
    """Write the table and its notes to ``out``; of an ``entry``, each answer with its evidence."""
    page = Page({}, max(width, _NARROWEST), verbose=True)
    encoding = out.encoding or "utf-8"
    lines = _entries(matrix, page) if entry else _table(matrix, page, verbose=verbose)
    for line in lines:
        text = "".join(paint(style, text) if color else text for style, text in line)
        out.write(text.encode(encoding, "backslashreplace").decode(encoding).rstrip() + "\n")


# ---- the table --------------------------------------------------------------------------------


def _table(matrix: Matrix, page: Page, *, verbose: bool) -> Iterator[Line]:
    told: Told = "all" if verbose else "little"
    notes = notes_of(matrix, told)
    bare = [row for row in matrix.rows if is_bare(row)]
    shown = [row for row in matrix.rows if not is_bare(row)]
    layout = _layout(matrix, shown, notes, page, told)
    if shown:
        heads = [
            _head(column, size) for column, size in zip(matrix.columns, layout.sizes, strict=True)
        ]
        yield from _side_by_side([["served class"], *heads], ["bold"] * (len(heads) + 1), layout)
    for row in shown:
        yield from _row(row, layout)
    if bare:
        names = ", ".join(visible(row.name) for row in bare)
        yield ()
        yield from hanging((("bold", f"None of this in {len(bare)}: "),), names, 2, page)
    yield from _below(matrix, notes, page)


def _layout(
    matrix: Matrix, rows: Sequence[Row], notes: Sequence[Note], page: Page, told: Told
) -> _Layout:
    """Cells get what their longest word needs; names get the rest, and break where they must."""
    plain = _Layout(0, (), 0, marks_of(matrix), numbers_of(notes), told)
    sizes = []
    for number, column in enumerate(matrix.columns):
        texts = [_text(row.cells[number], plain) for row in rows]
        words = [word for text in (visible(column.title), *texts) for word in text.split()]
        whole = max(map(cell_len, texts), default=0)
        sizes.append(max(max(map(cell_len, words)), min(whole, _CELL)))
    names = max((cell_len(_name(row)) for row in rows), default=0)
    gap = 2 if sum(sizes) + 2 * len(sizes) + names <= page.width else 1
    room = page.width - sum(sizes) - gap * len(sizes)
    return replace(plain, name=max(min(names, room), _LEAST_NAME), sizes=tuple(sizes), gap=gap)


def _head(column: Column, size: int) -> list[str]:
    return wrap(visible(column.title), size)


def _name(row: Row) -> str:
    return f"{visible(row.name)} (new)" if row.new else visible(row.name)


def _row(row: Row, layout: _Layout) -> Iterator[Line]:
    name = _folded(_name(row), layout.name)
    pairs = zip(row.cells, layout.sizes, strict=True)
    cells = [wrap(_text(cell, layout), size) for cell, size in pairs]
    styles = ["bold" if row.new else "", *(_STYLES[cell.support] for cell in row.cells)]
    yield from _side_by_side([name, *cells], styles, layout)


def _text(cell: Cell, layout: _Layout) -> str:
    star = "*" if cell.remarks else ""
    answers = summary(cell.parts, layout.marks).replace(" ", GLUE).replace(f",{GLUE}", ", ")
    number = layout.numbers.get((cell.column, reason_of(cell, layout.told)))
    note = f" {number}" if number is not None else ""
    was = f", was {summary(cell.was, layout.marks)}" if cell.was else ""
    return f"{answers}{star}{note}{was}"


def _folded(name: str, room: int) -> list[str]:
    """A name in as many lines as it needs, broken before a capital letter where there is one."""
    lines: list[str] = []
    while cell_len(name) > room:
        words = (x for x in range(room, room // 2, -1) if _begins_word(name, x))
        taken = next(words, room)
        lines.append(name[:taken])
        name = f" {name[taken:]}"
    return [*lines, name]


def _begins_word(name: str, position: int) -> bool:
    return name[position].isupper() and name[position + 1 : position + 2].islower()


def _side_by_side(
    columns: Sequence[Sequence[str]], styles: Sequence[str], layout: _Layout
) -> Iterator[Line]:
    sizes = (layout.name, *layout.sizes)
    for number in range(max(map(len, columns))):
        line = []
        for lines, style, size in zip(columns, styles, sizes, strict=True):
            text = cut(lines[number], size) if number < len(lines) else ""
            line += [(style, text), ("", padded("", size - cell_len(text) + layout.gap))]
        yield tuple(line[:-1])


# ---- below it ---------------------------------------------------------------------------------


def _below(matrix: Matrix, notes: Sequence[Note], page: Page) -> Iterator[Line]:
    titles = {column.id: visible(column.title) for column in matrix.columns}
    marks = marks_of(matrix)
    column = ""
    for note in notes:
        if note.column != column:
            column = note.column
            yield ()
            yield (("bold", titles[column]),)
        yield from _note(note, marks, page)
    yield ()
    for fact in matrix.facts:
        where = " ".join(visible(place) for place in places(fact.evidence))
        text = f"{titles[fact.rule]}: {visible(fact.detail)} {where}".rstrip()
        yield from hanging((), text, 2, page)
    for text in legend(matrix):
        yield from hanging((), text, 2, page)
    yield from hanging((), _ending(matrix), 2, page)


def _note(note: Note, marks: Marks, page: Page) -> Iterator[Line]:
    lead = f"{note.number:>3}  "
    for part in note.reason.parts:
        head = (("", lead), (_STYLES[part.support], summary([part], marks)), ("", ": "))
        yield from hanging(head, _said(part), 5, page)
        lead = " " * 5
    for part in note.reason.remarks:
        yield from hanging((("", f"{lead}remark: "),), _said(part), 5, page)
        lead = " " * 5


def _said(part: Part) -> str:
    """Why, by which rule, and where."""
    rule = f" [{visible(part.rule)}]" if part.rule else ""
    where = " ".join(visible(x) for x in places(part.evidence))
    return f"{visible(part.detail)}{rule} {where}".rstrip()


def _ending(matrix: Matrix) -> str:
    classes = counted(len(matrix.rows), "served class", "served classes")
    drafts = f"; {counted(len(matrix.drafts), 'draft')} left out" if matrix.drafts else ""
    gaps = f"; {counted(len(matrix.gaps), 'gap')}" if matrix.gaps else ""
    against = f", compared with {source_name(matrix.against)}" if matrix.against else ""
    gone = f"; no longer served: {', '.join(map(visible, matrix.gone))}" if matrix.gone else ""
    return f"{classes} in {source_name(matrix.source)}{against}{drafts}{gaps}{gone}"


# ---- one class --------------------------------------------------------------------------------


def _entries(matrix: Matrix, page: Page) -> Iterator[Line]:
    marks = marks_of(matrix)
    for number, row in enumerate(matrix.rows):
        if number:
            yield ()
        lead = (("bold", visible(row.name)), ("", "  "))
        yield from hanging(lead, f"{visible(row.file)}:{row.line}", 2, page)
        for column, cell in zip(matrix.columns, row.cells, strict=True):
            yield ()
            was = f"  (was {summary(cell.was, marks)})" if cell.was else ""
            answer = summary(cell.parts, marks)
            style = _STYLES[cell.support]
            yield (("bold", visible(column.title)), ("", ": "), (style, answer), ("", was))
            for part in cell.parts:
                yield from _part(part, matrix, page)
            for part in cell.remarks:
                yield from _part(part, matrix, page, remark=True)
    yield from _below(matrix, (), page)


def _part(part: Part, matrix: Matrix, page: Page, *, remark: bool = False) -> Iterator[Line]:
    titles = {item.setter: visible(item.title) for item in matrix.features}
    names = ", ".join(titles.get(x, visible(x)) for x in part.features)
    lead = "remark" if remark else f"{part.support}{f' for {names}' if names else ''}"
    rule = f" [{visible(part.rule)}]" if part.rule else ""
    yield from hanging((("", f"  {lead}: "),), f"{visible(part.detail)}{rule}", 4, page)
    for place in part.evidence:
        where = f"{place.file}:{place.line}" if place.line else place.file
        said = f"  {place.text}" if place.text else ""
        yield from hanging((("", "    "),), f"{visible(where)}{visible(said)}", 6, page)
