"""Values that two methods make by the same call, one with a constant where the other has none."""

import ast
from collections.abc import Iterator

from pathaudit.check.sites import symbol_of
from pathaudit.index import External, FunctionOutline, FunctionRef, Index
from pathaudit.index.syntax import dotted_name


def unlike(index: Index, main: FunctionRef, other: FunctionRef) -> Iterator[tuple[ast.expr, str]]:
    """What ``other`` fixes and ``main`` takes from its data, as the call and a sentence on it."""
    first, second = index.modules.function(main), index.modules.function(other)
    if first is None or second is None or main == other:
        return
    for name in sorted(first.locals.keys() & second.locals.keys()):
        one, two = _made(first, name), _made(second, name)
        if one is None or two is None or dotted_name(one.func) != dotted_name(two.func):
            continue
        if not dotted_name(one.func) or len(one.args) != len(two.args):
            continue
        here = {item.arg: item.value for item in two.keywords}
        for item in one.keywords:
            value = here.get(item.arg)
            if value is None or not _is_taken(item.value, first):
                continue
            if _is_fixed(index, other, second, value):
                fixed, taken = ast.unparse(value), ast.unparse(item.value)
                yield two, f"{name} has {item.arg}={fixed} here, and {taken} in {main.qualname}"


def _made(function: FunctionOutline, name: str) -> ast.Call | None:
    """The call whose result a local is, if it is assigned once."""
    values = function.locals[name]
    if len(values) != 1 or values[0].position is not None:
        return None
    return values[0].value if isinstance(values[0].value, ast.Call) else None


def _is_taken(node: ast.expr, function: FunctionOutline) -> bool:
    """Is a value read from a local that the function computes?"""
    return (
        isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id in function.locals
    )


def _is_fixed(index: Index, ref: FunctionRef, function: FunctionOutline, node: ast.expr) -> bool:
    if isinstance(node, ast.Constant):
        return node.value is not None
    name = dotted_name(node)
    return bool(name) and isinstance(symbol_of(index, ref.file, function, name), External)
