"""Loops over layers in one function: what they hand from layer to layer, and what becomes of it."""

import ast
from collections.abc import Iterable, Iterator
from functools import cached_property

from msgspec import Struct

Function = ast.FunctionDef | ast.AsyncFunctionDef
Loop = ast.For | ast.AsyncFor | ast.While


class Run(Struct, frozen=True, eq=False):
    """A statement that runs a layer: the call, and the names that its results are bound to."""

    loop: Loop
    node: ast.stmt
    call: ast.Call
    results: frozenset[str]


class Loops:
    """The layer loops of a function.

    ``stacks`` are the attributes that hold layers, ``runners`` the methods of the same object
    that run some of them.
    """

    def __init__(
        self, node: Function, stacks: frozenset[str], runners: frozenset[str] = frozenset()
    ) -> None:
        self.node = node
        self._stacks = stacks
        self._runners = runners

    @cached_property
    def statements(self) -> tuple[ast.stmt, ...]:
        return tuple(part for part in ast.walk(self.node) if isinstance(part, ast.stmt))

    @cached_property
    def layers(self) -> frozenset[str]:
        """The names of single layers."""
        found: set[str] = set()
        for part in self.statements:
            if isinstance(part, ast.Assign) and self._is_layer(part.value, frozenset()):
                found.update(name for target in part.targets for name in names_in(target))
            elif isinstance(part, ast.For | ast.AsyncFor) and self.names_stack(part.iter):
                found |= names_in(part.target)
        return frozenset(found)

    def _is_layer(self, node: ast.expr, names: frozenset[str]) -> bool:
        match node:
            case ast.Subscript(value, index) if not isinstance(index, ast.Slice):
                return self._is_stack(value)
            case ast.Name(name):
                return name in names
            case _:
                return False

    def _is_stack(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Attribute) and node.attr in self._stacks

    def names_stack(self, node: ast.AST) -> bool:
        """Is a whole stack, or a slice of one, in an expression?"""
        inside = {
            id(part.value)
            for part in ast.walk(node)
            if isinstance(part, ast.Subscript) and not isinstance(part.slice, ast.Slice)
        }
        return any(
            isinstance(part, ast.expr) and self._is_stack(part) and id(part) not in inside
            for part in ast.walk(node)
        )

    def is_run(self, call: ast.Call) -> bool:
        """Does a call run a layer, or hand layers to what does?"""
        function = call.func
        if isinstance(function, ast.Attribute) and function.attr in self._runners:
            return isinstance(function.value, ast.Name) and function.value.id == "self"
        if self._is_layer(_owner(call), self.layers):
            return True
        return any(self.names_stack(item) for item in _arguments(call))

    def runs_in(self, node: ast.AST) -> bool:
        """Does something in an expression run a layer?"""
        return any(isinstance(part, ast.Call) and self.is_run(part) for part in ast.walk(node))

    @cached_property
    def runs_any(self) -> bool:
        """Does the function run layers at all?"""
        return any(isinstance(x, Loop) and self.runs_in(x) for x in self.statements)

    @cached_property
    def loops(self) -> frozenset[Loop]:
        """The innermost loops around statements that run a layer."""
        return frozenset(run.loop for run in self.runs)

    @cached_property
    def runs(self) -> tuple[Run, ...]:
        """The statements in loops that run a layer and keep what it returns."""
        found = []
        for loop in (part for part in self.statements if isinstance(part, Loop)):
            for part in _own_statements(loop):
                call = _called(part)
                if call is not None and self.is_run(call) and isinstance(part, ast.Assign):
                    results = {name for target in part.targets for name in names_in(target)}
                    found.append(Run(loop, part, call, frozenset(results)))
        return tuple(found)

    # ---- what flows ----

    def threaded(self, run: Run) -> frozenset[str]:
        """The names that bring one layer what an earlier one returned."""
        body = [part for part in _own_statements(run.loop) if part is not run.node]
        moved = self._influenced(body, run.results)
        given = self._sources(body, names_in(*_arguments(run.call)))
        before = {
            name
            for part in self.statements
            if part.lineno < run.loop.lineno and not isinstance(part, Loop)
            for name in stored_names(part)
        }
        return frozenset(moved & given & before)

    def _influenced(self, body: Iterable[ast.stmt], names: frozenset[str]) -> set[str]:
        """The names that hold something made of the given ones."""
        return _closure(names, [(reads, stores) for stores, reads in self._flows(body)])

    def _sources(self, body: Iterable[ast.stmt], names: frozenset[str]) -> set[str]:
        """The names that something in the given ones is made of."""
        return _closure(names, list(self._flows(body)))

    def reaches(self, end: ast.Return, start: int) -> frozenset[str]:
        """The names whose values are in what is returned, by the statements from a line on.

        What a layer made of a value does not hold the value any more.
        """
        if end.value is None:
            return frozenset()
        body = [x for x in self.statements if start <= x.lineno < end.lineno]
        return frozenset(self._sources(body, names_in(end.value)))

    def checked(self, end: ast.Return, start: int) -> frozenset[str]:
        """The names of which something is asserted between a line and a return."""
        between = (x for x in self.statements if start <= x.lineno < end.lineno)
        return names_in(*(x.test for x in between if isinstance(x, ast.Assert)))

    def _flows(self, body: Iterable[ast.stmt]) -> Iterator[tuple[frozenset[str], frozenset[str]]]:
        """The names that a statement changes, each with those that it reads for it."""
        for part in body:
            call = _called(part)
            if _is_compound(part) or (call is not None and self.is_run(call)):
                continue
            match part:
                case ast.Assign(targets, value):
                    yield _roots(targets), names_in(value)
                case ast.AnnAssign(target, _, value) if value is not None:
                    yield _roots([target]), names_in(value)
                case ast.AugAssign(target, _, value):
                    yield _roots([target]), names_in(value)
                case ast.Expr(ast.Call(ast.Attribute(owner)) as changing):
                    yield _roots([owner]), names_in(*_arguments(changing))


