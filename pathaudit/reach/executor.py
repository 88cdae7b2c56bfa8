"""Runs a method with its eyes on a target: calls that may lead there are followed, wherever."""

from collections.abc import Iterator

import msgspec
from msgspec import Struct

from pathaudit import ir
from pathaudit.conditions import Literal, PathCondition, Test, negate
from pathaudit.index import FunctionRef, Index, Instance, Types
from pathaudit.paths import Executor, Question, Run, State
from pathaudit.paths.carriers import Interest
from pathaudit.paths.events import Given, layer_of
from pathaudit.paths.expressions import Outcome, region_of
from pathaudit.paths.follow import is_active
from pathaudit.paths.formulas import Atom, conjunction
from pathaudit.paths.machine import CallPoint, Frame
from pathaudit.paths.state import RUNNING
from pathaudit.paths.values import (
    Accumulator,
    Callee,
    ClassValue,
    Closure,
    Element,
    Member,
    Partial,
    Stack,
    Symbol,
    Value,
    text_of,
)
from pathaudit.paths.walking import all_statements, own_expressions, walk
from pathaudit.reach.calls import Called, Calls, ends
from pathaudit.reach.monitor import ReachMonitor
from pathaudit.reach.spots import Spot

# Wrappers, delegation and the modules of a layer make chains longer than those of a capture.
DEPTH = 24


class Aim(Struct, frozen=True, eq=False):
    """What is looked for in everything that a method leads to."""

    calls: Calls
    leading: frozenset[Called]
    spots: tuple[Spot, ...]


