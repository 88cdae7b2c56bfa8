"""Follow callees: bind their parameters, execute them, and return their exits."""

from abc import abstractmethod

import msgspec

from pathaudit import ir
from pathaudit.index import ClassRef, FunctionRef, Instance, Types
from pathaudit.paths.events import Given
from pathaudit.paths.expressions import Outcome
from pathaudit.paths.machine import CallPoint, Frame
from pathaudit.paths.runs import RunMachine
from pathaudit.paths.state import RAISED, RUNNING, State, merge_states
from pathaudit.paths.values import (
    NONE,
    Callee,
    ClassValue,
    Constant,
    Element,
    Items,
    Keywords,
    Made,
    Number,
    Partial,
    Sequence,
    Stack,
    Symbol,
    Value,
    View,
    carries,
)


class FollowMachine(RunMachine):
    """Adds followed callees and objects that are made with layers."""

    @abstractmethod
    def call_unknown(
        self,
        node: ir.Call,
        function: Value,
        given: tuple[Given, ...],
        state: State,
        frame: Frame,
    ) -> list[Outcome]:
        """Call something that cannot be followed."""

    def follow(
        self,
        node: ir.Call,
        ref: FunctionRef,
        receiver: Value | None,
        given: tuple[Given, ...],
        state: State,
        frame: Frame,
    ) -> list[Outcome]:
        """Execute a callee and return its exits."""
        static = self.index.is_static(ref)
        bound_to = None if static else receiver
        if frame.depth >= self.deepest or is_active(ref, frame):
            return self.call_unknown(node, Callee(ref), given, state, frame)
        point = CallPoint(frame, node.region, state, ref.qualname)
        names, carriers = self._bind(ref, bound_to, given)
        held = self.held(bound_to, state)
        if self.index.modules.function(ref) is not None and ref.qualname.endswith(".__init__"):
            held |= carriers  # a constructor stores what it receives
        inner = self.frame(ref, bound_to, carriers, point, held)
        if inner is None:
            return self.call_unknown(node, Callee(ref), given, state, frame)
        before = self.runs_seen
        outcomes = self.execute(inner, names, state)
        if self.runs_seen == before and all(x.status == RAISED for x, _ in outcomes):
            self._stopped(node, given, outcomes, state, frame)
        return outcomes

    def _stopped(
        self,
        node: ir.Call,
        given: tuple[Given, ...],
        outcomes: list[Outcome],
        state: State,
        frame: Frame,
    ) -> None:
        """A handoff that raises on every path before a layer runs is no live bypass."""
        layers = next((x for item in given if (x := layers_in(item.value))), None)
        if layers is None or isinstance(layers, Element) or not outcomes:
            return
        if self.question.around is not None:
            return  # what would run there may put around itself what must stand there
        if not self.hands_accumulator(given, state, frame):
            run = self.run(layers, node.region, frame, state)
            self.monitor.blocked(state, run, outcomes[0][0].trail)

    def execute(self, inner: Frame, names: dict[str, Value], state: State) -> list[Outcome]:
        body = inner.function.body
        shown = body[: len(body) - inner.plan.tail]
        entry = msgspec.structs.replace(state, names=names)
        found = []
        for final in self.block(shown, [entry], inner):
            status = RAISED if final.status == RAISED else RUNNING
            value = final.value if final.value is not None and not inner.plan.tail else NONE
            if inner.plan.tail or inner.function.generator:
                value = Symbol(f"<{inner.call.region.line if inner.call else 0}>")
            found.append(
                msgspec.structs.replace(final, names=state.names, status=status, value=value)
            )
        return [
            (msgspec.structs.replace(item, value=None), item.value or NONE)
            for item in merge_states(found)
        ]

    def _bind(
        self, ref: FunctionRef, receiver: Value | None, given: tuple[Given, ...]
    ) -> tuple[dict[str, Value], frozenset[str]]:
        """Parameter values of a call, and which of them carry something followed."""
        function = self.index.modules.function(ref)
        names: dict[str, Value] = {}
        if function is None:
            return names, frozenset()
        arguments = function.node.args
        positional = [item.arg for item in (*arguments.posonlyargs, *arguments.args)]
        if self.index.is_class_method(ref) and positional:
            owner = self.index.modules.owner(ref)
            names[positional.pop(0)] = ClassValue(owner) if owner else Symbol("cls")
        elif receiver is not None and positional:
            names[positional.pop(0)] = receiver
        plain = [item.value for item in given if item.keyword is None and not item.star]
        names.update(zip(positional, plain, strict=False))
        keywords = {item.keyword: item.value for item in given if item.keyword}
        known = {*positional, *(item.arg for item in arguments.kwonlyargs)}
        names.update({name: value for name, value in keywords.items() if name in known})
        for name, value in self.index.constant_defaults(ref).items():
            if not any(item.star for item in given):
                names.setdefault(name, value_of_constant(value))
        for name in known:
            names.setdefault(name, Symbol(f"{ref.qualname}.{name}"))
        if arguments.vararg:
            names[arguments.vararg.arg] = Items(tuple(plain[len(positional) :]))
        if arguments.kwarg:
            rest = tuple((name, value) for name, value in keywords.items() if name not in known)
            names[arguments.kwarg.arg] = Keywords(rest)
        return names, frozenset(name for name, value in names.items() if carries(value))

    def construct(
        self,
        node: ir.Call,
        cls: ClassRef,
        given: tuple[Given, ...],
        state: State,
        frame: Frame,
    ) -> list[Outcome]:
        """An object that is made with layers keeps them in its attributes."""
        made = Symbol(f"<{cls.name} {node.region.line}>", Types((Instance(cls),)), present=True)
        found = self.index.modules.method(cls, "__init__")
        if found is None:
            names = self.index.field_names(cls)
            pairs = [*zip(names, (x.value for x in given if x.keyword is None), strict=False)]
            pairs += [(item.keyword, item.value) for item in given if item.keyword]
            kept = [(f"{made.text}.{name}", value) for name, value in pairs if carries(value)]
            stores = tuple(sorted((*state.stores, *kept), key=lambda pair: pair[0]))
            return [(msgspec.structs.replace(state, stores=stores), made)]
        return [
            (after, made) for after, _ in self.follow(node, found[0], made, given, state, frame)
        ]

    def held(self, receiver: Value | None, state: State) -> frozenset[str]:
        """The attributes of a made object that hold something followed."""
        if not isinstance(receiver, Symbol):
            return frozenset()
        prefix = f"{receiver.text}."
        return frozenset(
            text.removeprefix(prefix)
            for text, value in state.stores
            if text.startswith(prefix) and carries(value)
        )

    def receiver_types(self, receiver: Value | None) -> tuple[Instance, ...]:
        return self.types_of(receiver) if receiver is not None else ()

    def touched_by(self, ref: FunctionRef, receiver: Value | None) -> bool:
        name = ref.qualname.rpartition(".")[2]
        return any(self.touches(item.cls, name) for item in self.receiver_types(receiver))

    def takes_receiver(self, ref: FunctionRef, given: tuple[Given, ...]) -> bool:
        """``Base.forward(self, ...)``."""
        function = self.index.modules.function(ref)
        if function is None or self.index.modules.owner(ref) is None:
            return False
        static = {"staticmethod", "classmethod"} & set(function.decorators)
        first = given[0].value
        return not static and isinstance(first, Symbol) and first.types is not None

    def after_call(self, state: State, ref: FunctionRef, receiver: Value | None) -> State:
        """After a call that was not followed: what its body stores on its object has changed."""
        for item in self.receiver_types(receiver):
            name = ref.qualname.rpartition(".")[2]
            for attribute in sorted(self.index.stored_by(item.cls, name)):
                state = state.touched(attribute)
        return state


def value_of_constant(value: bool | int | float | str | None) -> Value:
    """A literal as a value: integers are numbers."""
    if isinstance(value, int) and not isinstance(value, bool):
        return Number("", value)
    return Constant(value)


def is_active(ref: FunctionRef, frame: Frame) -> bool:
    node: Frame | None = frame
    while node is not None:
        if node.ref == ref:
            return True
        node = node.call.frame if node.call else None
    return False


def layers_in(value: Value) -> Element | View | Stack | None:
    """The layers that a value hands over, if any."""
    match value:
        case Stack() | View() | Element():
            return value
        case Made(item, view):
            inner = layers_in(item)
            return view if inner is not None and view is not None else inner
        case Items(items) | Sequence("zip", _, _, _, _, items):
            return next((found for item in items if (found := layers_in(item))), None)
        case Sequence(_, _, _, view, _, _):
            return view
        case Partial(_, arguments):
            return next((found for _, item in arguments if (found := layers_in(item))), None)
        case _:
            return None
