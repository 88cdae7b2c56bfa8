"""Definitions that a later one in the same body silently replaces."""

import ast
from collections.abc import Iterator, Sequence

from msgspec import Struct

from pathaudit.index.syntax import Definition

_Defined = Definition | ast.ClassDef


class Shadowed(Struct, frozen=True):
    """``name`` is defined in line ``first``, and again from ``line`` and ``column`` on.

    ``kind`` is that of the first, ``by`` that of the later one: ``function``, ``class`` or
    ``value``; ``same`` where both say the same.
    """

    name: str
    kind: str
    by: str
    first: int
    line: int
    column: int
    same: bool


def find_shadowed(body: Sequence[ast.stmt]) -> tuple[Shadowed, ...]:
    """The functions and classes of a body that a later statement of it replaces.

    Alternatives, in the arms of an ``if`` or a ``try``, do not count; nor what makes use of the
    earlier definition: an overload, a property's setter, a decorator, a base, an alias.
    """
    names = [name for statement in body for name in _bound(statement)]
    # What a statement reads is slow to find, and few bodies bind a name twice.
    return tuple(_shadowed(body)) if len(set(names)) < len(names) else ()


def _shadowed(body: Sequence[ast.stmt]) -> Iterator[Shadowed]:
    known: dict[str, _Defined] = {}
    for statement in body:
        used = _evaluated_names(statement)
        for name in _bound(statement):
            earlier = known.get(name)
            if earlier is not None and name not in used:
                yield _pair(name, earlier, statement)
        known = {name: node for name, node in known.items() if name not in used}
        if isinstance(statement, _Defined):
            known.pop(statement.name, None)
            if not _is_overload(statement):
                known[statement.name] = statement


def _pair(name: str, earlier: _Defined, later: ast.stmt) -> Shadowed:
    return Shadowed(
        name,
        _kind(earlier),
        _kind(later),
        earlier.lineno,
        later.lineno,
        later.col_offset,
        _text(earlier) == _text(later),
    )


def _kind(node: ast.stmt) -> str:
    if isinstance(node, ast.ClassDef):
        return "class"
    return "function" if isinstance(node, Definition) else "value"


def _bound(statement: ast.stmt) -> list[str]:
    """The names that a statement defines or assigns."""
    match statement:
        case ast.FunctionDef(name) | ast.AsyncFunctionDef(name) | ast.ClassDef(name):
            return [name]
        case ast.Assign(targets):
            return [target.id for target in targets if isinstance(target, ast.Name)]
        case ast.AnnAssign(ast.Name(name), _, value) if value is not None:
            return [name]
        case _:
            return []


def _is_overload(node: _Defined) -> bool:
    return any(ast.unparse(item).endswith("overload") for item in node.decorator_list)


def _text(node: ast.stmt) -> str:
    """What a definition says, without its documentation."""
    if not isinstance(node, _Defined):
        return ""
    body = node.body[1:] if ast.get_docstring(node, clean=False) is not None else node.body
    head = ast.unparse(node.args) if isinstance(node, Definition) else str(_texts(node.bases))
    return f"{head}\n{_texts(node.decorator_list)}\n{_texts(body)}"


def _texts(nodes: Sequence[ast.AST]) -> list[str]:
    return [ast.unparse(node) for node in nodes]


def _evaluated_names(statement: ast.stmt) -> set[str]:
    """The names that a statement reads when it is executed, not when a function in it is called."""
    pending: list[ast.AST] = [statement]
    found = set()
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            found.add(node.id)
        if isinstance(node, Definition):
            pending += [*node.decorator_list, *node.args.defaults]
            pending += [item for item in node.args.kw_defaults if item is not None]
        elif isinstance(node, ast.Lambda):
            pending += node.args.defaults
        else:
            pending += ast.iter_child_nodes(node)
    return found
