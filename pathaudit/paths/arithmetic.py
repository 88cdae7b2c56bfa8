"""Integer expressions, and the facts that are known about them."""

from pathaudit.conditions import Bound
from pathaudit.index import (
    Index,
)
from pathaudit.paths.formulas import Atom, Formula, Known
from pathaudit.paths.question import Question
from pathaudit.paths.values import Accumulator, Items, Number, Symbol, Value, carries, text_of


class Arithmetic:
    """Numbers that differ from an expression by a constant; facts are collected on the way."""

    def __init__(self, index: Index, question: Question) -> None:
        self._index = index
        self._question = question
        self.facts: frozenset[Bound] = frozenset()
        self._known_numbers: set[str] = set()
        self._differences: dict[str, tuple[Number, Number]] = {}

    def number(self, text: str, offset: int = 0) -> Number:
        """An integer expression; what the profile knows about it becomes a fact."""
        if text and text not in self._known_numbers:
            self._known_numbers.add(text)
            self.facts |= frozenset(self._question.bounds_of(text))
        return Number(text, offset)

    def as_number(self, value: Value) -> Value:
        """The value as an index: what is used as one is an integer."""
        return self.number(value.text) if isinstance(value, Symbol) else value

    def binary(self, operator: str, left: Value, right: Value) -> Value:
        """Sums and differences of an integer expression and a constant stay numbers."""
        if isinstance(left, Number) and isinstance(right, Number):
            return self._numeric(operator, left, right)
        if operator == "+" and isinstance(left, Accumulator):
            return left
        if operator == "+" and (carries(left) or carries(right)):
            return Items((left, right))
        if operator == "*" and carries(left):
            return left
        return Symbol(f"({text_of(left)} {operator} {text_of(right)})")

    def _numeric(self, operator: str, left: Number, right: Number) -> Value:
        found = _folded(operator, left, right) or self._sum(operator, left, right)
        if found is not None:
            return found
        text = f"({_operand(left, operator)} {operator} {_operand(right, operator)})"
        if operator == "-":
            self._differences[text] = (left, right)
        return self.number(text) if operator in ("+", "-", "*", "//") else Symbol(text)

    def _sum(self, operator: str, left: Number, right: Number) -> Number | None:
        """``(a + 1) - 2``, ``a - a`` and ``(a - b) + b``."""
        if operator not in ("+", "-"):
            return None
        if not right.base:
            sign = 1 if operator == "+" else -1
            return Number(left.base, left.offset + sign * right.offset)
        if operator == "-":
            return Number("", left.offset - right.offset) if left.base == right.base else None
        if not left.base:
            return Number(right.base, right.offset + left.offset)
        known = self._differences.get(left.base)
        if known is not None and known[1] == right:
            return Number(known[0].base, known[0].offset + left.offset)
        return None

    def _bounded(self, left: Number, right: Number, gap: int) -> Formula:
        """``left + gap <= right`` over the integers."""
        difference = left.offset - right.offset + gap
        if left.base == right.base:
            return Known(difference <= 0)
        return Atom(Bound(left.base, right.base, difference))


def _operand(value: Number, operator: str) -> str:
    """A sum inside another operation needs its parentheses."""
    text = text_of(value)
    return f"({text})" if value.base and value.offset and operator != "+" else text


def _folded(operator: str, left: Value, right: Value) -> Number | None:
    """A product or quotient of two plain integers."""
    match left, right:
        case Number("", one), Number("", other) if operator == "*":
            return Number("", one * other)
        case Number("", one), Number("", other) if operator == "//" and other:
            return Number("", one // other)
        case _:
            return None
