"""The first steps of a known predicate: where its object is made, and its body."""

import ast

from pathaudit.decisions import GateHop
from pathaudit.gates.facts import subject
from pathaudit.gates.scopes import Scope, is_parameter, is_property, parameter_line
from pathaudit.gates.slicing import Slice
from pathaudit.index import ClassRef, FunctionRef


def steps_into(slices: Slice, node: ast.expr, scope: Scope) -> tuple[GateHop, ...]:
    """The first steps of what a condition reads: where its object is made, its body."""
    node = subject(node)
    match node:
        case ast.Name(id):
            function = scope.function
            if function is not None and is_parameter(function.node, id):
                return (scope.hop("parameter", parameter_line(function.node, id), id),)
        case ast.Call(func):
            return (*_object(slices, func, scope), *_body(slices, func, scope))
        case ast.Attribute():
            return (*_object(slices, node, scope), *_body(slices, node, scope))
    return ()


def _object(slices: Slice, node: ast.expr, scope: Scope) -> tuple[GateHop, ...]:
    """``self.group.is_last``: where ``self.group`` is stored."""
    match node:
        case ast.Attribute(ast.Attribute(ast.Name("self"), name), _):
            written = slices.writers.of(name, scope.cls)
            return tuple(x.scope.hop(x.kind, x.statement) for x in written[:1])
    return ()


def _body(slices: Slice, func: ast.expr, scope: Scope) -> tuple[GateHop, ...]:
    ref = _called(slices, func, scope)
    found = slices.names.method_scope(ref, None) if ref else None
    if found is None or found.function is None:
        return ()
    node = found.function.node
    returns = [x for x in ast.walk(node) if isinstance(x, ast.Return)]
    if not returns:
        return ()
    kind = "property" if is_property(found.function) else "return"
    return (found.hop(kind, max(returns, key=lambda x: x.lineno)),)


def _called(slices: Slice, func: ast.expr, scope: Scope) -> FunctionRef | None:
    symbol = slices.names.symbol(func, scope)
    if isinstance(symbol, FunctionRef):
        return symbol
    if not isinstance(func, ast.Attribute):
        return None
    cls = slices.names.class_of(func.value, scope)
    owners: list[ClassRef] = [cls] if cls else [x for x, _ in slices.owners(func.attr)]
    for owner in owners:
        method = slices.index.modules.method(owner, func.attr)
        if method is not None:
            return method[0]
    return None
