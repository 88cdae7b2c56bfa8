"""The calls of a function with the ``with`` statements around them, read once for all who ask."""

import ast
from collections.abc import Iterator
from weakref import WeakKeyDictionary

from msgspec import Struct

from pathaudit.index import FunctionOutline
from pathaudit.index.syntax import Definition

With = ast.With | ast.AsyncWith


class Site(Struct, frozen=True, eq=False):
    """A call, and the ``with`` statements around it, outermost first."""

    call: ast.Call
    around: tuple[With, ...]


class Calls(Struct, frozen=True, eq=False):
    """What a function calls itself and what the functions inside it do, and what names hold."""

    sites: tuple[Site, ...]
    nested: dict[str, tuple[Site, ...]]
    bound: dict[str, tuple[ast.expr, ...]]


_LEAVES = (ast.Name, ast.Constant, ast.expr_context, ast.operator)

_KNOWN: "WeakKeyDictionary[FunctionOutline, Calls]" = WeakKeyDictionary()


def calls_of(function: FunctionOutline) -> Calls:
    """The calls of a function; it says nothing of a tree, so that it holds for all indexes."""
    if function not in _KNOWN:
        _KNOWN[function] = _read(function)
    return _KNOWN[function]


def _read(function: FunctionOutline) -> Calls:
    definition = function.node
    bound: dict[str, list[ast.expr]] = {}
    nested: dict[str, tuple[Site, ...]] = {}
    for node in function.nodes:
        for name, value in _bound(node):
            bound.setdefault(name, []).append(value)
        if isinstance(node, Definition) and node is not definition:
            nested[node.name] = tuple(_sites(node.body, ()))
    held = {name: tuple(values) for name, values in bound.items()}
    return Calls(tuple(_sites(definition.body, ())), nested, held)


def _sites(body: list[ast.stmt], around: tuple[With, ...]) -> Iterator[Site]:
    for statement in body:
        yield from _sites_in(statement, around)


def _sites_in(node: ast.AST, around: tuple[With, ...]) -> Iterator[Site]:
    if isinstance(node, Definition | ast.Lambda | ast.ClassDef):
        return  # what it does, it does where it is called
    if isinstance(node, With):
        for item in node.items:
            yield from _sites_in(item.context_expr, around)
        yield from _sites(node.body, (*around, node))
        return
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, _LEAVES):
            yield from _sites_in(child, around)
    if isinstance(node, ast.Call):
        yield Site(node, around)


def _bound(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """What a statement binds a name to, or a loop to the items of; counters are left out."""
    match node:
        case ast.Assign([ast.Name(name)], value) | ast.NamedExpr(ast.Name(name), value):
            yield name, value
        case ast.For(target, iterable) | ast.comprehension(target, iterable):
            while isinstance(target, ast.Tuple) and target.elts:
                target = target.elts[-1]
            if isinstance(target, ast.Name):
                yield target.id, ast.Subscript(iterable, ast.Constant(0), ast.Load())
