"""Finds each pin of one state of a repository in the other."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator

from pathaudit.results.bumps import Pin

Pair = tuple[Pin | None, Pin | None]
Key = tuple[str, ...]

# By what a pin is known again, from the most to the least: what stands where it stood first.
_KEYS: tuple[Callable[[Pin], Key], ...] = (
    lambda pin: (pin.file, pin.part, pin.role, pin.marker),
    lambda pin: (pin.file, pin.part, pin.role),
    lambda pin: (pin.file, pin.role),
    lambda pin: (pin.file,),
)


def pair_pins(old: Iterable[Pin], new: Iterable[Pin]) -> tuple[Pair, ...]:
    """Pair the pins of two states, in the order of the new ones; what is gone comes last."""
    gone, come = list(old), list(new)
    pairs: dict[int, Pair] = {}
    order = {id(pin): number for number, pin in enumerate(come)}
    for key in _KEYS:
        for before, after in list(_matching(gone, come, key)):
            gone.remove(before)
            come.remove(after)
            pairs[order[id(after)]] = (before, after)
    pairs |= {order[id(pin)]: (None, pin) for pin in come}
    return (*(pairs[number] for number in sorted(pairs)), *((pin, None) for pin in gone))


def _matching(
    old: Iterable[Pin], new: Iterable[Pin], key: Callable[[Pin], Key]
) -> Iterator[tuple[Pin, Pin]]:
    """Pairs with equal keys: what is equal but for its line, then the others in their order."""
    groups: defaultdict[Key, list[Pin]] = defaultdict(list)
    for pin in old:
        groups[key(pin)].append(pin)
    left = []
    for pin in new:
        same = next((x for x in groups[key(pin)] if not differing(x, pin)), None)
        if same is None:
            left.append(pin)
        else:
            groups[key(pin)].remove(same)
            yield same, pin
    for pin in left:
        if groups[key(pin)]:
            yield groups[key(pin)].pop(0), pin


def differing(old: Pin, new: Pin) -> tuple[str, ...]:
    """The fields in which two pins differ; where they stand is none of them.

    The text counts only where it says something that no other field does.
    """
    fields = [
        name
        for name in ("source", "specifier", "version", "address", "revision")
        if getattr(old, name) != getattr(new, name)
    ]
    fields += [
        name for name in ("extras", "marker", "hashes") if getattr(old, name) != getattr(new, name)
    ]
    if not fields and _bare(old.text) != _bare(new.text):
        return ("text",)
    return tuple(fields)


def _bare(text: str) -> str:
    return "".join(text.split())
