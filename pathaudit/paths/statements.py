"""Execute statements: assignments, branches, jumps, ``with`` and ``try``."""

import re
from collections.abc import Iterable

import msgspec

from pathaudit import ir
from pathaudit.index import ClassRef, FunctionRef, Instance, Types
from pathaudit.index.outline import ImportedSymbol
from pathaudit.lower import render
from pathaudit.paths.formulas import conjunction, opposite
from pathaudit.paths.loops import LoopMachine, assigned_names
from pathaudit.paths.machine import Frame
from pathaudit.paths.relevance import all_statements, names_of, own_expressions, stored, walk
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
    Accumulator,
    Callee,
    ClassValue,
    Constant,
    Items,
    Symbol,
    Value,
    carries,
    text_of,
)

JUMPS = {"return": RETURNED, "raise": RAISED, "break": BROKE, "continue": CONTINUED}


class Executor(LoopMachine):
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
            return [self._step_over(statement, state, frame)]
        match statement:
            case ir.Assign():
                return self._assign(statement, state, frame)
            case ir.AugmentedAssign():
                return self._augment(statement, state, frame)
            case ir.Evaluate(value, _):
                return [after for after, _ in self.evaluate(value, state, frame)]
            case ir.Branch():
                return self._branch(statement, state, frame)
            case ir.Loop():
                return self.loop(statement, state, frame)
            case ir.With():
                return self._with(statement, state, frame)
            case ir.Try():
                return self._try(statement, state, frame)
            case ir.Match():
                return self._match(statement, state, frame)
            case ir.Exit():
                return self._exit(statement, state, frame)
            case ir.Assertion(test, _):
                formula = self.evaluator.formula(test, state, frame.place)
                part = self.constrain(state, formula)
                return [part] if part is not None else []
            case ir.Define(function, _):
                return [self._define(function, state, frame)]
            case _:
                return [self._step_over(statement, state, frame)]

    def _step_over(self, statement: ir.Statement, state: State, frame: Frame) -> State:
        """Forget what a statement assigns, on objects and to names."""
        if isinstance(statement, ir.Define):
            return self._define(statement.function, state, frame)
        if isinstance(statement, ir.Import):
            return self._import(statement, state, frame)
        state = state.forget(assigned_names((statement,)))
        for inner in all_statements((statement,)):
            for target in stored(inner):
                if isinstance(target, ir.Attribute):
                    state = state.touched(target.name)
            state = self._after_calls(own_expressions(inner), state, frame)
        return state

    def _after_calls(
        self, expressions: Iterable[ir.Expression], state: State, frame: Frame
    ) -> State:
        """Methods of the receiver that were stepped over may store attributes."""
        for expression in expressions:
            for node in walk(expression):
                match node:
                    case ir.Call(ir.Attribute(ir.Name(name), method), _, _) if (
                        name == frame.receiver_name and name
                    ):
                        ref = FunctionRef(frame.place.file, f"_.{method}")
                        state = self.after_call(state, ref, frame.place.receiver)
        return state

    # ---- assignments ----

    def _assign(self, statement: ir.Assign, state: State, frame: Frame) -> list[State]:
        found = []
        for after, value in self.evaluate(statement.value, state, frame):
            if after.status == RUNNING:
                value = _timed(value, statement, frame)
                for target in statement.targets:
                    after = self.bind(target, value, after, frame)
                after = self._extended(statement, value, after, frame)
            found.append(after)
        return found

    def _extended(
        self, statement: ir.Assign, value: Value, state: State, frame: Frame
    ) -> State:
        """``collected = collected + [hidden]`` and ``collected[i] = hidden`` collect too."""
        match statement.value:
            case ir.Binary("+", left, _) if isinstance(value, Accumulator):
                del left
                return self._collect(value, state, frame, statement.region)
        for target in statement.targets:
            if isinstance(target, ir.Subscript):
                owner = self.evaluator.value(target.value, state, frame.place)
                if isinstance(owner, Accumulator):
                    state = self._collect(owner, state, frame, statement.region)
        return state

    def _collect(
        self, accumulator: Accumulator, state: State, frame: Frame, region: ir.Region
    ) -> State:
        state = self.filled(state, accumulator)
        if not accumulator.kept:
            return state
        return self.monitor.required(state, self.evidence(frame, region))

    def bind(
        self, target: ir.Expression | None, value: Value, state: State, frame: Frame
    ) -> State:
        """Store a value to a target; names that cannot matter are forgotten."""
        match target:
            case ir.Name(id):
                if id not in frame.plan.names:
                    return state.forget((id,))
                return state.bind(id, _named(value, id, frame))
            case ir.Collection(_, items):
                for position, item in enumerate(items):
                    state = self.bind(item, _part(value, position, len(items)), state, frame)
                return state
            case ir.Attribute(owner, name):
                return self._store(owner, name, value, state, frame)
            case ir.Starred(inner):
                return self.bind(inner, Symbol(text_of(value)), state, frame)
            case _:
                return state

    def _store(
        self, owner: ir.Expression, name: str, value: Value, state: State, frame: Frame
    ) -> State:
        text = f"{text_of(self.evaluator.value(owner, state, frame.place))}.{name}"
        state = state.touched(name)
        if carries(value) or isinstance(value, Constant):
            return msgspec.structs.replace(
                state, stores=tuple(sorted((*state.stores, (text, value)), key=lambda x: x[0]))
            )
        return state

    def _augment(self, statement: ir.AugmentedAssign, state: State, frame: Frame) -> list[State]:
        found = []
        for after, value in self.evaluate(statement.value, state, frame):
            old = self.evaluator.value(statement.target, after, frame.place)
            if after.status != RUNNING:
                found.append(after)
            elif isinstance(old, Accumulator):
                found.append(self._collect(old, after, frame, statement.region))
            else:
                new = self.evaluator.binary(statement.operator, old, value)
                found.append(self.bind(statement.target, new, after, frame))
        return found

    def _define(self, function: ir.Function, state: State, frame: Frame) -> State:
        return state.bind(function.name, self.evaluator.close(function, frame.place))

    def _import(self, statement: ir.Import, state: State, frame: Frame) -> State:
        for item in statement.names:
            level = len(item.module) - len(item.module.lstrip("."))
            symbol = ImportedSymbol(item.module.lstrip("."), item.attribute, level)
            file = self.index.modules.file_of(
                self.index.modules.absolute(frame.place.file, symbol)
            )
            found = (
                self.index.modules.resolve(file, item.attribute)
                if file is not None and item.attribute is not None
                else None
            )
            match found:
                case FunctionRef():
                    state = state.bind(item.name, Callee(found))
                case ClassRef():
                    state = state.bind(item.name, ClassValue(found))
                case _:
                    state = state.bind(item.name, Symbol(item.name))
        return state

    # ---- control ----

    def _branch(self, statement: ir.Branch, state: State, frame: Frame) -> list[State]:
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
        if id(test) not in frame.plan.splits:
            return [state]
        return [after for after, _ in self.evaluate(test, state, frame)]

    def _with(self, statement: ir.With, state: State, frame: Frame) -> list[State]:
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

    def _try(self, statement: ir.Try, state: State, frame: Frame) -> list[State]:
        """A handler starts from the join of the states around each statement of the body."""
        states, around = [state], [state]
        for inner in statement.body:
            states = self.block((inner,), states, frame)
            around += [after for after in states if after.status in (RUNNING, RAISED)]
        ended = [after for after in states if after.status == RUNNING]
        left = [after for after in states if after.status not in (RUNNING, RAISED)]
        finals = [*self.block(statement.orelse, ended, frame), *left]
        if statement.handlers:
            thrown = merge_states(after.leave(RUNNING) for after in around)
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

    def _match(self, statement: ir.Match, state: State, frame: Frame) -> list[State]:
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

    def _exit(self, statement: ir.Exit, state: State, frame: Frame) -> list[State]:
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


