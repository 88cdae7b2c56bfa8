"""Follows calls that may lead to a target, wherever they are and whatever they are made on."""

import msgspec
from msgspec import Struct

from pathaudit import ir
from pathaudit.conditions import Literal, Test, negate
from pathaudit.index import FunctionRef, Index, Instance, Types
from pathaudit.paths import Executor, Question, State
from pathaudit.paths.carriers import Interest
from pathaudit.paths.events import Given, layer_of
from pathaudit.paths.expressions import Outcome
from pathaudit.paths.follow import is_active
from pathaudit.paths.formulas import Atom, conjunction, opposite
from pathaudit.paths.machine import STEPS, Frame
from pathaudit.paths.values import (
    Callee,
    ClassValue,
    Closure,
    Element,
    Member,
    Partial,
    Symbol,
    Value,
    text_of,
)
from pathaudit.paths.walking import own_expressions, walk
from pathaudit.reach.calls import Called, Calls, ends
from pathaudit.reach.monitor import ReachMonitor
from pathaudit.reach.naming import choice_of, deep, is_named, name_of
from pathaudit.reach.spots import Spot

# Wrappers, delegation and the modules of a layer make chains longer than those of a capture.
DEPTH = 24
# What takes more steps than this in full is followed less deep: so many calls from a layer on, and
# so many from the method on elsewhere.
FULL_STEPS = 6_000
COARSE_IN_LAYER = 1
COARSE = 5


class Aim(Struct, frozen=True, eq=False):
    """What is looked for in everything that a method leads to."""

    calls: Calls
    leading: frozenset[Called]
    spots: tuple[Spot, ...]


