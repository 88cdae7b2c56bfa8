"""What names of a function are bound to beside assignments: loops, and asserted classes."""

import ast
from collections.abc import Iterator

from msgspec import Struct

# Calls that give what they are given, item by item.
PASSING = frozenset(("list", "tuple", "reversed", "iter", "islice", "sorted"))


class Looped(Struct, frozen=True, eq=False):
    """A name that a loop or comprehension binds; ``position`` where items are unpacked."""

    iterable: ast.expr
    position: int | None


class Bound(Struct, frozen=True, eq=False):
    """The names of loops, the inner functions, and the classes that an ``assert`` gives."""

    loops: dict[str, list[Looped]]
    inner: dict[str, ast.FunctionDef | ast.AsyncFunctionDef]
    asserted: dict[str, list[ast.expr]]


def bound_in(node: ast.AST) -> Bound:
    """What a function binds, other than by assignments and parameters."""
    found = Bound({}, {}, {})
    for part in ast.walk(node):
        match part:
            case ast.For() | ast.AsyncFor() | ast.comprehension():
                for name, position in _targets(part.target):
                    found.loops.setdefault(name, []).append(Looped(part.iter, position))
            case ast.FunctionDef() | ast.AsyncFunctionDef() if part is not node:
                found.inner[part.name] = part
            case ast.Assert(ast.Call(ast.Name("isinstance"), [value, classes])):
                found.asserted.setdefault(ast.unparse(value), []).append(classes)
    return found


def _targets(target: ast.expr) -> Iterator[tuple[str, int | None]]:
    if isinstance(target, ast.Name):
        yield target.id, None
    elif isinstance(target, ast.Tuple):
        for position, item in enumerate(target.elts):
            if isinstance(item, ast.Name):
                yield item.id, position


def parameters_of(node: ast.AST) -> list[str]:
    """The names of positional parameters, in order."""
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        return []
    return [item.arg for item in (*node.args.posonlyargs, *node.args.args)]


def keyword_parameters(node: ast.AST) -> list[str]:
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        return []
    return [item.arg for item in node.args.kwonlyargs]


def defaults_of(node: ast.AST) -> dict[str, ast.expr]:
    """The defaults of parameters that have one."""
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        return {}
    names = parameters_of(node)
    given = node.args.defaults
    found = dict(zip(names[len(names) - len(given) :], given, strict=True))
    pairs = zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
    return found | {item.arg: value for item, value in pairs if value is not None}
