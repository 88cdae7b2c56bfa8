"""Runs of layers: which are runs, over which layers, and where a finding about one stands."""

from fnmatch import fnmatchcase

from pathaudit import ir
from pathaudit.conditions import Literal, PathCondition, Test, conjoin, negate
from pathaudit.index import Index, Instance
from pathaudit.index.features import LISTED, TRUE
from pathaudit.paths.events import EventMachine, layer_of
from pathaudit.paths.expressions import region_of
from pathaudit.paths.machine import ActiveLoop, CallPoint, Frame, Monitor
from pathaudit.paths.question import Question
from pathaudit.paths.state import Run, State
from pathaudit.paths.values import (
    Element,
    Member,
    Number,
    Stack,
    Symbol,
    Value,
    View,
    marked,
    number_text,
    text_of,
)


class RunMachine(EventMachine):
    """Adds the description of runs."""

    def __init__(self, index: Index, question: Question, monitor: Monitor) -> None:
        super().__init__(index, question, monitor)
        self.runs_seen = 0

    def run(
        self, value: Element | View | Stack, region: ir.Region, frame: Frame, state: State
    ) -> Run:
        """Describe a run: where its finding stands, and over which layers."""
        self.runs_seen += 1
        stack = value if isinstance(value, Stack) else value.stack
        site, point = self._site(stack, frame, region, state)
        loop = self._loop_in(value)
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
            element=text_of(value) if isinstance(value, Element) else "",
            index=text_of(value.index) if isinstance(value, Element) else "",
        )

    def asked(self, condition: PathCondition, run: Run) -> PathCondition | None:
        """The part of a condition in which the layer of a run was asked for; ``None`` if none.

        Tests such as ``0 in self.layers_to_capture`` or of a flag of the layer tell.
        """
        found: PathCondition | None = condition
        for literal in {x for part in condition.alternatives for x in part.literals}:
            if found is not None and self._denies(literal, run):
                found = conjoin(found, (negate(literal),), self.evaluator.facts)
        return found

    def _denies(self, literal: Literal, run: Run) -> bool:
        """Does a literal say that the layer of a run was not asked for?"""
        if not isinstance(literal, Test) or literal.positive:
            return False
        if literal.predicate == "in":
            armed = self.question.armed.get(literal.argument) == LISTED
            return armed and literal.subject == run.index
        owner, _, flag = literal.subject.rpartition(".")
        return owner == run.element and self.question.flags.get(flag) == TRUE

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

    def _loop_in(self, value: Element | View | Stack) -> ActiveLoop | None:
        """The loop over these layers: the innermost that their index depends on."""
        if not isinstance(value, Element):
            return None
        number = self.scope_of(value)
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

    def scope_of(self, element: Element) -> int:
        """The innermost loop that the layer's index depends on, else the innermost loop."""
        text = text_of(element.index)
        for loop in reversed(self.loops):
            if marked(text, loop.number):
                return loop.number
        return self.loops[-1].number if self.loops else 0

    def runs(self, element: Element, name: str) -> bool:
        """Does a method of a layer run it, or only read something?"""
        if any(fnmatchcase(name, glob) for glob in self.index.profile.modules.runs):
            return True
        whole = self.index.profile.modules.call
        return any(
            self.index.entered(item.cls, name) & self.index.entered(item.cls, whole)
            for item in element.stack.type.elements.instances()
        )

    def recipe(
        self, values: tuple[Value, ...], node: ir.Expression, state: State, frame: Frame
    ) -> State:
        """Bound methods of a layer in a container are there to be called: the layer runs."""
        region = region_of(node) or (frame.call.region if frame.call else ir.NOWHERE)
        for value in values:
            element = layer_of(value)
            if element is not None and isinstance(value, Member) and self._is_method(value):
                run = self.run(element, region, frame, state)
                scope = self.scope_of(element)
                if self.question.around is None:
                    state = self.monitor.ran(state, run, scope)
                else:
                    leads = self.leads_of(element, value.owner, value.name)
                    state = self.led(state, run, scope, leads)
        return state

    def leads_of(self, layer: Element, owner: Value, name: str) -> str | None:
        """Where a method of a layer, or of a module in it, leads; the worst of its classes."""
        around = self.question.around
        one = isinstance(layer.index, Number) and not layer.index.base
        found = [around.leads(item, name, one) for item in self.types_of(owner)] if around else []
        known = [place for place in found if place is not None]
        return min(known, default=None)

    def led(self, state: State, run: Run, scope: int, leads: str | None) -> State:
        """A method of a layer ran, where something must stand around what it leads to."""
        if leads is None:
            return state
        if leads:
            return self.monitor.delegated(state, run, leads)
        return self.monitor.ran(state, run, scope)

    def _is_method(self, value: Value) -> bool:
        """Is a member of a layer, or of one of its modules, a method of its class?"""
        if not isinstance(value, Member):
            return False
        return any(
            self.index.modules.method(item.cls, value.name) is not None
            for item in self.types_of(value.owner)
        )

    def types_of(self, value: Value) -> tuple[Instance, ...]:
        match value:
            case Element(stack, _):
                return stack.type.elements.instances()
            case Member(owner, name):
                return self.index.types.along(self.types_of(owner), [name])
            case Symbol(_, types, _) if types is not None:
                return types.instances()
            case _:
                return ()
