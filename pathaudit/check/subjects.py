"""Which methods a rule about features is judged on, and for which features.

A capture rule is about the stacks of the object that an arming setter writes to. Served classes
that are drafts are nobody's subject, nor is a class that no setter writes to; one that reads a
switch which nothing sets is dormant.
"""

from collections.abc import Iterator

from msgspec import Struct

from pathaudit.index import ClassRef, Feature, FunctionRef, Index, Instance, Write
from pathaudit.index.features import LISTED
from pathaudit.results import Gap

REACHED_DEPTH = 4


class Subject(Struct, frozen=True, eq=False):
    """One method to execute, for one set of stores; classes that share the answer share it.

    ``method`` is the entry method's name. ``dormant`` where no setter exists.
    """

    root: FunctionRef
    method: str
    instance: Instance
    writes: tuple[Write, ...]
    stacks: frozenset[str]
    setters: tuple[str, ...]
    receivers: tuple[str, ...]
    entries: tuple[str, ...]
    dormant: bool


def find_subjects(index: Index, entry: str | None = None) -> tuple[Subject, ...]:
    """All subjects of a tree in a stable order; ``entry`` narrows them to one served class."""
    groups: dict[object, list[Subject]] = {}
    for subject in _all_subjects(index, entry):
        key = (
            subject.root,
            subject.method,
            _signature(index, subject),
            subject.writes,
            subject.dormant,
        )
        groups.setdefault(key, []).append(subject)
    merged = [_merge(group) for group in groups.values()]
    armed = {(item.root, item.instance.cls) for item in merged if not item.dormant}
    kept = [x for x in merged if not x.dormant or (x.root, x.instance.cls) not in armed]
    return tuple(sorted(kept, key=lambda x: (x.root, x.method, x.receivers, x.setters, x.writes)))


def find_unarmed(
    index: Index, subjects: tuple[Subject, ...], entry: str | None = None
) -> Iterator[Gap]:
    """Setters of served classes that ask for layers, though none to judge were found."""
    armed = {(name, setter) for x in subjects for name in x.entries for setter in x.setters}
    for ref in index.entries:
        if index.is_draft(ref) or entry not in (None, ref.name):
            continue
        for feature in index.features(ref):
            if (ref.name, feature.setter) in armed:
                continue
            found = index.modules.method(ref, feature.setter)
            reason = _unarmed(index, feature)
            if found is not None and reason:
                yield Gap(
                    kind="feature",
                    file=found[0].file,
                    line=found[1].node.lineno,
                    message=f"{feature.setter} of {ref.name} arms {reason}",
                    entries=(ref.name,),
                )


def _unarmed(index: Index, feature: Feature) -> str:
    """What a setter arms that has no subject; nothing if it does not ask for layers at all."""
    paths = {write.path for write in feature.writes}
    unknown = {path for path in paths if not index.at(feature.entry, path)}
    for path in sorted({*feature.lost, *unknown}):
        return f"{'.'.join(('self', *path))}, whose class is not known"
    for write in feature.writes:
        if write.kind == LISTED:
            return f"{'.'.join(('self', *write.path))}, where no stack of layers was found"
    return ""


def _merge(group: list[Subject]) -> Subject:
    first = group[0]
    return Subject(
        first.root,
        first.method,
        first.instance,
        first.writes,
        first.stacks,
        tuple(sorted({name for item in group for name in item.setters})),
        tuple(sorted({name for item in group for name in item.receivers})),
        tuple(sorted({name for item in group for name in item.entries})),
        first.dormant,
    )


def _all_subjects(index: Index, entry: str | None) -> Iterator[Subject]:
    served = [ref for ref in index.entries if not index.is_draft(ref)]
    switches: set[str] = set()
    silent: list[ClassRef] = []
    for ref in served:
        features = index.features(ref)
        switches.update(
            write.name for item in features for write in item.writes if write.kind == LISTED
        )
        if not features:
            silent.append(ref)
        elif entry in (None, ref.name):
            for feature in features:
                yield from _armed(index, ref, feature)
    for ref in silent:
        if entry in (None, ref.name):
            yield from _dormant(index, ref, frozenset(switches))


def _armed(index: Index, entry: ClassRef, feature: Feature) -> Iterator[Subject]:
    for path in _prefixes(feature.writes):
        writes = feature.seen_from(path)
        if not writes:
            continue
        for instance in index.at(entry, path):
            stacks = _stacks_below(index, instance, writes)
            if stacks:
                yield from _roots(index, entry, instance, writes, stacks, feature.setter)


def _prefixes(writes: tuple[Write, ...]) -> list[tuple[str, ...]]:
    """The paths of all objects that a setter writes to, and of those that hold them."""
    found = {write.path[:depth] for write in writes for depth in range(len(write.path) + 1)}
    return sorted(found)


def _stacks_below(index: Index, instance: Instance, writes: tuple[Write, ...]) -> frozenset[str]:
    """Names of layer stacks on the object, or on an object below it that is written to."""
    found = set(index.stacks_of(instance))
    for path in {write.path[:depth] for write in writes for depth in range(1, len(write.path) + 1)}:
        held = index.types.along([instance], path)
        found.update(name for item in held for name in index.stacks_of(item))
    return frozenset(found)


def _roots(
    index: Index,
    entry: ClassRef,
    instance: Instance,
    writes: tuple[Write, ...],
    stacks: frozenset[str],
    setter: str,
) -> Iterator[Subject]:
    for method in index.profile.entries.methods:
        found = index.modules.method(instance.cls, method)
        if found is not None and _reaches(index, instance.cls, found[0], stacks):
            yield Subject(
                found[0],
                method,
                instance,
                writes,
                stacks,
                (setter,) if setter else (),
                (instance.cls.name,),
                (entry.name,),
                not setter,
            )


def _reaches(index: Index, cls: ClassRef, ref: FunctionRef, stacks: frozenset[str]) -> bool:
    """Does a method, or one of its object that it uses, mention a stack?"""
    return any(index.attributes_of(method) & stacks for method in index.closure(cls, ref))


def _signature(index: Index, subject: Subject) -> object:
    """What tells two receivers of one method apart: the methods and layers that it uses."""
    cls = subject.instance.cls
    methods = index.closure(cls, subject.root)
    layers = [
        index.types.attribute(subject.instance, name)
        for name in sorted(index.stacks_of(subject.instance))
    ]
    return methods, tuple(layers), subject.stacks


def _dormant(index: Index, entry: ClassRef, switches: frozenset[str]) -> Iterator[Subject]:
    """Objects that read a switch, though nothing sets it for this served class."""
    for instance in _reachable(index, Instance(entry), REACHED_DEPTH):
        stacks = index.stacks_of(instance)
        read = _switches_of(index, instance.cls, switches)
        if stacks and read:
            writes = tuple(Write((), name, LISTED) for name in sorted(read))
            yield from _roots(index, entry, instance, writes, stacks, "")


def _switches_of(index: Index, cls: ClassRef, switches: frozenset[str]) -> frozenset[str]:
    found = index.modules.method(cls, index.profile.modules.call)
    return index.attributes_of(found[0]) & switches if found is not None else frozenset()


def _reachable(index: Index, instance: Instance, depth: int) -> Iterator[Instance]:
    """The object and those it holds, as far as their classes are defined in model files."""
    yield instance
    if not depth:
        return
    models = frozenset(index.model_files)
    for name in sorted(index.attributes_stored(instance.cls)):
        for inner in index.types.attribute(instance, name).instances():
            if inner.cls.file in models and inner.cls != instance.cls:
                yield from _reachable(index, inner, depth - 1)
