"""Inside a layer: does what it was handed get collected into?"""

import msgspec

from pathaudit import ir
from pathaudit.conditions import ALWAYS
from pathaudit.index import FunctionRef, Index, Types
from pathaudit.paths.events import Given
from pathaudit.paths.expressions import Outcome
from pathaudit.paths.follow import FollowMachine
from pathaudit.paths.machine import Frame, Monitor
from pathaudit.paths.question import Question
from pathaudit.paths.state import RUNNING, Scope, State
from pathaudit.paths.values import Element, Symbol, Value, text_of


class LayerMachine(FollowMachine):
    """Adds calls of layers."""

    def __init__(self, index: Index, question: Question, monitor: Monitor) -> None:
        super().__init__(index, question, monitor)
        # The layers that are being followed, and what was found of the callees inside them.
        self.layers: list[str] = []
        self._collecting: dict[object, bool] = {}
        # By the place of a run: layer methods that were handed something, and if any ever collects.
        self.handed: dict[tuple[str, ir.Region], dict[str, bool]] = {}

    def run_layer(
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
        scope = self.scope_of(element)
        if self.question.around is not None:
            name = node.function.name if isinstance(node.function, ir.Attribute) else ""
            leads = self.leads_of(element, element, name or self.index.profile.modules.call)
            return [(self.led(state, run, scope, leads), result)]
        if not self.hands_accumulator(given, state, frame) and not self.event(Symbol(""), given):
            return [(self.monitor.ran(state, run, scope), result)]
        handed = self.handed.setdefault((run.file, run.region), {})
        inside = self.inside_layer(node, element, given, state, frame, handed)
        if inside is None:
            evidence = self.evidence(frame, node.region)
            return [(self.monitor.delegated(state, run, evidence), result)]
        return [
            (self.monitor.ran(after, run, scope) if after.status == RUNNING else after, result)
            for after in inside
        ]

    def inside_layer(
        self,
        node: ir.Call,
        element: Element,
        given: tuple[Given, ...],
        state: State,
        frame: Frame,
        handed: dict[str, bool],
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
            told = f"{instance.cls.name}.{method[0].qualname.rpartition('.')[2]}"
            collects = any(self.monitor.happened(after) for after, _ in outcomes)
            handed[told] = collects or handed.get(told, False)
            found += [self.monitor.leave(after, number, judged=False) for after, _ in outcomes]
        return self.merged(found, frame, node.region.line) if types.instances() else None

    def may_collect(
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
        types = tuple(item.cls for item in self.receiver_types(receiver))
        key = (
            ref,
            types,
            tuple((x.keyword, self.is_collecting(x.value, state, frame)) for x in given),
        )
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
