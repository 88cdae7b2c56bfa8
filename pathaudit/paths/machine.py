"""What all parts of the executor share: frames, plans, budget, and how states split and merge."""

import ast
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from pathaudit import ir
from pathaudit.conditions import Conjunction, PathCondition, both, conjoin
from pathaudit.index import ClassRef, FunctionRef, Index, Instance, Types
from pathaudit.lower import LoweringError, lower_function
from pathaudit.paths.attributes import Place
from pathaudit.paths.carriers import Carriers, Interest
from pathaudit.paths.evaluate import Evaluator
from pathaudit.paths.formulas import Formula, Known, alternatives, opposite
from pathaudit.paths.question import Question
from pathaudit.paths.relevance import Plan, plan_function
from pathaudit.paths.state import Run, State, Trail, TrailStep, merge_states
from pathaudit.paths.values import Symbol, Value
from pathaudit.paths.walking import last_name

CALL_DEPTH = 8
STATES = 400
STEPS = 25_000


class BudgetExceeded(Exception):  # noqa: N818 - no error: the answer is "unknown"
    """The analysis of one root was cut; ``reason`` says what ran out, and where."""

    def __init__(self, reason: str, file: str, line: int) -> None:
        super().__init__(reason)
        self.reason = reason
        self.file = file
        self.line = line


class Monitor(Protocol):
    """Keeps the obligation of each state; one implementation a kind of rule.

    Verdicts given after a ``checkpoint`` are taken back by ``rollback``: the body of a loop may
    have to be executed again from a weaker state.
    """

    def required(self, state: State, evidence: str) -> State:
        """The required event happened."""

    def ran(self, state: State, run: Run, loop: int) -> State:
        """Layers ran without the event; ``loop`` is the loop whose iteration they belong to."""

    def delegated(self, state: State, run: Run, evidence: str) -> State:
        """Layers ran, and an accumulator was handed along."""

    def unknown(self, state: State, run: Run, callee: str) -> State:
        """Layers went to something that cannot be followed."""

    def blocked(self, state: State, run: Run, trail: Trail | None) -> None:
        """Layers were handed over, and every path raised before one ran."""

    def surround(self, state: State, evidence: str) -> State:
        """What must stand around a run is entered."""

    def unsurround(self, state: State) -> State:
        """It is left."""

    def happened(self, state: State) -> bool:
        """Did the event happen in the innermost iteration?"""

    def enter(self, state: State, loop: int) -> State:
        """An iteration begins."""

    def leave(self, state: State, loop: int, *, judged: bool) -> State:
        """An iteration ends."""

    def finish(self, state: State) -> None:
        """The root is left."""

    def checkpoint(self) -> tuple[int, ...]:
        """Remember the verdicts given so far."""

    def rollback(self, checkpoint: tuple[int, ...]) -> None:
        """Take back the verdicts given since."""


class Frame(Struct, frozen=True, eq=False):
    """One function being executed; ``receiver_name`` is its first parameter if it is a method."""

    ref: FunctionRef
    function: ir.Function
    plan: Plan
    place: Place
    receiver_name: str
    depth: int
    call: "CallPoint | None" = None


class CallPoint(Struct, frozen=True, eq=False):
    """Where a frame was called from, in which state, and what was called there."""

    frame: Frame
    region: ir.Region
    state: State
    callee: str


class ActiveLoop(Struct, frozen=True, eq=False):
    """A loop whose body is being executed; ``low`` and ``high`` are its range as text."""

    number: int
    frame: Frame
    region: ir.Region
    low: str
    high: str
    judged: bool


