"""Which calls of a function have a result that somebody unpacks or returns, and in which names."""

from collections.abc import Callable, Iterable, Iterator

from msgspec import Struct

from pathaudit import ir
from pathaudit.paths.walking import all_statements, bindings, names_of, own_expressions, walk


class Flow(Struct, frozen=True, eq=False):
    """The part of a function that decides the shape of what is returned or unpacked.

    ``results`` are calls to follow, by ``id``; ``names`` hold what they return, or a tuple;
    ``single`` are names that a tuple lists or that an unpacking fills: one thing each.
    """

    results: frozenset[int]
    names: frozenset[str]
    single: frozenset[str]


def flow_of(function: ir.Function, followed: Callable[[ir.Call, bool], bool]) -> Flow:
    """Find what matters in a function.

    ``followed`` says which calls can be looked into, given whether their result is returned.
    """
    statements = tuple(all_statements(function.body))
    pairs = [pair for statement in statements for pair in bindings(statement)]
    calls: set[int] = set()
    names: frozenset[str] = frozenset()
    for consumed, returned in ((_returned, True), (_taken_apart, False)):
        asked = _asked_names([x for item in statements for x in consumed(item)], pairs)
        values = [x for item in statements for x in consumed(item)]
        values += [value for name, value in pairs if name in asked]
        found = [call for value in values for call in _outcomes(value) if isinstance(call, ir.Call)]
        calls.update(id(call) for call in found if followed(call, returned))
        names |= asked
    shaped = _shaped_names(pairs, calls)
    tests = {name for item in statements for name in _deciding(item)}
    return Flow(
        frozenset(calls),
        frozenset((names & shaped) | tests),
        frozenset(_single_names(statements)),
    )


def _asked_names(
    values: Iterable[ir.Expression], pairs: list[tuple[str, ir.Expression]]
) -> frozenset[str]:
    """The names that values may be, and those these come from."""
    found = {x.id for value in values for x in _outcomes(value) if isinstance(x, ir.Name)}
    before = -1
    while before != (before := len(found)):
        for name, value in pairs:
            if name in found:
                found.update(part.id for part in _outcomes(value) if isinstance(part, ir.Name))
    return frozenset(found)


def _returned(statement: ir.Statement) -> Iterator[ir.Expression]:
    match statement:
        case ir.Exit("return", value, _) if value is not None:
            yield value


def _taken_apart(statement: ir.Statement) -> Iterator[ir.Expression]:
    """What a statement unpacks, or asks the type of."""
    match statement:
        case ir.Assign(targets, value, _) if any(isinstance(x, ir.Collection) for x in targets):
            yield value
    for expression in own_expressions(statement):
        for node in walk(expression):
            match node:
                case ir.Call(ir.Name("isinstance"), [first, *_], _):
                    yield first.value


def _deciding(statement: ir.Statement) -> Iterator[str]:
    """The names that decide which arm of an expression is returned."""
    match statement:
        case ir.Exit("return", value, _) if value is not None:
            for node in walk(value):
                if isinstance(node, ir.Conditional):
                    yield from names_of(node.test)


def _outcomes(value: ir.Expression) -> Iterator[ir.Expression]:
    """What an expression may evaluate to: its arms, or itself."""
    match value:
        case ir.Conditional(_, body, orelse):
            yield from _outcomes(body)
            yield from _outcomes(orelse)
        case ir.Walrus(_, inner):
            yield from _outcomes(inner)
        case _:
            yield value


def _shaped_names(pairs: list[tuple[str, ir.Expression]], calls: set[int]) -> frozenset[str]:
    """Names that may hold the result of a followed call, a tuple or a new object."""
    found: set[str] = set()
    before = -1
    while before != (before := len(found)):
        for name, value in pairs:
            if any(_is_shaped(part, calls, found) for part in _outcomes(value)):
                found.add(name)
    return frozenset(found)


def _is_shaped(value: ir.Expression, calls: set[int], names: set[str]) -> bool:
    match value:
        case ir.Name(name):
            return name in names
        case ir.Collection("tuple", items):
            return bool(items)
        case ir.Call(ir.Name(name), _, _) if name[:1].isupper():
            return True
        case ir.Call():
            return id(value) in calls
        case _:
            return False


def _single_names(statements: Iterable[ir.Statement]) -> Iterator[str]:
    for statement in statements:
        match statement:
            case ir.Assign(targets, _, _):
                listed = [item for item in targets if isinstance(item, ir.Collection)]
            case ir.Exit("return", ir.Collection("tuple") as value, _):
                listed = [value]
            case _:
                continue
        for collection in listed:
            yield from (item.id for item in collection.items if isinstance(item, ir.Name))
