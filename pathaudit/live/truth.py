"""Is a condition true with the values that are known: yes, no, or not to be told."""

import ast
import operator
from collections.abc import Callable, Mapping

from msgspec import Struct


class Unknown(Struct, frozen=True):
    """A value that is not known, and the names that it depends on."""

    names: tuple[str, ...] = ()


Known = bool | int | float | str | None | tuple["Known", ...]
Lookup = Callable[[str], "object | Unknown"]

_ORDERS: Mapping[type[ast.cmpop], Callable[[object, object], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Is: lambda a, b: a is b,
    ast.IsNot: lambda a, b: a is not b,
}
_NUMBERS: Mapping[type[ast.cmpop], Callable[[float, float], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_SUMS: Mapping[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
}


def truth(text: str, lookup: Lookup) -> bool | Unknown:
    """Evaluate a condition; ``lookup`` gives the value of a name or of any longer expression.

    ``always`` is true and ``never`` false. What is not understood is unknown.
    """
    if text in ("", "always"):
        return True
    if text == "never":
        return False
    node = _parsed(text)
    if node is None:
        return Unknown((text,))
    found = _value(node, lookup)
    return found if isinstance(found, Unknown) else bool(found)


def number(text: str, lookup: Lookup) -> int | Unknown:
    """The integer that an expression stands for."""
    node = _parsed(text)
    found = _value(node, lookup) if node is not None else Unknown((text,))
    if isinstance(found, Unknown):
        return found
    return found if isinstance(found, int) else Unknown((text,))


def _parsed(text: str) -> ast.expr | None:
    try:
        return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return None


def _value(node: ast.expr, lookup: Lookup) -> object:
    match node:
        case ast.Constant(value):
            return value
        case ast.BoolOp(op, values):
            return _connected(isinstance(op, ast.And), [_value(x, lookup) for x in values])
        case ast.UnaryOp(ast.Not(), operand):
            found = _value(operand, lookup)
            return found if isinstance(found, Unknown) else not found
        case ast.UnaryOp(ast.USub(), operand):
            found = _value(operand, lookup)
            return -found if isinstance(found, int | float) else _unknown(node)
        case ast.Compare():
            return _compared(node, lookup)
        case ast.BinOp(left, op, right) if type(op) in _SUMS:
            pair = (_value(left, lookup), _value(right, lookup))
            if all(isinstance(x, int) for x in pair):
                return _SUMS[type(op)](*pair)  # type: ignore[arg-type]
            return _joined(pair) or _unknown(node)
        case _:
            return lookup(ast.unparse(node))


def _connected(conjunction: bool, values: list[object]) -> object:
    """``and`` is false where any part is, whatever is unknown beside it; ``or`` accordingly."""
    known = [bool(x) for x in values if not isinstance(x, Unknown)]
    if (not conjunction) in known:
        return not conjunction
    return _joined(values) or conjunction


def _compared(node: ast.Compare, lookup: Lookup) -> object:
    values = [_value(x, lookup) for x in (node.left, *node.comparators)]
    pairs = zip(values, node.ops, values[1:], strict=False)
    return _connected(True, [_pair(left, op, right) for left, op, right in pairs])


def _pair(left: object, op: ast.cmpop, right: object) -> object:
    unknown = _joined((left, right))
    if unknown is not None:
        return unknown
    if type(op) in _ORDERS:
        return _ORDERS[type(op)](left, right)
    if type(op) in _NUMBERS and isinstance(left, int | float) and isinstance(right, int | float):
        return _NUMBERS[type(op)](left, right)
    if isinstance(op, ast.In | ast.NotIn) and isinstance(right, tuple | list):
        return (left in right) == isinstance(op, ast.In)
    return Unknown()


def _joined(values: "list[object] | tuple[object, ...]") -> Unknown | None:
    names = [name for x in values if isinstance(x, Unknown) for name in x.names]
    if any(isinstance(x, Unknown) for x in values):
        return Unknown(tuple(dict.fromkeys(names)))
    return None


def _unknown(node: ast.expr) -> Unknown:
    return Unknown((ast.unparse(node),))
