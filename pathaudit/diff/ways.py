"""Which ways to run layers appeared, vanished or changed, and which lost an event."""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence

from msgspec import Struct

from pathaudit.diff.naming import Naming
from pathaudit.results.versions import EntryChange, EventLoss, Survey, Variant, VariantChange

Key = Callable[[Variant], Hashable]


class Ways(Struct, frozen=True):
    """What changed in how layers run, by method under audit."""

    entries: tuple[EntryChange, ...]
    variants: tuple[VariantChange, ...]
    events: tuple[EventLoss, ...]


def compare_ways(old: Survey, new: Survey, naming: Naming) -> Ways:
    """Compare the ways to run layers of two versions.

    Where a whole method is new or gone, its ways are not told one by one. Of a method that was
    not followed to the end nothing is said to be missing.
    """
    before, now = _by_entry(old.variants), _by_entry(new.variants)
    cut = ({(x.file, x.entry) for x in old.cut}, {(x.file, x.entry) for x in new.cut})
    entries: list[EntryChange] = []
    variants: list[VariantChange] = []
    events: list[EventLoss] = []
    for key in sorted(before):
        moved = naming.translate(*key)
        if moved not in now:
            entries.append(_entry_change("vanished", key, before[key]))
            continue
        if moved != key:
            entries.append(_renamed(key, moved, now[moved]))
        changes, losses = _compare(moved[1], before[key], now[moved], naming)
        partial = (key in cut[0], moved in cut[1])
        variants += [x for x in changes if not _doubtful(x, *partial)]
        events += losses if not partial[1] else []
    known = {naming.translate(*key) for key in before}
    entries += [_entry_change("appeared", key, now[key]) for key in sorted(now.keys() - known)]
    return Ways(tuple(entries), tuple(variants), tuple(events))


def _doubtful(change: VariantChange, before: bool, now: bool) -> bool:
    """May what is missing in one version just not have been found there?"""
    return {"appeared": before, "vanished": now}.get(change.change, before or now)


def _by_entry(variants: Iterable[Variant]) -> dict[tuple[str, str], list[Variant]]:
    found: defaultdict[tuple[str, str], list[Variant]] = defaultdict(list)
    for variant in variants:
        found[variant.entry_file, variant.entry].append(variant)
    return dict(found)


def _entry_change(change: str, key: tuple[str, str], variants: Sequence[Variant]) -> EntryChange:
    file, entry = key
    served = variants[0].architectures
    return EntryChange(change=change, entry=entry, file=file, was="", architectures=served)


def _renamed(
    key: tuple[str, str], moved: tuple[str, str], variants: Sequence[Variant]
) -> EntryChange:
    file, entry = moved
    change, was = ("renamed", key[1]) if key[1] != entry else ("moved", key[0])
    served = variants[0].architectures
    return EntryChange(change=change, entry=entry, file=file, was=was, architectures=served)


def _compare(
    entry: str, old: Sequence[Variant], new: Sequence[Variant], naming: Naming
) -> tuple[list[VariantChange], list[EventLoss]]:
    pairs, lost, come = _paired(old, new, naming)
    changes = [_change("vanished", entry, x, None) for x in lost]
    changes += [_change("appeared", entry, None, x) for x in come]
    for before, now in pairs:
        if before.layers != now.layers:
            changes.append(_change("changed", entry, before, now))
    losses = [loss for before, now in pairs for loss in _losses(entry, before, now)]
    return sorted(changes, key=_order), losses


def _change(change: str, entry: str, old: Variant | None, new: Variant | None) -> VariantChange:
    return VariantChange(change=change, entry=entry, old=old, new=new)


def _order(change: VariantChange) -> tuple[str, int, str]:
    place = change.new or change.old
    return (place.file, place.line, change.change) if place else ("", 0, change.change)


def _losses(entry: str, old: Variant, new: Variant) -> Iterator[EventLoss]:
    """The events of a way to run layers that no longer come with it, in whatever form."""
    kept = {use.event for use in new.events}
    for use in old.events:
        if use.event not in kept:
            yield EventLoss(event=use.event, entry=entry, old=old, new=new, evidence=use.evidence)


def _paired(
    old: Sequence[Variant], new: Sequence[Variant], naming: Naming
) -> tuple[list[tuple[Variant, Variant]], list[Variant], list[Variant]]:
    """Pair the same ways: the callee's name and the place in the file do not tell them apart."""

    def method(variant: Variant) -> tuple[str, str]:
        return naming.translate(variant.file, variant.symbol)

    def here(variant: Variant) -> tuple[str, str]:
        return variant.file, variant.symbol

    steps: tuple[tuple[Key, Key], ...] = (
        (lambda x: (method(x), x.kind, x.layers), lambda x: (here(x), x.kind, x.layers)),
        (lambda x: (method(x), x.kind, x.callee), lambda x: (here(x), x.kind, x.callee)),
        (lambda x: (method(x), x.kind), lambda x: (here(x), x.kind)),
        # A callee that cannot be followed any more gets the layers all the same.
        (
            lambda x: (method(x), x.kind == "loop", x.layers),
            lambda x: (here(x), x.kind == "loop", x.layers),
        ),
        (lambda x: (x.kind, x.layers), lambda x: (x.kind, x.layers)),
    )
    pairs: list[tuple[Variant, Variant]] = []
    lost, come = list(old), list(new)
    for key, other in steps:
        for before in list(lost):
            found = next((now for now in come if other(now) == key(before)), None)
            if found is not None:
                pairs.append((before, found))
                lost.remove(before)
                come.remove(found)
    return pairs, lost, come