class ReachExecutor(Executor):
    """Follows what leads to the target; ``cuts`` are places where that could not be done."""

    monitor: ReachMonitor

    def __init__(self, index: Index, question: Question, monitor: ReachMonitor, aim: Aim) -> None:
        super().__init__(index, question, monitor)
        self.cuts: dict[str, None] = {}
        # The objects whose methods hold the target, and the functions that were followed.
        self.owners: dict[str, None] = {}
        self.followed: set[str] = set()
        self.deepest = DEPTH
        monitor.loops = self.loops
        self._whole = frozenset(spot.ref for spot in aim.spots if not spot.statements)
        self._statements = {x.ref: frozenset(x.statements) for x in aim.spots if x.statements}
        self._here: set[int] = set()
        self._leading = frozenset((x.ref, x.receiver) for x in aim.leading)
        self._leading_refs = frozenset(x.ref for x in aim.leading)
        self._edges: dict[FunctionRef, dict[tuple[int, int], dict[Called, None]]] = {}
        for called, edges in aim.calls.edges.items():
            known = self._edges.setdefault(called.ref, {})
            for edge in edges:
                if any((x.ref, x.receiver) in self._leading for x in edge.targets):
                    place = (edge.line, edge.column)
                    known.setdefault(place, {}).update(dict.fromkeys(edge.targets))

    # ---- what matters ----

    def interest(
        self,
        ref: FunctionRef,
        function: ir.Function,
        receiver: Value | None,
        carriers: frozenset[str],
        *,
        returns: bool,
    ) -> Interest:
        found = super().interest(ref, function, receiver, carriers, returns=returns)
        edges = self._edges.get(ref, {})
        wanted = self._statements.get(ref, frozenset())
        statements = tuple(_deep(function.body))
        here = {id(item) for item in statements if (item.region.line, item.region.column) in wanted}
        leads = {
            id(node)
            for item in statements
            for expression in own_expressions(item)
            for node in walk(expression)
            if isinstance(node, ir.Call) and self._may_lead(node, edges)
        }
        self._here |= here
        return msgspec.structs.replace(
            found, leads=frozenset(leads), here=frozenset(here), lists=False
        )

    def _may_lead(self, node: ir.Call, edges: dict[tuple[int, int], dict[Called, None]]) -> bool:
        """Does a call lead on, or is it handed a method that does?"""
        if ends(node.region) in edges:
            return True
        methods = {x.ref.qualname.rpartition(".")[2] for found in edges.values() for x in found}
        given = (argument.value for argument in node.arguments)
        return any(isinstance(value, ir.Attribute) and value.name in methods for value in given)

    def leads(self, ref: FunctionRef, receiver: Instance | None) -> bool:
        """May a function lead to the target?"""
        return (ref, receiver) in self._leading

    # ---- the target ----

    def statement(self, statement: ir.Statement, state: State, frame: Frame) -> list[State]:
        if id(statement) in self._here:
            self._note_owner(frame)
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
        if inner.ref in self._whole and inner.function.name == _name(inner.ref):
            self._note_owner(inner.call.frame if inner.call is not None else inner)
            state = self.monitor.required(state, self.evidence(inner, inner.function.region))
        return super().execute(inner, names, state)

    def _note_owner(self, frame: Frame) -> None:
        """The object whose method the target stands in, or calls the function that it stands in."""
        while frame.place.receiver is None and frame.call is not None:
            frame = frame.call.frame
        self.owners[text_of(frame.place.receiver or Symbol("self"))] = None

    # ---- calls ----

    def invoke(
        self,
        node: ir.Call,
        function: Value,
        given: tuple[Given, ...],
        state: State,
        frame: Frame,
    ) -> list[Outcome]:
        """Call ``function``; what may lead to the target is followed whatever it is."""
        targets = self._targets(node, function, frame)
        if isinstance(function, Element) or not any(self.leads(*x) for x in targets):
            self._note_handed(node, function, given, frame)
            return super().invoke(node, function, given, state, frame)
        layer = layer_of(function)
        is_method = isinstance(function, Member) and layer is function.owner
        if (
            layer is not None
            and is_method
            and self.runs(layer, text_of(function).rpartition(".")[2])
        ):
            return super().invoke(node, function, given, state, frame)
        return self._dispatch(node, function, targets, given, state, frame)

    def _targets(
        self, node: ir.Call, function: Value, frame: Frame
    ) -> list[tuple[FunctionRef, Instance | None]]:
        """What a call may call, as far as is known; first by the values, then by the graph."""
        found = self._edges.get(frame.ref, {}).get(ends(node.region), {})
        targets = list(dict.fromkeys((x.ref, x.receiver) for x in found))
        known = {item.cls for item in self._objects(function)}
        narrowed = [x for x in targets if x[1] is not None and x[1].cls in known]
        if isinstance(function, Callee):
            same = [x for x in narrowed if x[0] == function.ref]
            narrowed = same or [x for x in targets if x[0] == function.ref] or narrowed
        return narrowed or targets

    def _objects(self, function: Value) -> tuple[Instance, ...]:
        """The objects that a call is made on, or the modules that are called."""
        match function:
            case Callee(_, receiver):
                return self.types_of(receiver) if receiver is not None else ()
            case Member(owner, _):
                return self.types_of(owner) + self.types_of(function)
            case _:
                return self.types_of(function)

    def _dispatch(
        self,
        node: ir.Call,
        function: Value,
        targets: list[tuple[FunctionRef, Instance | None]],
        given: tuple[Given, ...],
        state: State,
        frame: Frame,
    ) -> list[Outcome]:
        """Follow each target that leads on, the others are known to do nothing."""
        found: list[Outcome] = []
        owner = _owner_text(node, function)
        told: list[Literal] = []
        for number, (ref, instance) in enumerate(targets):
            part: State | None = state
            if len(targets) > 1 and instance is not None:
                last = number == len(targets) - 1
                chosen = Test("isinstance", owner, instance.cls.name)
                part = self._chosen(state, told, None if last else chosen)
                told.append(chosen)
            if part is None:
                continue
            if not self.leads(ref, instance):
                found.append((self.after_call(part, ref, None), self._opaque(Callee(ref), given)))
                continue
            receiver = self._receiver(node, function, ref, instance)
            rest = given
            if receiver is None and given and self.takes_receiver(ref, given):
                receiver, rest = given[0].value, given[1:]
            found += self.follow(node, ref, receiver, rest, part, frame)
        return found

    def _chosen(self, state: State, others: list[Literal], own: Literal | None) -> State | None:
        """The part of a state in which an object is of one class, and of none told before."""
        literals = [*(negate(other) for other in others), *([own] if own is not None else [])]
        return self.constrain(state, conjunction([Atom(literal) for literal in literals]))

    def _receiver(
        self, node: ir.Call, function: Value, ref: FunctionRef, instance: Instance | None
    ) -> Value | None:
        if instance is None:
            return None
        if isinstance(function, ClassValue):
            text = f"<{function.cls.name} {node.region.line}>"
            return Symbol(text, Types((instance,)), present=True)
        return Symbol(_owner_text(node, function, ref), Types((instance,)), present=True)

    def follow(
        self,
        node: ir.Call,
        ref: FunctionRef,
        receiver: Value | None,
        given: tuple[Given, ...],
        state: State,
        frame: Frame,
    ) -> list[Outcome]:
        if ref in self._leading_refs and (frame.depth >= self.deepest or is_active(ref, frame)):
            self._cut(frame, node, "calls itself" if is_active(ref, frame) else "is too deep")
        return super().follow(node, ref, receiver, given, state, frame)

    def _note_handed(
        self, node: ir.Call, function: Value, given: tuple[Given, ...], frame: Frame
    ) -> None:
        """What is handed a method that leads to the target may call it, or not."""
        if isinstance(function, Closure | Partial):
            return
        for item in given:
            value = item.value.function if isinstance(item.value, Partial) else item.value
            if isinstance(value, Callee):
                types = self.types_of(value.receiver) if value.receiver is not None else ()
                if any(self.leads(value.ref, instance) for instance in (*types, None)):
                    self._cut(frame, node, f"is handed {value.ref.qualname}, and may call it")

    def _cut(self, frame: Frame, node: ir.Call, why: str) -> None:
        text = text_of(self.evaluator.value(node.function, State(names={}), frame.place))
        self.cuts[f"{text} {why} ({self.evidence(frame, node.region)})"] = None

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
            outcomes = self._dispatch(node, element, targets, given, entered, frame)
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
            if inner.ref in self._statements:
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


def _deep(body: tuple[ir.Statement, ...]) -> Iterator[ir.Statement]:
    """All statements, also those of functions inside."""
    for statement in all_statements(body):
        yield statement
        if isinstance(statement, ir.Define):
            yield from _deep(statement.function.body)


def _name(ref: FunctionRef) -> str:
    return ref.qualname.rpartition(".")[2]


def _owner_text(node: ir.Call, function: Value, ref: FunctionRef | None = None) -> str:
    """The text of the object whose method is called, or of the module that is called."""
    if isinstance(function, Callee):
        return text_of(function.receiver) if function.receiver is not None else ""
    text = text_of(function)
    if ref is None or not isinstance(node.function, ir.Attribute):
        return text
    name = node.function.name
    return text.rpartition(".")[0] if name == _name(ref) and text.endswith(f".{name}") else text
