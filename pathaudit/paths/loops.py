"""Execute loops: their first iteration on its own, then a general one, and the way around both."""

from collections.abc import Iterable

import msgspec
from msgspec import Struct

from pathaudit import ir
from pathaudit.conditions import Bound, Conjunction, Literal, PathCondition, disjoin
from pathaudit.paths.calls import CallMachine, Outcome
from pathaudit.paths.formulas import TRUE, Formula, conjunction, opposite
from pathaudit.paths.machine import ActiveLoop, Frame
from pathaudit.paths.relevance import all_statements, stored
from pathaudit.paths.state import BROKE, CONTINUED, RAISED, RETURNED, RUNNING, State
from pathaudit.paths.values import (
    NONE,
    Accumulator,
    Constant,
    Element,
    Items,
    Made,
    Number,
    Sequence,
    Stack,
    Symbol,
    Truth,
    Value,
    View,
    marked,
    text_of,
)

# How often the body is executed again until what it carries along is stable.
ROUNDS = 5
# Loops nested deeper than this are executed from the forgotten state at once.
NESTING = 3


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


class LoopMachine(CallMachine):
    """Adds loops and comprehensions."""

    # ---- loops ----

    def loop(self, statement: ir.Loop, state: State, frame: Frame) -> list[State]:
        """Execute a loop and return the states after it."""
        if statement.iterable is None:
            return self._course_run(statement, state, frame, self._while_course(statement, state, frame))
        found: list[State] = []
        for after, value in self.evaluate(statement.iterable, state, frame):
            if after.status != RUNNING:
                found.append(after)
            elif isinstance(value, Items) and 0 < len(value.items) <= 8:
                found += self._unrolled(statement, value, after, frame)
            else:
                course = self._for_course(statement, value)
                found += self._course_run(statement, after, frame, course)
        return found

    def _unrolled(
        self, statement: ir.Loop, value: Items, state: State, frame: Frame
    ) -> list[State]:
        """A loop over a display runs once for each of its parts."""
        states, left = [state], []
        for item in value.items:
            bound = [
                self.bind(statement.target, item, before, frame)
                for before in states
                if before.status == RUNNING
            ]
            left += [before for before in states if before.status != RUNNING]
            states = [
                after.leave(RUNNING) if after.status == CONTINUED else after
                for after in self.block(statement.body, bound, frame)
            ]
            states = self.merged(states, frame, statement.region.line)
        ended = [after for after in states if after.status == RUNNING]
        broke = [
            after.leave(RUNNING) for after in (*states, *left) if after.status == BROKE
        ]
        gone = [after for after in (*states, *left) if after.status in (RETURNED, RAISED)]
        return [*self.block(statement.orelse, ended, frame), *broke, *gone]

    def _course_run(
        self, statement: ir.Loop, state: State, frame: Frame, course: Course
    ) -> list[State]:
        around = self._around(statement, state, frame, course)
        single = self._enter(statement, state, frame, course, first=True)
        ends: list[State] = []
        left: list[State] = []
        general = self._general_entry(statement, state, frame, course)
        if single is not None and len(self.loops) < NESTING:
            judged = general is None
            ends, left = self._iterate(statement, [single], frame, course, judged=judged)
        if general is not None and (ends or len(self.loops) >= NESTING):
            more, gone = self._stabilise(statement, state, ends, frame, course)
            ends, left = ends + more, left + gone
        return self._leave(statement, state, around, ends, left, frame, course)

    def _around(
        self, statement: ir.Loop, state: State, frame: Frame, course: Course
    ) -> list[State]:
        """The states that skip the body."""
        empty = opposite(self._non_empty(course, state))
        if statement.test is not None:
            empty = opposite(self.evaluator.formula(statement.test, state, frame.place))
        part = self.constrain(state, empty) if course.low is not None or statement.test else state
        return [part] if part is not None else []

    def _non_empty(self, course: Course, state: State) -> Formula:
        if course.low is None or course.high is None:
            return TRUE
        return self.evaluator.compare("<", course.low, course.high)

    def _enter(
        self, statement: ir.Loop, state: State, frame: Frame, course: Course, *, first: bool
    ) -> State | None:
        """The state at the start of an iteration."""
        bounds: list[Formula] = [self._non_empty(course, state)]
        if course.base and course.low is not None:
            counter = self.evaluator.number(course.base)
            if first:
                bounds.append(self.evaluator.compare("==", counter, course.low))
            else:
                bounds.append(self.evaluator.compare("<", course.low, counter))
            if course.high is not None:
                bounds.append(self.evaluator.compare("<", counter, course.high))
        entered = self.constrain(state, conjunction(bounds))
        if entered is None:
            return None
        if statement.target is not None and course.iterable is not None:
            item = self._item(statement.target, course)
            return self.bind(statement.target, item, entered, frame)
        if statement.test is not None:
            formula = self.evaluator.formula(statement.test, entered, frame.place)
            return self.constrain(entered, formula)
        return entered

    def _general_entry(
        self, statement: ir.Loop, state: State, frame: Frame, course: Course
    ) -> State | None:
        """Can there be an iteration after the first?"""
        if statement.test is not None:
            return state
        return self._enter(statement, state, frame, course, first=False)

    def _iterate(
        self,
        statement: ir.Loop,
        states: list[State],
        frame: Frame,
        course: Course,
        *,
        judged: bool,
    ) -> tuple[list[State], list[State]]:
        """Execute the body once; returns the states at its end and those that left the loop."""
        active = ActiveLoop(
            course.number, frame, statement.region, course.low_text, course.high_text, judged
        )
        self.loops.append(active)
        entered = [self.monitor.enter(state, course.number) for state in states]
        finals = self.block(statement.body, entered, frame)
        self.loops.pop()
        ends, left = [], []
        for state in finals:
            over = state.status != RAISED
            after = self.monitor.leave(state, course.number, judged=judged and over)
            if after.status in (RUNNING, CONTINUED):
                ends.append(after.leave(RUNNING))
            else:
                left.append(after)
        line = statement.region.line
        return self.merged(ends, frame, line), self.merged(left, frame, line)

    def _stabilise(
        self,
        statement: ir.Loop,
        state: State,
        ends: list[State],
        frame: Frame,
        course: Course,
    ) -> tuple[list[State], list[State]]:
        """The general iteration, from a state that covers the end of every iteration."""
        carried = assigned_names(statement.body) & frame.plan.names
        heads = self._joined(state, ends, carried, course) if ends else state.forget(carried)
        for _ in range(ROUNDS):
            checkpoint = self.monitor.checkpoint()
            entered = self._enter(statement, heads, frame, course, first=False)
            if entered is None:
                return [], []
            more, left = self._iterate(statement, [entered], frame, course, judged=True)
            again = self._joined(heads, more, carried, course, heads)
            if again.names == heads.names and again.versions == heads.versions:
                return more, left
            self.monitor.rollback(checkpoint)
            heads = again
        heads = heads.forget(carried)
        entered = self._enter(statement, heads, frame, course, first=False)
        return self._iterate(statement, [entered], frame, course, judged=True) if entered else ([], [])

    def _joined(
        self,
        entry: State,
        ends: list[State],
        carried: frozenset[str],
        course: Course,
        head: State | None = None,
    ) -> State:
        """One state that covers all ends: what differs is known by its name alone."""
        names = dict(entry.names)
        parts = [*ends, *([head] if head is not None else [])]
        for name in carried:
            held = [state.names.get(name) for state in parts]
            joined = _join(name, held, course.number) if held else names.get(name)
            if joined is None:
                names.pop(name, None)
            else:
                names[name] = joined
        versions: dict[str, int] = dict(entry.versions)
        for state in ends:
            for attribute, count in state.versions:
                versions[attribute] = max(count, versions.get(attribute, 0))
        stores = entry.stores if all(state.stores == entry.stores for state in ends) else ()
        # A store in the body makes the attribute unknown in every later iteration.
        marked = tuple(sorted(versions.items()))
        return msgspec.structs.replace(entry, names=names, versions=marked, stores=stores)

    def _leave(
        self,
        statement: ir.Loop,
        state: State,
        around: list[State],
        ends: list[State],
        left: list[State],
        frame: Frame,
        course: Course,
    ) -> list[State]:
        """States after the loop: around it, out of its end, by ``break``; and those that left."""
        ended = [self._outside(item, state, course) for item in ends]
        broke = [
            self._outside(item.leave(RUNNING), state, course)
            for item in left
            if item.status == BROKE
        ]
        gone = [item for item in left if item.status in (RETURNED, RAISED)]
        line = statement.region.line
        exits = self.merged([*around, *ended], frame, line)
        if statement.orelse:
            exits = self.block(statement.orelse, exits, frame)
        return self.merged([*exits, *broke, *gone], frame, line)

    def _outside(self, state: State, before: State, course: Course) -> State:
        """What holds of one iteration is no condition after the loop."""
        names = {
            name: Symbol(f"{name}#{course.number}") if _mentions(value, course.number) else value
            for name, value in state.names.items()
        }
        condition: PathCondition | None = None
        for alternative in state.condition.alternatives:
            kept = _project(alternative.literals, course.number)
            part = PathCondition((Conjunction(kept, alternative.weakened),))
            condition = part if condition is None else disjoin(condition, part)
        return msgspec.structs.replace(
            state, names=names, condition=condition or before.condition, trail=before.trail
        )

    # ---- what a loop runs over ----

    def _for_course(self, statement: ir.Loop | None, value: Value) -> Course:
        number = self.next_loop()
        base = f"{_target_name(statement.target if statement else None)}@{number}"
        match value:
            case Sequence("range", low, high) if low is not None and high is not None:
                return Course(number, value, base, low, high, text_of(low), text_of(high))
            case Stack() | View() | Sequence("enumerate") | Sequence("zip") | Made():
                view = _view_of(value)
                if view is None:
                    return Course(number, value, base, None, None, "", "")
                high = view.high if view.high is not None else self._end(view.stack)
                return self._view_course(number, value, base, view.low, high)
            case _:
                return Course(number, value, base, None, None, "", "")

    def _view_course(
        self, number: int, value: Value, base: str, low: Value, high: Value
    ) -> Course:
        """Iterating a view counts from zero; the layers are those from its low bound on."""
        if low == Number("", 0):
            return Course(number, value, base, low, high, text_of(low), text_of(high))
        return Course(number, value, base, None, None, text_of(low), text_of(high))

    def _end(self, stack: Stack) -> Value:
        return self.evaluator.number(f"len({stack.text})")

    def _while_course(self, statement: ir.Loop, state: State, frame: Frame) -> Course:
        """``while counter < end``: the layers run from the counter's value on."""
        number = self.next_loop()
        low_text = high_text = ""
        match statement.test:
            case ir.Compare("<" | "!=", ir.Name() as name, right):
                low_text = text_of(self.evaluator.value(name, state, frame.place))
                high_text = text_of(self.evaluator.value(right, state, frame.place))
        return Course(number, None, "", None, None, low_text, high_text)

    def _item(self, target: ir.Expression, course: Course) -> Value:
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

    # ---- comprehensions ----

    def comprehension(
        self, node: ir.Comprehension, state: State, frame: Frame
    ) -> list[Outcome]:
        """Execute a comprehension as the loop it is."""
        return [
            (after.without_new(state), value)
            for after, value in self._clause(node, 0, state, frame)
        ]

    def _clause(
        self, node: ir.Comprehension, position: int, state: State, frame: Frame
    ) -> list[Outcome]:
        if position == len(node.clauses):
            return self.evaluate(node.element, state, frame)
        clause = node.clauses[position]
        found: list[Outcome] = []
        for after, value in self.evaluate(clause.iterable, state, frame):
            if after.status != RUNNING:
                found.append((after, NONE))
            else:
                found += self._clause_run(node, position, value, after, frame)
        return found

    def _clause_run(
        self, node: ir.Comprehension, position: int, value: Value, state: State, frame: Frame
    ) -> list[Outcome]:
        clause = node.clauses[position]
        loop = ir.Loop(clause.target, clause.iterable, None, (), (), node.region)
        course = self._for_course(loop, value)
        entered = self._enter_clause(loop, clause, state, frame, course)
        if entered is None:
            return [(state, Made(Symbol("nothing"), None))]
        active = ActiveLoop(
            course.number, frame, node.region, course.low_text, course.high_text, True
        )
        self.loops.append(active)
        inner = self._clause(
            node, position + 1, self.monitor.enter(entered, course.number), frame
        )
        self.loops.pop()
        found: list[Outcome] = []
        for after, item in inner:
            judged = after.status != RAISED
            left = self.monitor.leave(after, course.number, judged=judged)
            made = Made(item, _view_of(value))
            outside = self._outside(left, state, course) if left.status == RUNNING else left
            found.append((outside, made))
        return found

    def _enter_clause(
        self,
        loop: ir.Loop,
        clause: ir.Clause,
        state: State,
        frame: Frame,
        course: Course,
    ) -> State | None:
        """Any iteration stands for all: nothing is carried from one to the next."""
        bounds: list[Formula] = [self._non_empty(course, state)]
        if course.low is not None:
            counter = self.evaluator.number(course.base)
            bounds.append(self.evaluator.compare("<=", course.low, counter))
            if course.high is not None:
                bounds.append(self.evaluator.compare("<", counter, course.high))
        entered = self.constrain(state, conjunction(bounds))
        if entered is None or loop.target is None:
            return None
        bound = self.bind(loop.target, self._item(loop.target, course), entered, frame)
        tests = [self.evaluator.formula(test, bound, frame.place) for test in clause.conditions]
        return self.constrain(bound, conjunction(tests))

    # ---- names ----

    def bind(self, target: ir.Expression | None, value: Value, state: State, frame: Frame) -> State:
        """Store a value to a target."""
        raise NotImplementedError