def _named(value: Value, name: str, frame: Frame) -> Value:
    """A new accumulator is known by the name it is first given."""
    if isinstance(value, Accumulator) and value.text.startswith("<"):
        kept = name in frame.plan.kept
        return msgspec.structs.replace(value, text=name, kept=kept)
    return value


def _timed(value: Value, statement: ir.Assign, frame: Frame) -> Value:
    """A value whose text names locals that are not followed is known by where it was made."""
    if not isinstance(value, Symbol) or value.types is not None:
        return value
    loose = frame.plan.assigned - frame.plan.names
    if not loose & names_of(statement.value):
        return value
    targets = [item.id for item in statement.targets if isinstance(item, ir.Name)]
    name = targets[0] if targets else "value"
    text = f"{name}#{statement.region.line}"
    # In a loop each iteration makes its own.
    mark = re.search(r"@\d+", value.text)
    return msgspec.structs.replace(value, text=text + (mark.group() if mark else ""))


def _part(value: Value, position: int, count: int) -> Value:
    match value:
        case Items(items) if len(items) == count:
            return items[position]
        case Symbol(text, _, present):
            return Symbol(f"{text}[{position}]", present=present)
        case _:
            return Symbol(f"{text_of(value)}[{position}]")


def _caught(handler: ir.Handler, state: State) -> State:
    return state.forget((handler.name,)) if handler.name else state
