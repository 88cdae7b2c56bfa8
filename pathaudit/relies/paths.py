"""On which paths of the served classes beside it runs what a patch adds to a method."""

import ast
from collections.abc import Collection, Iterable, Iterator

from msgspec import Struct

from pathaudit.index import FunctionRef, Index
from pathaudit.reach.judging import JUDGED, Asked, Entrance, Judged
from pathaudit.reach.segments import blocks, lines_of
from pathaudit.reach.spots import Part
from pathaudit.reach.targets import parts_at
from pathaudit.results.reaches import Extent, Range
from pathaudit.ruleset.patches import Path
from pathaudit.work import Work

_MOST = 12  # statements of one file that are judged


class Way(Struct, frozen=True):
    """A statement that a patch adds, and how the methods of served classes run it."""

    part: Part
    told: tuple[tuple[str, Judged], ...]


def find_ways(
    work: Work, file: str, symbols: Collection[str], lines: Collection[int]
) -> Iterator[Way]:
    """How the served classes of a file run what stands in some lines of its functions.

    Only what no other added statement stands around is asked about, and nothing of a file that
    serves no class.
    """
    index = work.index
    entrances = tuple(_entrances(index, file)) if index.is_model(file) else ()
    outer = {line for name in symbols for line in _outer_lines(index, file, name, lines)}
    parts = [x for x in parts_at(index, file, outer) if x.spots and x.symbol] if entrances else []
    for part in parts[:_MOST]:
        asked = [Asked(item, (part.spots,)) for item in entrances]
        judged = [answer for (answer,) in work.run(JUDGED, asked)]
        names = (f"{item.cls.name}.{item.method}" for item in entrances)
        yield Way(part, tuple(zip(names, judged, strict=True)))


def _entrances(index: Index, file: str) -> Iterator[Entrance]:
    for cls in index.served(file):
        for method in index.profile.entries.methods:
            if index.modules.method(cls, method) is not None:
                yield Entrance(cls, method)


def _outer_lines(index: Index, file: str, symbol: str, lines: Collection[int]) -> frozenset[int]:
    """Those lines of a function in whose statements no other one of them stands around."""
    function = index.modules.function(FunctionRef(file, symbol))
    return frozenset(_outer(function.node.body, frozenset(lines))) if function else frozenset()


def _outer(body: Iterable[ast.stmt], lines: frozenset[int]) -> Iterator[int]:
    for statement in body:
        own = lines.intersection(lines_of(statement))
        yield from own
        for block in blocks(statement) if not own else ():
            yield from _outer(block, lines)


# ---- to be kept, and to be compared ------------------------------------------------------------


def paths_of(ways: Iterable[Way]) -> dict[str, tuple[Path, ...]]:
    """What is kept of some ways, by function; methods that give the same answer are one."""
    found: dict[str, dict[tuple[str, Extent, tuple[str, ...]], list[str]]] = {}
    for way in ways:
        for entry, judged in way.told:
            told = judged.told
            if told.extent in (Extent.EVERY, Extent.SOME):
                key = (way.part.text, told.extent, tuple(map(text_of, told.bypasses)))
                found.setdefault(way.part.symbol, {}).setdefault(key, []).append(entry)
    return {symbol: tuple(map(_path, keys.items())) for symbol, keys in found.items()}


def _path(item: tuple[tuple[str, Extent, tuple[str, ...]], list[str]]) -> Path:
    (code, extent, missed), entries = item
    return Path(code, "every" if extent is Extent.EVERY else "some", tuple(entries), missed)


class Shortfall(Struct, frozen=True):
    """A statement that ran on every path of some methods, and does not here.

    ``bypass`` is the first of what runs without it, none where nothing runs it at all or that is
    not known, for a ``reason``.
    """

    part: Part
    entries: tuple[str, ...]
    extent: Extent
    bypass: Range | None
    reason: str


def shortfalls(known: Iterable[Path], ways: Iterable[Way]) -> Iterator[Shortfall]:
    """What is kept of a function, compared with how it is here."""
    here = {
        (way.part.text, entry): (way.part, judged) for way in ways for entry, judged in way.told
    }
    for path in known:
        groups: dict[tuple[Extent, Range | None, str], list[str]] = {}
        parts: list[Part] = []
        for entry in path.entries:
            part, judged = here.get((path.code, entry), (None, None))
            if part is not None and judged is not None and _is_less(path, judged):
                told = judged.told
                first = next(iter(sorted(told.bypasses, key=lambda x: not x.layers)), None)
                groups.setdefault((told.extent, first, told.reason), []).append(entry)
                parts.append(part)
        for (extent, bypass, reason), entries in groups.items():
            yield Shortfall(parts[0], tuple(entries), extent, bypass, reason)


def _is_less(path: Path, judged: Judged) -> bool:
    extent = judged.told.extent
    if path.runs == "every":
        return extent is not Extent.EVERY
    return extent is Extent.NONE


def text_of(missed: Range) -> str:
    """What runs without a statement, as text."""
    condition = "always" if missed.condition == "always" else f"when {missed.condition}"
    layers = f"layers {missed.layers}" if missed.layers else ""
    by = f"in {missed.by}" if missed.by else ""
    return ", ".join(filter(None, (" ".join(filter(None, (layers, by))), condition)))