def assigned_names(body: Iterable[ir.Statement]) -> frozenset[str]:
    """The names that statements assign, at any depth."""
    found = set()
    for statement in all_statements(tuple(body)):
        found.update(item.id for item in stored(statement) if isinstance(item, ir.Name))
    return frozenset(found)


def _join(name: str, held: list[Value | None], number: int) -> Value | None:
    """A value that covers all of ``held``; ``None`` where one of them is not known."""
    first, *rest = held
    if all(value == first for value in rest):
        return first
    if all(isinstance(value, Accumulator) for value in held):
        known = [value for value in held if isinstance(value, Accumulator)]
        if len({value.text for value in known}) == 1:
            return msgspec.structs.replace(known[0], fresh=False)
    if all(isinstance(value, Number) for value in held):
        return Number(f"{name}@{number}")
    if any(value is None for value in held):
        return Symbol(f"{name}@{number}")
    present = all(_is_present(value) for value in held)
    return Symbol(f"{name}@{number}", present=present)


def _is_present(value: Value | None) -> bool:
    match value:
        case Symbol(_, _, present):
            return present
        case None | Truth():
            return False
        case Constant(constant):
            return constant is not None
        case _:
            return True


def _view_of(value: Value) -> View | None:
    match value:
        case Stack():
            return View(value, Number("", 0), None)
        case View():
            return value
        case Sequence("enumerate", _, _, view, _, _):
            return view
        case Sequence("zip", _, _, _, _, parts):
            return next((found for part in parts if (found := _view_of(part))), None)
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


def _mentions(value: Value, loop: int) -> bool:
    return not isinstance(value, Accumulator) and marked(text_of(value), loop)


def _project(literals: frozenset[Literal], loop: int) -> frozenset[Literal]:
    """What holds whatever the iteration: its counters are eliminated (Fourier and Motzkin)."""
    kept = {literal for literal in literals if not _speaks_of(literal, loop)}
    bounds = [x for x in literals if isinstance(x, Bound) and x.integral and x not in kept]
    counters = {name for x in bounds for name in (x.low, x.high) if marked(name, loop)}
    for counter in sorted(counters):
        below = [x for x in bounds if x.high == counter]
        above = [x for x in bounds if x.low == counter]
        bounds = [x for x in bounds if counter not in (x.low, x.high)]
        bounds += [Bound(x.low, y.high, x.gap + y.gap) for x in below for y in above]
    return frozenset(kept | {x for x in bounds if x.low != x.high})


def _speaks_of(literal: Literal, loop: int) -> bool:
    if isinstance(literal, Bound):
        return marked(literal.low, loop) or marked(literal.high, loop)
    return marked(literal.subject, loop) or marked(literal.argument, loop)
