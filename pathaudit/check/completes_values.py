"""What ``completes`` knows of a value: which parts of a layer's output are in it, what is owed."""

from collections.abc import Callable, Iterable
from enum import Enum
from typing import TypeAlias

from msgspec import Struct


class Plain(Enum):
    """A value with nothing more to say of it.

    A ``COLLECTOR`` is a method that adds to a collection; ``OTHER`` is all that is not followed.
    """

    RESIDUAL = "residual"
    NONE = "none"
    COLLECTION = "collection"
    COLLECTOR = "collector"
    OTHER = "other"


class Output(Struct, frozen=True):
    """What a layer returned first, or a tensor made of it.

    ``folded`` once the residual was added, ``owed`` while its reduction has not run.
    """

    folded: bool = False
    owed: bool = False


class Several(Struct, frozen=True):
    """A tuple by its items; what comes after them is not followed."""

    items: tuple["Values", ...]


class Stack(Struct, frozen=True):
    """The layers of an attribute of the object under audit."""

    name: str


class Layer(Struct, frozen=True):
    """One layer of a stack."""

    stack: str


class Marked(Struct, frozen=True):
    """The answer to the question whether the reduction of the local ``name`` is still owed."""

    name: str


Atom: TypeAlias = Plain | Output | Several | Stack | Layer | Marked
Values: TypeAlias = frozenset[Atom]
State: TypeAlias = dict[str, Values]

OTHER: Values = frozenset({Plain.OTHER})
NONE: Values = frozenset({Plain.NONE})
COLLECTION: Values = frozenset({Plain.COLLECTION})


def union(parts: Iterable[Values]) -> Values:
    return frozenset[Atom]().union(*parts)


def outputs(values: Values) -> frozenset[Output]:
    """The outputs of layers that a value may be; a tuple stands for its first item."""
    found = {item for item in values if isinstance(item, Output)}
    for item in values:
        if isinstance(item, Several) and item.items:
            found |= outputs(item.items[0])
    return frozenset(found)


def item_of(values: Values, position: int) -> Values:
    """What unpacking finds at a position; a part of a tensor is as finished as the whole."""
    parts: list[Values] = []
    for atom in values:
        if isinstance(atom, Several):
            known = atom.items[position : position + 1] if position >= 0 else ()
            parts.append(known[0] if known else OTHER)
        else:
            parts.append(frozenset({atom}) if isinstance(atom, Output) else OTHER)
    return union(parts) or OTHER


def changed(values: Values, change: Callable[[Output], Atom]) -> Values:
    """The value with another output in place of each, also inside tuples."""
    return frozenset(_changed(atom, change) for atom in values)


def _changed(atom: Atom, change: Callable[[Output], Atom]) -> Atom:
    match atom:
        case Output():
            return change(atom)
        case Several(items):
            return Several(tuple(changed(item, change) for item in items))
        case _:
            return atom


def reduced(output: Output) -> Output:
    """An output after its reduction has run."""
    return Output(output.folded, owed=False)


def added(left: Values, right: Values) -> Values:
    """The sum of two values: where one may be the residual, the other comes with it."""
    found: set[Atom] = set()
    for one, other in ((left, right), (right, left)):
        folds = Plain.RESIDUAL in other
        found |= {Output(x.folded or folds, x.owed) for x in outputs(one)}
    if not found and Plain.RESIDUAL in left | right:
        found.add(Plain.RESIDUAL)
    return frozenset(found) or OTHER


def joined(states: Iterable[State | None]) -> State | None:
    """The states of paths that meet; ``None`` where no path gets there."""
    found = [state for state in states if state is not None]
    if not found:
        return None
    names = {name for state in found for name in state}
    return {name: union(state.get(name, OTHER) for state in found) for name in names}
