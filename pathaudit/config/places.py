"""Tells on which line of a TOML file a key stands, by the parser itself and no pattern."""

import tomllib
from collections.abc import Mapping
from functools import lru_cache

Path = tuple[str, ...]


@lru_cache(maxsize=4)
def lines_of(text: str, table: Path) -> Mapping[Path, int]:
    """The line of each key below a table, at any depth, by its path there.

    A key stands where the last part of the file begins without which it would not be there:
    beginnings of the text are parsed, longer and longer ones. Keys of arrays of tables have no
    line of their own.
    """
    lines = text.splitlines(keepends=True)
    name = table[-1] if table else ""
    first = next((n for n, line in enumerate(lines) if name in line), 0)
    wanted = _keys(_table(text, table) or {})
    found: dict[Path, int] = {}
    begins = first
    for number in range(first + 1, len(lines) + 1):
        parsed = _table("".join(lines[:number]), table)
        if parsed is None:
            continue  # in the middle of a value of several lines
        for key in _keys(parsed):
            found.setdefault(key, begins + 1)
        begins = number
        if len(found) == len(wanted):
            break
    return found


def _table(text: str, table: Path) -> dict[str, object] | None:
    """A table of what a text holds, empty if it is not there; nothing if the text is not whole."""
    try:
        found: object = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        return None
    for name in table:
        found = found.get(name, {}) if isinstance(found, dict) else {}
    return found if isinstance(found, dict) else {}


def _keys(table: dict[str, object], above: Path = ()) -> list[Path]:
    found = []
    for name, value in table.items():
        found.append((*above, name))
        if isinstance(value, dict):
            found += _keys(value, (*above, name))
    return found
