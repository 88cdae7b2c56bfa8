"""Executes a caller with the models that it calls, and compares what returns with what is unpacked.

Layers are not run: which of them collect is asked elsewhere. What a model returns keeps its shape
and the return statement it came from; see ``shape_values``.
"""

import ast
from fnmatch import fnmatchcase

import msgspec
from msgspec import Struct

from pathaudit import ir
from pathaudit.check.iterations import CoversMonitor
from pathaudit.check.shape_callers import Models
from pathaudit.check.shape_flow import Flow, flow_of
from pathaudit.check.shape_values import Origin, ShapeEvaluator, mark, shape_of
from pathaudit.conditions import PathCondition
from pathaudit.index import FunctionRef, Index, Instance
from pathaudit.paths import Executor, Question, State
from pathaudit.paths.attributes import Place
from pathaudit.paths.carriers import Interest
from pathaudit.paths.events import Given
from pathaudit.paths.expressions import Outcome
from pathaudit.paths.machine import Frame
from pathaudit.paths.values import Callee, Element, Items, Symbol, Value


class Misfit(Struct, frozen=True):
    """An unpacking into ``wanted`` names of something else, and when that happens.

    ``found`` is the size of the tuple that came, -1 where none did; ``kind`` and ``name`` are those
    of a shape.
    """

    unpacked: Origin
    wanted: int
    found: int
    kind: str
    name: str
    returned: Origin
    condition: PathCondition


