"""Which methods a rule about features is judged on, and for which features.

A capture rule is about the stacks of the object that an arming setter writes to. Served classes
that are drafts are nobody's subject, nor is a class that no setter writes to; one that reads a
switch which nothing sets is dormant.
"""

import hashlib
from collections.abc import Iterable, Iterator

from msgspec import Struct
from msgspec.structs import replace

from pathaudit.check.answer import union_of
from pathaudit.check.effects import unpacking_method
from pathaudit.index import ClassRef, Feature, FunctionRef, Index, Instance, Write
from pathaudit.index.features import LISTED
from pathaudit.index.reads import paths_under
from pathaudit.results import Gap
from pathaudit.ruleset import AnyRule, CoversRule
from pathaudit.work import Stage, Work

REACHED_DEPTH = 4


class Subject(Struct, frozen=True, eq=False):
    """One method to execute, for one set of stores; classes that share the answer share it.

    ``method`` is the entry method's name, ``homes`` the files of the served classes. ``dormant``
    where no setter exists. ``unpacking`` is a served class's method that takes a pair apart then.
    """

    root: FunctionRef
    method: str
    instance: Instance
    writes: tuple[Write, ...]
    stacks: frozenset[str]
    setters: tuple[str, ...]
    receivers: tuple[str, ...]
    entries: tuple[str, ...]
    homes: tuple[str, ...]
    dormant: bool
    unpacking: str = ""


class Candidate(Struct, frozen=True):
    """A subject of one served class; equal ``signature`` means that the answer is the same."""

    subject: Subject
    signature: str


class Owner(Struct, frozen=True):
    """An object of a served class that owns layers, and a method of it that runs them."""

    instance: Instance
    root: FunctionRef
    method: str
    entry: str
    stacks: frozenset[str]


class Armed(Struct, frozen=True):
    """A served class, the subjects that its setters arm, and the gaps of those that arm none."""

    candidates: tuple[Candidate, ...]
    gaps: tuple[Gap, ...]


class Silent(Struct, frozen=True):
    """A served class that nothing arms, and the names of the switches of all others."""

    entry: ClassRef
    switches: tuple[str, ...]


def find_subjects(work: Work, entry: str | None = None) -> tuple[tuple[Subject, ...], list[Gap]]:
    """All subjects of a tree in a stable order, and the setters that arm none, as gaps.

    ``entry`` narrows both to one served class.
    """
    served = find_targets(work)
    features = dict(zip(served, work.run(FEATURES, served), strict=True))
    writes = (write for found in features.values() for item in found for write in item.writes)
    switches = tuple(sorted({write.name for write in writes if write.kind == LISTED}))
    asked = [ref for ref in served if entry in (None, ref.name)]
    armed = work.run(ARMED, [ref for ref in asked if features[ref]])
    silent = [Silent(ref, switches) for ref in asked if not features[ref]]
    candidates = [x for item in armed for x in item.candidates]
    candidates += [x for found in work.run(DORMANT, silent) for x in found]
    return _grouped(candidates), [gap for item in armed for gap in item.gaps]


def find_owners(work: Work, entry: str | None = None) -> tuple[Owner, ...]:
    """The objects that own layers, of all served classes or of one; drafts left out."""
    return tuple(x for found in work.run(OWNERS, find_targets(work, entry)) for x in found)


def _find_owners(index: Index, _: AnyRule | None, entry: ClassRef) -> tuple[Owner, ...]:
    found: dict[Owner, None] = {}
    for _path, instance in reachable(index, Instance(entry), (), REACHED_DEPTH):
        stacks = index.stacks_of(instance)
        for method in index.profile.entries.methods if stacks else ():
            root = index.modules.method(instance.cls, method)
            if root is not None and _reaches(index, instance.cls, root[0], stacks):
                found[Owner(instance, root[0], method, entry.name, stacks)] = None
    return tuple(found)


def find_layer_subjects(work: Work, entry: str | None = None) -> tuple[Subject, ...]:
    """The methods of served classes that run decoder layers, whether a feature is on or not."""
    return _grouped(x for found in work.run(LAYERED, find_targets(work, entry)) for x in found)


