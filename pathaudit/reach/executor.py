"""Runs a method with its eyes on a target: calls that may lead there are followed, wherever."""

from collections.abc import Iterator

from pathaudit import ir
from pathaudit.conditions import PathCondition
from pathaudit.index import FunctionRef, Instance, Types
from pathaudit.paths import Run, State
from pathaudit.paths.events import Given, layer_of
from pathaudit.paths.expressions import Outcome, region_of
from pathaudit.paths.machine import CallPoint, Frame
from pathaudit.paths.state import RUNNING
from pathaudit.paths.values import (
    Accumulator,
    Element,
    Member,
    Stack,
    Symbol,
    Value,
    text_of,
)
from pathaudit.reach.following import FollowingExecutor
from pathaudit.reach.naming import name_of


class ReachExecutor(FollowingExecutor):
    """Tells the monitor where the target runs, and which layers run with it."""

    # ---- the target ----

    def statement(self, statement: ir.Statement, state: State, frame: Frame) -> list[State]:
        if id(statement) in self.here:
            self.note_owner(frame)
            state = self.monitor.required(state, self.evidence(frame, statement.region))
        return super().statement(statement, state, frame)

    def _collect(
        self, accumulator: Accumulator, state: State, frame: Frame, region: ir.Region
    ) -> State:
        """What is collected is no event here."""
        del frame, region
        return self.filled(state, accumulator)

    def execute(self, inner: Frame, names: dict[str, Value], state: State) -> list[Outcome]:
        self.followed.add(inner.ref.qualname)
        if inner.ref in self.whole and inner.function.name == name_of(inner.ref):
            self.note_owner(inner.call.frame if inner.call is not None else inner)
            state = self.monitor.required(state, self.evidence(inner, inner.function.region))
        return super().execute(inner, names, state)

    # ---- layers ----

    def _site(
        self, stack: Stack, frame: Frame, region: ir.Region, state: State
    ) -> tuple[Frame, CallPoint]:
        """In the method of the object that owns the layers, whatever calls that."""
        chain = [CallPoint(frame, region, state, "")]
        while chain[-1].frame.call is not None:
            chain.append(chain[-1].frame.call)
        chain.reverse()
        owner = stack.text.rpartition(".")[0]
        receivers = [text_of(x.frame.place.receiver or Symbol("")) for x in chain]
        first = receivers.index(owner) if owner in receivers else 0
        for number in range(first, len(chain) - 1):
            if not stack.text.startswith(f"{receivers[number + 1]}."):
                return chain[number].frame, chain[number]
        return frame, chain[-1]

    def run_layer(
        self,
        node: ir.Call,
        element: Element,
        given: tuple[Given, ...],
        state: State,
        frame: Frame,
    ) -> list[Outcome]:
        name = node.function.name if isinstance(node.function, ir.Attribute) else ""
        targets = self._layer_methods(element, name)
        result = Symbol(f"<{node.region.line}>", present=True)
        run = self.run(element, node.region, frame, state)
        scope = self.scope_of(element)
        if not any(self.leads(*target) for target in targets):
            return [(self.monitor.ran(state, run, scope), result)]
        found: list[State] = []
        for part in state.condition.alternatives:
            # Each on its own, or what decides inside a layer is lost among what leads to it.
            entered = self.monitor.inside(state.under(PathCondition((part,))), self.next_loop())
            self.inside += 1
            self.layer_depth = frame.depth
            outcomes = self.dispatch(node, element, targets, given, entered, frame)
            self.inside -= 1
            found += [self._ran(after, run, scope, frame) for after, _ in outcomes]
        merged = self.merged(found, frame, node.region.line)
        return [(after, result) for after in merged]

    def _ran(self, state: State, run: Run, scope: int, frame: Frame) -> State:
        """After a layer that may hold the target: did it run?"""
        left, evidence = self.monitor.outside(state)
        if evidence:
            self.monitor.keep(left, run)
        elif left.status == RUNNING:
            beside = self._is_beside(frame)
            return self.monitor.ran(left, run, scope) if beside else self.monitor.lose(left, run)
        return left

    def _is_beside(self, frame: Frame) -> bool:
        """May the target also stand in a function that runs the layer?"""
        inner: Frame | None = frame
        while inner is not None:
            if inner.ref in self.statements:
                return True
            inner = inner.call.frame if inner.call is not None else None
        return False

    def _layer_methods(
        self, element: Element, name: str
    ) -> list[tuple[FunctionRef, Instance | None]]:
        """What the layers of a stack run, each by its class."""
        call = self.index.profile.modules.call
        found: list[tuple[FunctionRef, Instance | None]] = []
        for instance in element.stack.type.elements.instances():
            method = self.index.modules.method(instance.cls, name or call)
            method = method or self.index.modules.method(instance.cls, call)
            if method is not None:
                found.append((method[0], instance))
        return found

    def recipe(
        self, values: tuple[Value, ...], node: ir.Expression, state: State, frame: Frame
    ) -> State:
        """Bound methods of a layer in a container are there to be called: the layer runs."""
        region = region_of(node) or (frame.call.region if frame.call else ir.NOWHERE)
        held: dict[Element, list[Member]] = {}
        for value in values:
            element = layer_of(value)
            if element is not None and isinstance(value, Member) and self._methods(value):
                held.setdefault(element, []).append(value)
        for element, members in held.items():
            run = self.run(element, region, frame, state)
            ends = [end for member in members for end in self._held(member, region, state, frame)]
            for after, evidence in ends:
                if evidence:
                    self.monitor.keep(after, run)
            if not ends or not all(evidence for _, evidence in ends):
                state = self.monitor.ran(state, run, self.scope_of(element))
        return state

    def _held(
        self, value: Member, region: ir.Region, state: State, frame: Frame
    ) -> Iterator[tuple[State, str]]:
        """How the methods that lead to the target end, of those that a member stands for."""
        node = ir.Call(ir.Opaque(text_of(value)), (), region)
        for ref, instance in self._methods(value):
            if self.leads(ref, instance):
                receiver = Symbol(text_of(value.owner), Types((instance,)), present=True)
                entered = self.monitor.inside(state, self.next_loop())
                for after, _ in self.follow(node, ref, receiver, (), entered, frame):
                    yield self.monitor.outside(after)

    def _methods(self, value: Member) -> tuple[tuple[FunctionRef, Instance], ...]:
        """The methods that a member of a layer, or of a module in it, stands for."""
        found = (
            (self.index.modules.method(item.cls, value.name), item)
            for item in self.types_of(value.owner)
        )
        return tuple((method[0], item) for method, item in found if method is not None)
