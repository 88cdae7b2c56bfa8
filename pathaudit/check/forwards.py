"""The kind ``forwards``: a served class offers each hook that an object it holds could serve.

The framework knows the served class alone: it calls hooks such as an arming setter on it by name,
and never looks inside. An inner model that can capture is of no use where its holder has no hook.
"""

import ast
from collections import Counter
from collections.abc import Iterable, Iterator

from msgspec import Struct

from pathaudit import ir
from pathaudit.check.answer import Answer, Fault, merge_faults
from pathaudit.check.reads_held import HELD, Held
from pathaudit.check.reads_loads import forward_methods, loads_of
from pathaudit.check.subjects import FEATURES, find_targets
from pathaudit.index import ClassRef, Feature, Index
from pathaudit.index.features import LISTED, TRUE
from pathaudit.index.syntax import dotted_name
from pathaudit.results import Severity
from pathaudit.ruleset import ForwardsRule, Rule
from pathaudit.work import Stage, Work


class Arming(Struct, frozen=True):
    """A switch that selects layers, and the setter that most served classes write it with."""

    switch: str
    setter: str


class Holder(Struct, frozen=True):
    """A served class with all that it holds, and the switches of the tree."""

    entry: ClassRef
    held: tuple[Held, ...]
    switches: tuple[Arming, ...]


class Missing(Struct, frozen=True):
    """Hooks that a served class lacks, though its object ``inner`` at ``path`` can capture.

    ``holder`` is the class where that object comes in, ``setters`` those that the served class
    offers: ``needed`` where the framework calls the hooks after one of them.
    """

    entry: str
    holder: ClassRef
    region: ir.Region
    path: tuple[str, ...]
    inner: str
    hooks: tuple[str, ...]
    setters: tuple[str, ...]
    needed: bool


def check_forwards(work: Work, rule: ForwardsRule, entry: str | None) -> Answer:
    """Judge the rule on every served class that is no draft, or on one."""
    served = find_targets(work)
    features = work.run(FEATURES, served)
    switches = _switches(item for found in features for item in found)
    held = work.run(HELD, served)
    pairs = zip(served, held, strict=True)
    asked = [Holder(ref, found, switches) for ref, found in pairs if entry in (None, ref.name)]
    missing = [item for found in work.run(MISSING, asked, rule) for item in found]
    return Answer(merge_faults(rule, map(_fault, missing)), (), (), len(asked))


def _switches(features: Iterable[Feature]) -> tuple[Arming, ...]:
    setters: dict[str, Counter[str]] = {}
    for feature in features:
        for write in feature.writes:
            if write.kind == LISTED or (write.element and write.kind == TRUE):
                setters.setdefault(write.name, Counter())[feature.setter] += 1
    # Of equally frequent ones the first by name, so that the order of files decides nothing.
    most = {name: min(found, key=lambda x: (-found[x], x)) for name, found in setters.items()}
    return tuple(Arming(name, most[name]) for name in sorted(most))


def _fault(item: Missing) -> Fault:
    hooks = " and ".join(item.hooks)
    where = ".".join(("self", *item.path))
    if item.needed:
        setters = " and ".join(item.setters)
        text = f"{item.holder.name} offers {setters} and not {hooks}, which is called with it"
    else:
        text = f"{item.holder.name} does not offer {hooks}, though {where} ({item.inner}) captures"
    return Fault(
        file=item.holder.file,
        region=item.region,
        symbol=item.holder.name,
        entry=item.entry,
        message=text,
        kind=f"lacks {hooks}" if item.setters else "lacks all",
        severity=Severity.WARNING if item.needed else None,
        features=item.setters,
        architectures=(item.entry,),
    )


# ---- one served class -------------------------------------------------------------------------


def _find_missing(index: Index, rule: Rule | None, item: Holder) -> tuple[Missing, ...]:
    if not isinstance(rule, ForwardsRule):
        raise AssertionError("a rule of this kind is needed")
    features = index.features(item.entry)
    if index.modules.has_unknown_base(item.entry) or any(x.lost for x in features):
        return ()
    found = ((x, _read(index, x, item.switches)) for x in item.held)
    capable = next((pair for pair in found if pair[1]), None)
    if capable is None or _answers_all(index, item.entry) or not _generates(index, item.held):
        return ()
    return tuple(_missing(index, item.entry, item.held, *capable))


