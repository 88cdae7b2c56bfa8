"""The part of a function that decides on its events: most of what it does is of no interest."""

from collections.abc import Callable

import msgspec

from pathaudit import ir
from pathaudit.paths.walking import (
    all_statements,
    bindings,
    blocks,
    last_name,
    own_expressions,
    stored,
    walk,
)

Matters = Callable[[str], bool]


def sliced(function: ir.Function, matters: Matters) -> ir.Function:
    """The function without the statements that neither lead to an event nor decide on one.

    ``matters`` says whether a call of that name may lead to an event. What is kept are such calls,
    jumps, what is around them, and what assigns what they are about.
    """
    wanted = _wanted(function.body, matters)
    return msgspec.structs.replace(function, body=_kept(function.body, wanted, matters))


def holds_call(node: ir.Expression, matters: Matters) -> bool:
    """Does an expression hold a call that matters?"""
    calls = (part for part in walk(node) if isinstance(part, ir.Call))
    return any(matters(last_name(call.function)) for call in calls)


def holds_event(body: tuple[ir.Statement, ...], matters: Matters) -> bool:
    """Do statements hold a call that matters, at any depth?"""
    expressions = (x for statement in all_statements(body) for x in own_expressions(statement))
    return any(holds_call(expression, matters) for expression in expressions)


def _wanted(body: tuple[ir.Statement, ...], matters: Matters) -> frozenset[str]:
    """The names and attributes that an event is about, or that decide whether it is reached."""
    found: set[str] = set()
    assigned: list[tuple[str, set[str]]] = []
    for statement in all_statements(body):
        decides = bool(blocks(statement)) and _is_jump_or_event((statement,), matters)
        for expression in own_expressions(statement):
            if decides or holds_call(expression, matters):
                found |= _identifiers(expression)
        for target in stored(statement):
            values = (_identifiers(x) for x in own_expressions(statement))
            assigned.append((last_name(target), set().union(*values)))
        assigned += [(name, _identifiers(value)) for name, value in bindings(statement)]
    while more := {x for name, used in assigned if name in found for x in used} - found:
        found |= more
    return frozenset(found)


def _identifiers(node: ir.Expression) -> set[str]:
    parts = walk(node)
    names = (last_name(part) for part in parts if isinstance(part, ir.Name | ir.Attribute))
    return set(names) - {"self"}


def _is_jump_or_event(body: tuple[ir.Statement, ...], matters: Matters) -> bool:
    jumps = any(isinstance(statement, ir.Exit) for statement in all_statements(body))
    return jumps or holds_event(body, matters)


def _kept(
    body: tuple[ir.Statement, ...], wanted: frozenset[str], matters: Matters
) -> tuple[ir.Statement, ...]:
    return tuple(_pruned(x, wanted, matters) for x in body if _is_kept(x, wanted, matters))


def _is_kept(statement: ir.Statement, wanted: frozenset[str], matters: Matters) -> bool:
    if _is_jump_or_event((statement,), matters):
        return True
    if isinstance(statement, ir.Assertion):
        return bool(_identifiers(statement.test) & wanted)
    inner = all_statements((statement,))
    names = {last_name(target) for item in inner for target in stored(item)}
    bound = {name for item in all_statements((statement,)) for name, _ in bindings(item)}
    return bool((names | bound) & wanted)


def _pruned(statement: ir.Statement, wanted: frozenset[str], matters: Matters) -> ir.Statement:
    def kept(inner: tuple[ir.Statement, ...]) -> tuple[ir.Statement, ...]:
        return _kept(inner, wanted, matters)

    replace = msgspec.structs.replace
    match statement:
        case ir.Branch() | ir.Loop():
            return replace(statement, body=kept(statement.body), orelse=kept(statement.orelse))
        case ir.With():
            return replace(statement, body=kept(statement.body))
        case ir.Try():
            handlers = tuple(replace(x, body=kept(x.body)) for x in statement.handlers)
            return replace(
                statement,
                body=kept(statement.body),
                handlers=handlers,
                orelse=kept(statement.orelse),
                final=kept(statement.final),
            )
        case ir.Match():
            cases = tuple(replace(x, body=kept(x.body)) for x in statement.cases)
            return replace(statement, cases=cases)
        case _:
            return statement
