"""Which served class supports what, as data: one row a class, one cell a question.

Lines count from 1; ``line`` 0 means the file as a whole. Files are relative to the tree.
"""

from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from pathaudit.results import Gap, Source


class Support(StrEnum):
    """What a cell says, from the worst to the best; ``-`` is what a class does not have at all.

    ``no``: it has it, and it fails or is lost on a path that can run. ``blocked``: the code raises
    before it runs. ``gated``: it is left out, or can lose nothing, where the code says so.
    """

    NO = "no"
    UNKNOWN = "unknown"
    BLOCKED = "blocked"
    GATED = "gated"
    YES = "yes"
    NONE = "-"


class Evidence(Struct, frozen=True, order=True):
    """A place of the code, and what is to be seen there."""

    file: str
    line: int
    text: str


class Part(Struct, frozen=True, kw_only=True):
    """An answer for some features, named by their setters; without them it holds for all.

    ``rule`` decided it, ``detail`` says when and why.
    """

    support: Support
    detail: str
    evidence: tuple[Evidence, ...] = ()
    rule: str = ""
    features: tuple[str, ...] = ()


class Cell(Struct, frozen=True, kw_only=True):
    """The answer of a column for a class: the worst of its parts.

    ``remarks`` do not decide it, and are worth knowing. ``was`` are the parts in the tree that this
    one is compared with, where the answers differ.
    """

    column: str
    support: Support
    parts: tuple[Part, ...]
    remarks: tuple[Part, ...] = ()
    was: tuple[Part, ...] = ()


class Row(Struct, frozen=True, kw_only=True):
    """A served class, where it is defined, and a cell for each column of the matrix."""

    name: str
    file: str
    line: int
    cells: tuple[Cell, ...]
    new: bool = False


class Column(Struct, frozen=True, kw_only=True):
    """A question: ``title`` heads it, ``says`` is what each answer means."""

    id: str
    title: str
    says: str


class FeatureName(Struct, frozen=True, kw_only=True):
    """A feature by its setter; ``mark`` stands for it where there is little room."""

    setter: str
    title: str
    mark: str


class Matrix(Struct, frozen=True, kw_only=True):
    """All served classes by name; ``drafts`` were left out.

    ``facts`` are what the framework itself says about a column as a whole. ``against`` is the tree
    that it is compared with, ``gone`` the classes that only that one serves.
    """

    tool: str
    source: Source
    columns: tuple[Column, ...]
    features: tuple[FeatureName, ...]
    rows: tuple[Row, ...]
    drafts: tuple[str, ...] = ()
    facts: tuple[Part, ...] = ()
    gaps: tuple[Gap, ...] = ()
    against: Source | None = None
    gone: tuple[str, ...] = ()
    schema: int = 1


def narrowed(
    matrix: Matrix,
    *,
    columns: tuple[str, ...] = (),
    only: tuple[Support, ...] = (),
    changed: bool = False,
) -> Matrix:
    """Some columns, and the rows of which a cell there has one of some answers; all if not given.

    A cell has the answers of all its parts: what holds for one feature need not for another.
    ``changed`` rows are those with another answer than in the tree that is compared.
    """
    kept = tuple(item for item in matrix.columns if not columns or item.id in columns)
    names = {item.id for item in kept}
    rows = (replace(x, cells=tuple(c for c in x.cells if c.column in names)) for x in matrix.rows)
    return replace(
        matrix,
        columns=kept,
        rows=tuple(x for x in rows if _has(x, only) and (not changed or has_changed(x))),
        facts=tuple(item for item in matrix.facts if item.rule in names),
    )


def _has(row: Row, only: tuple[Support, ...]) -> bool:
    return not only or any(x.support in only for cell in row.cells for x in cell.parts)


def compared(new: Matrix, old: Matrix, *, entry: str | None = None) -> Matrix:
    """The new table, with what each cell was that had another answer in the old one.

    A class is known again by its name; where a name is served twice, by its file too. If the new
    table is of one ``entry``, the others are not said to be gone.
    """
    before = {(row.name, row.file): row for row in old.rows}
    by_name = {row.name: row for row in old.rows}
    rows = tuple(
        _compared(x, before.get((x.name, x.file)) or by_name.get(x.name)) for x in new.rows
    )
    names = {row.name for row in new.rows}
    gone = tuple(sorted({x.name for x in old.rows if entry is None} - names))
    return replace(new, rows=rows, against=old.source, gone=gone)


def _compared(row: Row, before: Row | None) -> Row:
    if before is None:
        return replace(row, new=True)
    was = {cell.column: cell for cell in before.cells}
    return replace(row, cells=tuple(_since(cell, was.get(cell.column)) for cell in row.cells))


def _since(cell: Cell, before: Cell | None) -> Cell:
    if before is None or _answers(before) == _answers(cell):
        return cell
    return replace(cell, was=before.parts)


def _answers(cell: Cell) -> frozenset[tuple[Support, str]]:
    """The answers of a cell for each feature, whatever the details."""
    return frozenset((x.support, name) for x in cell.parts for name in x.features or ("",))


def has_changed(row: Row) -> bool:
    """Is the class new, or one of its answers another than before?"""
    return row.new or any(cell.was for cell in row.cells)
