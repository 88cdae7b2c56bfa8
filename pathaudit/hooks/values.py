"""What expressions of the audited code can stand for, where modules are concerned; data only."""

import ast
from collections.abc import Iterable

from msgspec import Struct

from pathaudit.index import ClassRef, FunctionRef
from pathaudit.index.outline import ImportedSymbol
from pathaudit.index.syntax import Assigned


class Thing(Struct, frozen=True, order=True, tag=True):
    """An object of a class of the tree, by the attribute path that it was first stored at.

    ``path`` is seen from the served class; it begins with ``<`` where no attribute holds it.
    ``within`` are the classes of the objects that hold it, from the served class on: where one of
    them can be of several classes, the objects in it are different ones.
    """

    path: str
    cls: ClassRef
    within: tuple[str, ...] = ()

    @property
    def held(self) -> bool:
        return not self.path.startswith("<")


class Foreign(Struct, frozen=True, order=True, tag=True):
    """A module of a class outside of the tree, such as ``torch.nn.Linear``."""

    path: str
    name: str
    within: tuple[str, ...] = ()

    @property
    def held(self) -> bool:
        return not self.path.startswith("<")


class Stack(Struct, frozen=True, tag=True):
    """A container of modules; one that is ``called`` calls each of them."""

    path: str
    elements: "tuple[Value, ...]"
    called: bool = False


class ClassValue(Struct, frozen=True, tag=True):
    """A class itself."""

    cls: ClassRef


class ForeignClass(Struct, frozen=True, tag=True):
    """A class of modules outside of the tree."""

    name: str


class Function(Struct, frozen=True, tag=True):
    """A function, or a method of ``receiver``."""

    ref: FunctionRef
    receiver: Thing | None = None


class Constant(Struct, frozen=True, tag=True):
    value: bool | int | str | None


class Several(Struct, frozen=True, tag=True):
    """A tuple or list, item by item."""

    items: "tuple[Values, ...]"


class Closure(Struct, frozen=True, eq=False, tag=True):
    """A lambda, or a function inside of another, where its free names have a meaning."""

    node: ast.Lambda | ast.FunctionDef | ast.AsyncFunctionDef
    frame: "Frame"


Value = (
    Thing | Foreign | Stack | ClassValue | ForeignClass | Function | Constant | Several | Closure
)
Values = tuple[Value, ...]
Module = Thing | Foreign
NOTHING: Values = ()


class Frame(Struct, frozen=True, eq=False):
    """A function with what is known of its names; ``outer`` is the one that it is defined in."""

    file: str
    node: ast.AST
    locals: dict[str, list[Assigned]]
    imports: tuple[tuple[str, ImportedSymbol], ...] = ()
    ref: FunctionRef | None = None
    owner: ClassRef | None = None
    receiver: Thing | None = None
    names: dict[str, Values] = {}
    outer: "Frame | None" = None


def union(parts: Iterable[Values]) -> Values:
    """All values of all parts, each once, in order."""
    return tuple(dict.fromkeys(value for part in parts for value in part))


def modules_in(values: Iterable[Value]) -> list[Module]:
    """The objects among values."""
    return [value for value in values if isinstance(value, Thing | Foreign)]


def layers_in(value: Value) -> list[Thing]:
    """The layers that a stack, or a list of some, holds."""
    match value:
        case Stack(_, elements):
            found = elements
        case Several((values,)):
            found = values
        case _:
            found = NOTHING
    return [x for x in found if isinstance(x, Thing) and x.path.endswith(".*")]


def leads_on(value: Value) -> bool:
    """May a function that is given this value run a module?"""
    match value:
        case Thing() | Foreign() | Stack() | Closure():
            return True
        case Function(_, receiver):
            return receiver is not None
        case Several(items):
            return any(leads_on(inner) for values in items for inner in values)
        case _:
            return False


def picked(values: Values, position: int | None) -> Values:
    """One item of each value that is unpacked, or the values themselves."""
    if position is None:
        return values
    several = (value.items for value in values if isinstance(value, Several))
    return union(items[position] for items in several if -len(items) <= position < len(items))


def elements_of(values: Values) -> Values:
    """What values hold, one at a time."""
    parts: list[Values] = []
    for value in values:
        match value:
            case Stack(_, elements):
                parts.append(elements)
            case Several(items):
                parts.append(union(items))
            case ClassValue() | ForeignClass() | Function():
                parts.append((value,))
    return union(parts)


def members_of(values: Values) -> Values:
    """The modules that a container is made of: given one by one, or in a list."""
    single = tuple(value for value in values if isinstance(value, Thing | Foreign))
    return union((single, elements_of(values)))
