"""Execute loops: their first iteration on its own, then a general one, and the way around both."""

import msgspec

from pathaudit import ir
from pathaudit.paths.comprehensions import ComprehensionMachine
from pathaudit.paths.courses import Course
from pathaudit.paths.formulas import Formula, conjunction, opposite
from pathaudit.paths.machine import ActiveLoop, Frame
from pathaudit.paths.state import BROKE, CONTINUED, RAISED, RETURNED, RUNNING, State
from pathaudit.paths.values import (
    Accumulator,
    Constant,
    Items,
    Number,
    Symbol,
    Truth,
    Value,
)
from pathaudit.paths.walking import assigned_names

# How often the body is executed again until what it carries along is stable.
ROUNDS = 5


# Loops nested deeper than this are executed from the forgotten state at once.
NESTING = 3


class LoopMachine(ComprehensionMachine):
    """Adds loops."""

    def loop(self, statement: ir.Loop, state: State, frame: Frame) -> list[State]:
        """Execute a loop and return the states after it."""
        if statement.iterable is None:
            return self._course_run(
                statement, state, frame, self.while_course(statement, state, frame)
            )
        found: list[State] = []
        for after, value in self.evaluate(statement.iterable, state, frame):
            if after.status != RUNNING:
                found.append(after)
            elif isinstance(value, Items) and 0 < len(value.items) <= 8:
                found += self._unrolled(statement, value, after, frame)
            else:
                course = self.for_course(statement, value)
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
        broke = [after.leave(RUNNING) for after in (*states, *left) if after.status == BROKE]
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
            start = state if statement.test is None else general
            more, gone = self._stabilise(statement, start, ends, frame, course)
            ends, left = ends + more, left + gone
        return self._leave(statement, state, around, ends, left, frame, course)

    def _around(
        self, statement: ir.Loop, state: State, frame: Frame, course: Course
    ) -> list[State]:
        """The states that skip the body."""
        if statement.test is not None:
            formula = opposite(self.evaluator.formula(statement.test, state, frame.place))
            part = self.constrain(state, formula)
        elif course.low is not None:
            part = self.constrain(state, opposite(self.non_empty(course)))
        else:
            part = state
        return [part] if part is not None else []

    def _enter(
        self, statement: ir.Loop, state: State, frame: Frame, course: Course, *, first: bool
    ) -> State | None:
        """The state at the start of an iteration."""
        entered = self.constrain(state, conjunction(self._bounds(course, first=first)))
        if entered is not None and statement.test is not None:
            return self._tested_entry(statement, entered, frame, course, first=first)
        if entered is None or statement.target is None or course.iterable is None:
            return entered
        item = self.item(statement.target, course)
        return self.bind(statement.target, item, entered, frame)

    def _bounds(self, course: Course, *, first: bool) -> list[Formula]:
        if course.low is None or course.high is None:
            return []
        counter = self.evaluator.number(course.base)
        compare = self.evaluator.compare
        low = compare(
            "==" if first else "<", *((counter, course.low) if first else (course.low, counter))
        )
        return [self.non_empty(course), low, compare("<", counter, course.high)]

    def _tested_entry(
        self, statement: ir.Loop, state: State, frame: Frame, course: Course, *, first: bool
    ) -> State | None:
        """The test of a ``while`` holds at the start of each iteration."""
        entered = self.counted(statement, state, course) if first else state
        if entered is None or statement.test is None:
            return entered
        tests = [self.evaluator.formula(statement.test, entered, frame.place)]
        for name, start in course.rising if not first else ():
            counter = entered.names.get(name)
            if isinstance(counter, Number):
                tests.append(self.evaluator.compare("<", self.evaluator.as_number(start), counter))
        return self.constrain(entered, conjunction(tests))

    def _general_entry(
        self, statement: ir.Loop, state: State, frame: Frame, course: Course
    ) -> State | None:
        """Can there be an iteration after the first? Then there was a first one."""
        if statement.test is None:
            return self._enter(statement, state, frame, course, first=False)
        formula = self.evaluator.formula(statement.test, state, frame.place)
        return self.constrain(state, formula)

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
        return (
            self._iterate(statement, [entered], frame, course, judged=True) if entered else ([], [])
        )

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
        ended = [self.outside(item, state, course) for item in ends]
        broke = [
            self.outside(item.leave(RUNNING), state, course)
            for item in left
            if item.status == BROKE
        ]
        gone = [item for item in left if item.status in (RETURNED, RAISED)]
        line = statement.region.line
        exits = self.merged([*around, *ended], frame, line)
        if statement.orelse:
            exits = self.block(statement.orelse, exits, frame)
        return self.merged([*exits, *broke, *gone], frame, line)


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
