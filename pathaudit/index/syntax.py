"""Questions about the syntax of functions that need no types."""

import ast
from collections.abc import Iterator

from msgspec import Struct


def dotted_name(node: ast.expr) -> str:
    match node:
        case ast.Name(id):
            return id
        case ast.Attribute(value, attr):
            base = dotted_name(value)
            return f"{base}.{attr}" if base else ""
        case _:
            return ""


def returns(node: ast.AST) -> list[ast.expr]:
    return [
        statement.value
        for statement in ast.walk(node)
        if isinstance(statement, ast.Return) and statement.value is not None
    ]


class Assigned(Struct, frozen=True, eq=False):
    """What a name is assigned: a value, or the item at ``position`` of one that is unpacked."""

    value: ast.expr
    position: int | None = None


def local_assignments(node: ast.AST) -> dict[str, list[Assigned]]:
    """What each name is assigned anywhere inside a node, in order."""
    found: dict[str, list[Assigned]] = {}
    for statement in ast.walk(node):
        if isinstance(statement, (ast.Assign, ast.AnnAssign)) and statement.value is not None:
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            for target in targets:
                for name, position in _bound_names(target):
                    found.setdefault(name, []).append(Assigned(statement.value, position))
    return found


def _bound_names(target: ast.expr) -> Iterator[tuple[str, int | None]]:
    if isinstance(target, ast.Name):
        yield target.id, None
    elif isinstance(target, ast.Tuple):
        for position, item in enumerate(target.elts):
            if isinstance(item, ast.Name):
                yield item.id, position


def parameters(node: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    arguments = node.args
    return {item.arg for item in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}


def default_of(node: ast.FunctionDef | ast.AsyncFunctionDef, name: str) -> ast.expr | None:
    arguments = node.args
    positional = [*arguments.posonlyargs, *arguments.args]
    with_default = positional[len(positional) - len(arguments.defaults) :]
    for item, default in zip(with_default, arguments.defaults, strict=True):
        if item.arg == name:
            return default
    for item, keyword in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        if item.arg == name:
            return keyword
    return None


def base_init_call(node: ast.AST) -> ast.Call | None:
    """``super().__init__(...)`` or ``Base.__init__(self, ...)`` in a constructor."""
    for call in ast.walk(node):
        if (
            isinstance(call, ast.Call)
            and isinstance(call.func, ast.Attribute)
            and call.func.attr == "__init__"
        ):
            return call
    return None


def calls_with_loops(
    node: ast.AST, loops: tuple[ast.For, ...]
) -> Iterator[tuple[tuple[ast.For, ...], ast.Call]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Call):
            yield loops, child
        inner = (*loops, child) if isinstance(child, ast.For) else loops
        yield from calls_with_loops(child, inner)


def first_line(statement: ast.stmt) -> int:
    """The line where a statement begins, with the decorators of a function or class."""
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(item.lineno for item in decorators)])


def header_lines(statement: ast.stmt) -> range:
    """The lines of a statement; of one with a body, those before the body begins."""
    body: list[ast.stmt] = getattr(statement, "body", [])
    last = first_line(body[0]) - 1 if body else statement.end_lineno
    return range(statement.lineno, max(statement.lineno, last or 0) + 1)
