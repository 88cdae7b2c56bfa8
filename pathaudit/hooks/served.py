"""One served class: its modules, and what each variant of the forward does to them."""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from pathaudit.check.subjects import OWNERS, Owner
from pathaudit.hooks.calls import Walker
from pathaudit.hooks.cells import cell_of, replaced, replayed, undecided
from pathaudit.hooks.deciding import Assumed, Decider
from pathaudit.hooks.events import FORWARD, METHOD, Event
from pathaudit.hooks.layers import Sites, layer_sites
from pathaudit.hooks.objects import Objects
from pathaudit.hooks.scopes import parameters_of
from pathaudit.hooks.values import Function, Module, Thing
from pathaudit.index import ClassRef, Index
from pathaudit.results import Gap
from pathaudit.results.hooks import HookCell, HookModule, HookVariant
from pathaudit.ruleset import AnyRule
from pathaudit.ruleset.hooks import Variant
from pathaudit.work import Stage

WHOLE = "whole"


class Served(Struct, frozen=True):
    """What was found of one served class; ``alike`` are variants that run what the first runs."""

    file: str
    line: int
    variants: tuple[HookVariant, ...]
    modules: tuple[HookModule, ...]
    alike: tuple[str, ...]
    gaps: tuple[Gap, ...]


class _Found(Struct, frozen=True, eq=False):
    """One variant with its events, module by module."""

    variant: Variant
    shown: HookVariant
    events: dict[Module, list[Event]]


def find_served(index: Index, _: AnyRule | None, entry: ClassRef) -> Served:
    """Walk every variant of the forward of a served class."""
    objects = Objects(index)
    root = Thing("", entry)
    modules = [x for x in objects.held(root) if objects.is_module(x) or x == root]
    owners = [item for item in OWNERS.run(index, None, entry) if item.entry == entry.name]
    found: list[_Found] = []
    alike: list[str] = []
    gaps: list[Gap] = []
    for variant in index.profile.hooks.variants:
        shown = _shown(index, variant)
        if shown is None or not _has(objects, root, variant.method):
            continue
        if variant.replays:
            found.append(_Found(variant, shown, found[0].events if found else {}))
            continue
        walked = _walk(objects, root, owners, variant, gaps)
        item = _Found(variant, shown, _by_module([*_entered(index, root, variant), *walked]))
        if found and _places(item.events) == _places(found[0].events):
            alike.append(variant.title)
        else:
            found.append(item)
    outline = index.modules.class_outline(entry)
    if not found:
        message = f"the forward of {entry.name} was not found: nothing is said of its modules"
        line = outline.line if outline is not None else 1
        gaps.append(Gap(kind="call", file=entry.file, line=line, message=message))
        modules = []
    return Served(
        entry.file,
        outline.line if outline is not None else 1,
        tuple(item.shown for item in found),
        tuple(_module(objects, x, found, owners) for x in modules),
        tuple(alike),
        tuple(dict.fromkeys(gaps)),
    )


def _has(objects: Objects, root: Thing, method: str) -> bool:
    """Does a served class have a method, or keep one of what it holds under its name?"""
    return any(isinstance(x, Function) for x in objects.attribute(root, method))


def _walk(
    objects: Objects, root: Thing, owners: Sequence[Owner], variant: Variant, gaps: list[Gap]
) -> Iterable[Event]:
    index = objects.index
    sites: dict[ClassRef, tuple[Sites, ...]] = {}
    stacks: dict[ClassRef, frozenset[str]] = {}
    for owner in owners:
        cls = owner.instance.cls
        stacks[cls] = stacks.get(cls, frozenset()) | owner.stacks
        if owner.method == variant.method:
            sites[cls] = (*sites.get(cls, ()), layer_sites(index, owner, variant.assume))
    decider = Decider(objects, Assumed(index.profile, variant.assume))
    walker = Walker(objects, decider, stacks, sites)
    walker.enter_served(root, variant.method)
    if walker.cut:
        message = f"the code that {root.cls.name} leads to was not followed to its end"
        gaps.append(Gap(kind="budget", file=root.cls.file, line=1, message=message))
    gaps += _lost(objects, walker)
    return walker.events


