"""Control flow other than loops: branches, ``with``, ``try``, ``match``, jumps."""

from pathaudit import ir
from pathaudit.lower import render
from pathaudit.paths.assignments import AssignmentMachine
from pathaudit.paths.formulas import conjunction, opposite
from pathaudit.paths.machine import Frame
from pathaudit.paths.state import (
    BROKE,
    CONTINUED,
    RAISED,
    RETURNED,
    RUNNING,
    State,
    TrailStep,
    merge_states,
)
from pathaudit.paths.values import (
    NONE,
    Symbol,
    Value,
    carries,
    text_of,
)
from pathaudit.paths.walking import walk

JUMPS = {"return": RETURNED, "raise": RAISED, "break": BROKE, "continue": CONTINUED}


class ControlMachine(AssignmentMachine):
    """Adds control flow."""

    def branch(self, statement: ir.Branch, state: State, frame: Frame) -> list[State]:
        found: list[State] = []
        for before in self._tested(statement.test, state, frame):
            if before.status != RUNNING:
                found.append(before)
                continue
            formula = self.evaluator.formula(statement.test, before, frame.place)
            taken, other = self.split(before, formula, frame, statement.region)
            if taken is not None:
                found += self.block(statement.body, [taken], frame)
            if other is not None:
                found += self.block(statement.orelse, [other], frame)
        return found

    def _tested(self, test: ir.Expression, state: State, frame: Frame) -> list[State]:
        """The events inside a test happen before it decides."""
        for node in walk(test):
            if isinstance(node, ir.Walrus) and node.name in frame.plan.names:
                value = self.evaluator.value(node.value, state, frame.place)
                state = state.bind(node.name, value)
        if id(test) not in frame.plan.splits:
            return [state]
        return [after for after, _ in self.evaluate(test, state, frame)]

    def run_with(self, statement: ir.With, state: State, frame: Frame) -> list[State]:
        states = [state]
        for item in statement.items:
            states = [
                self._entered(item, value, after, frame) if after.status == RUNNING else after
                for before in states
                for after, value in self.evaluate(item.manager, before, frame)
            ]
        running = [after for after in states if after.status == RUNNING]
        left = [after for after in states if after.status != RUNNING]
        return [*self.block(statement.body, running, frame), *left]

    def _entered(self, item: ir.Context, value: Value, state: State, frame: Frame) -> State:
        if item.target is None:
            return state
        held = value if carries(value) else Symbol(f"{text_of(value)}.__enter__()")
        return self.bind(item.target, held, state, frame)

    def run_try(self, statement: ir.Try, state: State, frame: Frame) -> list[State]:
        """A handler starts from the join of the states around each statement of the body."""
        self.catching.append((frame, []))
        states = self.block(statement.body, [state], frame)
        around = self.catching.pop()[1]
        around += [after for after in states if after.status in (RUNNING, RAISED)]
        ended = [after for after in states if after.status == RUNNING]
        left = [after for after in states if after.status not in (RUNNING, RAISED)]
        finals = [*self.block(statement.orelse, ended, frame), *left]
        if statement.handlers:
            thrown = merge_states(_thrown(after, state) for after in around)
            for handler in statement.handlers:
                finals += self.block(handler.body, [_caught(handler, x) for x in thrown], frame)
        else:
            finals += [after for after in states if after.status == RAISED]
        finals = self.merged(finals, frame, statement.region.line)
        return self._finally(statement.final, finals, frame)

    def _finally(
        self, body: tuple[ir.Statement, ...], states: list[State], frame: Frame
    ) -> list[State]:
        if not body:
            return states
        found: list[State] = []
        for state in states:
            for after in self.block(body, [state.leave(RUNNING)], frame):
                jumped = after.status != RUNNING
                found.append(after if jumped else after.leave(state.status, state.value))
        return found

    def run_match(self, statement: ir.Match, state: State, frame: Frame) -> list[State]:
        subject = self.evaluator.value(statement.subject, state, frame.place)
        rest: list[State] = [state]
        found: list[State] = []
        for case in statement.cases:
            rest_after: list[State] = []
            for before in rest:
                taken, other = self._case(case, subject, before, frame)
                if taken is not None:
                    found += self.block(case.body, [taken], frame)
                if other is not None:
                    rest_after.append(other)
            rest = rest_after
        return [*found, *rest]

    def _case(
        self, case: ir.Case, subject: Value, state: State, frame: Frame
    ) -> tuple[State | None, State | None]:
        state = state.forget(case.names)
        tests = []
        if case.pattern is not None:
            wanted = self.evaluator.value(case.pattern, state, frame.place)
            tests.append(self.evaluator.compare("==", subject, wanted))
        if case.guard is not None:
            tests.append(self.evaluator.formula(case.guard, state, frame.place))
        formula = conjunction(tests)
        taken = self.constrain(state, formula)
        decided = case.pattern is not None or case.irrefutable
        other = self.constrain(state, opposite(formula)) if decided else state
        return taken, other

    def jump(self, statement: ir.Exit, state: State, frame: Frame) -> list[State]:
        status = JUMPS[statement.kind]
        if status == RAISED:
            text = render(statement.value) if statement.value is not None else "raise"
            step = TrailStep(frame.place.file, statement.region, "raise", text, None)
            return [state.walked(step).leave(RAISED)]
        if statement.value is None:
            return [state.leave(status, NONE if status == RETURNED else None)]
        found = []
        for after, value in self.evaluate(statement.value, state, frame):
            kept = value if status == RETURNED else None
            found.append(after.leave(status, kept) if after.status == RUNNING else after)
        return found


def _thrown(state: State, before: State) -> State:
    """A failure leaves the iterations inside the ``try``: what they owe is excused."""
    depth = len(before.scopes)
    return state.owing(state.scopes[:depth]).leave(RUNNING)


def _caught(handler: ir.Handler, state: State) -> State:
    return state.forget((handler.name,)) if handler.name else state