class ShapeExecutor(Executor):
    """Follows calls whose result is unpacked or returned, and hears of each unpacking.

    ``collected`` says whether what layers were asked for is there; see ``ShapeEvaluator``. A
    ``dry`` execution follows nothing; ``reached`` then tells whether a result is unpacked at all.
    What was planned for one execution, ``known``, serves the others of the same method.
    """

    evaluator: ShapeEvaluator

    def __init__(
        self,
        index: Index,
        question: Question,
        models: Models,
        *,
        collected: bool | None,
        dry: bool = False,
        known: "ShapeExecutor | None" = None,
    ) -> None:
        super().__init__(index, question, CoversMonitor(self.asked))
        self.evaluator = ShapeEvaluator(index, question, collected=collected)
        self.misfits: dict[Misfit, Value | None] = {}
        self.unpackings: set[Origin] = set()
        self.reached = False
        self._dry = dry
        self._models = models
        self._origins: dict[Origin, Value | None] = {}
        self._of_tuple: dict[Items, int] = {}
        self._wanted: set[FunctionRef] = set()
        self._flows: dict[int, Flow] = {}
        self._results: set[int] = set()
        if known is not None:
            self._plans, self._wanted = known._plans, known._wanted
            self._flows, self._results = known._flows, known._results
        self._bound: dict[str, Value] = {}
        self._statements: dict[int, ir.Statement] = {}

    def run_root(self, instance: Instance, ref: FunctionRef) -> None:
        self._wanted.add(ref)
        super().run_root(instance, ref)

    # ---- what to follow ----

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
        if ref not in self._wanted or function.name != ref.qualname.rpartition(".")[2]:
            return found
        known = dict(self._bound)
        if receiver is not None and function.parameters:
            known[function.parameters[0].name] = receiver
        place = Place(ref.file, receiver, self.index.modules.owner(ref), frozenset(), ref)
        state = State(names=known)
        flow = flow_of(
            function, lambda call, returned: self._is_followed(call, state, place, returned)
        )
        self._flows[id(function)] = flow
        self._results |= flow.results
        return msgspec.structs.replace(
            found,
            results=flow.results,
            wanted=flow.names,
            whole=True,
            lists=False,
            collects=_never,
        )

    def _is_followed(self, call: ir.Call, state: State, place: Place, returned: bool) -> bool:
        """Is this a call of a model, of an own method, or of a function that is given a model?"""
        if isinstance(call.function, ir.Attribute) and isinstance(call.function.value, ir.Call):
            inner = call.function.value.function
            return isinstance(inner, ir.Name) and inner.id == "super"
        match self.evaluator.value(call.function, state, place):
            case Symbol() as called:
                return self._is_model(called)
            case Callee(ref, Symbol() as receiver):
                if receiver != place.receiver:
                    return self._runs(ref) and self._is_model(receiver)
                return self._hands_back(ref) and (returned or self._uses_model(receiver, ref))
            case Callee() if returned or place.receiver is not None:
                given = [self.evaluator.value(x.value, state, place) for x in call.arguments]
                return any(self._is_model(value) for value in given)
            case _:
                return False

    def _is_model(self, value: Value) -> bool:
        types = value.types if isinstance(value, Symbol) else None
        instances = types.instances() if types is not None else ()
        return bool(instances) and all(self._models.owns_layers(x) for x in instances)

    def _runs(self, ref: FunctionRef) -> bool:
        """Is this the name of a method that runs a module?"""
        name = ref.qualname.rpartition(".")[2]
        return any(fnmatchcase(name, glob) for glob in self.index.profile.modules.runs)

    def _uses_model(self, receiver: Symbol, ref: FunctionRef) -> bool:
        name = ref.qualname.rpartition(".")[2]
        return any(self._models.is_member(item, name) for item in self.types_of(receiver))

    def _hands_back(self, ref: FunctionRef) -> bool:
        """May a method return a tuple, or what something else returns?"""
        function = self.index.modules.function(ref)
        returned = (
            item.value
            for item in (function.nodes if function is not None else ())
            if isinstance(item, ast.Return)
        )
        return any(isinstance(value, ast.Tuple | ast.Call | ast.IfExp) for value in returned)

    def _bind(
        self, ref: FunctionRef, receiver: Value | None, given: tuple[Given, ...]
    ) -> tuple[dict[str, Value], frozenset[str]]:
        names, carriers = super()._bind(ref, receiver, given)
        if ref in self._wanted:
            self._bound = {name: value for name, value in names.items() if self._is_model(value)}
        return names, carriers

    def invoke(
        self,
        node: ir.Call,
        function: Value,
        given: tuple[Given, ...],
        state: State,
        frame: Frame,
    ) -> list[Outcome]:
        """Call ``function``; one whose result matters is followed whatever it does."""
        target = self._target(function) if id(node) in self._results else None
        if target is None:
            return super().invoke(node, function, given, state, frame)
        if self._dry:
            return [(state, mark("pending"))]
        self._wanted.add(target.ref)
        return self.follow(node, target.ref, target.receiver, given, state, frame)

    def _call_function(
        self,
        node: ir.Call,
        ref: FunctionRef,
        receiver: Value | None,
        given: tuple[Given, ...],
        state: State,
        frame: Frame,
    ) -> list[Outcome]:
        """A callee whose result does not matter is not followed."""
        del node, frame
        return [(self.after_call(state, ref, receiver), self._opaque(Callee(ref), given))]

    def _target(self, function: Value) -> Callee | None:
        match function:
            case Callee():
                return function
            case Symbol() if self._is_model(function):
                for item in self.types_of(function):
                    found = self.index.modules.method(item.cls, self.index.profile.modules.call)
                    if found is not None:
                        return Callee(found[0], function)
        return None

    def inside_layer(
        self,
        node: ir.Call,
        element: Element,
        given: tuple[Given, ...],
        state: State,
        frame: Frame,
        handed: dict[str, bool],
    ) -> list[State] | None:
        """What layers do with what they are handed is not asked here."""
        del node, element, given, state, frame, handed
        return None

    # ---- what is returned ----

    def jump(self, statement: ir.Exit, state: State, frame: Frame) -> list[State]:
        if statement.kind != "return" or id(frame.function) not in self._flows:
            return super().jump(statement, state, frame)
        if isinstance(statement.value, ir.Conditional):
            return self._return_arms(statement, statement.value, state, frame)
        return [
            msgspec.structs.replace(after, value=self._returned(statement, after.value, frame))
            for after in super().jump(statement, state, frame)
        ]

    def _return_arms(
        self, statement: ir.Exit, value: ir.Conditional, state: State, frame: Frame
    ) -> list[State]:
        """``return a if test else b`` returns in two places."""
        taken, other = self.decide(value.test, state, frame, statement.region)
        arms = ((taken, value.body), (other, value.orelse))
        return [
            after
            for states, arm in arms
            for before in states
            for after in self.jump(ir.Exit("return", arm, statement.region), before, frame)
        ]

    def _returned(self, statement: ir.Exit, value: Value | None, frame: Frame) -> Value | None:
        if value is None or statement.value is None:
            return value
        origin = Origin(frame.place.file, statement.region, frame.ref.qualname)
        self._origins.setdefault(origin, frame.place.receiver)
        number = list(self._origins).index(origin)
        single = self._flows[id(frame.function)].single
        marked = self._marked(statement.value, value, number, single)
        if isinstance(marked, Items):
            self._of_tuple.setdefault(marked, number)
        return marked

    def _marked(
        self, node: ir.Expression | None, value: Value, number: int, single: frozenset[str]
    ) -> Value:
        if isinstance(value, Items):
            nodes = node.items if isinstance(node, ir.Collection) else ()
            if any(isinstance(item, ir.Starred) for item in nodes):
                return mark("part", number)
            parts = nodes if len(nodes) == len(value.items) else (None,) * len(value.items)
            pairs = zip(parts, value.items, strict=True)
            return Items(tuple(self._marked(part, item, number, single) for part, item in pairs))
        shape = shape_of(value)
        if shape.kind:
            return value if shape.origin >= 0 else mark(shape.kind, number, shape.name)
        one = isinstance(node, ir.Binary) or (isinstance(node, ir.Name) and node.id in single)
        return mark("one" if one else "part", number)

    # ---- what is unpacked ----

    def assign(self, statement: ir.Assign, state: State, frame: Frame) -> list[State]:
        self._statements[id(frame)] = statement
        return super().assign(statement, state, frame)

    def bind(self, target: ir.Expression | None, value: Value, state: State, frame: Frame) -> State:
        statement = self._statements.get(id(frame))
        if isinstance(target, ir.Collection) and statement is not None:
            place = Origin(frame.place.file, statement.region, frame.ref.qualname)
            self._unpack(target, value, state, place)
        return super().bind(target, value, state, frame)

    def _unpack(self, target: ir.Collection, value: Value, state: State, place: Origin) -> None:
        shape = shape_of(value)
        self.reached = self.reached or shape.kind == "pending"
        number = self._of_tuple.get(value, -1) if isinstance(value, Items) else shape.origin
        if number < 0:
            return
        self.unpackings.add(place)
        wanted = len(target.items)
        found = len(value.items) if isinstance(value, Items) else -1
        starred = any(isinstance(item, ir.Starred) for item in target.items)
        fits = found == wanted or (starred and found >= wanted - 1)
        if fits or shape.kind == "part" or self.evaluator.hangs_on_list(state.condition):
            return
        returned, receiver = list(self._origins.items())[number]
        condition = state.condition
        misfit = Misfit(place, wanted, found, shape.kind, shape.name, returned, condition)
        self.misfits[misfit] = receiver


def _never(text: str) -> bool:
    del text
    return False
