"""Evaluate expressions that hold events: calls of layers, handoffs, captures, followed callees."""

from fnmatch import fnmatchcase

import msgspec
from msgspec import Struct

from pathaudit import ir
from pathaudit.conditions import ALWAYS
from pathaudit.index import ClassRef, FunctionRef, Index, Instance, Types
from pathaudit.paths.evaluate import Place
from pathaudit.paths.machine import CALL_DEPTH, ActiveLoop, CallPoint, Frame, Machine, Monitor
from pathaudit.paths.question import CallPattern, Question
from pathaudit.paths.relevance import (
    READING,
    Plan,
    all_statements,
    children,
    names_of,
    own_expressions,
    plan_function,
    walk,
)
from pathaudit.paths.state import RAISED, RUNNING, Run, Scope, State, merge_states
from pathaudit.paths.values import (
    NONE,
    Accumulator,
    Callee,
    ClassValue,
    Closure,
    Constant,
    Element,
    Items,
    Keywords,
    Made,
    Member,
    Number,
    Partial,
    Sequence,
    Stack,
    Symbol,
    Value,
    View,
    carries,
    marked,
    number_text,
    text_of,
)

Outcome = tuple[State, Value]


class Given(Struct, frozen=True):
    """One argument as evaluated."""

    value: Value
    keyword: str | None = None
    star: str = ""


