"""Reads TOML as data, and gets at what may or may not be in its tables."""

import tomllib
from collections.abc import Iterator, Mapping

from pathaudit.errors import SourceError

_MAX_DOTS = 2_000  # to read a key takes the square of its parts, in memory too
Table = Mapping[str, object]


def read_toml(data: bytes) -> tuple[Table, str]:
    """The tables of a TOML file, and its text; SourceError, with the line, if it is none."""
    if max((line.count(b".") for line in data.split(b"\n")), default=0) > _MAX_DOTS:
        raise SourceError("is no TOML that is read: a line has too many parts")
    try:
        text = data.decode("utf-8-sig")
        return tomllib.loads(text), text
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SourceError(f"is no TOML: {error}") from None
    except RecursionError:
        raise SourceError("is no TOML: nested too deeply") from None


def table_at(table: object, *keys: str) -> Table:
    """The table below some keys; an empty one if there is none."""
    for key in keys:
        table = table.get(key) if isinstance(table, Mapping) else None
    return table if isinstance(table, Mapping) else {}


def items_at(table: object, *keys: str) -> tuple[object, ...]:
    """The items of the list below some keys; none if there is no list."""
    found = table_at(table, *keys[:-1]).get(keys[-1])
    return tuple(found) if isinstance(found, list) else ()


def tables_at(table: object, *keys: str) -> Iterator[Table]:
    """The tables in the list below some keys."""
    yield from (item for item in items_at(table, *keys) if isinstance(item, Mapping))


def text_at(table: object, *keys: str) -> str:
    """The text below some keys; an empty one if there is none."""
    value = table_at(table, *keys[:-1]).get(keys[-1])
    return value if isinstance(value, str) else ""