def _closure(names: Iterable[str], flows: list[tuple[frozenset[str], frozenset[str]]]) -> set[str]:
    """The names, and all that they lead to."""
    found = set(names)
    while True:
        more = {name for start, end in flows if start & found for name in end} - found
        if not more:
            return found
        found |= more


def names_in(*nodes: ast.AST) -> frozenset[str]:
    """The names in some expressions."""
    return frozenset(
        part.id for node in nodes for part in ast.walk(node) if isinstance(part, ast.Name)
    )


def stored_names(statement: ast.stmt) -> frozenset[str]:
    """The names that a simple statement binds."""
    if _is_compound(statement):
        return frozenset()
    return frozenset(
        part.id
        for part in ast.walk(statement)
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)
    )


def _roots(targets: Iterable[ast.expr]) -> frozenset[str]:
    """``proxy`` of ``proxy.tensors["x"]``, and the names of a tuple."""
    found: set[str] = set()
    for target in targets:
        inner = target
        while isinstance(inner, ast.Attribute | ast.Subscript):
            inner = inner.value
        if isinstance(inner, ast.Tuple | ast.List):
            found |= _roots(inner.elts)
        elif isinstance(inner, ast.Name):
            found.add(inner.id)
    return frozenset(found)


def _is_compound(statement: ast.stmt) -> bool:
    return hasattr(statement, "body")


def _own_statements(loop: Loop) -> Iterator[ast.stmt]:
    """The statements of a loop, those of inner loops left to them."""
    pending = list(loop.body)
    while pending:
        part = pending.pop()
        yield part
        if isinstance(part, Loop | Function):
            continue
        pending += inside_of(part)


def inside_of(statement: ast.stmt) -> list[ast.stmt]:
    """The statements in the blocks of a statement."""
    blocks = ("body", "orelse", "finalbody")
    parts = [x for name in blocks for x in getattr(statement, name, ())]
    for handler in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
        parts += handler.body
    return parts


def _called(statement: ast.stmt) -> ast.Call | None:
    value = getattr(statement, "value", None)
    return value if isinstance(value, ast.Call) else None


def _owner(call: ast.Call) -> ast.expr:
    """``self.layers[0]`` of ``self.layers[0].forward_fused(...)``."""
    function = call.func
    while isinstance(function, ast.Attribute):
        function = function.value
    return function


def _arguments(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *(item.value for item in call.keywords)]
