"""The statements in some lines of a function, in groups that one path runs together.

Statements of one block that no jump stands between run together or not at all, unless one raises.
"""

import ast
from collections.abc import Collection, Iterator

from msgspec import Struct

from pathaudit.index.syntax import Definition

_Jumps = ast.Return | ast.Raise | ast.Break | ast.Continue


class Segment(Struct, frozen=True, eq=False):
    """Statements that run together; ``within`` is the line of a compound statement around them
    whose header is asked about too, 0 without one."""

    statements: tuple[ast.stmt, ...]
    within: int


def segments(function: Definition, lines: Collection[int]) -> Iterator[Segment]:
    """The groups of the statements of a function that stand in some lines, in order."""
    yield from _in_block(function.body, lines, 0)


def _in_block(body: list[ast.stmt], lines: Collection[int], within: int) -> Iterator[Segment]:
    group: list[ast.stmt] = []
    for statement in body:
        asked = does_something(statement) and not lines_of(statement).isdisjoint(lines)
        if asked:
            group.append(statement)
        if group and _jumps(statement):
            yield Segment(tuple(group), within)
            group = []
        around = statement.lineno if asked else within
        for block in blocks(statement):
            if any(not _whole(item).isdisjoint(lines) for item in block):
                if group:
                    yield Segment(tuple(group), within)
                    group = []
                yield from _in_block(block, lines, around)
    if group:
        yield Segment(tuple(group), within)


def lines_of(statement: ast.stmt) -> frozenset[int]:
    """The lines of a statement itself, of a compound one those of its header."""
    return frozenset(range(statement.lineno, _end_of(statement) + 1))


def _end_of(statement: ast.stmt) -> int:
    match statement:
        case ast.If(test) | ast.While(test):
            last: ast.expr | ast.stmt = test
        case ast.For(_, iterable) | ast.AsyncFor(_, iterable):
            last = iterable
        case ast.With(items) | ast.AsyncWith(items):
            last = items[-1].optional_vars or items[-1].context_expr
        case ast.Match(subject):
            last = subject
        case ast.Try() | ast.TryStar():
            return statement.lineno
        case ast.FunctionDef(args=head) | ast.AsyncFunctionDef(args=head):
            inside = [*ast.walk(head), *([statement.returns] if statement.returns else [])]
            return max([statement.lineno, *(getattr(x, "end_lineno", 0) or 0 for x in inside)])
        case ast.ClassDef():
            return statement.lineno
        case _:
            last = statement
    return last.end_lineno or statement.lineno


def _whole(statement: ast.stmt) -> frozenset[int]:
    return frozenset(range(statement.lineno, (statement.end_lineno or statement.lineno) + 1))


def blocks(statement: ast.stmt) -> list[list[ast.stmt]]:
    """The blocks inside a statement, those of a class in a function left out."""
    if isinstance(statement, ast.ClassDef):
        return []
    found = [getattr(statement, name, []) for name in ("body", "orelse", "finalbody")]
    found += [handler.body for handler in getattr(statement, "handlers", [])]
    found += [case.body for case in getattr(statement, "cases", [])]
    return [block for block in found if block]


def does_something(statement: ast.stmt) -> bool:
    """Is there anything to run? A docstring, ``pass`` and a bare annotation are nothing."""
    match statement:
        case ast.Pass() | ast.Global() | ast.Nonlocal() | ast.Expr(ast.Constant()):
            return False
        case ast.AnnAssign(_, _, value):
            return value is not None
        case _:
            return True


def _jumps(statement: ast.stmt) -> bool:
    pending: list[ast.AST] = [statement]
    while pending:
        node = pending.pop()
        if isinstance(node, _Jumps | ast.Assert):
            return True
        if not isinstance(node, Definition | ast.Lambda | ast.expr):
            pending += ast.iter_child_nodes(node)
    return False
