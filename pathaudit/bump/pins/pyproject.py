"""Reads pins from ``pyproject.toml`` (PEP 621, dependency groups, Poetry, uv, PDM) and Pipfiles."""

import re
from collections import Counter
from collections.abc import Iterator
from itertools import chain

import msgspec
from packaging.requirements import InvalidRequirement

from pathaudit.bump.pins.forms import Place, line_of, pin_of_table, pin_of_text
from pathaudit.bump.pins.sought import Sought
from pathaudit.bump.pins.toml import Table, items_at, read_toml, table_at, text_at
from pathaudit.results import Gap
from pathaudit.results.bumps import Pin, PinSource

Found = Iterator[Pin | Gap]

# The lists of uv that hold requirements beside those of the project, by their role.
_UV = {
    "constraint-dependencies": "constraint",
    "override-dependencies": "override",
    "dev-dependencies": "requirement",
}


def read_pyproject(data: bytes, file: str, sought: Sought) -> Found:
    """The pins of a ``pyproject.toml``; SourceError if it is no TOML."""
    table, text = read_toml(data)
    names = (text_at(table, "project", "name"), text_at(table, "tool", "poetry", "name"))
    if any(sought.is_named(name or "-") for name in names):
        return  # extras of the package name each other, and pin nothing
    lists = _Lists(text, file, sought)
    found = chain(_requirements(table, lists), _poetry(table, text, file, sought))
    sources = _sources(table, text, file, sought)
    yield from (_from_source(item, sources) for item in found)


def read_pipfile(data: bytes, file: str, sought: Sought) -> Found:
    """The pins of a ``Pipfile``: its packages of all categories; SourceError if it is no TOML."""
    table, text = read_toml(data)
    for name in table:
        if name not in ("source", "requires", "scripts", "pipenv"):
            yield from _dependencies(table, (name,), text, file, sought)


class _Lists:
    """Reads lists of requirements, and finds the line of each."""

    def __init__(self, text: str, file: str, sought: Sought) -> None:
        self._text = text
        self._file = file
        self._sought = sought
        self._seen: Counter[str] = Counter()

    def read(self, items: tuple[object, ...], part: str, role: str = "requirement") -> Found:
        """The pins of one list."""
        for item in items:
            if isinstance(item, str) and self._sought.begins(item):
                yield from self._read(item, part, role)

    def _read(self, item: str, part: str, role: str) -> Found:
        self._seen[item] += 1
        quoted = rf"[\"']{re.escape(item)}[\"']"
        line = line_of(self._text, quoted, nth=self._seen[item])
        try:
            pin = pin_of_text(item, Place(self._file, line, part, role), self._sought)
        except InvalidRequirement:
            yield Gap(kind="file", file=self._file, line=line, message=f"no requirement: {item}")
            return
        if pin is not None:
            yield pin


def _requirements(table: Table, lists: _Lists) -> Found:
    """The requirements in lists, of the project, its extras and its groups."""
    yield from lists.read(items_at(table, "project", "dependencies"), "project.dependencies")
    for tables, title in (
        (table_at(table, "project", "optional-dependencies"), "extra"),
        (table_at(table, "dependency-groups"), "group"),
        (table_at(table, "tool", "pdm", "dev-dependencies"), "group"),
    ):
        for name in tables:  # what includes a group has no requirements of its own
            yield from lists.read(items_at(tables, name), f"{title} {name}")
    for key, role in _UV.items():
        yield from lists.read(items_at(table, "tool", "uv", key), f"tool.uv.{key}", role)
    yield from lists.read(items_at(table, "build-system", "requires"), "build-system.requires")


def _poetry(table: Table, text: str, file: str, sought: Sought) -> Found:
    keys = ("tool", "poetry")
    for name in ("dependencies", "dev-dependencies"):
        yield from _dependencies(table, (*keys, name), text, file, sought)
    for group in table_at(table, *keys, "group"):
        path = (*keys, "group", group, "dependencies")
        yield from _dependencies(table, path, text, file, sought)


def _dependencies(
    table: Table, path: tuple[str, ...], text: str, file: str, sought: Sought
) -> Found:
    """The pins of a table of dependencies by their names; one may have several constraints."""
    for name, value in table_at(table, *path).items():
        if not sought.is_named(name):
            continue
        line = _line(text, path, name)
        place = Place(file, line, ".".join(path))
        for item in value if isinstance(value, list) else [value]:
            try:
                pin = pin_of_table(item, name, place, sought)
            except InvalidRequirement as error:
                yield Gap(kind="file", file=file, line=line, message=f"no requirement: {error}")
                continue
            if pin is not None:
                yield pin


def _line(text: str, path: tuple[str, ...], name: str) -> int:
    """The line of a key of a table, or of a table that has its name."""
    header = r"^\s*\[+\s*" + r"\s*\.\s*".join(f"[\"']?{re.escape(key)}[\"']?" for key in path)
    key = rf"[\"']?{re.escape(name)}[\"']?"
    own = line_of(text, rf"{header}\s*\.\s*{key}\s*\]")
    if re.search(rf"(?m){header}\s*\.\s*{key}\s*\]", text):
        return own
    return line_of(text, rf"{header}\s*\]", rf"^\s*(?:[\w.\"']+\.)?{key}\s*[.=]")


# ---- sources of uv ----------------------------------------------------------------------------


def _sources(table: Table, text: str, file: str, sought: Sought) -> tuple[Pin, ...]:
    """Where uv takes the package from, instead of the index."""
    found = _dependencies(table, ("tool", "uv", "sources"), text, file, sought)
    return tuple(pin for pin in found if isinstance(pin, Pin))


def _from_source(item: Pin | Gap, sources: tuple[Pin, ...]) -> Pin | Gap:
    """A requirement with the source that uv has for it; its line is where the source is pinned."""
    if not isinstance(item, Pin) or item.source is not PinSource.INDEX or not sources:
        return item
    source = next((x for x in sources if x.marker == item.marker), sources[0])
    return msgspec.structs.replace(
        source,
        part=item.part,
        role=item.role,
        extras=item.extras,
        marker=item.marker or source.marker,
        specifier="",
    )