def find_declared(work: Work, rule: CoversRule, entry: str | None = None) -> tuple[Subject, ...]:
    """The methods that run decoder layers of served classes which make the rule's declaration."""
    return _grouped(x for y in work.run(DECLARED, find_targets(work, entry), rule) for x in y)


def _grouped(candidates: Iterable[Candidate]) -> tuple[Subject, ...]:
    groups: dict[object, list[Subject]] = {}
    for item in candidates:
        subject = item.subject
        key = (subject.root, subject.method, item.signature, subject.writes, subject.dormant)
        groups.setdefault(key, []).append(subject)
    merged = [_merge(group) for group in groups.values()]
    armed = {(item.root, item.instance.cls) for item in merged if not item.dormant}
    kept = [x for x in merged if not x.dormant or (x.root, x.instance.cls) not in armed]
    return tuple(sorted(kept, key=lambda x: (x.root, x.method, x.receivers, x.setters, x.writes)))


def find_entries(work: Work) -> tuple[ClassRef, ...]:
    """The served classes, drafts included, by file and name."""
    models = paths_under(work.tree, work.profile.models)
    naming = work.tree.find(work.profile.entries.variable.encode(), models)
    return tuple(sorted({ref for found in work.run(SERVED, naming) for ref in found}))


def find_targets(work: Work, entry: str | None = None) -> tuple[ClassRef, ...]:
    """The served classes that are no drafts, or those of one name, by file and name."""
    is_draft = work.profile.is_draft
    served = (ref for ref in find_entries(work) if entry in (None, ref.name))
    return tuple(ref for ref in served if not is_draft(ref.name, ref.file))


def _find_armed(index: Index, _: AnyRule | None, entry: ClassRef) -> Armed:
    features = index.features(entry)
    subjects = [x for feature in features for x in _armed(index, entry, feature)]
    setters = {name for item in subjects for name in item.setters}
    lost = (feature for feature in features if feature.setter not in setters)
    gaps = (_unarmed_gap(index, entry, feature) for feature in lost)
    return Armed(_candidates(index, subjects), tuple(gap for gap in gaps if gap is not None))


def _find_dormant(index: Index, _: AnyRule | None, item: Silent) -> tuple[Candidate, ...]:
    return _candidates(index, _dormant(index, item.entry, frozenset(item.switches)))


def _find_layered(index: Index, _: AnyRule | None, entry: ClassRef) -> tuple[Candidate, ...]:
    return _candidates(index, _layered(index, entry))


def _find_declared(index: Index, rule: AnyRule | None, entry: ClassRef) -> tuple[Candidate, ...]:
    if not isinstance(rule, CoversRule):
        raise AssertionError("a rule of this kind is needed")
    if not declares(index, rule, entry):
        return ()
    return _candidates(index, _layered(index, entry, itself=True))


def declares(index: Index, rule: CoversRule, entry: ClassRef) -> bool:
    """Does a served class make the declaration that the rule asks for?"""
    names = index.profile.declarations[rule.declared]
    return any(index.modules.method(entry, name) is not None for name in names)


def _candidates(index: Index, subjects: Iterable[Subject]) -> tuple[Candidate, ...]:
    return tuple(Candidate(x, _signature(index, x)) for x in subjects)


def _unarmed_gap(index: Index, entry: ClassRef, feature: Feature) -> Gap | None:
    """A setter that asks for layers, though none to judge were found."""
    found = index.modules.method(entry, feature.setter)
    reason = _unarmed(index, feature)
    if found is None or not reason:
        return None
    return Gap(
        kind="feature",
        file=found[0].file,
        line=found[1].line,
        message=f"{feature.setter} of {entry.name} arms {reason}",
        entries=(entry.name,),
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
    return replace(
        group[0],
        setters=union_of(item.setters for item in group),
        receivers=union_of(item.receivers for item in group),
        entries=union_of(item.entries for item in group),
        homes=union_of(item.homes for item in group),
        unpacking=max(item.unpacking for item in group),
    )


def _armed(index: Index, entry: ClassRef, feature: Feature) -> Iterator[Subject]:
    for path in _prefixes(feature.writes):
        writes = feature.seen_from(path)
        if not writes:
            continue
        for instance in index.at(entry, path):
            stacks = _stacks_below(index, instance, writes)
            if stacks:
                unpacking = unpacking_method(index, feature)
                for found in _roots(index, entry, instance, writes, stacks, feature.setter):
                    yield replace(found, unpacking=unpacking)


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
                (entry.file,),
                not setter,
            )


