"""What a unit of work is, and what is kept of its answer."""

from collections.abc import Callable
from functools import lru_cache
from typing import Generic, TypeVar

import msgspec
from msgspec import Struct

from pathaudit.cache import Record
from pathaudit.index import Index, Outlines
from pathaudit.ruleset import AnyRule, Profile

Item = TypeVar("Item")
Result = TypeVar("Result")
Run = Callable[[Index, AnyRule | None, Item], Result]


class Stage(Struct, Generic[Item, Result], frozen=True, eq=False):
    """One kind of unit.

    ``run`` is a function of a module, given an index, the rule at hand if any, and the item; it
    asks nothing else. ``item`` and ``result`` are types that msgspec can encode. Units with the
    same ``home``, a file, are done by the same process where there are several. A stage that
    ``judges`` gives answers about code, and is left out where only some files are asked about
    and the answer neither depends on any of them nor is ``about`` one: an item's files that it may
    be worked out without. Units of a stage that is ``long`` are worth a process where there are
    few of them.
    """

    name: str
    run: Run[Item, Result]
    item: type
    result: type
    home: Callable[[Item], str]
    judges: bool = False
    about: Callable[[Item], tuple[str, ...]] = lambda _: ()
    long: bool = False


def compute(
    outlines: Outlines,
    profile: Profile,
    run: Run[Item, Result],
    rule: AnyRule | None,
    item: Item,
) -> Record:
    """Answer one unit of a stage's ``run``."""
    index = Index(outlines, profile)
    result = msgspec.msgpack.encode(run(index, rule, item))
    return Record(result, index.modules.reads, tuple(index.modules.gaps))


def decode(stage: Stage[Item, Result], record: Record) -> Result:
    """The answer of a unit as data."""
    found: Result = _decoder(stage.result).decode(record.result)
    return found


@lru_cache(maxsize=64)
def _decoder(result: type) -> msgspec.msgpack.Decoder:  # type: ignore[type-arg]
    return msgspec.msgpack.Decoder(result)
