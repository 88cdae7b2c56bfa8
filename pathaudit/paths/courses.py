"""What a loop runs over, and what its target holds in an iteration."""

from abc import abstractmethod

from msgspec import Struct

from pathaudit import ir
from pathaudit.paths.calls import CallMachine
from pathaudit.paths.formulas import TRUE, Formula
from pathaudit.paths.machine import Frame
from pathaudit.paths.state import State
from pathaudit.paths.values import (
    Element,
    Items,
    Made,
    Number,
    Sequence,
    Stack,
    Symbol,
    Value,
    View,
    text_of,
)


class Course(Struct, frozen=True, eq=False):
    """What a loop runs over: ``iterable`` for ``for``, a test for ``while``.

    ``low`` and ``high`` bound the counter ``base`` where there is one; the texts are for people.
    """

    number: int
    iterable: Value | None
    base: str
    low: Value | None
    high: Value | None
    low_text: str
    high_text: str


class CourseMachine(CallMachine):
    """Adds the courses of loops."""

    @abstractmethod
    def bind(self, target: ir.Expression | None, value: Value, state: State, frame: Frame) -> State:
        """Store a value to a target."""

    def for_course(self, statement: ir.Loop | None, value: Value) -> Course:
        number = self.next_loop()
        base = f"{_target_name(statement.target if statement else None)}@{number}"
        match value:
            case Sequence("range", low, high) if low is not None and high is not None:
                return Course(number, value, base, low, high, text_of(low), text_of(high))
            case Stack() | View() | Sequence("enumerate") | Sequence("zip") | Made():
                view = view_of(value)
                if view is None:
                    return Course(number, value, base, None, None, "", "")
                high = view.high if view.high is not None else self._end(view.stack)
                return self._view_course(number, value, base, view.low, high)
            case _:
                return Course(number, value, base, None, None, "", "")

    def _view_course(self, number: int, value: Value, base: str, low: Value, high: Value) -> Course:
        """Iterating a view counts from zero; the layers are those from its low bound on."""
        if low == Number("", 0):
            return Course(number, value, base, low, high, text_of(low), text_of(high))
        return Course(number, value, base, None, None, text_of(low), text_of(high))

    def _end(self, stack: Stack) -> Value:
        return self.evaluator.number(f"len({stack.text})")

    def while_course(self, statement: ir.Loop, state: State, frame: Frame) -> Course:
        """``while counter < end``: the layers run from the counter's value on."""
        number = self.next_loop()
        low_text = high_text = ""
        match statement.test:
            case ir.Compare("<" | "!=", ir.Name() as name, right):
                low_text = text_of(self.evaluator.value(name, state, frame.place))
                high_text = text_of(self.evaluator.value(right, state, frame.place))
        return Course(number, None, "", None, None, low_text, high_text)

    def non_empty(self, course: Course) -> Formula:
        if course.low is None or course.high is None:
            return TRUE
        return self.evaluator.compare("<", course.low, course.high)

    def item(self, target: ir.Expression, course: Course) -> Value:
        """What the loop's target holds in an iteration."""
        counter = self.evaluator.number(course.base)
        match course.iterable:
            case Sequence("range"):
                return counter
            case Stack() | View() | Made():
                return self._element(course.iterable, counter, course)
            case Sequence("enumerate", _, _, view, start, _) if view is not None:
                index: Value = counter
                if start is not None:
                    index = self.evaluator.binary("+", counter, self.evaluator.as_number(start))
                return Items((index, self._element(view, counter, course)))
            case Sequence("zip", _, _, _, _, parts):
                return Items(tuple(self._zipped(part, counter, course) for part in parts))
            case _:
                return Symbol(f"{_target_name(target)}@{course.number}")

    def _zipped(self, part: Value, counter: Number, course: Course) -> Value:
        match part:
            case Stack() | View() | Made():
                return self._element(part, counter, course)
            case Sequence("range", low, _) if low is not None:
                return self.evaluator.binary("+", low, counter)
            case Sequence("enumerate", _, _, view, _, _) if view is not None:
                return Items((counter, self._element(view, counter, course)))
            case Sequence("zip", _, _, _, _, parts):
                return Items(tuple(self._zipped(item, counter, course) for item in parts))
            case _:
                return Symbol(f"{text_of(part)}@{course.number}")

    def _element(self, value: Value, counter: Number, course: Course) -> Value:
        match value:
            case Stack():
                return Element(value, counter)
            case View(stack, low, _):
                return Element(stack, self.evaluator.binary("+", low, counter))
            case Made(Element(stack, _), view):
                low = view.low if view is not None else Number("", 0)
                return Element(stack, self.evaluator.binary("+", low, counter))
            case _:
                return Symbol(f"{text_of(value)}@{course.number}")


def view_of(value: Value) -> View | None:
    match value:
        case Stack():
            return View(value, Number("", 0), None)
        case View():
            return value
        case Sequence("enumerate", _, _, view, _, _):
            return view
        case Sequence("zip", _, _, _, _, parts):
            return next((found for part in parts if (found := view_of(part))), None)
        case Made(_, view):
            return view
        case _:
            return None


def _target_name(target: ir.Expression | None) -> str:
    match target:
        case ir.Name(id):
            return id
        case ir.Collection(_, items) if items:
            return _target_name(items[0])
        case _:
            return "item"