class CallMachine(Machine):
    """Adds the evaluation of expressions with effects."""

    def __init__(self, index: Index, question: Question, monitor: Monitor) -> None:
        super().__init__(index, question, monitor)
        # The layers that are being followed, and what was found of the callees inside them.
        self.layers: list[str] = []
        self._collecting: dict[object, bool] = {}
        self._runs_seen = 0

    # ---- expressions ----

    def evaluate(self, node: ir.Expression, state: State, frame: Frame) -> list[Outcome]:
        """Evaluate an expression; states that stopped running come back with it."""
        if id(node) not in frame.plan.splits:
            return [(state, self.evaluator.value(node, state, frame.place))]
        match node:
            case ir.Call():
                return self._evaluate_call(node, state, frame)
            case ir.Conditional(test, body, orelse):
                return self._evaluate_conditional(test, body, orelse, state, frame)
            case ir.Comprehension():
                return self.comprehension(node, state, frame)
            case ir.Collection():
                return self._evaluate_collection(node, state, frame)
            case ir.Attribute(value, name):
                return [
                    (after, self.evaluator.attribute(owner, name, after, frame.place))
                    for after, owner in self.evaluate(value, state, frame)
                ]
            case ir.Walrus(name, value):
                return [
                    (after.bind(name, found), found)
                    for after, found in self.evaluate(value, state, frame)
                ]
            case ir.Yield(value) | ir.Starred(value) if value is not None:
                return self.evaluate(value, state, frame)
            case ir.Boolean(operator, operands):
                return self._evaluate_boolean(operator, operands, state, frame)
            case _:
                return self._evaluate_parts(node, state, frame)

    def comprehension(
        self, node: ir.Comprehension, state: State, frame: Frame
    ) -> list[Outcome]:
        """Execute a comprehension as the loop it is."""
        raise NotImplementedError

    def _evaluate_parts(self, node: ir.Expression, state: State, frame: Frame) -> list[Outcome]:
        """Only the effects of the parts matter; the value is a text."""
        states = [state]
        for child in children(node):
            if id(child) in frame.plan.splits:
                states = [
                    after
                    for before in states
                    for after, _ in (
                        self.evaluate(child, before, frame)
                        if before.status == RUNNING
                        else [(before, NONE)]
                    )
                ]
        return [(after, self.evaluator.value(node, after, frame.place)) for after in states]

    def _evaluate_conditional(
        self,
        test: ir.Expression,
        body: ir.Expression,
        orelse: ir.Expression,
        state: State,
        frame: Frame,
    ) -> list[Outcome]:
        formula = self.evaluator.formula(test, state, frame.place)
        region = _region_of(body) or _region_of(orelse) or ir.NOWHERE
        taken, other = self.split(state, formula, frame, region)
        found: list[Outcome] = []
        if taken is not None:
            found += self.evaluate(body, taken, frame)
        if other is not None:
            found += self.evaluate(orelse, other, frame)
        return found

    def _evaluate_boolean(
        self, operator: str, operands: tuple[ir.Expression, ...], state: State, frame: Frame
    ) -> list[Outcome]:
        """``a and b`` evaluates ``b`` only where ``a`` is true."""
        first, *rest = operands
        found: list[Outcome] = []
        for after, value in self.evaluate(first, state, frame):
            if not rest or after.status != RUNNING:
                found.append((after, value))
                continue
            formula = self.evaluator.truth(value)
            true, false = self.split(after, formula, frame, ir.NOWHERE)
            stop, go = (false, true) if operator == "and" else (true, false)
            if stop is not None:
                found.append((stop, value))
            if go is not None:
                found += self._evaluate_boolean(operator, tuple(rest), go, frame)
        return found

    def _evaluate_collection(
        self, node: ir.Collection, state: State, frame: Frame
    ) -> list[Outcome]:
        outcomes: list[tuple[State, tuple[Value, ...]]] = [(state, ())]
        for item in node.items:
            outcomes = [
                (after, (*values, value))
                for before, values in outcomes
                for after, value in (
                    self.evaluate(item, before, frame)
                    if before.status == RUNNING
                    else [(before, NONE)]
                )
            ]
        return [
            (self._recipe(values, node, after, frame), Items(values)) for after, values in outcomes
        ]

    def _recipe(
        self, values: tuple[Value, ...], node: ir.Expression, state: State, frame: Frame
    ) -> State:
        """Bound methods of a layer in a container are there to be called: the layer runs."""
        region = _region_of(node) or (frame.call.region if frame.call else ir.NOWHERE)
        for value in values:
            element = _layer_of(value)
            if element is not None and isinstance(value, Member) and self._is_method(value):
                run = self.run(element, region, frame, state)
                state = self.monitor.ran(state, run, self._scope_of(element))
        return state

    def _is_method(self, value: Value) -> bool:
        """Is a member of a layer, or of one of its modules, a method of its class?"""
        if not isinstance(value, Member):
            return False
        return any(
            self.index.modules.method(item.cls, value.name) is not None
            for item in self._types_of(value.owner)
        )

    def _types_of(self, value: Value) -> tuple[Instance, ...]:
        match value:
            case Element(stack, _):
                return stack.type.elements.instances()
            case Member(owner, name):
                return tuple(
                    inner
                    for item in self._types_of(owner)
                    for inner in self.index.types.attribute(item, name).instances()
                )
            case Symbol(_, types, _) if types is not None:
                return types.instances()
            case _:
                return ()

    # ---- calls ----

    def _evaluate_call(self, node: ir.Call, state: State, frame: Frame) -> list[Outcome]:
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
        for instance in self._types_of(receiver) if receiver is not None else ():
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

    def invoke(
        self,
        node: ir.Call,
        function: Value,
        given: tuple[Given, ...],
        state: State,
        frame: Frame,
    ) -> list[Outcome]:
        """Call ``function``: an event, a run, a handoff, a followed callee, or nothing."""
        if self._event(function, given):
            state = self.monitor.required(state, self.evidence(frame, node.region))
        match function:
            case Element():
                return self._run_layer(node, function, given, state, frame)
            case Member(Element() as element, name) if self._runs(element, name):
                return self._run_layer(node, element, given, state, frame)
            case Member(Accumulator(), _) if any(_layer_of(x.value) for x in given):
                kept = tuple(item.value for item in given)
                after = self._recipe(kept, node, state, frame)
                return [(after, Symbol(f"<{node.region.line}>"))]
            case Member(Accumulator() as accumulator, _):
                return [(self.filled(state, accumulator), Symbol(f"<{node.region.line}>"))]
            case ClassValue() | Callee() if (made := self.evaluator.made(function, node)):
                return [(state, made)]
            case Member(Keywords() as keywords, _):
                return [(state, self.evaluator.looked_up(keywords, [x.value for x in given]))]
            case ClassValue(cls) if any(_layers_in(item.value) is not None for item in given):
                return self._construct(node, cls, given, state, frame)
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
                return self._call_unknown(node, function, given, state, frame)

    def _opaque(self, node: ir.Call, function: Value, given: tuple[Given, ...]) -> Value:
        inner = ", ".join(
            f"{item.star}{item.keyword + '=' if item.keyword else ''}{text_of(item.value)}"
            for item in given
        )
        return Symbol(f"{text_of(function)}({inner})")

    # ---- events ----

    def _event(self, function: Value, given: tuple[Given, ...]) -> bool:
        """Is this call the event that the rule requires?"""
        if isinstance(function, Member) and isinstance(function.owner, Accumulator):
            collects = function.owner.kept and self._collects_by(function.owner, function.name)
            return collects and not any(_layer_of(item.value) for item in given)
        return any(self._matches(item, function, given) for item in self.question.patterns)

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

    def _collects_by(self, accumulator: Accumulator, name: str) -> bool:
        if name in self.question.collecting:
            return True
        if accumulator.cls is None:
            return False
        return name in self.index.collecting_methods(accumulator.cls, self.question.collecting)

    def hands_accumulator(self, given: tuple[Given, ...], state: State, frame: Frame) -> bool:
        """Is an accumulator, its collecting method or a closure that collects handed along?"""
        return any(self._is_collecting(item.value, state, frame) for item in given)

    def _is_collecting(self, value: Value, state: State, frame: Frame) -> bool:
        match value:
            case Accumulator(_, kept, _, _):
                return kept
            case Member(Accumulator() as accumulator, name):
                return accumulator.kept and self._collects_by(accumulator, name)
            case Closure():
                return self._closure_collects(value, state, frame)
            case Items(items):
                return any(self._is_collecting(item, state, frame) for item in items)
            case Partial(function, arguments):
                return any(
                    self._is_collecting(item, state, frame)
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
                        if self._event(value, ()):
                            return True
        return False

    def filled(self, state: State, accumulator: Accumulator) -> State:
        """After something was added, the accumulator is not known to be empty any more."""
        if not accumulator.fresh:
            return state
        full = msgspec.structs.replace(accumulator, fresh=False)
        names = {
            name: full if value == accumulator else value for name, value in state.names.items()
        }
        return msgspec.structs.replace(state, names=names)

    # ---- runs ----

    def _runs(self, element: Element, name: str) -> bool:
        """Does a method of a layer run it, or only read something?"""
        if any(fnmatchcase(name, glob) for glob in self.index.profile.modules.runs):
            return True
        whole = self.index.profile.modules.call
        return any(
            self.index.entered(item.cls, name) & self.index.entered(item.cls, whole)
            for item in element.stack.type.elements.instances()
        )

    def _run_layer(
        self,
        node: ir.Call,
        element: Element,
        given: tuple[Given, ...],
        state: State,
        frame: Frame,
    ) -> list[Outcome]:
        run = self.run(element, node.region, frame, state)
        # What a layer returns is a tensor or a tuple of them, never None.
        result = Symbol(f"<{node.region.line}>", present=True)
        scope = self._scope_of(element)
        if not self.hands_accumulator(given, state, frame) and not self._event(Symbol(""), given):
            return [(self.monitor.ran(state, run, scope), result)]
        inside = self._inside_layer(node, element, given, state, frame)
        if inside is None:
            evidence = self.evidence(frame, node.region)
            return [(self.monitor.delegated(state, run, evidence), result)]
        return [
            (self.monitor.ran(after, run, scope) if after.status == RUNNING else after, result)
            for after in inside
        ]

    # ---- inside a layer ----

    def _inside_layer(
        self,
        node: ir.Call,
        element: Element,
        given: tuple[Given, ...],
        state: State,
        frame: Frame,
    ) -> list[State] | None:
        """Follow an accumulator into the layer; ``None`` where its class is not known."""
        types = element.stack.type.elements
        name = node.function.name if isinstance(node.function, ir.Attribute) else ""
        found: list[State] = []
        for instance in types.instances():
            method = self.index.modules.method(
                instance.cls, name or self.index.profile.modules.call
            ) or self.index.modules.method(instance.cls, self.index.profile.modules.call)
            if method is None:
                return None
            layer = Symbol(text_of(element), Types((instance,)), present=True)
            number = self.next_loop()
            self.layers.append(layer.text)
            entered = self.monitor.enter(state, number)
            outcomes = self.follow(node, method[0], layer, given, entered, frame)
            self.layers.pop()
            found += [self.monitor.leave(after, number, judged=False) for after, _ in outcomes]
        return self.merged(found, frame, node.region.line) if types.instances() else None

    def _may_collect(
        self,
        node: ir.Call,
        ref: FunctionRef,
        receiver: Value | None,
        given: tuple[Given, ...],
        state: State,
        frame: Frame,
    ) -> State:
        """What a layer hands an accumulator to is asked one thing: does it ever collect?

        Deep in the framework the conditions of a stage are those of its construction, which are
        not followed; a stage that never collects is a bypass, one that may is taken at its word.
        """
        types = tuple(item.cls for item in self._receiver_types(receiver))
        key = (ref, types, tuple((x.keyword, self._is_collecting(x.value, state, frame)) for x in given))
        if key not in self._collecting:
            self._collecting[key] = True  # answers recursion
            checkpoint = self.monitor.checkpoint()
            number = self.next_loop()
            asked = msgspec.structs.replace(state, condition=ALWAYS, scopes=(Scope(0),))
            entered = self.monitor.enter(asked, number)
            outcomes = self.follow(node, ref, receiver, given, entered, frame)
            self._collecting[key] = any(self.monitor.happened(after) for after, _ in outcomes)
            self.monitor.rollback(checkpoint)
        if self._collecting[key]:
            return self.monitor.required(state, self.evidence(frame, node.region))
        return state

    def _scope_of(self, element: Element) -> int:
        """The innermost loop that the layer's index depends on, else the innermost loop."""
        text = text_of(element.index)
        for loop in reversed(self.loops):
            if marked(text, loop.number):
                return loop.number
        return self.loops[-1].number if self.loops else 0

    def run(
        self, value: Element | View | Stack, region: ir.Region, frame: Frame, state: State
    ) -> Run:
        """Describe a run: where its finding stands, and over which layers."""
        self._runs_seen += 1
        stack = value if isinstance(value, Stack) else value.stack
        site, point = self._site(stack, frame, region, state)
        loop = self._loop_in(site, value)
        low, high = self._range(value, loop)
        inside = loop is not None and loop.frame.place is site.place
        place = loop.region if loop is not None and inside else point.region
        leaves = site is not frame
        return Run(
            file=site.place.file,
            region=place,
            function=site.ref.qualname,
            kind="handoff" if leaves else "loop" if place is not point.region else "call",
            stack=stack.text,
            low=low,
            high=high,
            handoff=point.callee if leaves else "",
            point=self._remember(point) if leaves else -1,
        )

    def _remember(self, point: CallPoint) -> int:
        for number, known in enumerate(self.points):
            if known is point:
                return number
        self.points.append(point)
        return len(self.points) - 1

    def _site(
        self, stack: Stack, frame: Frame, region: ir.Region, state: State
    ) -> tuple[Frame, CallPoint]:
        """The frame where the layers leave the object that owns them, and the call there."""
        chain = [CallPoint(frame, region, state, "")]
        while chain[-1].frame.call is not None:
            chain.append(chain[-1].frame.call)
        chain.reverse()
        for number, point in enumerate(chain[:-1]):
            inner = chain[number + 1].frame.place.receiver
            owned = isinstance(inner, Symbol) and stack.text.startswith(f"{inner.text}.")
            if not owned:
                return point.frame, point
        return frame, chain[-1]

    def _loop_in(self, site: Frame, value: Element | View | Stack) -> ActiveLoop | None:
        """The loop over these layers: the innermost that their index depends on."""
        if not isinstance(value, Element):
            return None
        number = self._scope_of(value)
        return next((loop for loop in self.loops if loop.number == number), None)

    def _range(self, value: Element | View | Stack, loop: ActiveLoop | None) -> tuple[str, str]:
        match value:
            case Stack():
                return "0", f"len({value.text})"
            case View(stack, low, high):
                return text_of(low), text_of(high) if high is not None else f"len({stack.text})"
            case Element(_, index):
                if loop is not None and (loop.low or loop.high):
                    return loop.low, loop.high
                after = (
                    number_text(index.base, index.offset + 1)
                    if isinstance(index, Number)
                    else f"{text_of(index)} + 1"
                )
                return text_of(index), after

    # ---- followed calls ----

    def _call_function(
        self,
        node: ir.Call,
        ref: FunctionRef,
        receiver: Value | None,
        given: tuple[Given, ...],
        state: State,
        frame: Frame,
    ) -> list[Outcome]:
        if receiver is None and given and self._takes_receiver(ref, given):
            receiver, given = given[0].value, given[1:]
        relevant = (
            any(carries(item.value) for item in given)
            or self._touched(ref, receiver)
            or bool(self.held(receiver, state))
        )
        if not relevant:
            after = self.after_call(state, ref, receiver)
            return [(after, self._opaque(node, Callee(ref, receiver), given))]
        if self.layers and not (isinstance(receiver, Symbol) and receiver.text == self.layers[-1]):
            if self.hands_accumulator(given, state, frame):
                state = self._may_collect(node, ref, receiver, given, state, frame)
            return [(state, self._opaque(node, Callee(ref, receiver), given))]
        return self.follow(node, ref, receiver, given, state, frame)

    def _takes_receiver(self, ref: FunctionRef, given: tuple[Given, ...]) -> bool:
        """``Base.forward(self, ...)``."""
        function = self.index.modules.function(ref)
        if function is None or self.index.modules.owner(ref) is None:
            return False
        static = {"staticmethod", "classmethod"} & set(function.decorators)
        first = given[0].value
        return not static and isinstance(first, Symbol) and first.types is not None

    def _touched(self, ref: FunctionRef, receiver: Value | None) -> bool:
        name = ref.qualname.rpartition(".")[2]
        return any(self.touches(item.cls, name) for item in self._receiver_types(receiver))

    def _receiver_types(self, receiver: Value | None) -> tuple[Instance, ...]:
        return self._types_of(receiver) if receiver is not None else ()

    def after_call(self, state: State, ref: FunctionRef, receiver: Value | None) -> State:
        """After a call that was not followed: what its body stores on its object has changed."""
        for item in self._receiver_types(receiver):
            name = ref.qualname.rpartition(".")[2]
            for attribute in sorted(self.index.stored_by(item.cls, name)):
                state = state.touched(attribute)
        return state

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
        if frame.depth >= CALL_DEPTH or _is_active(ref, frame):
            return self._call_unknown(node, Callee(ref), given, state, frame)
        point = CallPoint(frame, node.region, state, ref.qualname)
        names, carriers = self._bind(ref, bound_to, given)
        held = self.held(bound_to, state)
        if self.index.modules.function(ref) is not None and ref.qualname.endswith(".__init__"):
            held |= carriers  # a constructor stores what it receives
        inner = self.frame(ref, bound_to, carriers, point, held)
        if inner is None:
            return self._call_unknown(node, Callee(ref), given, state, frame)
        before = self._runs_seen
        outcomes = self._execute(inner, names, state)
        if self._runs_seen == before and all(x.status == RAISED for x, _ in outcomes):
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
        layers = next((x for item in given if (x := _layers_in(item.value))), None)
        if layers is None or isinstance(layers, Element) or not outcomes:
            return
        if not self.hands_accumulator(given, state, frame):
            run = self.run(layers, node.region, frame, state)
            self.monitor.blocked(state, run, outcomes[0][0].trail)

    def _execute(self, inner: Frame, names: dict[str, Value], state: State) -> list[Outcome]:
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

    def _construct(
        self,
        node: ir.Call,
        cls: ClassRef,
        given: tuple[Given, ...],
        state: State,
        frame: Frame,
    ) -> list[Outcome]:
        """An object that is made with layers keeps them in its attributes."""
        made = Symbol(
            f"<{cls.name} {node.region.line}>", Types((Instance(cls),)), present=True
        )
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
        if found is None or frame.depth >= CALL_DEPTH:
            return self._call_unknown(node, closure, given, state, frame)
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
        return self._execute(inner, names, state)

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
        for item in self._types_of(function):
            found = self.index.modules.method(item.cls, self.index.profile.modules.call)
            if found is not None:
                return self._call_function(node, found[0], function, given, state, frame)
        return self._call_unknown(node, function, given, state, frame)

    def _call_unknown(
        self,
        node: ir.Call,
        function: Value,
        given: tuple[Given, ...],
        state: State,
        frame: Frame,
    ) -> list[Outcome]:
        """What cannot be followed is unknown where it receives layers, and else nothing."""
        name = text_of(function)
        result = self._opaque(node, function, given)
        if name.rsplit(".", 1)[-1] in READING:
            return [(state, result)]
        for item in given:
            layers = _layers_in(item.value)
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


def value_of_constant(value: None | bool | int | float | str) -> Value:
    """A literal as a value: integers are numbers."""
    if isinstance(value, int) and not isinstance(value, bool):
        return Number("", value)
    return Constant(value)


def _is_active(ref: FunctionRef, frame: Frame) -> bool:
    node: Frame | None = frame
    while node is not None:
        if node.ref == ref:
            return True
        node = node.call.frame if node.call else None
    return False


def _holds_layers(given: tuple[Given, ...]) -> bool:
    return any(_layers_in(item.value) is not None for item in given)


def _layers_in(value: Value) -> Element | View | Stack | None:
    """The layers that a value hands over, if any."""
    match value:
        case Stack() | View() | Element():
            return value
        case Made(item, view):
            inner = _layers_in(item)
            return view if inner is not None and view is not None else inner
        case Items(items) | Sequence("zip", _, _, _, _, items):
            return next((found for item in items if (found := _layers_in(item))), None)
        case Sequence(_, _, _, view, _, _):
            return view
        case Partial(_, arguments):
            return next((found for _, item in arguments if (found := _layers_in(item))), None)
        case _:
            return None


def _layer_of(value: Value) -> Element | None:
    while isinstance(value, Member):
        value = value.owner
    return value if isinstance(value, Element) else None


def _region_of(node: ir.Expression) -> ir.Region | None:
    for part in walk(node):
        if isinstance(part, ir.Call | ir.Comprehension | ir.Lambda):
            return part.region
    return None

