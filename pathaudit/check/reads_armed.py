"""Setters that select layers on an object whose forward never reads what they wrote."""

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from pathaudit import ir
from pathaudit.check.effects import unpacking_method
from pathaudit.check.places import region_in
from pathaudit.check.reads_held import Held
from pathaudit.check.reads_loads import Load, forward_methods, helper_loads, loads_of
from pathaudit.check.reads_stores import defines, stores_in
from pathaudit.index import ClassRef, Feature, FunctionRef, Index, Write
from pathaudit.index.features import ANYTHING, LISTED


class Unread(Struct, frozen=True):
    """``setter`` of ``entry`` stores ``names`` on an object of class ``receiver`` in vain.

    ``instead`` is the switch that the forward reads at the place, if any; ``stored`` is where the
    setter stores in vain. ``outcome`` says what happens then, where that is known.
    """

    entry: str
    setter: str
    names: tuple[str, ...]
    receiver: str
    function: FunctionRef
    region: ir.Region
    instead: str
    stored_file: str
    stored: ir.Region
    outcome: str


def find_unread(
    index: Index, entry: ClassRef, held: Sequence[Held], switches: frozenset[str]
) -> Iterator[Unread]:
    """The selections of layers that nothing reads, for each setter of a served class."""
    for feature in index.features(entry):
        groups = {
            path: (writes, _in_vain(index, held, feature, path, writes))
            for path, writes in _selections(feature).items()
            if _selects(writes) or any(item.runs and item.path == path for item in held)
        }
        for path, (writes, vain) in groups.items():
            others = [found for other, (_, found) in groups.items() if other != path]
            # A list that is only noted down is no fault where another one does the work.
            if any(write.name in switches for write in writes) and all(others):
                for cls in vain:
                    yield from _unread(index, feature, cls, writes, switches)


def _selections(feature: Feature) -> dict[tuple[str, ...], tuple[Write, ...]]:
    """The writes that may say which layers, by the object that owns the layers."""
    found: dict[tuple[str, ...], tuple[Write, ...]] = {}
    for write in feature.writes:
        if write.element or write.kind in (LISTED, ANYTHING):
            owner = write.path[:-1] if write.element else write.path
            found[owner] = (*found.get(owner, ()), write)
    return found


def _selects(writes: Iterable[Write]) -> bool:
    """Is there a list of layers or a mark on them? On what runs layers, anything may be one."""
    return any(write.element or write.kind == LISTED for write in writes)


def _in_vain(
    index: Index,
    held: Sequence[Held],
    feature: Feature,
    path: tuple[str, ...],
    writes: tuple[Write, ...],
) -> tuple[ClassRef, ...]:
    """The classes of the object at a path whose forward surely reads none of what is written."""
    classes = dict.fromkeys(item.cls for item in index.at(feature.entry, path))
    return tuple(
        cls
        for cls in classes
        if _is_sure(index, cls, writes) and not _is_read(index, held, path, cls, writes)
    )


def _is_sure(index: Index, cls: ClassRef, writes: Iterable[Write]) -> bool:
    """Has the class a forward, and is it known what its attributes mean?"""
    if index.modules.has_unknown_base(cls) or not forward_methods(index, cls):
        return False
    return not any(defines(index, cls, write.name) for write in writes)


def _unread(
    index: Index,
    feature: Feature,
    cls: ClassRef,
    writes: tuple[Write, ...],
    switches: frozenset[str],
) -> Iterator[Unread]:
    names = switches & {write.name for write in writes}
    stored = _store(index, feature, names)
    if stored is not None:
        instead = _instead(index, feature, cls, switches)
        place = (instead.function, instead.region) if instead is not None else stored
        yield Unread(
            feature.entry.name,
            feature.setter,
            tuple(sorted(names)),
            cls.name,
            *place,
            instead.name if instead is not None else "",
            stored[0].file,
            stored[1],
            _outcome(index, feature),
        )


def _is_read(
    index: Index,
    held: Sequence[Held],
    path: tuple[str, ...],
    cls: ClassRef,
    writes: tuple[Write, ...],
) -> bool:
    """Does the forward of the object, or of one that holds it or that it holds, ask for one?"""
    listed = frozenset(write.name for write in writes if not write.element)
    marked = frozenset(write.name for write in writes if write.element)
    names = listed | marked
    methods: list[FunctionRef] = []
    for item in held:
        refs = forward_methods(index, item.cls)
        made = index.modules.method(item.cls, "__init__")
        methods += [*refs, *([made[0]] if made is not None else [])]
        own = marked if item.element else listed if _is_it(item, path, cls) else frozenset()
        for load in (load for ref in refs for load in loads_of(index, ref, names)):
            if not load.own or load.name in own:
                return True
    return any(not load.own for load in helper_loads(index, methods, names))


def _is_it(item: Held, path: tuple[str, ...], cls: ClassRef) -> bool:
    """Is this the object that was written to, or may it be under another name?"""
    return not item.element and (item.path == path or item.cls == cls)


# ---- where ------------------------------------------------------------------------------------


def _instead(
    index: Index, feature: Feature, cls: ClassRef, switches: frozenset[str]
) -> Load | None:
    """Where the forward first reads a switch that this setter does not set."""
    others = switches - {write.name for write in feature.writes}
    loads = (load for ref in forward_methods(index, cls) for load in loads_of(index, ref, others))
    return next(loads, None)


def _store(
    index: Index, feature: Feature, names: frozenset[str]
) -> tuple[FunctionRef, ir.Region] | None:
    """Where the setter of the served class stores a switch, else where it begins."""
    found = index.modules.method(feature.entry, feature.setter)
    outline = index.modules.outline(found[0].file) if found is not None else None
    if found is None or outline is None:
        return None
    stores = stores_in(index, found[0], names)
    node = next((store.node for store in stores), found[1].node.body[0])
    return found[0], region_in(outline.lines, node)


# ---- what happens then ------------------------------------------------------------------------


def _outcome(index: Index, feature: Feature) -> str:
    """Does the served class unpack what it takes for a pair, once the flag is set?"""
    unpacking = unpacking_method(index, feature)
    if not unpacking:
        return ""
    return f"loud: {unpacking} unpacks one tensor as a pair; silent in a batch of two rows"
