"""Evaluate expressions that hold events, part by part and in order."""

from abc import abstractmethod

from pathaudit import ir
from pathaudit.paths.machine import Frame, Machine
from pathaudit.paths.state import RUNNING, State
from pathaudit.paths.values import NONE, Items, Value
from pathaudit.paths.walking import children, walk

Outcome = tuple[State, Value]


class ExpressionMachine(Machine):
    """Adds the evaluation of expressions with effects."""

    def evaluate(self, node: ir.Expression, state: State, frame: Frame) -> list[Outcome]:
        """Evaluate an expression; states that stopped running come back with it."""
        if id(node) not in frame.plan.splits:
            return [(state, self.evaluator.value(node, state, frame.place))]
        match node:
            case ir.Call():
                return self.call(node, state, frame)
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

    @abstractmethod
    def comprehension(self, node: ir.Comprehension, state: State, frame: Frame) -> list[Outcome]:
        """Execute a comprehension as the loop it is."""

    @abstractmethod
    def call(self, node: ir.Call, state: State, frame: Frame) -> list[Outcome]:
        """Evaluate a call with its arguments."""

    @abstractmethod
    def recipe(
        self, values: tuple[Value, ...], node: ir.Expression, state: State, frame: Frame
    ) -> State:
        """Run the layers whose bound methods are put into a container."""

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
        region = region_of(body) or region_of(orelse) or ir.NOWHERE
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
            (self.recipe(values, node, after, frame), Items(values)) for after, values in outcomes
        ]


def region_of(node: ir.Expression) -> ir.Region | None:
    for part in walk(node):
        if isinstance(part, ir.Call | ir.Comprehension | ir.Lambda):
            return part.region
    return None
