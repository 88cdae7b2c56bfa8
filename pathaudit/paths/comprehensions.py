"""Execute comprehensions as the loops they are."""

import msgspec

from pathaudit import ir
from pathaudit.conditions import Bound, Conjunction, Literal, PathCondition, disjoin
from pathaudit.paths.courses import Course, CourseMachine, view_of
from pathaudit.paths.expressions import Outcome
from pathaudit.paths.formulas import Formula, conjunction
from pathaudit.paths.machine import ActiveLoop, Frame
from pathaudit.paths.state import RAISED, RUNNING, State
from pathaudit.paths.values import (
    NONE,
    Accumulator,
    Made,
    Symbol,
    Value,
    marked,
    text_of,
)


class ComprehensionMachine(CourseMachine):
    """Adds comprehensions."""

    def comprehension(self, node: ir.Comprehension, state: State, frame: Frame) -> list[Outcome]:
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
        course = self.for_course(loop, value)
        entered = self._enter_clause(loop, clause, state, frame, course)
        if entered is None:
            return [(state, Made(Symbol("nothing"), None))]
        active = ActiveLoop(
            course.number, frame, node.region, course.low_text, course.high_text, True
        )
        self.loops.append(active)
        inner = self._clause(node, position + 1, self.monitor.enter(entered, course.number), frame)
        self.loops.pop()
        found: list[Outcome] = []
        for after, item in inner:
            judged = after.status != RAISED
            left = self.monitor.leave(after, course.number, judged=judged)
            made = Made(item, view_of(value))
            outside = self.outside(left, state, course) if left.status == RUNNING else left
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
        bounds: list[Formula] = [self.non_empty(course)]
        if course.low is not None:
            counter = self.evaluator.number(course.base)
            bounds.append(self.evaluator.compare("<=", course.low, counter))
            if course.high is not None:
                bounds.append(self.evaluator.compare("<", counter, course.high))
        entered = self.constrain(state, conjunction(bounds))
        if entered is None or loop.target is None:
            return None
        bound = self.bind(loop.target, self.item(loop.target, course), entered, frame)
        tests = [self.evaluator.formula(test, bound, frame.place) for test in clause.conditions]
        return self.constrain(bound, conjunction(tests))

    def outside(self, state: State, before: State, course: Course) -> State:
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