class Machine(ABC):
    """Shared state of one analysis."""

    def __init__(self, index: Index, question: Question, monitor: Monitor) -> None:
        self.index = index
        self.question = question
        self.monitor = monitor
        self.evaluator = Evaluator(index, question)
        self.loops: list[ActiveLoop] = []
        self.points: list[CallPoint] = []
        # The range of each loop as text, by its number.
        self.ranges: dict[int, tuple[str, str]] = {}
        self._plans: dict[object, tuple[ir.Function, Plan]] = {}
        self._touching: dict[tuple[ClassRef, str], bool] = {}
        self._giving: dict[tuple[Instance, str], bool] = {}
        self._loop_numbers = 0
        self._steps = 0
        self.allowed = STEPS
        self.deepest = CALL_DEPTH
        # The states at which a `try` that is being executed may be left, innermost last.
        self.catching: list[tuple[Frame, list[State]]] = []

    @abstractmethod
    def block(
        self, body: tuple[ir.Statement, ...], states: list[State], frame: Frame
    ) -> list[State]:
        """Execute statements; states that left by a jump are carried along."""

    # ---- frames ----

    def frame(
        self,
        ref: FunctionRef,
        receiver: Value | None,
        carriers: frozenset[str],
        call: CallPoint | None,
        held: frozenset[str] = frozenset(),
    ) -> Frame | None:
        """Prepare a function for execution; ``None`` if it cannot be found.

        ``carriers`` are parameters and ``held`` attributes of the receiver that hold something
        followed.
        """
        key = (ref, carriers, held)
        if key not in self._plans:
            outline = self.index.modules.outline(ref.file)
            found = self.index.modules.function(ref)
            if outline is None or found is None:
                return None
            try:
                function = found.lowered or lower_function(outline.lines, found.node)
            except LoweringError as error:
                raise BudgetExceeded(str(error), ref.file, found.line) from error
            found.lowered = function
            interest = self.interest(ref, function, receiver, carriers, returns=call is not None)
            interest = replace(interest, stacks=interest.stacks | held)
            self._plans[key] = (function, plan_function(function, interest))
        function, plan = self._plans[key]
        return self._framed(ref, function, plan, receiver, call)

    def _framed(
        self,
        ref: FunctionRef,
        function: ir.Function,
        plan: Plan,
        receiver: Value | None,
        call: CallPoint | None,
    ) -> Frame:
        owner = self.index.modules.owner(ref)
        place = Place(ref.file, receiver, owner, plan.kept, ref)
        first = function.parameters[0].name if function.parameters and receiver else ""
        depth = call.frame.depth + 1 if call else 0
        return Frame(ref, function, plan, place, first, depth, call)

    def interest(
        self,
        ref: FunctionRef,
        function: ir.Function,
        receiver: Value | None,
        carriers: frozenset[str],
        *,
        returns: bool,
    ) -> Interest:
        """What to look for in a function of the file and class of ``ref``."""
        name = function.parameters[0].name if function.parameters and receiver else ""
        types = receiver.types if isinstance(receiver, Symbol) else None
        instances = types.instances() if types is not None else ()
        return Interest(
            stacks=self.question.stacks,
            collecting=self.question.collecting,
            keywords=self.question.keywords,
            runs=self.index.profile.modules.runs,
            switches=self.question.switches,
            carriers=carriers,
            receiver=name,
            returns=returns,
            touches=lambda method: any(self.touches(item.cls, method) for item in instances),
            gives=lambda method: any(self.gives(item, method) for item in instances),
            collects=lambda text: self._collects(ref.file, text),
            makes=lambda node: self.makes(ref, instances, node),
        )

    def makes(
        self, home: FunctionRef, receivers: tuple[Instance, ...], node: ir.Expression
    ) -> bool:
        """Does calling this give what must stand around a run?

        By the name of the call, or by that of one in a helper, which returns or enters it.
        """
        if not self.question.makers:
            return False
        name = last_name(node)
        if name in self.question.makers:
            return True
        match node:
            case ir.Name(id):
                found = self.index.modules.resolve(home.file, id)
                return isinstance(found, FunctionRef) and self._is_maker(found)
            case ir.Attribute(ir.Name("self"), _):
                methods = (self.index.modules.method(item.cls, name) for item in receivers)
                return any(found is not None and self._is_maker(found[0]) for found in methods)
            case _:
                return False

    def _is_maker(self, ref: FunctionRef) -> bool:
        function = self.index.modules.function(ref)
        if function is None or not function.attributes & self.question.makers:
            return False
        return any(name.endswith("contextmanager") for name in function.decorators) or any(
            isinstance(node, ast.Attribute) and node.attr in self.question.makers
            for value in function.returns
            for node in ast.walk(value)
        )

    def touches(self, cls: ClassRef, name: str) -> bool:
        """Does a method, or one that it leads to on its own object, mention a layer stack?"""
        key = (cls, name)
        if key not in self._touching:
            found = self.index.modules.method(cls, name)
            self._touching[key] = found is not None and any(
                self.index.attributes_of(method) & self.question.stacks
                for method in self.index.closure(cls, found[0])
            )
        return self._touching[key]

    def gives(self, instance: Instance, name: str) -> bool:
        """Does a method return a layer, a stack or an accumulator of its own?"""
        key = (instance, name)
        if key not in self._giving:
            self._giving[key] = False  # answers recursion
            found = self.index.modules.method(instance.cls, name)
            if found is not None and self.touches(instance.cls, name):
                self._giving[key] = self._returns_layers(instance, found[0])
        return self._giving[key]

    def _returns_layers(self, instance: Instance, ref: FunctionRef) -> bool:
        outline = self.index.modules.outline(ref.file)
        found = self.index.modules.function(ref)
        if outline is None or found is None:
            return False
        function = lower_function(outline.lines, found.node)
        receiver = Symbol("self", Types((instance,)), present=True)
        interest = self.interest(ref, function, receiver, frozenset(), returns=True)
        carriers = Carriers(function, interest)
        return any(
            isinstance(item, ir.Exit) and item.value is not None and carriers.holds(item.value)
            for item in carriers.statements
        )

    def _collects(self, file: str, text: str) -> bool:
        """Is ``text`` a class of the tree whose objects collect? ``AuxList``, ``Packer.of``."""
        symbol = self.index.modules.resolve(file, text) if text else None
        if isinstance(symbol, FunctionRef):
            symbol = self.index.modules.owner(symbol)
        return isinstance(symbol, ClassRef) and self.evaluator.is_collector(symbol)

    # ---- states ----

    def spend(self, frame: Frame, line: int, count: int) -> None:
        """Count a statement in so many states against the budget: to merge them is quadratic."""
        self._steps += count + count * count // 32
        if self._steps > self.allowed:
            raise BudgetExceeded(f"more than {self.allowed} steps", frame.place.file, line)

    def merged(self, states: Iterable[State], frame: Frame, line: int) -> list[State]:
        """Merge states; too many that cannot be merged end the analysis."""
        found = merge_states(states)
        if len(found) > STATES:
            raise BudgetExceeded(f"more than {STATES} states at once", frame.place.file, line)
        return found

    def constrain(self, state: State, formula: Formula) -> State | None:
        """The part of a state in which the formula holds; ``None`` if there is none."""
        if isinstance(formula, Known):
            return state if formula.value else None
        expanded = alternatives(formula)
        if expanded is None:
            return state  # too many alternatives: the test is forgotten, which is weaker
        if len(expanded) == 1:
            joined = conjoin(state.condition, expanded[0], self.evaluator.facts)
        else:
            condition = PathCondition(tuple(Conjunction(literals) for literals in expanded))
            joined = both(state.condition, condition, self.evaluator.facts)
        return state.under(joined) if joined is not None else None

    def split(
        self, state: State, formula: Formula, frame: Frame, region: ir.Region
    ) -> tuple[State | None, State | None]:
        """The parts of a state in which a test is true and false, with a step for the witness."""
        if isinstance(formula, Known):
            return (state, None) if formula.value else (None, state)
        sides: list[State | None] = []
        for taken, side in ((True, formula), (False, opposite(formula))):
            part = self.constrain(state, side)
            if part is not None:
                groups = alternatives(side) or ()
                literals = frozenset(literal for group in groups for literal in group)
                step = TrailStep(frame.place.file, region, "branch", "", taken, literals)
                part = part.walked(step)
            sides.append(part)
        return sides[0], sides[1]

    def next_loop(self) -> int:
        self._loop_numbers += 1
        return self._loop_numbers

    def evidence(self, frame: Frame, region: ir.Region) -> str:
        """``file:line`` of something that happened."""
        return f"{frame.place.file}:{region.line}"
