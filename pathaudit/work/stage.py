"""What a unit of work is, and what is kept of its answer."""

from collections.abc import Callable
from functools import lru_cache
from typing import Generic, TypeVar

import msgspec
from msgspec import Struct

from pathaudit.index import Index, Outlines, Reads
from pathaudit.results import Gap
from pathaudit.ruleset import Profile, Rule

Item = TypeVar("Item")
Result = TypeVar("Result")


class Stage(Struct, Generic[Item, Result], frozen=True, eq=False):
    """One kind of unit.

    ``run`` is a function of a module, given an index, the rule at hand if any, and the item; it
    asks nothing else. ``item`` and ``result`` are types that msgspec can encode. Units with the
    same ``home``, a file, are done by the same process where there are several.
    """

    name: str
    run: Callable[[Index, Rule | None, Item], Result]
    item: type
    result: type
    home: Callable[[Item], str]


class Record(Struct, frozen=True, array_like=True):
    """The answer of a unit, encoded, with what it asked of the tree and could not read there."""

    result: bytes
    reads: Reads
    gaps: tuple[Gap, ...]


def compute(
    outlines: Outlines, profile: Profile, stage: Stage[Item, Result], rule: Rule | None, item: Item
) -> Record:
    """Answer one unit."""
    index = Index(outlines, profile)
    result = msgspec.msgpack.encode(stage.run(index, rule, item))
    return Record(result, index.modules.reads, tuple(index.modules.gaps))


def decode(stage: Stage[Item, Result], record: Record) -> Result:
    """The answer of a unit as data."""
    found: Result = _decoder(stage.result).decode(record.result)
    return found


@lru_cache(maxsize=64)
def _decoder(result: type) -> msgspec.msgpack.Decoder:  # type: ignore[type-arg]
    return msgspec.msgpack.Decoder(result)
