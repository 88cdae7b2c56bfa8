"""The events of a rule: what collects, and what can collect when it is handed on."""

import msgspec
from msgspec import Struct

from pathaudit import ir
from pathaudit.paths.expressions import ExpressionMachine
from pathaudit.paths.machine import Frame
from pathaudit.paths.question import CallPattern
from pathaudit.paths.state import State
from pathaudit.paths.values import (
    NONE,
    Accumulator,
    Closure,
    Element,
    Items,
    Member,
    Partial,
    Value,
    text_of,
)
from pathaudit.paths.walking import all_statements, names_of, own_expressions, walk


class Given(Struct, frozen=True):
    """One argument as evaluated."""

    value: Value
    keyword: str | None = None
    star: str = ""


class EventMachine(ExpressionMachine):
    """Adds the recognition of events."""

    def event(self, function: Value, given: tuple[Given, ...]) -> bool:
        """Is this call the event that the rule requires?"""
        if isinstance(function, Member) and isinstance(function.owner, Accumulator):
            collects = function.owner.kept and self.collects_by(function.owner, function.name)
            return collects and not any(layer_of(item.value) for item in given)
        return any(self._matches(item, function, given) for item in self.question.patterns)

    def is_named(self, function: Value) -> bool:
        """Is a function an event by its own name, whatever it is given?"""
        patterns = (x for x in self.question.patterns if x.method or x.function)
        return any(not x.keyword and self._matches(x, function, ()) for x in patterns)

    def _matches(self, pattern: CallPattern, function: Value, given: tuple[Given, ...]) -> bool:
        if pattern.accumulator:
            return False
        if pattern.keyword and not any(
            item.keyword == pattern.keyword and item.value != NONE for item in given
        ):
            return False
        text = text_of(function)
        if pattern.method:
            return text.endswith(f".{pattern.method}")
        return not pattern.function or text in (pattern.function, f"self.{pattern.function}")

    def collects_by(self, accumulator: Accumulator, name: str) -> bool:
        if name in self.question.collecting:
            return True
        if accumulator.cls is None:
            return False
        return name in self.index.collecting_methods(accumulator.cls, self.question.collecting)

    def hands_accumulator(self, given: tuple[Given, ...], state: State, frame: Frame) -> bool:
        """Is an accumulator, its collecting method or a closure that collects handed along?"""
        return any(self.is_collecting(item.value, state, frame) for item in given)

    def is_collecting(self, value: Value, state: State, frame: Frame) -> bool:
        match value:
            case Accumulator(_, kept, _, _):
                return kept
            case Member(Accumulator() as accumulator, name):
                return accumulator.kept and self.collects_by(accumulator, name)
            case Closure():
                return self._closure_collects(value, state, frame)
            case Items(items):
                return any(self.is_collecting(item, state, frame) for item in items)
            case Partial(function, arguments):
                return any(
                    self.is_collecting(item, state, frame)
                    for item in (function, *(value for _, value in arguments))
                )
            case _:
                return False

    def _closure_collects(self, closure: Closure, state: State, frame: Frame) -> bool:
        found = self.evaluator.closures.get(closure)
        if found is None:
            return False
        function, home = found
        names = {**dict(closure.cells), **(state.names if home is frame.place else {})}
        inside = msgspec.structs.replace(state, names=names)
        for statement in all_statements(function.body):
            for expression in own_expressions(statement):
                for node in walk(expression):
                    if isinstance(node, ir.Call) and isinstance(node.function, ir.Attribute):
                        value = self.evaluator.value(node.function, inside, home)
                        if self.event(value, ()):
                            return True
        return False

    def closed_over(self, closure: Closure, state: State, frame: Frame) -> Closure:
        """The closure with the present values of the names that it sees."""
        found = self.evaluator.closures.get(closure)
        if found is None or found[1] is not frame.place:
            return closure
        function, home = found
        seen = {
            name
            for statement in all_statements(function.body)
            for expression in own_expressions(statement)
            for name in names_of(expression)
        }
        cells = tuple(
            (name, state.names[name])
            for name in sorted(seen)
            if name in state.names and not isinstance(state.names[name], Closure)
        )
        full = msgspec.structs.replace(closure, cells=cells)
        self.evaluator.closures[full] = (function, home)
        return full

    def filled(self, state: State, accumulator: Accumulator) -> State:
        """After something was added, the accumulator is not known to be empty any more."""
        if not accumulator.fresh:
            return state
        full = msgspec.structs.replace(accumulator, fresh=False)
        names = {
            name: full if value == accumulator else value for name, value in state.names.items()
        }
        return msgspec.structs.replace(state, names=names)


def layer_of(value: Value) -> Element | None:
    while isinstance(value, Member):
        value = value.owner
    return value if isinstance(value, Element) else None