class FollowingExecutor(Executor):
    """Follows what leads to a target; ``cuts`` are places where that could not be done."""

    monitor: ReachMonitor

    def __init__(
        self,
        index: Index,
        question: Question,
        monitor: ReachMonitor,
        aim: Aim,
        *,
        coarse: bool = False,
    ) -> None:
        super().__init__(index, question, monitor)
        self.cuts: dict[str, None] = {}
        # The objects whose methods hold the target, what is taken for granted of others, and the
        # functions that were followed.
        self.owners: dict[str, None] = {}
        self.given: dict[str, None] = {}
        self.followed: set[str] = set()
        self.deepest = DEPTH
        self.allowed = STEPS if coarse else FULL_STEPS
        self._coarse = coarse
        self.inside = 0  # how many layers are entered
        self.layer_depth = 0
        monitor.loops = self.loops
        self.whole = frozenset(spot.ref for spot in aim.spots if not spot.statements)
        self.statements = {x.ref: frozenset(x.statements) for x in aim.spots if x.statements}
        self.here: set[int] = set()
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
        wanted = self.statements.get(ref, frozenset())
        statements = tuple(deep(function.body))
        here = {id(item) for item in statements if (item.region.line, item.region.column) in wanted}
        leads = {
            id(node)
            for item in statements
            for expression in own_expressions(item)
            for node in walk(expression)
            if isinstance(node, ir.Call) and self._may_lead(node, edges)
        }
        self.here |= here
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

    def note_owner(self, frame: Frame) -> None:
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
        if self.inside and self.monitor.happened(state):
            targets = []  # once is enough in a layer
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
        return self.dispatch(node, function, targets, given, state, frame)

    def _targets(
        self, node: ir.Call, function: Value, frame: Frame
    ) -> list[tuple[FunctionRef, Instance | None]]:
        """What a call may call, as far as is known; first by the values, then by the graph."""
        found = self._edges.get(frame.ref, {}).get(ends(node.region), {})
        targets = list(dict.fromkeys((x.ref, x.receiver) for x in found))
        known = {item.cls for item in self._objects(function)}
        narrowed = [x for x in targets if x[1] is not None and x[1].cls in known]
        if isinstance(function, Callee) and is_named(node, function):
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

    def dispatch(
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
        told: list[Literal] = []
        targets = self._assumed(node, function, targets, state, frame)
        for number, (ref, instance) in enumerate(targets):
            part: State | None = state
            owner = self._owner(node, function, ref, state, frame)
            if len(targets) > 1 and instance is not None:
                last = number == len(targets) - 1
                chosen = choice_of(node, targets, owner, ref, instance)
                part = self._chosen(state, told, None if last else chosen)
                told.append(chosen)
            if part is None:
                continue
            if not self.leads(ref, instance):
                found.append((self.after_call(part, ref, None), self._opaque(Callee(ref), given)))
                continue
            receiver: Value | None = None
            if instance is not None:
                receiver = Symbol(owner, Types((instance,)), present=True)
            rest = given
            if receiver is None and given and self.takes_receiver(ref, given):
                receiver, rest = given[0].value, given[1:]
            found += self.follow(node, ref, receiver, rest, part, frame)
        return found

    def _assumed(
        self,
        node: ir.Call,
        function: Value,
        targets: list[tuple[FunctionRef, Instance | None]],
        state: State,
        frame: Frame,
    ) -> list[tuple[FunctionRef, Instance | None]]:
        """Without the classes that an object of the whole model may have and that lead nowhere.

        A wrapper holds the language model that the configuration names: another one is another
        model. Modules of a layer differ from layer to layer.
        """
        classes = {instance.cls for _, instance in targets if instance is not None}
        leading = [target for target in targets if self.leads(*target)]
        owner = self._owner(node, function, targets[0][0], state, frame)
        if len(classes) < 2 or self.inside or "@" in owner or len(leading) == len(targets):
            return targets
        names = sorted({instance.cls.name for _, instance in leading if instance is not None})
        self.given[f"{owner} is {' or '.join(names)}"] = None
        return leading

    def _owner(
        self, node: ir.Call, function: Value, ref: FunctionRef, state: State, frame: Frame
    ) -> str:
        """The text of the object whose method is called, or of the module that is called."""
        match function:
            case ClassValue(cls):
                return f"<{cls.name} {node.region.line}>"
            case Callee(_, receiver) if receiver is not None:
                return text_of(receiver)
        named = isinstance(node.function, ir.Attribute) and node.function.name == name_of(ref)
        if isinstance(node.function, ir.Attribute) and (named or not self.types_of(function)):
            return text_of(self.evaluator.value(node.function.value, state, frame.place))
        own = frame.place.receiver
        if own is not None and isinstance(node.function, ir.Name) and self._is_own(ref, own):
            return text_of(own)
        return text_of(function)

    def _is_own(self, ref: FunctionRef, own: Value) -> bool:
        """Is a function a method of an object, other than what calling that calls?"""
        methods = (self.index.modules.method(x.cls, name_of(ref)) for x in self.types_of(own))
        return any(found is not None and found[0] == ref for found in methods)

    def _chosen(self, state: State, others: list[Literal], own: Literal | None) -> State | None:
        """The part of a state in which an object is of one class, and of none told before."""
        literals = [*(negate(other) for other in others), *([own] if own is not None else [])]
        return self.constrain(state, conjunction([Atom(literal) for literal in literals]))

    def follow(
        self,
        node: ir.Call,
        ref: FunctionRef,
        receiver: Value | None,
        given: tuple[Given, ...],
        state: State,
        frame: Frame,
    ) -> list[Outcome]:
        if ref in self._leading_refs and self._is_coarse(frame):
            return self._perhaps(ref, receiver, given, state, frame)
        if ref in self._leading_refs and (frame.depth >= self.deepest or is_active(ref, frame)):
            self._cut(frame, node, "calls itself" if is_active(ref, frame) else "is too deep")
        return super().follow(node, ref, receiver, given, state, frame)

    def _is_coarse(self, frame: Frame) -> bool:
        """Is a call too far down for a method that is too large to be followed in full?"""
        if not self._coarse:
            return False
        if self.inside:
            return frame.depth > self.layer_depth + COARSE_IN_LAYER
        return frame.depth > COARSE

    def _perhaps(
        self,
        ref: FunctionRef,
        receiver: Value | None,
        given: tuple[Given, ...],
        state: State,
        frame: Frame,
    ) -> list[Outcome]:
        """What is not followed may lead to the target or not, and that is said."""
        owner = f"{text_of(receiver)}.{name_of(ref)}" if receiver is not None else ref.qualname
        formula = Atom(Test("true", f"{owner} leads there"))
        result = self._opaque(Callee(ref), given)
        there, past = self.constrain(state, formula), self.constrain(state, opposite(formula))
        found = [(past, result)] if past is not None else []
        if there is not None:
            self.note_owner(frame)
            found.append((self.monitor.required(there, ref.qualname), result))
        return found

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