def _answers_all(index: Index, entry: ClassRef) -> bool:
    """Does a class answer to any name, and perhaps hand it on?"""
    return index.modules.method(entry, "__getattr__") is not None


def _read(index: Index, item: Held, switches: tuple[Arming, ...]) -> tuple[str, ...]:
    """The setters of the switches that an inner model with layers of its own reads."""
    if not item.path or not item.runs:
        return ()
    names = frozenset(known.switch for known in switches)
    refs = forward_methods(index, item.cls)
    read = {load.name for ref in refs for load in loads_of(index, ref, names)}
    return tuple(sorted({known.setter for known in switches if known.switch in read}))


def _generates(index: Index, held: Iterable[Held]) -> bool:
    """Does the served class, or what it holds, make what makes logits?"""
    classes = {base for item in held for base in index.modules.mro(item.cls)}
    return any(_makes_logits(index, cls) for cls in sorted(classes))


def _makes_logits(index: Index, cls: ClassRef) -> bool:
    outline = index.modules.class_outline(cls)
    calls = [x.value for x in outline.stores if isinstance(x.value, ast.Call)] if outline else []
    names = {dotted_name(call.func).rpartition(".")[2] for call in calls}
    return not names.isdisjoint(index.profile.features.generators)


def _missing(
    index: Index, entry: ClassRef, held: Iterable[Held], inner: Held, usual: tuple[str, ...]
) -> Iterator[Missing]:
    features = index.profile.features
    own = tuple(sorted(feature.setter for feature in index.features(entry)))
    way = [x for x in held if not x.element and x.path and x.path == inner.path[: len(x.path)]]
    inside = {name for item in way for name in _setters(index, item.cls)}
    wanted = inside if own else inside or set(usual)
    beside = [item.name for item in features.hooks if item.after in own or not own]
    lacking = _lacking(index, entry, wanted)
    companions = _lacking(index, entry, beside)
    if not own:
        lacking, companions = (*lacking, *companions) if lacking else (), ()
    for hooks, needed in ((lacking, False), (companions, True)):
        if hooks:
            yield _found(index, entry, inner, hooks, own, needed=needed)


def _setters(index: Index, cls: ClassRef) -> Iterator[str]:
    for base in index.modules.mro(cls):
        outline = index.modules.class_outline(base)
        names = outline.methods if outline is not None else ()
        yield from (name for name in names if index.profile.is_setter(name))


def _lacking(index: Index, entry: ClassRef, names: Iterable[str]) -> tuple[str, ...]:
    """The hooks that the framework of this tree calls, and that a class does not have."""
    absent = [name for name in sorted(names) if index.modules.method(entry, name) is None]
    return tuple(name for name in absent if _is_called(index, name))


def _is_called(index: Index, hook: str) -> bool:
    """Does the framework call a hook? Without the files that would, a tree does not say."""
    callers = index.profile.features.callers
    if not callers or index.modules.find(callers, "def ") is None:
        return True
    return index.modules.find(callers, f".{hook}(") is not None


def _found(
    index: Index,
    entry: ClassRef,
    inner: Held,
    hooks: tuple[str, ...],
    own: tuple[str, ...],
    *,
    needed: bool,
) -> Missing:
    holder = _holder(index, entry, inner)
    region = _header(index, holder)
    name = inner.cls.name
    return Missing(entry.name, holder, region, inner.path, name, hooks, own, needed)


def _holder(index: Index, entry: ClassRef, inner: Held) -> ClassRef:
    """The most basic class that holds the same inner model: its subclasses inherit the gap."""
    for base in reversed(index.modules.mro(entry)):
        if any(found.cls == inner.cls for found in index.at(base, inner.path)):
            return base
    return entry


def _header(index: Index, cls: ClassRef) -> ir.Region:
    outline, module = index.modules.class_outline(cls), index.modules.outline(cls.file)
    if outline is None or module is None:
        raise AssertionError("a class that was outlined stands in a file")
    text = module.lines[outline.line - 1].rstrip()
    return ir.Region(outline.line, 0, outline.line, len(text))


MISSING = Stage(
    "missing", _find_missing, Holder, tuple[Missing, ...], lambda item: item.entry.file, judges=True
)
