"""What a loop runs over, and what its target holds in an iteration."""

from abc import abstractmethod

from msgspec import Struct

from pathaudit import ir
from pathaudit.paths.calls import CallMachine
from pathaudit.paths.formulas import TRUE, Formula, conjunction
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
from pathaudit.paths.walking import all_statements, assigned_names, bindings, names_of


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
    others: tuple[tuple[Value, Value], ...] = ()
    rising: tuple[tuple[str, Value], ...] = ()


class CourseMachine(CallMachine):
    """Adds the courses of loops."""

    @abstractmethod
    def bind(self, target: ir.Expression | None, value: Value, state: State, frame: Frame) -> State:
        """Store a value to a target."""

    def for_course(self, statement: ir.Loop | None, value: Value) -> Course:
        """The course of a ``for``; a loop over a view counts the layers by their own index."""
        number = self.next_loop()
        base = f"{_target_name(statement.target if statement else None)}@{number}"
        view = view_of(value)
        match value:
            case Sequence("range", low, high) if low is not None and high is not None:
                bounds: tuple[Value, Value] | None = (low, high)
            case _ if view is not None:
                bounds = (view.low, view.high if view.high is not None else self._end(view.stack))
            case _:
                bounds = None
        if bounds is None:
            return Course(number, value, base, None, None, "", "")
        texts = (text_of(bounds[0]), text_of(bounds[1]))
        self.ranges[number] = texts
        return Course(number, value, base, *bounds, *texts, others=self._spans(value))

    def _spans(self, value: Value) -> tuple[tuple[Value, Value], ...]:
        """The ranges of the parts of a ``zip``: it ends with the shortest."""
        found: list[tuple[Value, Value]] = []
        for part in value.parts if isinstance(value, Sequence) else ():
            view = view_of(part)
            if view is not None:
                found.append((view.low, view.high or self._end(view.stack)))
            elif isinstance(part, Sequence) and part.low is not None and part.high is not None:
                found.append((part.low, part.high))
        return tuple(found)

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
        self.ranges[number] = (low_text, high_text)
        rising = tuple(
            (name, state.names[name])
            for name in sorted(_counted_up(statement.body))
            if name in state.names
        )
        return Course(number, None, "", None, None, low_text, high_text, rising=rising)

    def counted(self, statement: ir.Loop, state: State, course: Course) -> State | None:
        """The first iteration of a ``while``: what the test counts belongs to the loop."""
        if statement.test is None:
            return state
        changed = names_of(statement.test) & assigned_names(statement.body)
        for name in sorted(changed):
            known = state.names.get(name)
            value = self.evaluator.as_number(known) if known is not None else None
            if isinstance(value, Number):
                counter = self.evaluator.number(f"{name}@{course.number}")
                equal = self.evaluator.compare("==", counter, value)
                constrained = self.constrain(state, equal)
                if constrained is None:
                    return None
                state = constrained.bind(name, counter)
        return state

    def non_empty(self, course: Course) -> Formula:
        if course.low is None or course.high is None:
            return TRUE
        spans = ((course.low, course.high), *course.others)
        return conjunction([self.evaluator.compare("<", low, high) for low, high in spans])

    def item(self, target: ir.Expression, course: Course) -> Value:
        """What the loop's target holds in an iteration."""
        counter = self.evaluator.number(course.base)
        match course.iterable:
            case Sequence("range"):
                return counter
            case Sequence("zip", _, _, _, _, parts):
                return Items(tuple(self._zipped(part, counter, course) for part in parts))
            case Sequence("enumerate", _, _, view, start, _) if view is not None:
                return self._numbered(view, start, counter, course)
            case Stack() | View() | Made():
                return self._element(course.iterable, counter, course)
            case _:
                return Symbol(f"{_target_name(target)}@{course.number}")

    def _numbered(self, view: View, start: Value | None, counter: Number, course: Course) -> Value:
        """``enumerate(view, start)``: its index and the layer."""
        index = self.evaluator.binary("-", counter, view.low)
        if start is not None:
            index = self.evaluator.binary("+", index, self.evaluator.as_number(start))
        return Items((index, self._element(view, counter, course)))

    def _zipped(self, part: Value, counter: Number, course: Course) -> Value:
        match part:
            case Stack() | View() | Made():
                return self._element(part, counter, course)
            case Sequence("range", low, _) if low is not None and course.low is not None:
                place = self.evaluator.binary("-", counter, course.low)
                return self.evaluator.binary("+", place, low)
            case Sequence("enumerate", _, _, view, start, _) if view is not None:
                return self._numbered(view, start, counter, course)
            case Sequence("zip", _, _, _, _, parts):
                return Items(tuple(self._zipped(item, counter, course) for item in parts))
            case _:
                return Symbol(f"{text_of(part)}@{course.number}")

    def _element(self, value: Value, counter: Number, course: Course) -> Value:
        """The layer of a view at the place that the counter has in the loop's first view."""
        view = view_of(value)
        if view is None or (isinstance(value, Made) and not isinstance(value.item, Element)):
            return Symbol(f"{text_of(value)}@{course.number}")
        if course.low is None or view.low == course.low:
            return Element(view.stack, counter)
        place = self.evaluator.binary("-", counter, course.low)
        return Element(view.stack, self.evaluator.binary("+", place, view.low))


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
        case Made(item, view):
            inner = View(item.stack, Number("", 0), None) if isinstance(item, Element) else None
            return view or inner
        case _:
            return None


def _counted_up(body: tuple[ir.Statement, ...]) -> set[str]:
    """The names that a body only ever adds a positive constant to."""
    steps: dict[str, bool] = {}
    for statement in all_statements(body):
        match statement:
            case ir.AugmentedAssign(ir.Name(id), "+", ir.Constant(int(step)), _) if step > 0:
                steps.setdefault(id, True)
            case _:
                for name, _ in bindings(statement):
                    steps[name] = False
    return {name for name, rising in steps.items() if rising}


def _target_name(target: ir.Expression | None) -> str:
    match target:
        case ir.Name(id):
            return id
        case ir.Collection(_, items) if items:
            return _target_name(items[0])
        case _:
            return "item"
