"""Expressions as canonical Python text on one line."""

from collections.abc import Iterable, Iterator
from functools import singledispatch
from typing import TypeAlias

from pathaudit import ir

# How tightly an expression holds together; as a looser operand it is put in parentheses.
_LAMBDA, _CONDITIONAL, _OR, _AND, _NOT, _COMPARE = range(6)
_UNARY, _POWER, _ATOM = 20, 21, 22
_BINARY = {
    "|": 10, "^": 11, "&": 12, "<<": 13, ">>": 13, "+": 14, "-": 14,
    "*": 15, "/": 15, "//": 15, "%": 15, "@": 15, "**": _POWER,
}  # fmt: skip
_STARRED = _BINARY["|"]
_BRACKETS = {
    "list": ("[", "]"),
    "set": ("{", "}"),
    "dict": ("{", "}"),
    "generator": ("(", ")"),
}

_Written: TypeAlias = tuple[str, int]


def render(expression: ir.Expression) -> str:
    """The text of an expression; where it stands in its file does not matter."""
    return _written(expression)[0]


def render_bare(expression: ir.Expression) -> str:
    """The same, but a tuple without its parentheses, as in targets and subscripts."""
    if isinstance(expression, ir.Collection) and expression.kind == "tuple" and expression.items:
        return _tuple_items(expression.items)
    return render(expression)


def render_parameters(parameters: Iterable[ir.Parameter]) -> str:
    """The text between the parentheses of a function definition."""
    return ", ".join(_parameter_texts(parameters))


def _parameter_texts(parameters: Iterable[ir.Parameter]) -> Iterator[str]:
    previous = ""
    for parameter in parameters:
        if previous == "positional_only" and parameter.kind != previous:
            yield "/"
        if parameter.kind == "keyword_only" and previous not in ("args", "keyword_only"):
            yield "*"
        yield _parameter_text(parameter)
        previous = parameter.kind
    if previous == "positional_only":
        yield "/"


def _parameter_text(parameter: ir.Parameter) -> str:
    text = {"args": "*", "kwargs": "**"}.get(parameter.kind, "") + parameter.name
    if parameter.annotation:
        text += f": {parameter.annotation}"
    if parameter.default is None:
        return text
    equal = " = " if parameter.annotation else "="
    return text + equal + _operand(parameter.default, _LAMBDA)


# ---- expressions --------------------------------------------------------------------------------


@singledispatch
def _written(expression: ir.Expression) -> _Written:
    """The text of an expression and how tightly it holds together."""
    raise TypeError(expression)


def _operand(expression: ir.Expression, least: int) -> str:
    text, binding = _written(expression)
    return text if binding >= least else f"({text})"


def _optional(expression: ir.Expression | None) -> str:
    return "" if expression is None else _operand(expression, _CONDITIONAL)


def _items(expressions: Iterable[ir.Expression]) -> str:
    return ", ".join(_operand(expression, _LAMBDA) for expression in expressions)


def _tuple_items(items: tuple[ir.Expression, ...]) -> str:
    return _items(items) + ("," if len(items) == 1 else "")


@_written.register
def _name(expression: ir.Name) -> _Written:
    return expression.id, _ATOM


@_written.register
def _constant(expression: ir.Constant) -> _Written:
    text = repr(expression.value)
    return text, _UNARY if text.startswith("-") else _ATOM


@_written.register
def _opaque(expression: ir.Opaque) -> _Written:
    return expression.text, _ATOM


@_written.register
def _attribute(expression: ir.Attribute) -> _Written:
    value = _operand(expression.value, _ATOM)
    if value.isdigit():
        value = f"({value})"
    return f"{value}.{expression.name}", _ATOM


@_written.register
def _subscript(expression: ir.Subscript) -> _Written:
    return f"{_operand(expression.value, _ATOM)}[{render_bare(expression.index)}]", _ATOM


@_written.register
def _range(expression: ir.Range) -> _Written:
    text = f"{_optional(expression.lower)}:{_optional(expression.upper)}"
    return text if expression.step is None else f"{text}:{_optional(expression.step)}", _ATOM