def _reaches(index: Index, cls: ClassRef, ref: FunctionRef, stacks: frozenset[str]) -> bool:
    """Does a method, or one of its object that it uses, mention a stack?"""
    return any(index.attributes_of(method) & stacks for method in index.closure(cls, ref))


def _signature(index: Index, subject: Subject) -> str:
    """What tells two receivers of one method apart: the methods and layers that it uses."""
    methods = index.closure(subject.instance.cls, subject.root)
    names = sorted(index.stacks_of(subject.instance))
    layers = [index.types.attribute(subject.instance, name) for name in names]
    text = repr((methods, layers, sorted(subject.stacks)))
    return hashlib.sha256(text.encode()).hexdigest()


def _dormant(index: Index, entry: ClassRef, switches: frozenset[str]) -> Iterator[Subject]:
    """Objects that read a switch, though nothing sets it for this served class.

    As with what a setter arms, the served class may run the layers of such an object itself.
    """
    for path, instance in reachable(index, Instance(entry), (), REACHED_DEPTH):
        stacks = index.stacks_of(instance)
        read = sorted(_switches_of(index, instance.cls, switches))
        if stacks and read:
            for holder, below in {Instance(entry): path, instance: ()}.items():
                writes = tuple(Write(below, name, LISTED) for name in read)
                yield from _roots(index, entry, holder, writes, stacks, "")


def _layered(index: Index, entry: ClassRef, *, itself: bool = False) -> Iterator[Subject]:
    """Objects of a served class that own layers, and whose methods are given the batch.

    With ``itself`` also the served class, which may run the layers of what it holds.
    """
    batch = index.profile.entries.batch
    reached = reachable(index, Instance(entry), (), REACHED_DEPTH)
    for instance in dict.fromkeys(found for _, found in reached):
        stacks = index.stacks_of(instance)
        holders = (instance, Instance(entry)) if itself and stacks else (instance,)
        for holder in dict.fromkeys(holders) if stacks else ():
            for found in _roots(index, entry, holder, (), stacks, ""):
                function = index.modules.function(found.root)
                if function is not None and (not batch or batch in function.parameters):
                    yield replace(found, dormant=False)


def _switches_of(index: Index, cls: ClassRef, switches: frozenset[str]) -> frozenset[str]:
    found = index.modules.method(cls, index.profile.modules.call)
    return index.attributes_of(found[0]) & switches if found is not None else frozenset()


def reachable(
    index: Index, instance: Instance, path: tuple[str, ...], depth: int
) -> Iterator[tuple[tuple[str, ...], Instance]]:
    """The object and those it holds, as far as their classes are defined in model files."""
    yield path, instance
    if not depth:
        return
    for name in sorted(index.attributes_stored(instance.cls)):
        for inner in index.types.attribute(instance, name).instances():
            if index.is_model(inner.cls.file) and inner.cls != instance.cls:
                yield from reachable(index, inner, (*path, name), depth - 1)


def _find_served(index: Index, _: AnyRule | None, file: str) -> tuple[ClassRef, ...]:
    return index.served(file)


def _find_features(index: Index, _: AnyRule | None, entry: ClassRef) -> tuple[Feature, ...]:
    return index.features(entry)


SERVED = Stage("served", _find_served, str, tuple[ClassRef, ...], str)
FEATURES = Stage("features", _find_features, ClassRef, tuple[Feature, ...], lambda x: x.file)
ARMED = Stage("armed", _find_armed, ClassRef, Armed, lambda x: x.file)
LAYERED = Stage("layered", _find_layered, ClassRef, tuple[Candidate, ...], lambda x: x.file)
DECLARED = Stage("declared", _find_declared, ClassRef, tuple[Candidate, ...], lambda x: x.file)
DORMANT = Stage("dormant", _find_dormant, Silent, tuple[Candidate, ...], lambda x: x.entry.file)
OWNERS = Stage("owners", _find_owners, ClassRef, tuple[Owner, ...], lambda x: x.file)
