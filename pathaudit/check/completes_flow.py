"""Follows the outputs of layers through the statements of a forward.

A may-analysis: each local holds all that it may be on some path. The paths are told apart by what
is asked of the residual and of the mark of an owed reduction, and by nothing else.
"""

import ast

from pathaudit.check.completes_calls import Frame
from pathaudit.check.completes_expressions import Expressions
from pathaudit.check.completes_values import (
    OTHER,
    Layer,
    Plain,
    Stack,
    State,
    Values,
    added,
    changed,
    item_of,
    joined,
    outputs,
    reduced,
    union,
)
from pathaudit.index import FunctionRef, Index, Instance

ROUNDS = 8


class Flow(Expressions):
    """Runs a method of an object; ``reads``, ``runs`` and ``folds`` tell what was seen."""

    def __init__(self, index: Index, instance: Instance, verbs: frozenset[str]) -> None:
        super().__init__(index, instance, verbs)
        self._known: dict[tuple[FunctionRef, frozenset[tuple[str, Values]]], Values] = {}

    def follow(self, ref: FunctionRef, given: State, depth: int) -> Values:
        function = self.index.modules.function(ref)
        if function is None:
            return OTHER
        key = (ref, frozenset(given.items()))
        if key not in self._known:
            self._known[key] = OTHER  # answers recursion
            frame = Frame(ref, self.index.modules.owner(ref), depth)
            self._body(function.node.body, dict(given), frame)
            self._known[key] = frame.returned or OTHER
        return self._known[key]

    def _body(self, body: list[ast.stmt], state: State | None, frame: Frame) -> State | None:
        for statement in body:
            if state is None:
                return None
            state = self._statement(statement, state, frame)
        return state

    def _statement(self, statement: ast.stmt, state: State, frame: Frame) -> State | None:
        match statement:
            case ast.Assign(targets, value):
                return self._assign(targets, value, state, frame)
            case ast.AnnAssign(target, _, value) if value is not None:
                return self._assign([target], value, state, frame)
            case ast.AugAssign():
                return self._augmented(statement, state, frame)
            case ast.Expr(value):
                self.evaluate(value, state, frame)
                return self._reduced_in_place(value, state)
            case ast.Assert(test):
                return self.refine(test, state, frame.ref.file, positive=True)
            case ast.Return() | ast.Raise() | ast.Break() | ast.Continue():
                self._leave(statement, state, frame)
                return None
            case _:
                return self._compound(statement, state, frame)

    def _leave(
        self,
        statement: ast.Return | ast.Raise | ast.Break | ast.Continue,
        state: State,
        frame: Frame,
    ) -> None:
        match statement:
            case ast.Return(value):
                frame.returned |= self.evaluate(value, state, frame)
            case ast.Break() if frame.leaving:
                frame.leaving[-1].append(state)
            case ast.Continue() if frame.continuing:
                frame.continuing[-1].append(state)

    def _compound(self, statement: ast.stmt, state: State, frame: Frame) -> State | None:
        match statement:
            case ast.If(test, body, orelse):
                self.evaluate(test, state, frame)
                file = frame.ref.file
                taken = self.refine(test, state, file, positive=True)
                passed = self.refine(test, state, file, positive=False)
                return joined([self._body(body, taken, frame), self._body(orelse, passed, frame)])
            case ast.For() | ast.AsyncFor() | ast.While():
                return self._loop(statement, state, frame)
            case ast.With(items, body) | ast.AsyncWith(items, body):
                for item in items:
                    self.evaluate(item.context_expr, state, frame)
                return self._body(body, state, frame)
            case ast.Try() | ast.TryStar():
                return self._try(statement, state, frame)
            case ast.Match(subject, cases):
                self.evaluate(subject, state, frame)
                arms = [self._body(case.body, dict(state), frame) for case in cases]
                return joined([state, *arms])
            case _:
                return state

    def _try(self, statement: ast.Try | ast.TryStar, state: State, frame: Frame) -> State | None:
        """A handler starts from what the body may have done, or not."""
        done = self._body(statement.body, dict(state), frame)
        reached = joined([state, done]) or state
        caught = [self._body(item.body, dict(reached), frame) for item in statement.handlers]
        left = joined([self._body(statement.orelse, done, frame), *caught])
        return self._body(statement.finalbody, left, frame)

    def _reduced_in_place(self, value: ast.expr, state: State) -> State:
        """A call whose result nobody takes can only have run a reduction in place."""
        match value:
            case ast.Call(function, [ast.Name(name), *_]) if self.reduces(function):
                return {**state, name: changed(state.get(name, OTHER), reduced)}
            case _:
                return state

    # ---- stores ----

    def _assign(
        self, targets: list[ast.expr], value: ast.expr, state: State, frame: Frame
    ) -> State:
        values = self.evaluate(value, state, frame)
        state = dict(state)
        for target in targets:
            self._note_rebinding(target, value, state, frame)
            self._bind(target, values, state)
        return state

    def _note_rebinding(
        self, target: ast.expr, value: ast.expr, state: State, frame: Frame
    ) -> None:
        """``hidden = hidden + more`` reads what ``hidden += more`` reads, and loses its mark."""
        match target, value:
            case ast.Name(name), ast.BinOp(left, ast.Add(), right):
                for one, other in ((left, right), (right, left)):
                    if isinstance(one, ast.Name) and one.id == name:
                        more = self.evaluate(other, state, frame)
                        if not outputs(more):
                            self.add(value, one, state.get(name, OTHER), more, frame)

    def _bind(self, target: ast.expr, values: Values, state: State) -> None:
        match target:
            case ast.Name(name):
                state[name] = values
            case ast.Tuple(items) | ast.List(items):
                for position, item in enumerate(items):
                    self._bind(item, item_of(values, position), state)
            case ast.Starred(value):
                self._bind(value, OTHER, state)

    def _augmented(self, node: ast.AugAssign, state: State, frame: Frame) -> State:
        values = self.evaluate(node.value, state, frame)
        before = self.evaluate(_loaded(node.target), state, frame)
        if Plain.COLLECTION in before and isinstance(node.value, ast.List):
            items = [self.evaluate(item, state, frame) for item in node.value.elts]
            self.capture(node, union(items), frame)
            return state
        if not isinstance(node.op, ast.Add | ast.Sub):
            return state
        if not outputs(values):
            self.add(node, node.target, before, values, frame)
        self.note_fold(before, values)
        if isinstance(node.target, ast.Name):
            return {**state, node.target.id: added(before, values)}
        return state

    # ---- loops ----

    def _loop(
        self, node: ast.For | ast.AsyncFor | ast.While, state: State, frame: Frame
    ) -> State | None:
        before = self.ran
        frame.loops += 1
        frame.leaving.append([])
        frame.continuing.append([])
        head = state
        for _ in range(ROUNDS):
            entered = self._entered(node, head, frame)
            ended = self._body(node.body, entered, frame)
            after = joined([head, ended, *frame.continuing[-1]]) or head
            if after == head:
                break
            head = after
        frame.continuing.pop()
        left = joined([head, *frame.leaving.pop()])
        frame.loops -= 1
        if self.ran > before and left is not None:
            # The last layer has none after it to leave its reduction to.
            left = {name: changed(values, reduced) for name, values in left.items()}
        return self._body(node.orelse, left, frame)

    def _entered(
        self, node: ast.For | ast.AsyncFor | ast.While, state: State, frame: Frame
    ) -> State | None:
        if isinstance(node, ast.While):
            self.evaluate(node.test, state, frame)
            return self.refine(node.test, state, frame.ref.file, positive=True)
        entered = dict(state)
        self._bind_loop(node.target, node.iter, entered, frame)
        return entered

    def _bind_loop(self, target: ast.expr, iterable: ast.expr, state: State, frame: Frame) -> None:
        """``for i, layer in enumerate(self.layers)`` and the other ways to go through a stack."""
        match iterable, target:
            case ast.Call(ast.Name("enumerate"), [inner, *_]), ast.Tuple([counter, item]):
                self._bind(counter, OTHER, state)
                self._bind_loop(item, inner, state, frame)
            case ast.Call(ast.Name("zip"), parts), ast.Tuple(items):
                for item, part in zip(items, parts, strict=False):
                    self._bind_loop(item, part, state, frame)
            case ast.Call(function, [inner, *_]), _ if _passes_on(function):
                self._bind_loop(target, inner, state, frame)
            case _:
                values = self.evaluate(iterable, state, frame)
                self._bind(target, _elements(values), state)


def _passes_on(function: ast.expr) -> bool:
    """``reversed``, ``islice``, ``list`` and the like give the items that they get."""
    match function:
        case ast.Name("reversed" | "list" | "tuple" | "iter" | "islice" | "tqdm"):
            return True
        case ast.Attribute(_, "islice"):
            return True
        case _:
            return False


def _elements(values: Values) -> Values:
    parts: list[Values] = []
    for atom in values:
        parts.append(frozenset({Layer(atom.name)}) if isinstance(atom, Stack) else OTHER)
    return union(parts) or frozenset({Plain.OTHER})


def _loaded(target: ast.Name | ast.Attribute | ast.Subscript) -> ast.expr:
    return target
