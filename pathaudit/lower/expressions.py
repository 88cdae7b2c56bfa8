"""Lower LibCST expressions: one small function for each class of them."""

import re
from collections.abc import Sequence
from functools import singledispatch

import libcst as cst

from pathaudit import ir
from pathaudit.lower.expression_text import render
from pathaudit.lower.literals import lower_float, lower_integer, lower_strings, string_value
from pathaudit.lower.operators import BINARY, BOOLEAN, COMPARE, UNARY
from pathaudit.lower.regions import FixedRegion, Regions

_NEWLINE = re.compile(r"\r\n?|\n")
_WORDS = {"True": ir.Constant(True), "False": ir.Constant(False), "None": ir.Constant(None)}


class Scope:
    """What is carried along while one function body is lowered.

    Sub-expressions are lowered in source order, because ``regions`` are taken in that order.
    """

    def __init__(self, regions: Regions) -> None:
        self.regions = regions
        self.yields = False


@singledispatch
def lower_expression(node: cst.BaseExpression, scope: Scope) -> ir.Expression:
    """Lower one expression; a kind that is new in LibCST becomes ``Opaque`` with its parts."""
    parts = tuple(lower_expression(part, scope) for part in _expressions_below(node))
    text = cst.Module([]).code_for_node(node)
    return ir.Opaque(_NEWLINE.sub(r"\\n", text), parts)


def render_node(node: cst.BaseExpression) -> str:
    """The text of an expression that is kept as text only, such as a decorator."""
    return render(lower_expression(node, Scope(FixedRegion(ir.NOWHERE))))


def _expressions_below(node: cst.CSTNode) -> list[cst.BaseExpression]:
    """The nearest expressions inside a node, in source order."""
    found: list[cst.BaseExpression] = []
    for child in node.children:
        if isinstance(child, cst.BaseExpression):
            found.append(child)
        else:
            found += _expressions_below(child)
    return found


def lower_optional(node: cst.BaseExpression | None, scope: Scope) -> ir.Expression | None:
    """Lower an expression that may be left out."""
    return None if node is None else lower_expression(node, scope)


# ---- names and literals -------------------------------------------------------------------------


@lower_expression.register
def _name(node: cst.Name, _scope: Scope) -> ir.Expression:
    return _WORDS.get(node.value) or ir.Name(node.value)


@lower_expression.register
def _integer(node: cst.Integer, _scope: Scope) -> ir.Expression:
    return lower_integer(node.value)


@lower_expression.register
def _float(node: cst.Float, _scope: Scope) -> ir.Expression:
    return lower_float(node.value)


@lower_expression.register
def _imaginary(node: cst.Imaginary, _scope: Scope) -> ir.Expression:
    return ir.Opaque(node.value)


@lower_expression.register
def _ellipsis(_node: cst.Ellipsis, _scope: Scope) -> ir.Expression:
    return ir.Opaque("...")


@lower_expression.register
def _string(
    node: cst.SimpleString | cst.FormattedString | cst.ConcatenatedString, scope: Scope
) -> ir.Expression:
    strings = _side_by_side(node)
    simple = [string for string in strings if isinstance(string, cst.SimpleString)]
    return lower_strings(simple) if len(simple) == len(strings) else _format(node, strings, scope)


def _side_by_side(node: cst.BaseString) -> list[cst.BaseString]:
    strings: list[cst.BaseString] = []
    while isinstance(node, cst.ConcatenatedString):
        strings.append(node.left)
        node = node.right
    return [*strings, node]


def _format(node: cst.BaseString, strings: list[cst.BaseString], scope: Scope) -> ir.Opaque:
    """An f-string; everything in it has the region of the whole."""
    inner = Scope(FixedRegion(scope.regions.take(node)))
    found: list[ir.Expression] = []
    texts = [
        f"{string.start}{_pieces(string.parts, inner, found)}{string.end}"
        if isinstance(string, cst.FormattedString)
        else render_node(string)
        for string in strings
    ]
    scope.yields |= inner.yields
    return ir.Opaque(" ".join(texts), tuple(found))


