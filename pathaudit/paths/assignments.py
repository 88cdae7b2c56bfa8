"""Assignments: to names, attributes and accumulators; and what stepping over code forgets."""

import re
from collections.abc import Iterable

import msgspec

from pathaudit import ir
from pathaudit.index import ClassRef, FunctionRef
from pathaudit.index.outline import ImportedSymbol
from pathaudit.paths.loops import LoopMachine
from pathaudit.paths.machine import Frame
from pathaudit.paths.state import (
    RUNNING,
    State,
)
from pathaudit.paths.values import (
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
from pathaudit.paths.walking import (
    all_statements,
    assigned_names,
    names_of,
    own_expressions,
    stored,
    walk,
)


class AssignmentMachine(LoopMachine):
    """Adds assignments."""

    def step_over(self, statement: ir.Statement, state: State, frame: Frame) -> State:
        """Forget what a statement assigns, on objects and to names."""
        if isinstance(statement, ir.Define):
            return self.define(statement.function, state, frame)
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

    def bound_inside(self, node: ir.Expression, state: State, frame: Frame) -> State:
        """After an expression that binds names: ``(name := value)``."""
        for part in walk(node):
            if isinstance(part, ir.Walrus):
                value = self.evaluator.value(part.value, state, frame.place)
                state = self.bind(ir.Name(part.name), value, state, frame)
        return state

    def assign(self, statement: ir.Assign, state: State, frame: Frame) -> list[State]:
        found = []
        for after, value in self.evaluate(statement.value, state, frame):
            if after.status == RUNNING:
                value = _timed(value, statement, frame)
                for target in statement.targets:
                    after = self.bind(target, value, after, frame)
                after = self._extended(statement, value, after, frame)
            found.append(after)
        return found

    def _extended(self, statement: ir.Assign, value: Value, state: State, frame: Frame) -> State:
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

    def bind(self, target: ir.Expression | None, value: Value, state: State, frame: Frame) -> State:
        """Store a value to a target; names that cannot matter are forgotten."""
        match target:
            case ir.Name(id):
                if id not in frame.plan.names:
                    return state.forget((id,))
                return state.bind(id, _called(_named(value, id, frame), id))
            case ir.Collection(_, items):
                for position, item in enumerate(items):
                    part = _part(value, position, len(items))
                    state = self.bind(item, part, state, frame)
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

    def augment(self, statement: ir.AugmentedAssign, state: State, frame: Frame) -> list[State]:
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

    def define(self, function: ir.Function, state: State, frame: Frame) -> State:
        return state.bind(function.name, self.evaluator.close(function, frame.place))

    def _import(self, statement: ir.Import, state: State, frame: Frame) -> State:
        for item in statement.names:
            level = len(item.module) - len(item.module.lstrip("."))
            symbol = ImportedSymbol(item.module.lstrip("."), item.attribute, level)
            file = self.index.modules.file_of(self.index.modules.absolute(frame.place.file, symbol))
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


def _named(value: Value, name: str, frame: Frame) -> Value:
    """A new accumulator is known by the name it is first given."""
    if isinstance(value, Accumulator) and value.text.startswith("<"):
        kept = name in frame.plan.kept
        return msgspec.structs.replace(value, text=name, kept=kept)
    return value


def _called(value: Value, name: str) -> Value:
    """What a call returned is known by the name it is given, and the line of the call."""
    if not isinstance(value, Symbol) or value.types is not None:
        return value
    made = re.fullmatch(r"(?:<|value#)(\d+)>?(?:\[\d+\])?((?:@\d+)*)", value.text)
    if made is None:
        return value
    return msgspec.structs.replace(value, text=f"{name}#{made.group(1)}{made.group(2)}")


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