@_written.register
def _call(expression: ir.Call) -> _Written:
    function = _operand(expression.function, _ATOM)
    arguments = ", ".join(_argument(argument) for argument in expression.arguments)
    if len(expression.arguments) == 1 and _is_generator(expression.arguments[0]):
        return f"{function}{arguments}", _ATOM
    return f"{function}({arguments})", _ATOM


def _is_generator(argument: ir.Argument) -> bool:
    value = argument.value
    plain = argument.keyword is None and not argument.star
    return plain and isinstance(value, ir.Comprehension) and value.kind == "generator"


def _argument(argument: ir.Argument) -> str:
    keyword = f"{argument.keyword}=" if argument.keyword else argument.star
    return keyword + _operand(argument.value, _LAMBDA)


@_written.register
def _unary(expression: ir.Unary) -> _Written:
    if expression.operator == "not":
        return f"not {_operand(expression.operand, _NOT)}", _NOT
    return f"{expression.operator}{_operand(expression.operand, _UNARY)}", _UNARY


@_written.register
def _binary(expression: ir.Binary) -> _Written:
    binding = _BINARY[expression.operator]
    # A power groups to the right and takes a sign there; the others group to the left.
    least_left, least_right = (
        (_ATOM, _UNARY) if expression.operator == "**" else (binding, binding + 1)
    )
    left, right = _operand(expression.left, least_left), _operand(expression.right, least_right)
    return f"{left} {expression.operator} {right}", binding


@_written.register
def _boolean(expression: ir.Boolean) -> _Written:
    binding = _OR if expression.operator == "or" else _AND
    operands = [_operand(operand, binding + 1) for operand in expression.operands]
    return f" {expression.operator} ".join(operands), binding


@_written.register
def _compare(expression: ir.Compare) -> _Written:
    left = _operand(expression.left, _COMPARE + 1)
    return f"{left} {expression.operator} {_operand(expression.right, _COMPARE + 1)}", _COMPARE


@_written.register
def _conditional(expression: ir.Conditional) -> _Written:
    body, test = _operand(expression.body, _OR), _operand(expression.test, _OR)
    return f"{body} if {test} else {_operand(expression.orelse, _CONDITIONAL)}", _CONDITIONAL


@_written.register
def _collection(expression: ir.Collection) -> _Written:
    if expression.kind == "tuple":
        return f"({_tuple_items(expression.items)})", _ATOM
    left, right = _BRACKETS[expression.kind]
    return f"{left}{_items(expression.items)}{right}", _ATOM


@_written.register
def _starred(expression: ir.Starred) -> _Written:
    return f"*{_operand(expression.value, _STARRED)}", _ATOM


@_written.register
def _mapping(expression: ir.Mapping) -> _Written:
    pairs = zip(expression.keys, expression.values, strict=True)
    return f"{{{', '.join(_pair(key, value) for key, value in pairs)}}}", _ATOM


def _pair(key: ir.Expression | None, value: ir.Expression) -> str:
    if key is None:
        return f"**{_operand(value, _STARRED)}"
    return f"{_operand(key, _CONDITIONAL)}: {_operand(value, _LAMBDA)}"


@_written.register
def _comprehension(expression: ir.Comprehension) -> _Written:
    left, right = _BRACKETS[expression.kind]
    element = _operand(expression.element, _LAMBDA)
    if expression.key is not None:
        element = _pair(expression.key, expression.element)
    return f"{left}{element}{''.join(map(_clause, expression.clauses))}{right}", _ATOM


def _clause(clause: ir.Clause) -> str:
    conditions = "".join(f" if {_operand(each, _OR)}" for each in clause.conditions)
    return f" for {render_bare(clause.target)} in {_operand(clause.iterable, _OR)}{conditions}"


@_written.register
def _lambda(expression: ir.Lambda) -> _Written:
    parameters = render_parameters(expression.parameters)
    space = " " if parameters else ""
    return f"lambda{space}{parameters}: {_operand(expression.body, _LAMBDA)}", _LAMBDA


@_written.register
def _walrus(expression: ir.Walrus) -> _Written:
    return f"({expression.name} := {_operand(expression.value, _LAMBDA)})", _ATOM


@_written.register
def _yield(expression: ir.Yield) -> _Written:
    value = "" if expression.value is None else f" {render(expression.value)}"
    return f"(yield{value})", _ATOM
