"""What a pipeline stage between others does: which values it starts from, where it hands over.

The statements of one function are walked as such a stage takes them. What a test says of the
stage is known from the assumptions of the rule; other tests are taken both ways.
"""

import ast
from collections.abc import Callable, Iterable, Iterator
from fnmatch import fnmatchcase

from msgspec import Struct

from pathaudit.check.relays_layers import Loops, names_in
from pathaudit.index.syntax import dotted_name
from pathaudit.ruleset import Stages

Assumed = Callable[[str], bool | str | None]


class Kinds(Struct, frozen=True):
    """What a name may hold: something made of nothing (``reset``), something computed."""

    reset: ast.expr | None = None
    computed: bool = False


COMPUTED = Kinds(computed=True)


class State(Struct, frozen=True, eq=False):
    """What names hold; ``staged`` once it was asked which stage this is."""

    names: dict[str, Kinds]
    staged: bool = False


class Exit(Struct, frozen=True, eq=False):
    """A return of a stage that is not the last."""

    node: ast.Return


class Stage:
    """Walks one function; ``entered`` are the states at its layer loops, ``exits`` its returns."""

    def __init__(self, loops: Loops, stages: Stages, assumed: Assumed) -> None:
        self.entered: dict[ast.stmt, list[State]] = {}
        self.exits: list[Exit] = []
        self._loops = loops
        self._stages = stages
        self._assumed = assumed
        self._tests: dict[str, ast.expr] = {}

    def walk(self, body: list[ast.stmt], state: State | None) -> State | None:
        """The state after some statements; ``None`` where none gets there."""
        for statement in body:
            if state is None:
                return None
            state = self._statement(statement, state)
        return state

    def _statement(self, node: ast.stmt, state: State) -> State | None:  # noqa: C901 - one arm a form
        match node:
            case ast.Assign(targets, value):
                return self._assigned(targets, value, state)
            case ast.AnnAssign(target, _, value) if value is not None:
                return self._assigned([target], value, state)
            case ast.AugAssign(ast.Name(name)):
                return _bound(state, name, COMPUTED)
            case ast.If(test, first, second):
                return self._branched(test, first, second, state)
            case ast.For() | ast.AsyncFor() | ast.While():
                return self._looped(node, state)
            case ast.With(_, body) | ast.AsyncWith(_, body):
                return self.walk(body, state)
            case ast.Try(body, handlers, orelse, final):
                done = self.walk([*body, *orelse], state)
                caught = [self.walk(item.body, state) for item in handlers]
                return self.walk(final, _joined([done, *caught]))
            case ast.Match(_, cases):
                return _joined([state, *(self.walk(item.body, state) for item in cases)])
            case ast.Return():
                if state.staged:
                    self.exits.append(Exit(node))
                return None
            case ast.Raise() | ast.Break() | ast.Continue():
                return None
            case ast.Assert(test):
                return None if self.decide(test) is False else state
            case _:
                return state

    def _looped(self, node: ast.For | ast.AsyncFor | ast.While, state: State) -> State | None:
        if node in self._loops.loops:
            self.entered.setdefault(node, []).append(state)
        inside = {name for part in ast.walk(node) for name in _stored(part)}
        state = State({**state.names, **dict.fromkeys(inside, COMPUTED)}, state.staged)
        self.walk(node.body, state)
        return self.walk(node.orelse, state)

    def _branched(
        self, test: ast.expr, first: list[ast.stmt], second: list[ast.stmt], state: State
    ) -> State | None:
        way = self.decide(test)
        if way is None:
            return _joined([self.walk(first, state), self.walk(second, state)])
        staged = state.staged or self._asks_for_last(test)
        return self.walk(first if way else second, State(state.names, staged))

    def _asks_for_last(self, test: ast.expr) -> bool:
        last = self._stages.last
        return any(
            (isinstance(part, ast.Attribute) and part.attr == last)
            or (isinstance(part, ast.Name) and (part.id == last or self._means_last(part.id)))
            for part in ast.walk(test)
        )

    def _means_last(self, name: str) -> bool:
        known = self._tests.get(name)
        return known is not None and any(
            isinstance(part, ast.Attribute) and part.attr == self._stages.last
            for part in ast.walk(known)
        )

    def decide(self, test: ast.expr, depth: int = 0) -> bool | None:
        """Which way does a test go on a stage between others?"""
        match test:
            case ast.UnaryOp(ast.Not(), operand):
                way = self.decide(operand, depth)
                return None if way is None else not way
            case ast.BoolOp(operator, operands):
                decisive = isinstance(operator, ast.Or)
                ways = [self.decide(item, depth) for item in operands]
                if decisive in ways:
                    return decisive
                return None if None in ways else not decisive
            case ast.Compare(left, [ast.Is() | ast.IsNot()], [ast.Constant(None)]):
                some = self._assumed(ast.unparse(left)) in ("some", "positive", True)
                return isinstance(test.ops[0], ast.IsNot) if some else None
            case ast.Name(name) if name in self._tests and depth < _ALIASES:
                return self.decide(self._tests[name], depth + 1)
            case _:
                known = self._assumed(ast.unparse(test))
                return known if isinstance(known, bool) else True if known else None

    # ---- values ----

    def _assigned(self, targets: list[ast.expr], value: ast.expr, state: State) -> State:
        for target in targets:
            if isinstance(target, ast.Name):
                self._tests[target.id] = value
            parts = value.elts if isinstance(value, ast.Tuple) else []
            if isinstance(target, ast.Tuple) and len(target.elts) == len(parts):
                for item, part in zip(target.elts, parts, strict=True):
                    state = self._store(item, self._kinds(part, state), state)
            else:
                state = self._store(target, self._kinds(value, state), state)
        return state

    def _store(self, target: ast.expr, kinds: Kinds, state: State) -> State:
        for name in names_in(target) if not isinstance(target, ast.Name) else (target.id,):
            if not isinstance(target, ast.Attribute | ast.Subscript):
                state = _bound(state, name, kinds)
        return state

    def _kinds(self, value: ast.expr, state: State) -> Kinds:
        match value:
            case ast.Constant():
                return Kinds(reset=value)
            case ast.List([]) | ast.Tuple([]) | ast.Dict([], []):
                return Kinds(reset=value)
            case ast.Name(name):
                return state.names.get(name, COMPUTED)
            case ast.IfExp(test, first, second):
                way = self.decide(test)
                arms = [first, second] if way is None else [first if way else second]
                return _either(self._kinds(item, state) for item in arms)
            case ast.BoolOp(_, operands):
                return _either(self._kinds(item, state) for item in operands)
            case ast.Call(function) if self._makes_anew(function):
                return Kinds(reset=value)
            case _:
                return COMPUTED

    def _makes_anew(self, function: ast.expr) -> bool:
        name = dotted_name(function).rpartition(".")[2]
        return any(fnmatchcase(name, glob) for glob in self._stages.resets)


_ALIASES = 4


def _bound(state: State, name: str, kinds: Kinds) -> State:
    return State({**state.names, name: kinds}, state.staged)


def _either(kinds: Iterable[Kinds]) -> Kinds:
    found = list(kinds)
    reset = next((item.reset for item in found if item.reset is not None), None)
    return Kinds(reset, any(item.computed for item in found))


def _joined(states: Iterable[State | None]) -> State | None:
    found = [state for state in states if state is not None]
    if not found:
        return None
    names = {name for state in found for name in state.names}
    held = {name: _either(s.names[name] for s in found if name in s.names) for name in names}
    return State(held, any(state.staged for state in found))


def _stored(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield node.id
