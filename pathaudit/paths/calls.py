"""Calls: an event, a run, a handoff, a followed callee, or nothing that matters."""

import msgspec

from pathaudit import ir
from pathaudit.index import FunctionRef
from pathaudit.paths.attributes import Place
from pathaudit.paths.carriers import READING
from pathaudit.paths.events import Given, layer_of
from pathaudit.paths.expressions import Outcome
from pathaudit.paths.follow import layers_in
from pathaudit.paths.layers import LayerMachine
from pathaudit.paths.machine import CallPoint, Frame
from pathaudit.paths.relevance import Plan, plan_function
from pathaudit.paths.state import RUNNING, State
from pathaudit.paths.values import (
    NONE,
    Accumulator,
    Callee,
    ClassValue,
    Closure,
    Element,
    Items,
    Keywords,
    Member,
    Partial,
    Surrounding,
    Symbol,
    Value,
    carries,
    text_of,
)


class CallMachine(LayerMachine):
    """Adds calls of everything else."""

    def call(self, node: ir.Call, state: State, frame: Frame) -> list[Outcome]:
        found: list[Outcome] = []
        for before, function in self._callee(node.function, state, frame):
            for after, given in self._arguments(node, before, frame):
                if after.status != RUNNING:
                    found.append((after, NONE))
                else:
                    found += self.invoke(node, function, given, after, frame)
        return found

    def _callee(self, node: ir.Expression, state: State, frame: Frame) -> list[Outcome]:
        match node:
            case ir.Attribute(ir.Call(ir.Name("super"), _, _), name):
                return [(state, self._super(name, frame))]
            case _:
                return self.evaluate(node, state, frame)

    def _super(self, name: str, frame: Frame) -> Value:
        receiver = frame.place.receiver
        for instance in self.types_of(receiver) if receiver is not None else ():
            found = self.index.modules.method(instance.cls, name, after=frame.place.owner)
            if found is not None:
                return Callee(found[0], receiver)
        return Symbol(f"super().{name}")

    def _arguments(
        self, node: ir.Call, state: State, frame: Frame
    ) -> list[tuple[State, tuple[Given, ...]]]:
        outcomes: list[tuple[State, tuple[Given, ...]]] = [(state, ())]
        for argument in node.arguments:
            outcomes = [
                (after, (*given, *self._given(argument, value, after, frame)))
                for before, given in outcomes
                for after, value in (
                    self.evaluate(argument.value, before, frame)
                    if before.status == RUNNING
                    else [(before, NONE)]
                )
            ]
        return outcomes

    def _given(
        self, argument: ir.Argument, value: Value, state: State, frame: Frame
    ) -> tuple[Given, ...]:
        """``*`` and ``**`` of what is known part by part are spread out."""
        if isinstance(value, Keywords) and argument.star == "**":
            return tuple(Given(item, name) for name, item in value.items)
        if isinstance(value, Items) and argument.star == "*":
            return tuple(Given(item) for item in value.items)
        if isinstance(value, Closure):
            value = self.closed_over(value, state, frame)
        return (Given(value, argument.keyword, argument.star),)

    def invoke(  # noqa: C901 - one arm a form
        self,
        node: ir.Call,
        function: Value,
        given: tuple[Given, ...],
        state: State,
        frame: Frame,
    ) -> list[Outcome]:
        """Call ``function``: an event, a run, a handoff, a followed callee, or nothing."""
        if self.makes(frame.ref, self.receiver_types(frame.place.receiver), node.function):
            return [(state, Surrounding(self.evidence(frame, node.region)))]
        if self.event(function, given):
            state = self.monitor.required(state, self.evidence(frame, node.region))
            if isinstance(function, Symbol) and self.is_named(function):
                # Whatever it is given, it is known for what it does.
                return [(state, self._opaque(function, given))]
        match function:
            case Element():
                return self.run_layer(node, function, given, state, frame)
            case Member(Element() as element, name) if self.runs(element, name):
                return self.run_layer(node, element, given, state, frame)
            case Member(Accumulator(), _) if any(layer_of(x.value) for x in given):
                kept = tuple(item.value for item in given)
                after = self.recipe(kept, node, state, frame)
                return [(after, Symbol(f"<{node.region.line}>"))]
            case Member(Accumulator() as accumulator, _):
                return [(self.filled(state, accumulator), Symbol(f"<{node.region.line}>"))]
            case ClassValue() | Callee() if made := self.evaluator.made(function, node):
                return [(state, made)]
            case Member(Keywords() as keywords, _):
                return [(state, self.evaluator.looked_up(keywords, [x.value for x in given]))]
            case ClassValue(cls) if any(layers_in(item.value) is not None for item in given):
                return self.construct(node, cls, given, state, frame)
            case Callee(ref, receiver):
                return self._call_function(node, ref, receiver, given, state, frame)
            case Closure():
                return self._call_closure(node, function, given, state, frame)
            case Partial(inner, bound):
                before = tuple(Given(value, name or None) for name, value in bound)
                return self.invoke(node, inner, (*before, *given), state, frame)
            case Symbol(_, types, _) if types is not None and (
                _holds_layers(given) or self.hands_accumulator(given, state, frame)
            ):
                return self._call_module(node, function, given, state, frame)
            case _:
                return self.call_unknown(node, function, given, state, frame)

    def _opaque(self, function: Value, given: tuple[Given, ...]) -> Value:
        inner = ", ".join(
            f"{item.star}{item.keyword + '=' if item.keyword else ''}{text_of(item.value)}"
            for item in given
        )
        return Symbol(f"{text_of(function)}({inner})")

    def _call_function(
        self,
        node: ir.Call,
        ref: FunctionRef,
        receiver: Value | None,
        given: tuple[Given, ...],
        state: State,
        frame: Frame,
    ) -> list[Outcome]:
        if receiver is None and given and self.takes_receiver(ref, given):
            receiver, given = given[0].value, given[1:]
        relevant = (
            any(carries(item.value) for item in given)
            or self.touched_by(ref, receiver)
            or bool(self.held(receiver, state))
        )
        if not relevant:
            after = self.after_call(state, ref, receiver)
            return [(after, self._opaque(Callee(ref, receiver), given))]
        if self.layers and not (isinstance(receiver, Symbol) and receiver.text == self.layers[-1]):
            if self.hands_accumulator(given, state, frame):
                state = self.may_collect(node, ref, receiver, given, state, frame)
            return [(state, self._opaque(Callee(ref, receiver), given))]
        return self.follow(node, ref, receiver, given, state, frame)

    def _call_closure(
        self,
        node: ir.Call,
        closure: Closure,
        given: tuple[Given, ...],
        state: State,
        frame: Frame,
    ) -> list[Outcome]:
        """A nested function sees the names of the function around it."""
        found = self.evaluator.closures.get(closure)
        if found is None or frame.depth >= self.deepest:
            return self.call_unknown(node, closure, given, state, frame)
        function, home = found
        names = {**dict(closure.cells), **(state.names if home is frame.place else {})}
        parameters = [item.name for item in function.parameters]
        plain = [item.value for item in given if item.keyword is None and not item.star]
        names.update(dict.fromkeys(parameters, Symbol("argument")))
        names.update(zip(parameters, plain, strict=False))
        names.update({item.keyword: item.value for item in given if item.keyword})
        carriers = frozenset(name for name, value in names.items() if carries(value))
        plan = self.plan_closure(home, function, carriers)
        point = frame.call if home is frame.place else CallPoint(frame, node.region, state, "")
        ref = home.ref or frame.ref
        inner = Frame(ref, function, plan, home, "self", frame.depth + 1, point)
        return self.execute(inner, names, state)

    def plan_closure(self, home: Place, function: ir.Function, carriers: frozenset[str]) -> Plan:
        """A nested function has no receiver of its own, it sees that of the method around it."""
        ref = home.ref or FunctionRef(home.file, function.name)
        interest = self.interest(ref, function, home.receiver, carriers, returns=True)
        return plan_function(function, msgspec.structs.replace(interest, receiver="self"))

    def _call_module(
        self,
        node: ir.Call,
        function: Symbol,
        given: tuple[Given, ...],
        state: State,
        frame: Frame,
    ) -> list[Outcome]:
        """Calling a module calls its ``forward``."""
        for item in self.types_of(function):
            found = self.index.modules.method(item.cls, self.index.profile.modules.call)
            if found is not None:
                return self._call_function(node, found[0], function, given, state, frame)
        return self.call_unknown(node, function, given, state, frame)

    def call_unknown(
        self,
        node: ir.Call,
        function: Value,
        given: tuple[Given, ...],
        state: State,
        frame: Frame,
    ) -> list[Outcome]:
        """What cannot be followed is unknown where it receives layers, and else nothing."""
        name = text_of(function)
        result = self._opaque(function, given)
        if name.rsplit(".", 1)[-1] in READING:
            return [(state, result)]
        for item in given:
            layers = layers_in(item.value)
            if layers is None:
                continue
            run = self.run(layers, node.region, frame, state)
            if self.hands_accumulator(given, state, frame):
                state = self.monitor.delegated(state, run, self.evidence(frame, node.region))
            else:
                state = self.monitor.unknown(state, run, name)
            return [(state, result)]
        if self.layers and self.hands_accumulator(given, state, frame):
            # Inside a layer, what cannot be followed is taken to collect what it is given.
            state = self.monitor.required(state, self.evidence(frame, node.region))
        return [(state, result)]


def _holds_layers(given: tuple[Given, ...]) -> bool:
    return any(layers_in(item.value) is not None for item in given)
