"""What a local name can hold while a function is executed symbolically.

Values are identified by canonical text. Two marks occur in such text and never in what people
see: ``name@3`` belongs to an iteration of loop 3, ``name#40`` was made in line 40. A third,
``attribute~2`` for what its second store left there, is shown as ``attribute_later``.
"""

import re
from typing import TypeAlias

from msgspec import Struct

from pathaudit import ir
from pathaudit.index import ClassRef, FunctionRef, StackType, Types
from pathaudit.paths.formulas import Formula

MARKS = re.compile(r"[@#]\d+")
VERSIONS = re.compile(r"~\d+")


class Symbol(Struct, frozen=True):
    """Something known by its text alone; ``present`` where it cannot be ``None``."""

    text: str
    types: Types | None = None
    present: bool = False


class Constant(Struct, frozen=True):
    value: bool | int | float | str | None


class Number(Struct, frozen=True):
    """The integer ``base + offset``; a plain integer has no base."""

    base: str
    offset: int = 0


class Truth(Struct, frozen=True):
    """The outcome of a test that was assigned to a name."""

    formula: Formula
    text: str


class Stack(Struct, frozen=True):
    """A layer stack, by the text of the attribute that holds it."""

    text: str
    type: StackType


class View(Struct, frozen=True):
    """``stack[low:high]``; ``high`` is ``None`` up to the end of the stack."""

    stack: Stack
    low: "Value"
    high: "Value | None"


class Element(Struct, frozen=True):
    stack: Stack
    index: "Value"


class Accumulator(Struct, frozen=True):
    """A container that events collect into; ``kept`` where it can reach the caller.

    ``fresh`` while nothing was added to it.
    """

    text: str
    kept: bool
    cls: ClassRef | None = None
    fresh: bool = True


class Member(Struct, frozen=True):
    """An attribute of a value that is followed: a bound method of a layer, say."""

    owner: "Value"
    name: str


class Closure(Struct, frozen=True):
    """A nested function or lambda; ``cells`` are the names it sees, as last known."""

    region: ir.Region
    file: str
    cells: tuple[tuple[str, "Value"], ...] = ()


class Callee(Struct, frozen=True):
    """A function of the tree; ``receiver`` is the object of a bound method."""

    ref: FunctionRef
    receiver: "Value | None" = None


class ClassValue(Struct, frozen=True):
    cls: ClassRef


class Partial(Struct, frozen=True):
    """``functools.partial(function, ...)``."""

    function: "Value"
    arguments: tuple[tuple[str, "Value"], ...]


class Items(Struct, frozen=True):
    """A tuple or list whose parts are known."""

    items: tuple["Value", ...]


class Keywords(Struct, frozen=True):
    """What a ``**`` parameter received."""

    items: tuple[tuple[str, "Value"], ...]


class Sequence(Struct, frozen=True):
    """An iterable over layers.

    ``kind`` is ``range`` (numbers ``low .. high``), ``layers`` (elements of ``view``),
    ``enumerate`` (pairs, counted from ``start``) or ``zip`` (tuples over ``parts``).
    """

    kind: str
    low: "Value | None" = None
    high: "Value | None" = None
    view: View | None = None
    start: "Value | None" = None
    parts: tuple["Value", ...] = ()


class Made(Struct, frozen=True):
    """A list that a comprehension over layers made; ``item`` is what it holds for each."""

    item: "Value"
    view: View | None


class Surrounding(Struct, frozen=True):
    """A context manager that a rule wants around its runs, and where it was made."""

    evidence: str


Value: TypeAlias = (
    Symbol
    | Constant
    | Number
    | Truth
    | Stack
    | View
    | Element
    | Accumulator
    | Member
    | Closure
    | Callee
    | ClassValue
    | Partial
    | Items
    | Keywords
    | Sequence
    | Made
    | Surrounding
)

NONE = Constant(None)


def text_of(value: Value) -> str:  # noqa: C901 - one arm a type
    """Canonical text of a value, marks included."""
    match value:
        case Symbol(text) | Truth(_, text) | Stack(text) | Accumulator(text):
            return text
        case Constant(constant):
            return repr(constant)
        case Number(base, offset):
            return number_text(base, offset)
        case View(stack, low, high):
            return f"{stack.text}[{text_of(low)}:{text_of(high) if high is not None else ''}]"
        case Element(stack, index):
            return f"{stack.text}[{text_of(index)}]"
        case Member(owner, name):
            return f"{text_of(owner)}.{name}"
        case Closure(region):
            return f"<function at line {region.line}>"
        case Callee(ref):
            return ref.qualname
        case ClassValue(cls):
            return cls.name
        case Partial(function):
            return text_of(function)
        case Items(items):
            return f"({', '.join(text_of(item) for item in items)})"
        case Keywords(items):
            return f"{{{', '.join(f'{name}={text_of(item)}' for name, item in items)}}}"
        case Sequence(kind):
            return f"<{kind}>"
        case Made(item):
            return f"[{text_of(item)}]"
        case Surrounding(evidence):
            return f"<{evidence}>"


def number_text(base: str, offset: int) -> str:
    """``base + offset`` as people write it.

    >>> number_text("end", -1)
    'end - 1'
    """
    if not base:
        return str(offset)
    if not offset:
        return base
    return f"{base} {'+' if offset > 0 else '-'} {abs(offset)}"


def marked(text: str, loop: int) -> bool:
    """Does text depend on an iteration of this loop?"""
    return re.search(rf"@{loop}(?!\d)", text) is not None


def plain(text: str) -> str:
    """Text for people: marks and the receiver's name taken off."""
    text = VERSIONS.sub("_later", MARKS.sub("", text))
    return re.sub(r"(?<![\w.])self\.", "", text)


def carries(value: Value) -> bool:
    """Can code that receives this value run layers or collect with it?"""
    match value:
        case Stack() | View() | Element() | Accumulator() | Closure() | Made() | Surrounding():
            return True
        case Member(owner):
            return isinstance(owner, Accumulator)
        case Callee(_, receiver):
            return receiver is not None and carries(receiver)
        case Items(items):
            return any(carries(item) for item in items)
        case Keywords(pairs):
            return any(carries(item) for _, item in pairs)
        case Sequence(kind, _, _, _, _, parts):
            return kind != "range" or any(carries(part) for part in parts)
        case Partial(function, arguments):
            return carries(function) or any(carries(item) for _, item in arguments)
        case _:
            return False
