"""Works out expressions on numbers, lists and texts; anything else is unclear."""

import ast
import operator
from collections.abc import Callable, Iterable, Mapping

_LONGEST = 10_000


class UnclearError(Exception):
    """A value that cannot be told; ``path`` where it is an attribute of the served class."""

    def __init__(self, text: str, path: tuple[str, ...] = ()) -> None:
        super().__init__(text)
        self.path = path


class Scope:
    """Local names; what else an expression may ask for is unclear here."""

    def __init__(self, names: dict[str, object]) -> None:
        self.names = names

    def attribute(self, node: ast.Attribute) -> object:
        """The value of an attribute; raises ``UnclearError``."""
        raise UnclearError(ast.unparse(node))

    def has(self, owner: ast.expr, name: str) -> bool:
        """Does an object have an attribute? Raises ``UnclearError``."""
        raise UnclearError(f"{ast.unparse(owner)}.{name}")

    def call(self, node: ast.Call) -> object:
        """The value of a method call; raises ``UnclearError``."""
        raise UnclearError(ast.unparse(node.func))


_SUMS: Mapping[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_ORDERS: Mapping[type[ast.cmpop], Callable[[int, int], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


def evaluate(node: ast.expr, scope: Scope) -> object:  # noqa: C901 - one arm a form
    """The value of an expression; raises ``UnclearError`` where it cannot be told."""
    match node:
        case ast.Constant(value):
            return value
        case ast.Name(id):
            return _known(scope.names.get(id, UnclearError(id)))
        case ast.Attribute():
            return _known(scope.attribute(node))
        case ast.List(elts) | ast.Tuple(elts) | ast.Set(elts):
            return [evaluate(x, scope) for x in elts]
        case ast.BoolOp(op, values):
            return _connected(isinstance(op, ast.And), values, scope)
        case ast.UnaryOp(ast.Not(), operand):
            return not evaluate(operand, scope)
        case ast.UnaryOp(ast.USub(), operand):
            return -_number(evaluate(operand, scope))
        case ast.IfExp(test, body, orelse):
            return evaluate(body if evaluate(test, scope) else orelse, scope)
        case ast.Compare():
            return _compared(node, scope)
        case ast.BinOp(left, op, right):
            return _sum(evaluate(left, scope), op, evaluate(right, scope))
        case ast.Subscript(owner, index):
            return _item(evaluate(owner, scope), index, scope)
        case ast.ListComp() | ast.SetComp() | ast.GeneratorExp():
            return _comprehended(node, scope)
        case ast.Call():
            return _called(node, scope)
        case _:
            raise UnclearError(type(node).__name__)


def _known(value: object) -> object:
    if isinstance(value, UnclearError):
        raise value
    return value


def _number(value: object) -> int:
    if isinstance(value, int):
        return value
    raise UnclearError("no number")


def _items(value: object) -> list[object]:
    if isinstance(value, list | tuple | set | frozenset | range) and len(value) <= _LONGEST:
        return list(value)
    raise UnclearError("no list")


def _connected(conjunction: bool, values: list[ast.expr], scope: Scope) -> object:
    """As Python does: the first value that decides; what is unclear before it decides nothing."""
    unclear: UnclearError | None = None
    value: object = conjunction
    for item in values:
        try:
            value = evaluate(item, scope)
        except UnclearError as error:
            unclear = error
            continue
        if bool(value) is not conjunction:
            return value
    if unclear is not None:
        raise unclear
    return value


def _compared(node: ast.Compare, scope: Scope) -> bool:
    left = evaluate(node.left, scope)
    for op, comparator in zip(node.ops, node.comparators, strict=True):
        right = evaluate(comparator, scope)
        if not _holds(left, op, right):
            return False
        left = right
    return True


def _holds(left: object, op: ast.cmpop, right: object) -> bool:
    match op:
        case ast.Eq() | ast.Is():
            return left == right
        case ast.NotEq() | ast.IsNot():
            return left != right
        case ast.In() | ast.NotIn():
            return (left in _items(right)) == isinstance(op, ast.In)
        case _:
            return _ORDERS[type(op)](_number(left), _number(right))


def _sum(left: object, op: ast.operator, right: object) -> object:
    if isinstance(op, ast.Add) and isinstance(left, list) and isinstance(right, list):
        return [*left, *right]
    if isinstance(op, ast.Div):
        divisor = _number(right)
        if divisor == 0:
            raise UnclearError("division by zero")
        return _Fraction(_number(left) / divisor)
    if type(op) not in _SUMS:
        raise UnclearError(type(op).__name__)
    if isinstance(left, _Fraction) or isinstance(right, _Fraction):
        return _Fraction(_SUMS[type(op)](left, right))  # type: ignore[arg-type]
    one, other = _number(left), _number(right)
    if isinstance(op, ast.FloorDiv | ast.Mod) and other == 0:
        raise UnclearError("division by zero")
    return _SUMS[type(op)](one, other)


class _Fraction(float):
    """A number that only ``round`` and ``int`` make a layer of."""


def _item(value: object, index: ast.expr, scope: Scope) -> object:
    items = _items(value)
    if isinstance(index, ast.Slice):
        bounds = [
            None if x is None else _number(evaluate(x, scope))
            for x in (index.lower, index.upper, index.step)
        ]
        return items[slice(*bounds)]
    try:
        return items[_number(evaluate(index, scope))]
    except IndexError:
        raise UnclearError("no such item") from None


def _comprehended(
    node: ast.ListComp | ast.SetComp | ast.GeneratorExp, scope: Scope
) -> list[object]:
    if len(node.generators) != 1 or not isinstance(node.generators[0].target, ast.Name):
        raise UnclearError("comprehension")
    clause = node.generators[0]
    name = clause.target.id if isinstance(clause.target, ast.Name) else ""
    before = dict(scope.names)
    found = []
    try:
        for item in _items(evaluate(clause.iter, scope)):
            scope.names[name] = item
            if all(evaluate(test, scope) for test in clause.ifs):
                found.append(evaluate(node.elt, scope))
    finally:
        scope.names = before
    return found


def _called(node: ast.Call, scope: Scope) -> object:
    if not isinstance(node.func, ast.Name):
        return _known(scope.call(node))
    name = node.func.id
    if name in ("hasattr", "getattr") and len(node.args) > 1:
        return _attribute_by_name(name, node, scope)
    arguments = [evaluate(x, scope) for x in node.args]
    return _built_in(name, arguments)


def _attribute_by_name(name: str, node: ast.Call, scope: Scope) -> object:
    owner, attribute, *default = node.args
    text = evaluate(attribute, scope)
    if not isinstance(text, str):
        raise UnclearError(name)
    if name == "hasattr":
        return scope.has(owner, text)
    try:
        return scope.attribute(ast.Attribute(owner, text, ast.Load()))
    except UnclearError:
        if not default:
            raise
        return evaluate(default[0], scope)


def _built_in(name: str, given: list[object]) -> object:  # noqa: C901 - one arm a function
    match name, given:
        case (("list" | "tuple" | "set" | "frozenset"), [value]):
            return _unique(_items(value)) if "set" in name else _items(value)
        case "sorted", [value]:
            return sorted(map(_number, _items(value)))
        case "len", [value]:
            return len(_items(value))
        case (("min" | "max" | "sum"), [value]):
            return _reduced(name, map(_number, _items(value)))
        case (("min" | "max"), [_, _, *_]):
            return _reduced(name, map(_number, given))
        case "range", [_, *_] if len(given) <= 3:
            return _items(range(*map(_number, given)))
        case (("int" | "round"), [int() | float() as value]):
            return round(value) if name == "round" else int(value)
        case (("any" | "all"), [value]):
            return any(_items(value)) if name == "any" else all(_items(value))
        case "enumerate", [value]:
            return [list(pair) for pair in enumerate(_items(value))]
        case "bool", [value]:
            return bool(value)
        case _:
            raise UnclearError(name)


def _unique(items: list[object]) -> list[object]:
    return [x for place, x in enumerate(items) if x not in items[:place]]


def _reduced(name: str, numbers: Iterable[int]) -> int:
    found = list(numbers)
    if name == "sum":
        return sum(found)
    if not found:
        raise UnclearError(name)
    return min(found) if name == "min" else max(found)
