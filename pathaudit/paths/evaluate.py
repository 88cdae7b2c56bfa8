"""Evaluate expressions that hold no event: to values, and branch tests to formulas."""

from pathaudit import ir
from pathaudit.lower import render
from pathaudit.paths.attributes import Place
from pathaudit.paths.formulas import Formula, Known, conjunction, disjunction, opposite
from pathaudit.paths.known_calls import CallReader
from pathaudit.paths.state import State
from pathaudit.paths.values import (
    Accumulator,
    Closure,
    Constant,
    Element,
    Items,
    Keywords,
    Made,
    Member,
    Number,
    Partial,
    Stack,
    Symbol,
    Truth,
    Value,
    View,
    carries,
    text_of,
)
from pathaudit.paths.walking import dotted, last_name


class Evaluator(CallReader):
    """Values and formulas of expressions; calls in them are taken to have no effect."""

    def value(self, node: ir.Expression, state: State, place: Place) -> Value:  # noqa: C901
        """The value of an expression; calls in it are taken to have no effect."""
        match node:
            case ir.Name(id):
                return self._name(id, state, place)
            case ir.Constant(constant):
                if isinstance(constant, int) and not isinstance(constant, bool):
                    return Number("", constant)
                return Constant(constant)
            case ir.Attribute(inner, name):
                return self.attribute(self.value(inner, state, place), name, state, place)
            case ir.Subscript(inner, index):
                return self._subscript(self.value(inner, state, place), index, state, place)
            case ir.Binary("*", ir.Collection("list", items), _) if all(
                isinstance(item, ir.Constant) for item in items
            ):
                return Accumulator("<list>", kept=True, fresh=False)
            case ir.Binary(operator, left, right):
                return self.binary(
                    operator, self.value(left, state, place), self.value(right, state, place)
                )
            case ir.Unary("-", operand):
                return self.binary("-", Number("", 0), self.value(operand, state, place))
            case ir.Boolean() | ir.Conditional():
                return self._choice(node, state, place)
            case ir.Unary("not", _) | ir.Compare():
                return Truth(self.formula(node, state, place), self._text(node, state, place))
            case ir.Collection(kind, items):
                return self._collection(kind, items, state, place)
            case ir.Call():
                return self._call(node, state, place)
            case ir.Walrus(_, inner) | ir.Starred(inner):
                return self.value(inner, state, place)
            case ir.Lambda():
                return self._lambda(node, place)
            case _:
                return Symbol(self._text(node, state, place))

    def formula(self, node: ir.Expression, state: State, place: Place) -> Formula:
        """An expression as a branch test."""
        match node:
            case ir.Unary("not", operand):
                return opposite(self.formula(operand, state, place))
            case ir.Boolean("and", operands):
                return conjunction([self.formula(item, state, place) for item in operands])
            case ir.Boolean(_, operands):
                return disjunction([self.formula(item, state, place) for item in operands])
            case ir.Compare(operator, left, right):
                return self.compare(
                    operator, self.value(left, state, place), self.value(right, state, place)
                )
            case ir.Conditional(test, body, orelse):
                condition = self.formula(test, state, place)
                taken = conjunction([condition, self.formula(body, state, place)])
                other = conjunction([opposite(condition), self.formula(orelse, state, place)])
                return disjunction([taken, other])
            case _:
                return self.truth(self.value(node, state, place))

    def _lambda(self, node: ir.Lambda, place: Place) -> Closure:
        returned = ir.Exit("return", node.body, node.region)
        function = ir.Function("<lambda>", node.parameters, (returned,), node.region)
        return self.close(function, place)

    def _text(self, node: ir.Expression, state: State, place: Place) -> str:
        """Canonical text with locals replaced by what they hold."""
        return render(_Substitution(self, state, place).apply(node))

    def _subscript(self, owner: Value, index: ir.Expression, state: State, place: Place) -> Value:
        if isinstance(index, ir.Range):
            return self._slice(owner, index, state, place)
        at = self.value(index, state, place)
        match owner:
            case Stack():
                return Element(owner, self.as_number(at))
            case View(stack, low, _):
                return Element(stack, self.binary("+", low, self.as_number(at)))
            case Items(items):
                if isinstance(at, Number) and not at.base and -len(items) <= at.offset < len(items):
                    return items[at.offset]
                return Symbol(f"{text_of(owner)}[{text_of(at)}]")
            case Made(item):
                return item
            case Keywords():
                return self.looked_up(owner, [at])
            case _:
                text = f"{text_of(owner)}[{text_of(at)}]"
                if self._question.assumed(text) == "positive":
                    return self.number(text)
                return Symbol(text)

    def _slice(self, owner: Value, index: ir.Range, state: State, place: Place) -> Value:
        low = self._bound(index.lower, state, place)
        high = self._bound(index.upper, state, place)
        match owner:
            case _ if index.step is not None and carries(owner):
                return owner
            case Stack():
                return View(owner, low or Number("", 0), high)
            case View(stack, start, end):
                first = self.binary("+", start, low) if low else start
                return View(stack, first, self.binary("+", start, high) if high else end)
            case _ if carries(owner):
                return owner
            case _:
                return Symbol(f"{text_of(owner)}[{self._text(index, state, place)}]")

    def _bound(self, node: ir.Expression | None, state: State, place: Place) -> Value | None:
        if node is None or node == ir.Constant(None):
            return None
        return self.as_number(self.value(node, state, place))

    def _choice(self, node: ir.Boolean | ir.Conditional, state: State, place: Place) -> Value:
        """``a or b``, ``a and b`` and ``a if t else b`` as values."""
        if isinstance(node, ir.Conditional):
            known = self.formula(node.test, state, place)
            if isinstance(known, Known):
                return self.value(node.body if known.value else node.orelse, state, place)
            body = self.value(node.body, state, place)
            orelse = self.value(node.orelse, state, place)
            if body == orelse:
                return body
            present = self._present(body) and self._present(orelse)
            return Symbol(self._text(node, state, place), present=present)
        for operand in node.operands[:-1]:
            known = self.formula(operand, state, place)
            if not isinstance(known, Known):
                break
            if known.value == (node.operator == "or"):
                return self.value(operand, state, place)
        else:
            return self.value(node.operands[-1], state, place)
        return Truth(self.formula(node, state, place), self._text(node, state, place))

    def _present(self, value: Value) -> bool:
        match value:
            case Symbol(_, _, present):
                return present
            case Constant(constant):
                return constant is not None
            case _:
                return True

    def _collection(
        self, kind: str, items: tuple[ir.Expression, ...], state: State, place: Place
    ) -> Value:
        values = tuple(self.value(item, state, place) for item in items)
        if kind == "list" and not values:
            return Accumulator("<list>", kept=True)
        if kind == "tuple" or any(carries(value) for value in values):
            return Items(values)
        return Symbol(f"[{', '.join(text_of(value) for value in values)}]", present=True)

    def _call(self, node: ir.Call, state: State, place: Place) -> Value:
        function, arguments = node.function, node.arguments
        name = last_name(function)
        values = [self.value(item.value, state, place) for item in arguments]
        if isinstance(function, ir.Name) and function.id not in state.names:
            known = self._builtin(name, values, arguments)
            if known is not None:
                return known
        if name == "getattr" and len(values) >= 2 and isinstance(values[1], Constant):
            found = self.attribute(values[0], str(values[1].value), state, place)
            return found if not isinstance(found, Member) else Symbol(text_of(found))
        if name == "islice" and len(values) >= 2:
            return self._islice(values)
        called = self.value(function, state, place)
        if isinstance(called, Member) and isinstance(called.owner, Keywords):
            return self.looked_up(called.owner, values)
        made = self.made(called, node)
        if made is not None:
            return made
        if name == "partial" and values:
            rest = zip(arguments[1:], values[1:], strict=True)
            return Partial(values[0], tuple((item.keyword or "", value) for item, value in rest))
        rendered = ", ".join(
            f"{item.star}{item.keyword + '=' if item.keyword else ''}{text_of(value)}"
            for item, value in zip(arguments, values, strict=True)
        )
        text = f"{text_of(called)}({rendered})"
        if self._question.assumed(text) == "positive":
            return self.number(text)
        return Symbol(text)


