"""How a cell of the matrix is told in a few characters, and the notes that say why."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from msgspec import Struct

from pathaudit.reporters.escaping import visible
from pathaudit.results.matrices import Cell, Evidence, Matrix, Part, Row, Support

# What a reader may want to know the reason of; what holds, or is not there, explains itself.
_EXPLAINED = (Support.NO, Support.UNKNOWN, Support.BLOCKED, Support.GATED)
_ORDER = tuple(Support)

Marks = dict[str, str]
Told = Literal["little", "remarks", "all"]


class Reason(Struct, frozen=True):
    """Why a cell says what it does: the parts that are worth telling, and remarks beside them."""

    parts: tuple[Part, ...]
    remarks: tuple[Part, ...] = ()


class Note(Struct, frozen=True):
    """A reason by its number, for all cells of a column that have it."""

    number: int
    column: str
    reason: Reason


Numbers = dict[tuple[str, Reason], int]


def marks_of(matrix: Matrix) -> Marks:
    """A mark for each feature by its setter."""
    return {item.setter: visible(item.mark) for item in matrix.features}


def summary(parts: Iterable[Part], marks: Marks) -> str:
    """The answers, the worst first, each with the features it is about: ``no E, yes D``.

    >>> summary([Part(support=Support.YES, detail="", features=("a", "b"))], {"a": "A", "b": "B"})
    'yes AB'
    """
    answers: dict[str, Support] = {}
    for part in parts:
        for name in part.features or ("",):
            worst = min(part.support, answers.get(name, part.support), key=_ORDER.index)
            answers[name] = worst
    said = []
    for support in _ORDER:
        names = sorted(marks.get(x, visible(x)) for x, found in answers.items() if found is support)
        if names:
            said.append(f"{support} {''.join(names)}".strip())
    return ", ".join(said)


def is_bare(row: Row) -> bool:
    """Does a class have nothing of what is asked for, and nothing worth telling?"""
    return not row.new and all(x.support is Support.NONE and not x.was for x in row.cells)


def notes_of(matrix: Matrix, told: Told) -> list[Note]:
    """The reasons of all cells, numbered column by column, each once for all its classes."""
    found: dict[tuple[str, Reason], None] = {}
    for number, column in enumerate(matrix.columns):
        for row in matrix.rows:
            reason = reason_of(row.cells[number], told)
            if reason.parts + reason.remarks and not is_bare(row):
                found[(column.id, reason)] = None
    return [Note(number, *key) for number, key in enumerate(found, start=1)]


def reason_of(cell: Cell, told: Told) -> Reason:
    """What is told of a cell: ``little`` what does not hold, with ``remarks``, or ``all``."""
    if told == "all":
        parts = tuple(x for x in cell.parts if x.support is not Support.NONE or x.evidence)
    else:
        parts = tuple(x for x in cell.parts if x.support in _EXPLAINED)
    return Reason(parts, cell.remarks if told != "little" else ())


def numbers_of(notes: Sequence[Note]) -> Numbers:
    return {(note.column, note.reason): note.number for note in notes}


def places(evidence: Iterable[Evidence]) -> Iterator[str]:
    """Where something is to be seen: ``file:line``, each once."""
    yield from dict.fromkeys(f"{x.file}:{x.line}" if x.line else x.file for x in evidence)


def legend(matrix: Matrix) -> list[str]:
    """What the signs in the cells mean, as far as there are any."""
    said = [f"{visible(item.mark)} {visible(item.title)}" for item in matrix.features]
    starred = any(cell.remarks for row in matrix.rows for cell in row.cells)
    lines = [", ".join(said)] if said else []
    return [*lines, "* there is a remark: --verbose or --entry shows it"] if starred else lines
