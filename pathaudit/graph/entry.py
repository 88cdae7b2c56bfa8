"""Which method a graph starts from, and which layers its class holds."""

from collections.abc import Iterable, Iterator
from difflib import get_close_matches

from msgspec import Struct

from pathaudit.check.subjects import Subject, find_entries, find_subjects
from pathaudit.errors import UsageError
from pathaudit.index import ClassRef, FunctionRef, Index, Instance, Types, Write
from pathaudit.work import Work

HELD_DEPTH = 4


class Entry(Struct, frozen=True, eq=False):
    """A method of a served class; ``writes`` are the stores of a setter that arms a feature.

    ``within`` are the methods that run its layers: those in which rules judge it, if they do, or
    else those of the objects that hold layers.
    """

    instance: Instance
    method: FunctionRef
    name: str
    within: tuple[tuple[Instance, FunctionRef], ...]
    judged: bool
    writes: tuple[Write, ...]
    stacks: frozenset[str]
    layers: frozenset[ClassRef]


def find_entry(work: Work, name: str, method: str = "") -> Entry:
    """The entry of a served class; without a method, the first that the framework calls.

    ``layers`` are the classes of its layers, none where they are not all known. Raises
    ``UsageError`` for a method that the class has not.
    """
    index = work.index
    instance = Instance(next(ref for ref in find_entries(work) if ref.name == name))
    called, ref = _method(index, instance.cls, method)
    subjects, _ = find_subjects(work, name)
    owners = [inner for item in _owners(subjects, instance) for inner in _held(index, item)]
    stacks = frozenset[str]().union(*(item.stacks for item in subjects))
    if not stacks:
        stacks = frozenset[str]().union(*(index.stacks_of(item) for item in owners))
    within = [(item.instance, item.root) for item in subjects if item.method == called]
    if not subjects and called == index.profile.modules.call:
        within = list(_forwards(index, owners))
    return Entry(
        instance,
        ref,
        f"{name}.{called}",
        tuple(within),
        bool(subjects),
        subjects[0].writes if subjects else (),
        stacks,
        _classes(index.types.attribute(item, stack) for item in owners for stack in stacks),
    )


def _forwards(index: Index, owners: Iterable[Instance]) -> Iterator[tuple[Instance, FunctionRef]]:
    for item in owners:
        found = index.modules.method(item.cls, index.profile.modules.call)
        if found is not None and index.stacks_of(item):
            yield item, found[0]


def _method(index: Index, cls: ClassRef, method: str) -> tuple[str, FunctionRef]:
    called = index.profile.entries.methods
    for name in (method,) if method else called:
        found = index.modules.method(cls, name)
        if found is not None:
            return name, found[0]
    missing = repr(method) if method else f"{called[0]!r} that the framework could call"
    raise UsageError(f"{cls.name} has no method {missing}", hint=_nearest(index, cls, method))


def _nearest(index: Index, cls: ClassRef, method: str) -> str:
    outlines = (index.modules.class_outline(ref) for ref in index.modules.mro(cls))
    names = sorted({name for outline in outlines if outline for name in outline.methods})
    close = get_close_matches(method, names, n=1)
    if close:
        return f"did you mean {cls.name}.{close[0]}?"
    known = [name for name in index.profile.entries.methods if name in names]
    return f"the framework calls {' and '.join(known)}" if known else ""


def _owners(subjects: Iterable[Subject], entry: Instance) -> tuple[Instance, ...]:
    """The objects whose layers a rule is about; without a rule's subject, the entry's own."""
    return tuple(dict.fromkeys(item.instance for item in subjects)) or (entry,)


def _held(index: Index, instance: Instance) -> Iterator[Instance]:
    """The object and those it holds, as far as their classes are defined in model files."""
    found = {instance: None}
    level = [instance]
    for _ in range(HELD_DEPTH):
        inner = [
            held
            for item in level
            for name in sorted(index.attributes_stored(item.cls))
            for held in index.types.attribute(item, name).instances()
            if index.is_model(held.cls.file) and held not in found
        ]
        found.update(dict.fromkeys(inner))
        level = list(dict.fromkeys(inner))
    yield from found


def _classes(held: Iterable[Types]) -> frozenset[ClassRef]:
    elements = [stack.elements for types in held for stack in types.stacks()]
    if not all(item.complete and item.items for item in elements):
        return frozenset()
    return frozenset(layer.cls for item in elements for layer in item.instances())
