"""What expressions of a forward make of the outputs of layers."""

import ast
from abc import ABC

from pathaudit.check.completes_calls import Calls, Frame
from pathaudit.check.completes_values import (
    COLLECTION,
    NONE,
    OTHER,
    Atom,
    Layer,
    Output,
    Plain,
    Several,
    Stack,
    State,
    Values,
    added,
    item_of,
    outputs,
    union,
)


class Expressions(Calls, ABC):
    """Evaluates expressions."""

    def evaluate(self, node: ast.expr | None, state: State, frame: Frame) -> Values:  # noqa: C901 - one arm a form
        match node:
            case None:
                return OTHER
            case ast.Name(name):
                return state.get(name, OTHER)
            case ast.Constant(value):
                return NONE if value is None else OTHER
            case ast.Tuple(items):
                return frozenset({Several(tuple(self.evaluate(x, state, frame) for x in items))})
            case ast.List(items) | ast.Set(items):
                for item in items:
                    self.evaluate(item, state, frame)
                return COLLECTION
            case ast.IfExp(test, body, orelse):
                self.evaluate(test, state, frame)
                arms = ((body, True), (orelse, False))
                return self._either(test, arms, state, frame)
            case ast.BoolOp(_, values):
                return self._boolean(node, values, state, frame)
            case ast.NamedExpr(ast.Name(name), value):
                state[name] = self.evaluate(value, state, frame)
                return state[name]
            case ast.BinOp(left, operator, right):
                return self._sum(left, operator, right, state, frame)
            case ast.Subscript(value, index):
                self.evaluate(index, state, frame)
                return self._subscript(self.evaluate(value, state, frame), index)
            case ast.Attribute(ast.Name("self"), name) if name in self.stacks:
                return frozenset({Stack(name)})
            case ast.Attribute(value, name) if name in self.verbs:
                collects = Plain.COLLECTION in self.evaluate(value, state, frame)
                return frozenset({Plain.COLLECTOR}) if collects else OTHER
            case ast.Call():
                return self.call(node, state, frame)
            case ast.Starred(value) | ast.Await(value) | ast.Yield(value) | ast.YieldFrom(value):
                return self.evaluate(value, state, frame)
            case ast.Lambda():
                return OTHER
            case _:
                for child in ast.iter_child_nodes(node):
                    if isinstance(child, ast.expr):
                        self.evaluate(child, state, frame)
                return self.question(node, frame.ref.file)

    def _either(
        self,
        test: ast.expr,
        arms: tuple[tuple[ast.expr, bool], ...],
        state: State,
        frame: Frame,
    ) -> Values:
        parts = []
        for arm, positive in arms:
            narrowed = self.refine(test, state, frame.ref.file, positive=positive)
            if narrowed is not None:
                parts.append(self.evaluate(arm, narrowed, frame))
        return union(parts) or OTHER

    def _boolean(
        self, node: ast.BoolOp, values: list[ast.expr], state: State, frame: Frame
    ) -> Values:
        """The question that an ``and`` asks, or any of the values; each under those before it."""
        question = self.question(node, frame.ref.file)
        parts = []
        narrowed: State | None = state
        for value in values:
            if narrowed is None:
                break
            parts.append(self.evaluate(value, narrowed, frame))
            positive = isinstance(node.op, ast.And)
            narrowed = self.refine(value, narrowed, frame.ref.file, positive=positive)
        return question if question != OTHER else union(parts)

    def _sum(
        self, left: ast.expr, operator: ast.operator, right: ast.expr, state: State, frame: Frame
    ) -> Values:
        first = self.evaluate(left, state, frame)
        second = self.evaluate(right, state, frame)
        if isinstance(operator, ast.Add | ast.Sub):
            self.note_fold(first, second)
            return added(first, second)
        # A product or quotient is as finished as what it is made of.
        return frozenset[Atom](outputs(first) | outputs(second)) or OTHER

    def _subscript(self, values: Values, index: ast.expr) -> Values:
        parts: list[Values] = []
        for atom in values:
            match atom, index:
                case Stack(name), ast.Slice():
                    parts.append(frozenset({atom}))
                case Stack(name), _:
                    parts.append(frozenset({Layer(name)}))
                case Several(), ast.Constant(int(position)):
                    parts.append(item_of(frozenset({atom}), position))
                case Output(), _:
                    parts.append(frozenset({atom}))
                case _:
                    parts.append(OTHER)
        return union(parts) or OTHER
