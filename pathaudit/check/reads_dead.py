"""Switches that a forward reads, and whether anything can set them."""

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from pathaudit.check.reads_held import Held
from pathaudit.check.reads_loads import Load, forward_methods, loads_of
from pathaudit.check.reads_stores import defines, mentions, stores_of
from pathaudit.index import ClassRef, FunctionRef, Index, Write


class Seen(Struct, frozen=True):
    """A forward loads a switch of an object that ``entry`` holds; ``live`` if it may be set."""

    load: Load
    entry: str
    live: bool


def find_seen(
    index: Index, entry: ClassRef, held: Sequence[Held], switches: frozenset[str]
) -> Iterator[Seen]:
    """The switches that the objects of a served class read in their forwards."""
    found = [(item, load) for item in held for load in _loads(index, item, switches)]
    if not found:
        return
    life = _Life(index, entry, held, frozenset(load.name for _, load in found))
    for item, load in found:
        yield Seen(load, entry.name, life.holds(item, load))


def _loads(index: Index, item: Held, switches: frozenset[str]) -> Iterator[Load]:
    for ref in forward_methods(index, item.cls):
        yield from loads_of(index, ref, switches)


class _Life:
    """What may be set on the objects that a served class holds."""

    def __init__(
        self, index: Index, entry: ClassRef, held: Iterable[Held], names: frozenset[str]
    ) -> None:
        self._index = index
        self._entry = entry
        features = index.features(entry)
        self._writes = tuple(write for item in features for write in item.writes)
        self._unknown = any(item.lost for item in features) or index.modules.has_unknown_base(entry)
        self._own: set[tuple[ClassRef, str]] = set()
        self._elsewhere: set[str] = set()
        classes = sorted({item.cls for item in held})
        for cls in classes:
            self._own |= {(cls, name) for name in names if defines(index, cls, name)}
            for ref, store in stores_of(index, cls, names):
                if not self._is_known(ref, classes):
                    if store.own:
                        self._own.add((cls, store.name))
                    else:
                        self._elsewhere.add(store.name)

    def _is_known(self, ref: FunctionRef, classes: Iterable[ClassRef]) -> bool:
        """Is this an arming setter? The framework calls those of the served class alone.

        What these lead to is followed, and known by path. One that other code calls is not known.
        """
        name = ref.qualname.rpartition(".")[2]
        if not self._index.profile.is_setter(name):
            return False
        for cls in classes:
            for base in self._index.modules.mro(cls):
                outline = self._index.modules.class_outline(base)
                for method in outline.methods.values() if outline is not None else ():
                    caller = FunctionRef(base.file, method.qualname)
                    asks = mentions(self._index, caller, (name,))
                    if asks and not self._index.profile.is_setter(method.name):
                        return False
        return True

    def holds(self, item: Held, load: Load) -> bool:
        """May a switch be on where a forward loads it?"""
        if self._unknown or self._index.modules.has_unknown_base(item.cls):
            return True
        name = load.name
        if name in self._elsewhere:
            return True
        if load.own:
            return (item.cls, name) in self._own or any(
                self._is_on(write, item) for write in self._writes if write.name == name
            )
        return any(name == known for _, known in self._own) or any(
            name == write.name for write in self._writes
        )

    def _is_on(self, write: Write, item: Held) -> bool:
        """Does a setter write to an object of this kind?"""
        if write.element != item.element:
            return False
        if write.path == item.path:
            return True
        types = {found.cls for found in self._index.at(self._entry, write.path)}
        return item.element or not types or item.cls in types
