"""What branch tests say of the values in a state: is there a residual, is a reduction owed?"""

import ast

from pathaudit.check.completes_layers import resolve
from pathaudit.check.completes_values import (
    NONE,
    OTHER,
    Marked,
    Output,
    Plain,
    State,
    Values,
    changed,
    joined,
    reduced,
)
from pathaudit.index import Index, Instance


class Tests:
    """Narrows states by tests."""

    def __init__(self, index: Index, instance: Instance) -> None:
        self.index = index
        self.instance = instance

    def refine(self, test: ast.expr, state: State, file: str, *, positive: bool) -> State | None:
        """The state in which a test has an outcome; ``None`` where it cannot have it."""
        match test:
            case ast.UnaryOp(ast.Not(), operand):
                return self.refine(operand, state, file, positive=not positive)
            case ast.BoolOp(operator, values):
                every = isinstance(operator, ast.And) == positive
                return self._combined(values, state, file, positive=positive, every=every)
            case ast.Compare(ast.Name(name), [ast.Is() | ast.IsNot()], [ast.Constant(None)]):
                is_none = isinstance(test.ops[0], ast.Is) == positive
                return _without(name, state) if is_none else _with(name, state)
            case _:
                return self._asked(test, state, file, positive=positive)

    def _combined(
        self, values: list[ast.expr], state: State, file: str, *, positive: bool, every: bool
    ) -> State | None:
        if not every:
            arms = [self.refine(value, state, file, positive=positive) for value in values]
            return joined(arms)
        narrowed: State | None = state
        for value in values:
            if narrowed is not None:
                narrowed = self.refine(value, narrowed, file, positive=positive)
        return narrowed

    def _asked(self, test: ast.expr, state: State, file: str, *, positive: bool) -> State | None:
        """Where the answer is no, nothing is owed."""
        names = {atom.name for atom in self.question(test, file) if isinstance(atom, Marked)}
        if isinstance(test, ast.Name):
            names |= {x.name for x in state.get(test.id, OTHER) if isinstance(x, Marked)}
        if positive or not names:
            return dict(state)
        return {
            name: changed(values, reduced) if name in names else values
            for name, values in state.items()
        }

    def question(self, node: ast.expr, file: str) -> Values:
        """``Marked`` where an expression asks whether a local carries a mark, else other."""
        marks = self.index.profile.reductions.marks
        match node:
            case ast.Attribute(ast.Name(name), mark) if mark in marks:
                return frozenset({Marked(name)})
            case ast.Call(
                ast.Name("getattr" | "hasattr"), [ast.Name(name), ast.Constant(mark), *_]
            ):
                return frozenset({Marked(name)}) if mark in marks else OTHER
            case ast.BoolOp(ast.And(), values):
                found = [self.question(value, file) for value in values]
                return next((item for item in found if item != OTHER), OTHER)
            case ast.Call(function, [ast.Name(name)]):
                called = resolve(self.index, self.instance.cls, None, file, function)
                outline = self.index.modules.function(called) if called else None
                asks = outline is not None and _asks(outline.node, marks)
                return frozenset({Marked(name)}) if asks else OTHER
            case _:
                return OTHER


def _asks(node: ast.AST, marks: tuple[str, ...]) -> bool:
    """Does a function do nothing but answer whether its argument carries a mark?"""
    stores = (ast.Assign, ast.AugAssign, ast.AnnAssign)
    nodes = list(ast.walk(node))
    if any(isinstance(item, stores) for item in nodes):
        return False
    return any(
        (isinstance(item, ast.Attribute) and item.attr in marks)
        or (isinstance(item, ast.Constant) and item.value in marks)
        for item in nodes
    )


def _without(name: str, state: State) -> State | None:
    """Where there is no residual, no layer has run that would return one: the value is whole."""
    values = state.get(name, OTHER)
    if values == frozenset({Plain.RESIDUAL}):
        return None
    found = {**state, name: NONE}
    if Plain.RESIDUAL in values:
        return {key: changed(value, _whole) for key, value in found.items()}
    return found


def _whole(_: Output) -> Plain:
    return Plain.OTHER


def _with(name: str, state: State) -> State | None:
    values = state.get(name, OTHER) - NONE
    return {**state, name: values} if values else None
