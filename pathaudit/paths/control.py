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
    Surrounding,
    Symbol,
    Value,
    carries,
    text_of,
)
from pathaudit.paths.walking import binds_inside

JUMPS = {"return": RETURNED, "raise": RAISED, "break": BROKE, "continue": CONTINUED}


class ControlMachine(AssignmentMachine):
    """Adds control flow."""

    def branch(self, statement: ir.Branch, state: State, frame: Frame) -> list[State]:
        found: list[State] = []
        for before in self._tested(statement.test, state, frame):
            if before.status != RUNNING:
                found.append(before)
                continue
            taken, other = self.decide(statement.test, before, frame, statement.region)
            found += self.block(statement.body, taken, frame) if taken else []
            found += self.block(statement.orelse, other, frame) if other else []
        return found

    def decide(
        self, test: ir.Expression, state: State, frame: Frame, region: ir.Region
    ) -> tuple[list[State], list[State]]:
        """The states in which a test is true and false; what it binds is bound on the way."""
        if not binds_inside(test):
            formula = self.evaluator.formula(test, state, frame.place)
            true, false = self.split(state, formula, frame, region)
            return [true] if true else [], [false] if false else []
        match test:
            case ir.Unary("not", operand):
                trues, falses = self.decide(operand, state, frame, region)
                return falses, trues
            case ir.Boolean(operator, operands):
                return self._decide_in_turn(operator, operands, state, frame, region)
            case ir.Walrus(_, value) if not binds_inside(value):
                after = self.bound_inside(test, state, frame)
                formula = self.evaluator.truth(self.evaluator.value(value, state, frame.place))
                true, false = self.split(after, formula, frame, region)
                return [true] if true else [], [false] if false else []
            case _:
                after = self.bound_inside(test, state, frame)
                formula = self.evaluator.formula(test, after, frame.place)
                true, false = self.split(after, formula, frame, region)
                return [true] if true else [], [false] if false else []

    def _decide_in_turn(
        self,
        operator: str,
        operands: tuple[ir.Expression, ...],
        state: State,
        frame: Frame,
        region: ir.Region,
    ) -> tuple[list[State], list[State]]:
        """``a and b`` asks ``b`` only where ``a`` is true."""
        going, stopped = [state], []
        for operand in operands:
            parts = [self.decide(operand, item, frame, region) for item in going]
            trues = [item for true, _ in parts for item in true]
            falses = [item for _, false in parts for item in false]
            going = trues if operator == "and" else falses
            stopped += falses if operator == "and" else trues
        return (going, stopped) if operator == "and" else (stopped, going)

    def _tested(self, test: ir.Expression, state: State, frame: Frame) -> list[State]:
        """The events inside a test happen before it decides."""
        if id(test) not in frame.plan.splits:
            return [state]
        return [after for after, _ in self.evaluate(test, state, frame)]

    def run_with(self, statement: ir.With, state: State, frame: Frame) -> list[State]:
        states: list[tuple[State, str]] = [(state, "")]
        for item in statement.items:
            states = [
                (
                    self._entered(item, value, after, frame) if after.status == RUNNING else after,
                    value.evidence if isinstance(value, Surrounding) else around,
                )
                for before, around in states
                for after, value in self.evaluate(item.manager, before, frame)
            ]
        plain = [after for after, around in states if after.status == RUNNING and not around]
        left = [after for after, _ in states if after.status != RUNNING]
        found = [*self.block(statement.body, plain, frame), *left] if plain else left
        for after, around in states:
            if after.status == RUNNING and around:
                inner = [self.monitor.surround(after, around)]
                ends = self.block(statement.body, inner, frame)
                found += [self.monitor.unsurround(end) for end in ends]
        return found

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
        thrown = merge_states(_thrown(after, state) for after in around)
        if statement.handlers:
            for handler in statement.handlers:
                finals += self.block(handler.body, [_caught(handler, x) for x in thrown], frame)
        else:
            finals += [after for after in states if after.status == RAISED]
            self._pass_on(statement.final, thrown, frame)
        finals = self.merged(finals, frame, statement.region.line)
        return self._finally(statement.final, finals, frame)

    def _pass_on(self, final: tuple[ir.Statement, ...], thrown: list[State], frame: Frame) -> None:
        """A failure that nothing here handles goes on to the ``try`` around, if there is one."""
        if self.catching and self.catching[-1][0] is frame:
            left = self._finally(final, [item.leave(RAISED) for item in thrown], frame)
            self.catching[-1][1].extend(left)

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