def _pieces(
    parts: Sequence[cst.BaseFormattedStringContent], scope: Scope, found: list[ir.Expression]
) -> str:
    """The text between the quotes, on one line; formatted expressions are added to ``found``."""
    texts: list[str] = []
    for part in parts:
        if isinstance(part, cst.FormattedStringText):
            texts.append(_NEWLINE.sub(r"\\n", part.value))
        elif isinstance(part, cst.FormattedStringExpression):
            texts.append(_replacement_field(part, scope, found))
    return "".join(texts)


def _replacement_field(
    node: cst.FormattedStringExpression, scope: Scope, found: list[ir.Expression]
) -> str:
    value = lower_expression(node.expression, scope)
    found.append(value)
    equal = "=" if node.equal else ""
    conversion = f"!{node.conversion}" if node.conversion else ""
    spec = f":{_pieces(node.format_spec, scope, found)}" if node.format_spec else ""
    return f"{{{render(value)}{equal}{conversion}{spec}}}"


# ---- names within values ------------------------------------------------------------------------


@lower_expression.register
def _attribute(node: cst.Attribute, scope: Scope) -> ir.Expression:
    return ir.Attribute(lower_expression(node.value, scope), node.attr.value)


@lower_expression.register
def _subscript(node: cst.Subscript, scope: Scope) -> ir.Expression:
    value = lower_expression(node.value, scope)
    items = tuple(_index(element.slice, scope) for element in node.slice)
    first = node.slice[0]
    single = len(items) == 1 and not isinstance(first.comma, cst.Comma)
    if single and not isinstance(items[0], ir.Starred):
        return ir.Subscript(value, items[0])
    return ir.Subscript(value, ir.Collection("tuple", items))


def _index(node: cst.BaseSlice, scope: Scope) -> ir.Expression:
    if isinstance(node, cst.Slice):
        return ir.Range(
            lower_optional(node.lower, scope),
            lower_optional(node.upper, scope),
            lower_optional(node.step, scope),
        )
    assert isinstance(node, cst.Index)
    value = lower_expression(node.value, scope)
    return ir.Starred(value) if node.star else value


@lower_expression.register
def _call(node: cst.Call, scope: Scope) -> ir.Expression:
    region = scope.regions.take(node)
    function = lower_expression(node.func, scope)
    return ir.Call(function, tuple(_argument(arg, scope) for arg in node.args), region)


def _argument(node: cst.Arg, scope: Scope) -> ir.Argument:
    keyword = node.keyword.value if node.keyword else None
    return ir.Argument(lower_expression(node.value, scope), keyword, node.star)


# ---- operators ----------------------------------------------------------------------------------


@lower_expression.register
def _unary(node: cst.UnaryOperation, scope: Scope) -> ir.Expression:
    return ir.Unary(UNARY[type(node.operator)], lower_expression(node.expression, scope))


@lower_expression.register
def _binary(node: cst.BinaryOperation, scope: Scope) -> ir.Expression:
    left = lower_expression(node.left, scope)
    return ir.Binary(BINARY[type(node.operator)], left, lower_expression(node.right, scope))


@lower_expression.register
def _boolean(node: cst.BooleanOperation, scope: Scope) -> ir.Expression:
    """``a and b and c`` is nested in LibCST, by the hundred at times; here it is flat."""
    kind = type(node.operator)
    pending: list[cst.BaseExpression] = [node]
    operands: list[ir.Expression] = []
    while pending:
        current = pending.pop()
        if isinstance(current, cst.BooleanOperation) and type(current.operator) is kind:
            pending += [current.right, current.left]
        else:
            operands.append(lower_expression(current, scope))
    return ir.Boolean(BOOLEAN[kind], tuple(operands))


@lower_expression.register
def _comparison(node: cst.Comparison, scope: Scope) -> ir.Expression:
    left = lower_expression(node.left, scope)
    compared: list[ir.Expression] = []
    for target in node.comparisons:
        right = lower_expression(target.comparator, scope)
        compared.append(ir.Compare(COMPARE[type(target.operator)], left, right))
        left = right
    return compared[0] if len(compared) == 1 else ir.Boolean("and", tuple(compared))


@lower_expression.register
def _conditional(node: cst.IfExp, scope: Scope) -> ir.Expression:
    body = lower_expression(node.body, scope)
    test = lower_expression(node.test, scope)
    return ir.Conditional(test, body, lower_expression(node.orelse, scope))


@lower_expression.register
def _walrus(node: cst.NamedExpr, scope: Scope) -> ir.Expression:
    assert isinstance(node.target, cst.Name)
    return ir.Walrus(node.target.value, lower_expression(node.value, scope))