class _Substitution:
    """Replace locals by the text of their values, so that equal text means equal value."""

    def __init__(self, evaluator: Evaluator, state: State, place: Place) -> None:
        self._evaluator = evaluator
        self._state = state
        self._place = place

    def apply(self, node: ir.Expression) -> ir.Expression:  # noqa: C901 - one arm a form
        match node:
            case ir.Name(id):
                known = self._state.names.get(id)
                return ir.Opaque(text_of(known)) if known is not None else node
            case ir.Attribute(value, name) if dotted(node):
                found = self._evaluator.value(node, self._state, self._place)
                return ir.Opaque(text_of(found))
            case ir.Attribute(value, name):
                return ir.Attribute(self.apply(value), name)
            case ir.Subscript(value, index):
                return ir.Subscript(self.apply(value), self.apply(index))
            case ir.Call(function, arguments, region):
                inner = tuple(
                    ir.Argument(self.apply(item.value), item.keyword, item.star)
                    for item in arguments
                )
                return ir.Call(self.apply(function), inner, region)
            case ir.Unary(operator, operand):
                return ir.Unary(operator, self.apply(operand))
            case ir.Binary(operator, left, right):
                return ir.Binary(operator, self.apply(left), self.apply(right))
            case ir.Compare(operator, left, right):
                return ir.Compare(operator, self.apply(left), self.apply(right))
            case ir.Boolean(operator, operands):
                return ir.Boolean(operator, tuple(self.apply(item) for item in operands))
            case ir.Conditional(test, body, orelse):
                return ir.Conditional(self.apply(test), self.apply(body), self.apply(orelse))
            case _:
                return node
