"""Rows of the table of hooks: classes at one path that fare alike share a row."""

from collections import Counter
from collections.abc import Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from pathaudit.results.hooks import HookCell, HookGroup, HookModule, HookPlace

# The words of the table, which has to fit many variants on a line.
WORDS = {
    "fires": "fires",
    "partly": "partly",
    "patch only": "patch",
    "hook only": "hook",
    "no": "no",
    "replay": "replay",
    "raises": "raises",
    "not run": "-",
    "unknown": "?",
}
MEANINGS = {
    "fires": "called: a registered hook fires, and so does a replaced forward",
    "partly": "some places call the module, and others pass its call by",
    "patch only": "called as .forward(...): a replaced forward runs, a registered hook does not",
    "hook only": "a registered hook fires; the forward is itself replaced by one that replays",
    "no": "neither fires: its methods, its operations or its weights are used without it",
    "replay": "no Python runs; what a hook did to tensors while they were recorded is replayed",
    "raises": "the class is refused before it runs",
    "not run": "not run here",
    "unknown": "not known: no place was found that runs it, or it goes to what was not followed",
}
HOWS = {
    "called": "is called",
    "forward": "its forward is called directly",
    "method": "another method of it is run",
    "recipe": "runs as operations of a recipe",
    "fused": "is used without its call",
    "handed": "goes to what cannot be followed",
    "raises": "its class is refused",
}
OPEN = "a ? behind a word: other places that cannot be followed may run it, too"


class Row(Struct, frozen=True):
    """The classes at one path whose cells say the same; ``made`` are the places that make them.

    A cell has the places of all of them.
    """

    path: str
    names: tuple[str, ...]
    made: tuple[str, ...]
    cells: tuple[HookCell, ...]


def rows_of(modules: Iterable[HookModule]) -> list[Row]:
    """The rows of a table, in order of the modules."""
    rows: dict[tuple[str, tuple[str, ...]], list[HookModule]] = {}
    for module in modules:
        words = tuple(word_of(cell) for cell in module.cells)
        rows.setdefault((module.path, words), []).append(module)
    counted = Counter((path, name) for (path, _), same in rows.items() for name in _names(same))
    twice = {key for key, number in counted.items() if number > 1}
    return [_row(path, same, twice) for (path, _), same in rows.items()]


def _names(modules: Iterable[HookModule]) -> set[str]:
    return {module.name for module in modules}


def _row(path: str, same: Sequence[HookModule], twice: set[tuple[str, str]]) -> Row:
    """One row; a class that has another row at the path is told with the class that holds it."""
    made = dict.fromkeys(f"{x.file}:{x.line}" for x in same if x.file)
    cells = zip(*(module.cells for module in same), strict=True)
    names = dict.fromkeys(
        f"{x.name} in {x.holder}" if (path, x.name) in twice else x.name for x in same
    )
    return Row(path, tuple(names), tuple(made), tuple(map(_merged, cells)))


def _merged(cells: Sequence[HookCell]) -> HookCell:
    places = dict.fromkeys(place for cell in cells for place in cell.places)
    return replace(cells[0], places=tuple(places))


def word_of(cell: HookCell) -> str:
    """The word of a cell; a question mark where more may happen."""
    return WORDS[cell.answer] + ("?" if cell.open and cell.answer != "unknown" else "")


def meanings(group: Sequence[HookGroup]) -> list[tuple[str, str]]:
    """The words that some tables use, and what they mean."""
    cells = [cell for item in group for module in item.modules for cell in module.cells]
    used = {cell.answer for cell in cells}
    found = [(WORDS[answer], text) for answer, text in MEANINGS.items() if answer in used]
    return [*found, ("?", OPEN)] if any(word_of(x)[1:].endswith("?") for x in cells) else found


def place_text(place: HookPlace) -> str:
    """File and lines."""
    last = f"-{place.end_line}" if place.end_line > place.line else ""
    return f"{place.file}:{place.line}{last}"


def same_as_first(row: Row, number: int) -> bool:
    """Do the places of a variant tell what those of the first one do?"""
    return number > 0 and row.cells[number].places == row.cells[0].places
