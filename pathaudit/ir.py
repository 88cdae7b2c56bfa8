"""The small statement language that functions are lowered to; data only.

Nothing here knows a file or a resolved name, so that what is lowered can be kept by content alone.
Lines count from 1 and columns from 0, in characters.
"""

from typing import TypeAlias

from msgspec import Struct


class Region(Struct, frozen=True, order=True):
    """Where something stands in its file: first and last position, the end exclusive."""

    line: int
    column: int
    end_line: int
    end_column: int


NOWHERE = Region(0, 0, 0, 0)


# ---- expressions ------------------------------------------------------------------------------


class Name(Struct, frozen=True, tag=True):
    id: str


class Constant(Struct, frozen=True, tag=True):
    """A literal. Numbers outside 64 bits, complex numbers and bytes are ``Opaque``."""

    value: bool | int | float | str | None


class Attribute(Struct, frozen=True, tag=True):
    value: "Expression"
    name: str


class Subscript(Struct, frozen=True, tag=True):
    value: "Expression"
    index: "Expression"


class Range(Struct, frozen=True, tag=True):
    """``lower:upper:step`` inside a subscript."""

    lower: "Expression | None"
    upper: "Expression | None"
    step: "Expression | None"


class Argument(Struct, frozen=True, tag=True):
    """One argument of a call. ``star`` is ``""``, ``"*"`` or ``"**"``."""

    value: "Expression"
    keyword: str | None = None
    star: str = ""


class Call(Struct, frozen=True, tag=True):
    function: "Expression"
    arguments: tuple[Argument, ...]
    region: Region


class Unary(Struct, frozen=True, tag=True):
    """``operator`` is ``not``, ``-``, ``+`` or ``~``."""

    operator: str
    operand: "Expression"


class Binary(Struct, frozen=True, tag=True):
    operator: str
    left: "Expression"
    right: "Expression"


class Boolean(Struct, frozen=True, tag=True):
    """``operator`` is ``and`` or ``or``; at least two operands, evaluated in order."""

    operator: str
    operands: tuple["Expression", ...]


class Compare(Struct, frozen=True, tag=True):
    """One comparison; chains are lowered to ``Boolean("and", ...)``.

    ``operator`` is one of ``< <= > >= == != is "is not" in "not in"``.
    """

    operator: str
    left: "Expression"
    right: "Expression"


class Conditional(Struct, frozen=True, tag=True):
    """``body if test else orelse``."""

    test: "Expression"
    body: "Expression"
    orelse: "Expression"


class Collection(Struct, frozen=True, tag=True):
    """A display. ``kind`` is ``tuple``, ``list`` or ``set``."""

    kind: str
    items: tuple["Expression", ...]


class Starred(Struct, frozen=True, tag=True):
    value: "Expression"


class Mapping(Struct, frozen=True, tag=True):
    """A dict display; ``**other`` has no key."""

    keys: tuple["Expression | None", ...]
    values: tuple["Expression", ...]


class Clause(Struct, frozen=True, tag=True):
    """``for target in iterable if condition ...`` of a comprehension."""

    target: "Expression"
    iterable: "Expression"
    conditions: tuple["Expression", ...]


class Comprehension(Struct, frozen=True, tag=True):
    """``kind`` is ``list``, ``set``, ``dict`` or ``generator``; ``key`` only for ``dict``."""

    kind: str
    element: "Expression"
    clauses: tuple[Clause, ...]
    region: Region
    key: "Expression | None" = None


class Lambda(Struct, frozen=True, tag=True):
    parameters: tuple["Parameter", ...]
    body: "Expression"
    region: Region


class Walrus(Struct, frozen=True, tag=True):
    name: str
    value: "Expression"


class Yield(Struct, frozen=True, tag=True):
    """``yield value``, ``yield from value`` and ``await value``: control leaves and comes back."""

    value: "Expression | None"


class Opaque(Struct, frozen=True, tag=True):
    """Something whose value is never analysed; ``parts`` are evaluated for their effects."""

    text: str
    parts: tuple["Expression", ...] = ()


Expression: TypeAlias = (
    Name
    | Constant
    | Attribute
    | Subscript
    | Range
    | Call
    | Unary
    | Binary
    | Boolean
    | Compare
    | Conditional
    | Collection
    | Starred
    | Mapping
    | Comprehension
    | Lambda
    | Walrus
    | Yield
    | Opaque
)


