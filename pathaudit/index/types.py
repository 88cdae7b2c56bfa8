"""The types a value can have, as data."""

from collections.abc import Iterable

from msgspec import Struct

from pathaudit.index.outline import FunctionOutline
from pathaudit.index.resolve import (
    ClassRef,
    FunctionRef,
)


class Instance(Struct, frozen=True, order=True, tag=True):
    """An object of a class; ``bindings`` are constructor arguments that are classes."""

    cls: ClassRef
    bindings: tuple[tuple[str, "Types"], ...] = ()


class StackType(Struct, frozen=True, order=True, tag=True):
    """A container of modules. ``decoder`` says that it holds the decoder layers of a model."""

    elements: "Types"
    decoder: bool


class ClassType(Struct, frozen=True, order=True, tag=True):
    """The class itself, as in ``layer_type=DecoderLayer``."""

    cls: ClassRef


class FunctionType(Struct, frozen=True, order=True, tag=True):
    ref: FunctionRef


Type = Instance | StackType | ClassType | FunctionType


class Types(Struct, frozen=True, order=True):
    """The possible types of a value; not ``complete`` where something could not be followed."""

    items: tuple[Type, ...] = ()
    complete: bool = True

    def instances(self) -> tuple[Instance, ...]:
        return tuple(item for item in self.items if isinstance(item, Instance))

    def stacks(self) -> tuple[StackType, ...]:
        return tuple(item for item in self.items if isinstance(item, StackType))


NOTHING = Types()


UNKNOWN = Types((), complete=False)


def union(parts: Iterable[Types]) -> Types:
    """All types of all parts; complete only if each part is."""
    items: dict[Type, None] = {}
    complete = True
    for part in parts:
        items.update(dict.fromkeys(part.items))
        complete = complete and part.complete
    return Types(tuple(items), complete)


class Scope(Struct, frozen=True, eq=False):
    """Where an expression is evaluated: a module, and in it a method of a receiver or nothing."""

    file: str
    receiver: Instance | None = None
    owner: ClassRef | None = None
    function: FunctionOutline | None = None
    arguments: tuple[tuple[str, Types], ...] = ()
    names: tuple[tuple[str, Types], ...] = ()


def with_names(scope: Scope, names: tuple[tuple[str, Types], ...]) -> Scope:
    return Scope(
        scope.file,
        scope.receiver,
        scope.owner,
        scope.function,
        scope.arguments,
        (*names, *scope.names),
    )