@lower_expression.register
def _await(node: cst.Await, scope: Scope) -> ir.Expression:
    return ir.Yield(lower_expression(node.expression, scope))


@lower_expression.register
def _yield(node: cst.Yield, scope: Scope) -> ir.Expression:
    scope.yields = True
    value = node.value.item if isinstance(node.value, cst.From) else node.value
    return ir.Yield(lower_optional(value, scope))


# ---- displays and comprehensions ----------------------------------------------------------------


@lower_expression.register
def _starred(node: cst.StarredElement, scope: Scope) -> ir.Expression:
    return ir.Starred(lower_expression(node.value, scope))


@lower_expression.register
def _collection(node: cst.Tuple | cst.List | cst.Set, scope: Scope) -> ir.Expression:
    items = tuple(
        lower_expression(each if isinstance(each, cst.StarredElement) else each.value, scope)
        for each in node.elements
    )
    return ir.Collection(type(node).__name__.lower(), items)


@lower_expression.register
def _mapping(node: cst.Dict, scope: Scope) -> ir.Expression:
    keys: list[ir.Expression | None] = []
    values: list[ir.Expression] = []
    for element in node.elements:
        key = element.key if isinstance(element, cst.DictElement) else None
        keys.append(lower_optional(key, scope))
        values.append(lower_expression(element.value, scope))
    return ir.Mapping(tuple(keys), tuple(values))


_COMPREHENSIONS: dict[type[cst.CSTNode], str] = {
    cst.ListComp: "list",
    cst.SetComp: "set",
    cst.GeneratorExp: "generator",
}


@lower_expression.register
def _comprehension(
    node: cst.ListComp | cst.SetComp | cst.GeneratorExp, scope: Scope
) -> ir.Expression:
    region = scope.regions.take(node)
    element = lower_expression(node.elt, scope)
    kind = _COMPREHENSIONS[type(node)]
    return ir.Comprehension(kind, element, _clauses(node.for_in, scope), region)


@lower_expression.register
def _dict_comprehension(node: cst.DictComp, scope: Scope) -> ir.Expression:
    region = scope.regions.take(node)
    key = lower_expression(node.key, scope)
    value = lower_expression(node.value, scope)
    return ir.Comprehension("dict", value, _clauses(node.for_in, scope), region, key)


def _clauses(node: cst.CompFor | None, scope: Scope) -> tuple[ir.Clause, ...]:
    clauses: list[ir.Clause] = []
    while node:
        target = lower_expression(node.target, scope)
        iterable = lower_expression(node.iter, scope)
        conditions = tuple(lower_expression(each.test, scope) for each in node.ifs)
        clauses.append(ir.Clause(target, iterable, conditions))
        node = node.inner_for_in
    return tuple(clauses)


@lower_expression.register
def _lambda(node: cst.Lambda, scope: Scope) -> ir.Expression:
    region = scope.regions.take(node)
    parameters = lower_parameters(node.params, scope)
    body = lower_expression(node.body, Scope(scope.regions))
    return ir.Lambda(parameters, body, region)


# ---- parameters ---------------------------------------------------------------------------------


def lower_parameters(node: cst.Parameters, scope: Scope) -> tuple[ir.Parameter, ...]:
    """Parameters in source order; their defaults are evaluated in the scope around the function."""
    groups: list[tuple[str, Sequence[object]]] = [
        ("positional_only", node.posonly_params),
        ("positional", node.params),
        ("args", [node.star_arg]),
        ("keyword_only", node.kwonly_params),
        ("kwargs", [node.star_kwarg]),
    ]
    return tuple(
        _parameter(each, kind, scope)
        for kind, group in groups
        for each in group
        if isinstance(each, cst.Param)
    )


def _parameter(node: cst.Param, kind: str, scope: Scope) -> ir.Parameter:
    default = lower_optional(node.default, scope)
    return ir.Parameter(node.name.value, kind, default, _annotation_text(node.annotation))


def _annotation_text(node: cst.Annotation | None) -> str:
    if node is None:
        return ""
    if isinstance(node.annotation, cst.SimpleString):
        return str(string_value(node.annotation))  # ``x: "T"`` means ``x: T``
    return render_node(node.annotation)
