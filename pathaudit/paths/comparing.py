"""Branch tests on values, as formulas."""

from pathaudit.conditions import Bound, Literal, Test
from pathaudit.index import (
    Index,
)
from pathaudit.index.features import LISTED
from pathaudit.paths.arithmetic import Arithmetic
from pathaudit.paths.formulas import (
    FALSE,
    TRUE,
    Atom,
    Formula,
    Known,
    conjunction,
    disjunction,
    opposite,
)
from pathaudit.paths.question import Question
from pathaudit.paths.values import (
    Accumulator,
    Callee,
    ClassValue,
    Closure,
    Constant,
    Element,
    Items,
    Member,
    Number,
    Partial,
    Symbol,
    Truth,
    Value,
    text_of,
)

COMPARISONS = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


class Comparer(Arithmetic):
    """Adds truth and comparisons."""

    def __init__(self, index: Index, question: Question) -> None:
        super().__init__(index, question)
        self._moments = 0

    def truth(self, value: Value) -> Formula:  # noqa: C901 - one arm a form
        """Is a value true?"""
        match value:
            case Truth(formula, _):
                return formula
            case Constant(constant):
                return Known(bool(constant))
            case Number("", offset):
                return Known(bool(offset))
            case Number() as number:
                return self.compare("!=", number, Number("", 0))
            case Element() | Closure() | Callee() | ClassValue() | Partial():
                return TRUE
            case Items(items):
                return Known(bool(items))
            case Accumulator(text, _, _, fresh):
                return FALSE if fresh else Atom(Test("true", self._moment(text)))
            case Symbol(text, _, _):
                if self._question.armed.get(text) == LISTED:
                    return TRUE
                assumed = self._question.assumed(text)
                if isinstance(assumed, bool):
                    return Known(assumed)
                return TRUE if assumed == "positive" else Atom(Test("true", text))
            case _:
                return Atom(Test("true", text_of(value)))

    def compare(self, operator: str, left: Value, right: Value) -> Formula:
        """The formula of one comparison."""
        match operator:
            case "is not" | "!=" | "not in":
                positive = {"is not": "is", "!=": "==", "not in": "in"}[operator]
                return opposite(self.compare(positive, left, right))
            case "in":
                return self._contains(left, right)
            case "is" | "==":
                return self._equal(left, right)
            case _:
                return self._ordered(operator, left, right)

    def _contains(self, item: Value, container: Value) -> Formula:
        if isinstance(container, Items):
            return disjunction([self._equal(item, option) for option in container.items])
        text = text_of(container)
        # In the iteration that is judged, the layer is one that was asked for.
        if self._question.armed.get(text) == LISTED and "@" in text_of(item):
            return TRUE
        return Atom(Test("in", text_of(item), text))

    def _equal(self, left: Value, right: Value) -> Formula:
        if left == right:
            return TRUE
        if isinstance(left, Constant) and not isinstance(right, Constant):
            left, right = right, left
        if isinstance(right, Constant):
            return self._equals_constant(left, right)
        if isinstance(left, Number) and isinstance(right, Symbol) and left.base:
            right = self.as_number(right)
        if isinstance(right, Number) and isinstance(left, Symbol) and right.base:
            left = self.as_number(left)
        if isinstance(left, Number) and isinstance(right, Number):
            return conjunction([self._ordered("<=", left, right), self._ordered("<=", right, left)])
        return self._equal_texts(left, right)

    def _equal_texts(self, left: Value, right: Value) -> Formula:
        """Two constants of an enumeration exclude each other; two variables do not."""
        if _is_constant(left):
            left, right = right, left
        if _is_constant(right):
            return Atom(Test("equals", text_of(left), text_of(right)))
        low, high = sorted((text_of(left), text_of(right)))
        return Atom(Test("true", f"{low} == {high}"))

    def _equals_constant(self, left: Value, right: Constant) -> Formula:
        if isinstance(left, Constant):
            return Known(left.value == right.value)
        if right.value is None:
            return self._is_none(left)
        if isinstance(right.value, bool):
            found = self.truth(left)
            return found if right.value else opposite(found)
        return Atom(Test("equals", text_of(left), repr(right.value)))

    def _is_none(self, value: Value) -> Formula:
        match value:
            case Symbol(text, _, present):
                assumed = self._question.assumed(text)
                if present or assumed in (True, "some", "positive"):
                    return FALSE
                return Atom(Test("none", text))
            case Truth(_, text):
                return Atom(Test("none", text))
            case Member(owner, _) if not isinstance(owner, Accumulator):
                return Atom(Test("none", text_of(value)))
            case _:
                return FALSE

    def _ordered(self, operator: str, left: Value, right: Value) -> Formula:
        if operator in (">", ">="):
            return self._ordered(COMPARISONS[operator], right, left)
        strict = operator == "<"
        if isinstance(left, Number) and isinstance(right, Symbol) and left.base:
            right = self.as_number(right)
        if isinstance(right, Number) and isinstance(left, Symbol) and right.base:
            left = self.as_number(left)
        if isinstance(left, Number) and isinstance(right, Number):
            return self._bounded(left, right, 1 if strict else 0)
        bound = self._real_bound(left, right, strict)
        if bound is not None:
            return Atom(bound)
        # One text for a comparison and its opposite, so that they contradict each other.
        if strict:
            return Atom(Test("true", f"{text_of(left)} < {text_of(right)}"))
        return Atom(Test("true", f"{text_of(right)} < {text_of(left)}", positive=False))

    def _real_bound(self, left: Value, right: Value, strict: bool) -> Literal | None:
        """Undeclared operands are compared as reals; a number has no base on one side."""
        low, low_offset = _linear(left)
        high, high_offset = _linear(right)
        if low is None or high is None:
            return None
        return Bound(low, high, low_offset - high_offset, strict=strict, integral=False)

    def _moment(self, text: str) -> str:
        """The contents of an accumulator, now: no two moments are assumed to be alike."""
        self._moments += 1
        return f"len({text})#{self._moments}"


def _is_constant(value: Value) -> bool:
    """A number, or a member of a class such as ``Mode.EXTEND``."""
    match value:
        case Number("", _):
            return True
        case Symbol(text, _, _):
            owner, _, name = text.rpartition(".")
            return bool(owner) and owner.split(".")[-1][:1].isupper() and name.isupper()
        case _:
            return False


def _linear(value: Value) -> tuple[str | None, int]:
    match value:
        case Number(base, offset):
            return base, offset
        case Symbol(text, _, _):
            return text, 0
        case _:
            return None, 0