def _lost(objects: Objects, walker: Walker) -> Iterable[Gap]:
    """Calls of methods by names made at run time, of objects that hold what was not seen to run."""
    ran = {event.module for event in walker.events}
    for thing, (file, line) in walker.lost.items():
        prefix = f"{thing.path}." if thing.path else ""
        held = (x for x in objects.made if x.path.startswith(prefix) and objects.is_module(x))
        if any(x not in ran and x != thing for x in held):
            message = f"calls a method of {thing.cls.name} by a name made at run time"
            yield Gap(kind="call", file=file, line=line, message=message)


def _shown(index: Index, variant: Variant) -> HookVariant | None:
    """The variant with the code that shows that it is there; nothing where that is gone."""
    places = [index.modules.find(anchor.files, anchor.text) for anchor in variant.anchors]
    place = next((x for x in places if x is not None), None)
    if variant.anchors and place is None:
        return None
    return HookVariant(
        name=variant.name,
        title=variant.title,
        short=variant.short,
        replays=variant.replays,
        place=f"{place[0]}:{place[1]}" if place is not None else "",
    )


def _entered(index: Index, root: Thing, variant: Variant) -> Iterable[Event]:
    """The calls by which the framework enters the served class: never by calling it."""
    for anchor in index.profile.hooks.callers.get(variant.method, ()):
        place = index.modules.find(anchor.files, anchor.text)
        if place is not None:
            text = anchor.text.removeprefix("return ").rstrip("(")
            how = FORWARD if variant.method == index.profile.modules.call else METHOD
            yield Event(root, how, place[0], place[1], place[1], "", text)


def _by_module(events: Iterable[Event]) -> dict[Module, list[Event]]:
    found: dict[Module, list[Event]] = {}
    for event in events:
        found.setdefault(event.module, []).append(event)
    for items in found.values():
        items.sort(key=lambda x: (x.how, x.file, x.line, x.layers))
    return found


def _places(events: dict[Module, list[Event]]) -> set[tuple[Module, str, str, int]]:
    return {(x, item.how, item.file, item.line) for x, items in events.items() for item in items}


def _module(
    objects: Objects, module: Module, found: Sequence[_Found], owners: Sequence[Owner]
) -> HookModule:
    made = objects.made.get(module)
    name = module.cls.name if isinstance(module, Thing) else module.name
    ran = {item.variant.name for item in found if item.events.get(module)}
    holders = _holders(objects, owners)
    cells: list[HookCell] = []
    for item in found:
        events = item.events.get(module, [])
        cell = cell_of(item.variant.name, events, elsewhere=bool(ran - {item.variant.name}))
        cells.append(_replayed(cell, item.variant.replays, module, holders))
    return HookModule(
        path=module.path,
        name=name,
        holder=module.within[-1] if module.within else "",
        name_file=module.cls.file if isinstance(module, Thing) else "",
        file=made.frame.file if made is not None else "",
        line=made.call.lineno if made is not None else 0,
        end_line=(made.call.end_lineno or 0) if made is not None else 0,
        cells=tuple(cells),
    )


def _replayed(cell: HookCell, replays: str, module: Module, holders: set[str]) -> HookCell:
    """The cell, as it is where the variant replays the whole forward or what holds the layers."""
    if replays == WHOLE:
        return replayed(cell, whole=True)
    if replays and not holders:
        return undecided(cell)
    if replays and module.path in holders:
        return replaced(cell)
    if replays and any(module.path.startswith(f"{path}.") for path in holders):
        return replayed(cell, whole=False)
    return cell


def _holders(objects: Objects, owners: Sequence[Owner]) -> set[str]:
    """The paths of the objects that own decoder layers: of those that are given the batch."""
    batch = objects.index.profile.entries.batch
    classes = {
        owner.instance.cls
        for owner in owners
        if (function := objects.index.modules.function(owner.root)) is not None
        and (not batch or batch in parameters_of(function.node))
    }
    return {x.path for x in objects.made if isinstance(x, Thing) and x.cls in classes} - {""}


SERVED = Stage("hooks", find_served, ClassRef, Served, lambda entry: entry.file)
