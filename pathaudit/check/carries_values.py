"""What names hold while it is followed where collected values go."""

import ast
from typing import TypeAlias

import msgspec
from msgspec import Struct

from pathaudit import ir
from pathaudit.index import FunctionRef, Instance


class Held(Struct, frozen=True):
    """A collection, or something made of one; ``ids`` name the collections."""

    ids: frozenset[str]


class Collector(Struct, frozen=True):
    """A function that adds to collections: a bound method of one, or a closure over one."""

    ids: frozenset[str]


class Thing(Struct, frozen=True):
    """A module of the model, at an attribute path from the served class if that is known."""

    path: tuple[str, ...] | None
    instance: Instance


class Layers(Struct, frozen=True):
    """Decoder layers: a stack, one of its layers, or something of a layer."""


class Parts(Struct, frozen=True):
    """A tuple, part by part."""

    items: tuple["Value", ...]


class Flag(Struct, frozen=True):
    """The outcome of a test: known, or known by its text; ``armed`` if it is about the feature."""

    known: bool | None
    text: str
    armed: bool


class Plain(Struct, frozen=True):
    """Anything else. ``known`` is false where what made it could not be followed."""

    known: bool = True


Value: TypeAlias = Held | Collector | Thing | Layers | Parts | Flag | Plain

PLAIN = Plain()
UNKNOWN = Plain(known=False)


class Course(Struct, frozen=True, eq=False):
    """One way through a function so far.

    ``filled`` are the collections that something was added to, ``gone`` those that were stored or
    handed to code that cannot be followed, ``facts`` the tests that were taken.
    """

    names: dict[str, Value]
    filled: frozenset[str] = frozenset()
    gone: frozenset[str] = frozenset()
    facts: frozenset[tuple[str, bool]] = frozenset()


class Exit(Struct, frozen=True):
    """How a function ends: what it returns, what became of the collections, what was tested."""

    value: Value
    filled: frozenset[str]
    gone: frozenset[str]
    facts: frozenset[tuple[str, bool]] = frozenset()


class Loss(Struct, frozen=True):
    """A place where what was collected is left behind.

    ``given`` is what callers receive instead, or ``sink`` what is called without it.
    """

    file: str
    region: ir.Region
    ref: FunctionRef
    name: str
    collected: str
    given: str
    sink: str


class Callee(Struct, frozen=True):
    """A function that is called, on an object or not."""

    ref: FunctionRef
    own: Thing | None


class Maker(Struct, frozen=True):
    """A class whose objects collect is called."""


class Body(Struct, frozen=True, eq=False):
    """A function being followed. ``own`` is the object its first parameter names.

    ``given`` are the collections of its callers; ``judged`` says if its returns are.
    """

    ref: FunctionRef
    node: ast.FunctionDef | ast.AsyncFunctionDef
    own: Thing | None
    given: frozenset[str]
    judged: bool
    depth: int


def ids_in(value: Value) -> frozenset[str]:
    """The collections that a value carries."""
    match value:
        case Held(ids):
            return ids
        case Parts(items):
            return frozenset[str]().union(*(ids_in(item) for item in items))
        case _:
            return frozenset()


def collectors_in(value: Value) -> frozenset[str]:
    """The collections that code which receives a value can add to."""
    match value:
        case Collector(ids) | Held(ids):
            return ids
        case Parts(items):
            return frozenset[str]().union(*(collectors_in(item) for item in items))
        case _:
            return frozenset()


def either(values: list[Value]) -> Value:
    """One value for all that an expression can have."""
    kinds = [value for value in values if value not in (PLAIN, UNKNOWN)]
    if not kinds:
        return UNKNOWN if UNKNOWN in values else PLAIN
    if all(kind == kinds[0] for kind in kinds):
        return kinds[0]
    held = frozenset[str]().union(*(ids_in(kind) for kind in kinds))
    collecting = frozenset[str]().union(*(collectors_in(kind) for kind in kinds))
    return Held(held) if held else Collector(collecting) if collecting else UNKNOWN


def bound(course: Course, name: str, value: Value) -> Course:
    """The course after a name was bound; what is plain is not kept."""
    names = {key: held for key, held in course.names.items() if key != name}
    if not isinstance(value, Plain) or value.known:
        names[name] = value
    return msgspec.structs.replace(course, names=names)


def lost(course: Course, ids: frozenset[str]) -> Course:
    """The course after collections went where they are not followed."""
    return msgspec.structs.replace(course, gone=course.gone | ids) if ids else course


def spread(course: Course, target: ast.expr, value: Value) -> Course:
    """Bind the targets of a loop: each may hold a part of what is looped over."""
    match target:
        case ast.Name(id):
            part = value if isinstance(value, (Held, Layers)) else UNKNOWN
            return bound(course, id, part)
        case ast.Tuple(items) | ast.List(items):
            for item in items:
                course = spread(course, item, value)
            return course
        case _:
            return course
