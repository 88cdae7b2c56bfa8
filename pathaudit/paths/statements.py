"""The executor: runs one method and reports its events."""

from pathaudit import ir
from pathaudit.index import FunctionRef, Instance, Types
from pathaudit.paths.control import ControlMachine
from pathaudit.paths.machine import Frame
from pathaudit.paths.state import (
    RUNNING,
    State,
)
from pathaudit.paths.values import (
    Symbol,
    Value,
)
from pathaudit.paths.walking import binds_inside, own_expressions


class Executor(ControlMachine):
    """The whole machine."""

    def run_root(self, instance: Instance, ref: FunctionRef) -> None:
        """Execute a method of ``instance`` and tell the monitor what happens.

        Raises ``BudgetExceeded`` when steps or states run out.
        """
        receiver = Symbol("self", Types((instance,)), present=True)
        frame = self.frame(ref, receiver, frozenset(), None)
        if frame is None:
            return
        names: dict[str, Value] = {
            item.name: Symbol(item.name) for item in frame.function.parameters
        }
        names[frame.receiver_name] = receiver
        body = frame.function.body
        shown = body[: len(body) - frame.plan.tail]
        for final in self.block(shown, [State(names=names)], frame):
            self.monitor.finish(final)

    def block(
        self, body: tuple[ir.Statement, ...], states: list[State], frame: Frame
    ) -> list[State]:
        """Execute statements; states that left by a jump are carried along."""
        left: list[State] = []
        for statement in body:
            left += [state for state in states if state.status != RUNNING]
            running = [state for state in states if state.status == RUNNING]
            if not running:
                return left
            line = statement.region.line
            self.spend(frame, line, len(running))
            if self.catching and self.catching[-1][0] is frame:
                self.catching[-1][1].extend(running)
            states = [
                after for state in running for after in self.statement(statement, state, frame)
            ]
            if len(states) > 1:
                states = self.merged(states, frame, line)
        return left + states

    def statement(  # noqa: C901 - one arm a statement type
        self, statement: ir.Statement, state: State, frame: Frame
    ) -> list[State]:
        """Execute one statement; what cannot matter is stepped over."""
        if id(statement) not in frame.plan.statements and not isinstance(statement, ir.Exit):
            return [self.step_over(statement, state, frame)]
        if not isinstance(statement, ir.Branch):
            for expression in own_expressions(statement):
                if binds_inside(expression):
                    state = self.bound_inside(expression, state, frame)
        match statement:
            case ir.Assign():
                return self.assign(statement, state, frame)
            case ir.AugmentedAssign():
                return self.augment(statement, state, frame)
            case ir.Evaluate(value, _):
                return [after for after, _ in self.evaluate(value, state, frame)]
            case ir.Branch():
                return self.branch(statement, state, frame)
            case ir.Loop():
                return self.loop(statement, state, frame)
            case ir.With():
                return self.run_with(statement, state, frame)
            case ir.Try():
                return self.run_try(statement, state, frame)
            case ir.Match():
                return self.run_match(statement, state, frame)
            case ir.Exit():
                return self.jump(statement, state, frame)
            case ir.Assertion(test, _):
                formula = self.evaluator.formula(test, state, frame.place)
                part = self.constrain(state, formula)
                return [part] if part is not None else []
            case ir.Define(function, _):
                return [self.define(function, state, frame)]
            case _:
                return [self.step_over(statement, state, frame)]