# ---- statements -------------------------------------------------------------------------------


class Parameter(Struct, frozen=True, tag=True):
    """``kind`` is ``positional_only``, ``positional``, ``args``, ``keyword_only`` or ``kwargs``."""

    name: str
    kind: str
    default: "Expression | None" = None
    annotation: str = ""


class Assign(Struct, frozen=True, tag=True):
    """``a = b = value``; an annotated assignment without a value is not lowered."""

    targets: tuple[Expression, ...]
    value: Expression
    region: Region


class AugmentedAssign(Struct, frozen=True, tag=True):
    """``target operator= value``; ``operator`` without the ``=``."""

    target: Expression
    operator: str
    value: Expression
    region: Region


class Evaluate(Struct, frozen=True, tag=True):
    """An expression statement."""

    value: Expression
    region: Region


class Delete(Struct, frozen=True, tag=True):
    targets: tuple[Expression, ...]
    region: Region


class Assertion(Struct, frozen=True, tag=True):
    """``assert test``: the path on which the test is false raises."""

    test: Expression
    region: Region


class Branch(Struct, frozen=True, tag=True):
    """``if``. The region is the header: from ``if`` or ``elif`` to the end of the test."""

    test: Expression
    body: tuple["Statement", ...]
    orelse: tuple["Statement", ...]
    region: Region


class Loop(Struct, frozen=True, tag=True):
    """``for target in iterable`` or ``while test``. The region is the header.

    ``target`` and ``iterable`` are set for ``for``, ``test`` for ``while``.
    """

    target: Expression | None
    iterable: Expression | None
    test: Expression | None
    body: tuple["Statement", ...]
    orelse: tuple["Statement", ...]
    region: Region


class Context(Struct, frozen=True, tag=True):
    """One item of a ``with``: ``manager as target``."""

    manager: Expression
    target: Expression | None


class With(Struct, frozen=True, tag=True):
    items: tuple[Context, ...]
    body: tuple["Statement", ...]
    region: Region


class Handler(Struct, frozen=True, tag=True):
    exception: Expression | None
    name: str | None
    body: tuple["Statement", ...]
    region: Region


class Try(Struct, frozen=True, tag=True):
    body: tuple["Statement", ...]
    handlers: tuple[Handler, ...]
    orelse: tuple["Statement", ...]
    final: tuple["Statement", ...]
    region: Region


class Case(Struct, frozen=True, tag=True):
    """One arm of ``match``.

    ``pattern`` is an expression to compare the subject with where the pattern is a plain value,
    else ``None``: the arm may match or not. ``names`` are what the pattern binds; ``irrefutable``
    arms (``case _``, ``case name``) always match.
    """

    pattern: Expression | None
    names: tuple[str, ...]
    guard: Expression | None
    irrefutable: bool
    body: tuple["Statement", ...]
    region: Region


class Match(Struct, frozen=True, tag=True):
    subject: Expression
    cases: tuple[Case, ...]
    region: Region


class Exit(Struct, frozen=True, tag=True):
    """``kind`` is ``return``, ``raise``, ``break`` or ``continue``."""

    kind: str
    value: Expression | None
    region: Region


class Define(Struct, frozen=True, tag=True):
    """A nested function. A nested class is an ``Assign`` of an ``Opaque`` to its name."""

    function: "Function"
    region: Region


class ImportedName(Struct, frozen=True, tag=True):
    """``name`` is bound to ``module`` or, with ``attribute``, to something in it."""

    name: str
    module: str
    attribute: str | None


class Import(Struct, frozen=True, tag=True):
    """``import`` inside a function; ``module`` keeps its leading dots."""

    names: tuple[ImportedName, ...]
    region: Region


Statement: TypeAlias = (
    Assign
    | AugmentedAssign
    | Evaluate
    | Delete
    | Assertion
    | Branch
    | Loop
    | With
    | Try
    | Match
    | Exit
    | Define
    | Import
)


class Function(Struct, frozen=True, tag=True):
    """A function or method. ``generator`` is true where its own body yields."""

    name: str
    parameters: tuple[Parameter, ...]
    body: tuple[Statement, ...]
    region: Region
    generator: bool = False
    decorators: tuple[str, ...] = ()
