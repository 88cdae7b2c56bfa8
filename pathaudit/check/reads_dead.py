"""Switches that a forward reads, and whether anything can set them; lists that stay empty."""

import ast
from collections.abc import Iterable, Iterator

from msgspec import Struct

from pathaudit import ir
from pathaudit.check.reads_loads import Held, Load, forward_methods, held_objects, loads_of, region_of
from pathaudit.check.reads_stores import defines, is_off, mentions, stores_of
from pathaudit.index import ClassRef, FunctionRef, Index, Write


class Seen(Struct, frozen=True):
    """A forward loads a switch of an object that ``entry`` holds; ``live`` if it may be set."""

    load: Load
    entry: str
    live: bool


class Idle(Struct, frozen=True):
    """A list that a function makes, measures and returns, and never adds to."""

    function: FunctionRef
    region: ir.Region
    name: str
    entry: str


def find_seen(index: Index, entry: ClassRef, switches: frozenset[str]) -> Iterator[Seen]:
    """The switches that the objects of a served class read in their forwards."""
    held = held_objects(index, entry)
    found = [(item, load) for item in held for load in _loads(index, item, switches)]
    if not found:
        return
    life = _Life(index, entry, held, frozenset(load.name for _, load in found))
    for item, load in found:
        yield Seen(load, entry.name, life.holds(item, load))


def _loads(index: Index, item: Held, switches: frozenset[str]) -> Iterator[Load]:
    for ref in forward_methods(index, item.instance.cls):
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
        classes = sorted({item.instance.cls for item in held})
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
        if self._unknown or self._index.modules.has_unknown_base(item.instance.cls):
            return True
        name = load.name
        if name in self._elsewhere:
            return True
        if load.own:
            return (item.instance.cls, name) in self._own or any(
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
        return item.element or not types or item.instance.cls in types


# ---- lists that stay empty --------------------------------------------------------------------


def find_idle(index: Index, entry: ClassRef) -> Iterator[Idle]:
    """The lists that forwards of a served class make and return empty."""
    refs = {
        ref
        for item in held_objects(index, entry)
        for ref in forward_methods(index, item.instance.cls)
    }
    for ref in sorted(refs):
        outline, function = index.modules.outline(ref.file), index.modules.function(ref)
        if outline is None or function is None:
            continue
        text = "".join(outline.lines[function.first - 1 : function.last])
        if "= []" in text or "= list()" in text:
            for name, node in _idle(function.node):
                yield Idle(ref, region_of(node, outline.lines), name, entry.name)


def _idle(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[tuple[str, ast.stmt]]:
    made: dict[str, list[ast.Assign]] = {}
    returned: set[str] = set()
    measured: dict[str, int] = {}
    used: dict[str, int] = {}
    for node in ast.walk(function):
        match node:
            case ast.Assign([ast.Name(name)], value) if isinstance(value, ast.List | ast.Call):
                if is_off(value):
                    made.setdefault(name, []).append(node)
            case ast.Return(ast.expr() as value):
                names = _returned(value)
                returned.update(names)
                for name in names:
                    measured[name] = measured.get(name, 0) + 1
            case ast.Call(ast.Name("len"), [ast.Name(name)]):
                measured[name] = measured.get(name, 0) + 1
            case ast.Name(name):
                used[name] = used.get(name, 0) + 1
    for name in sorted(made.keys() & returned):
        if used[name] == measured.get(name, 0) + len(made[name]):
            yield name, made[name][0]


def _returned(value: ast.expr) -> list[str]:
    items = value.elts if isinstance(value, ast.Tuple) else [value]
    return [item.id for item in items if isinstance(item, ast.Name)]
