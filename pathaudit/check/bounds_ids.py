"""What a setter makes of the layer ids that it is asked for: stored as they are, or shifted."""

import ast
from collections.abc import Iterator

from msgspec import Struct

from pathaudit.index import ClassRef, FunctionRef, Index, Instance
from pathaudit.index.outline import FunctionOutline

CALL_DEPTH = 6

COPYING = frozenset(("list", "tuple", "set", "frozenset", "sorted"))

# Requested ids as a value: by how much they are shifted, one number for each way to get there.
Shifts = frozenset[int]


class Stored(Struct, frozen=True, order=True):
    """``self.<path>.<name>`` holds the requested ids, shifted by ``shift``."""

    path: tuple[str, ...]
    name: str
    shift: int


class Asked(Struct, frozen=True, eq=False):
    """All that a setter does with the ids.

    ``refused`` where it does not take the ids of all layers, ``checked`` where it says that it
    does: the place.
    """

    stored: tuple[Stored, ...]
    refused: bool
    checked: str


def asked_by(index: Index, entry: ClassRef, setter: str) -> Asked:
    """Follow a setter of a served class from the ids that it is given."""
    follower = _Follower(index)
    found = index.modules.method(entry, setter)
    if found is not None:
        frame = _Frame(found[0], Instance(entry), (), 0)
        parameters = [item.arg for item in found[1].node.args.args[1:]]
        follower.method(found[1], frame, {name: frozenset((0,)) for name in parameters})
    return Asked(tuple(sorted(set(follower.stored))), follower.refused, follower.checked)


class _Frame(Struct, frozen=True, eq=False):
    """A method that is followed: its object and where the served class holds it."""

    ref: FunctionRef
    instance: Instance
    path: tuple[str, ...]
    depth: int


class _Follower:
    def __init__(self, index: Index) -> None:
        self._index = index
        self.stored: list[Stored] = []
        self.refused = False
        self.checked = ""

    def method(self, function: FunctionOutline, frame: _Frame, ids: dict[str, Shifts]) -> None:
        names = [item.arg for item in function.node.args.args]
        if names:
            self._block(function.node.body, frame, names[0], ids)

    def _block(self, body: list[ast.stmt], frame: _Frame, own: str, ids: dict[str, Shifts]) -> None:
        for statement in body:
            self._statement(statement, frame, own, ids)

    def _statement(self, node: ast.stmt, frame: _Frame, own: str, ids: dict[str, Shifts]) -> None:
        match node:
            case ast.Assign(targets, value):
                for target in targets:
                    self._store(target, value, frame, own, ids)
            case ast.AnnAssign(target, _, value) if value is not None:
                self._store(target, value, frame, own, ids)
            case ast.Expr(ast.Call() as call):
                self._call(call, frame, own, ids)
            case ast.If():
                self._branch(node, frame, own, ids)
            case ast.For(_, _, body) | ast.With(_, body) | ast.Try(body):
                self._block(body, frame, own, ids)

    def _branch(self, node: ast.If, frame: _Frame, own: str, ids: dict[str, Shifts]) -> None:
        """Both arms are followed; a test of the ids that raises may refuse some of them."""
        if any(isinstance(item, ast.Raise) for item in node.body):
            self._check(node, frame, ids)
        arms = [dict(ids), dict(ids)]
        self._block(node.body, frame, own, arms[0])
        self._block(node.orelse, frame, own, arms[1])
        for name in arms[0].keys() | arms[1].keys():
            ids[name] = arms[0].get(name, frozenset()) | arms[1].get(name, frozenset())

    def _check(self, node: ast.If, frame: _Frame, ids: dict[str, Shifts]) -> None:
        """A test that raises: ``>= number of layers`` takes all layers, ``>= last`` does not."""
        orders = _orders(node.test, ids)
        if any(_subtracts(item) for item in orders):
            self.refused = True
        elif orders:
            self.checked = f"{frame.ref.file}:{node.lineno}"

    def _store(
        self,
        target: ast.expr,
        value: ast.expr,
        frame: _Frame,
        own: str,
        ids: dict[str, Shifts],
    ) -> None:
        shifts = self._shifts(value, frame, own, ids)
        match target:
            case ast.Name(id):
                ids[id] = shifts
            case ast.Attribute(owner, name):
                path = self._path(owner, frame, own)
                if path is not None:
                    self.stored += [Stored(path, name, shift) for shift in shifts]

    def _path(self, node: ast.expr, frame: _Frame, own: str) -> tuple[str, ...] | None:
        match node:
            case ast.Name(id):
                return frame.path if id == own else None
            case ast.Attribute(owner, name):
                base = self._path(owner, frame, own)
                return None if base is None else (*base, name)
            case _:
                return None

    def _shifts(self, node: ast.expr, frame: _Frame, own: str, ids: dict[str, Shifts]) -> Shifts:
        """By how much the ids in a value are shifted; nothing where it holds none."""
        match node:
            case ast.Name(id):
                return ids.get(id, frozenset())
            case ast.Attribute(owner, name):
                path = self._path(owner, frame, own)
                return frozenset(x.shift for x in self.stored if (x.path, x.name) == (path, name))
            case ast.Call(ast.Name(id), [inner]) if id in COPYING:
                return self._shifts(inner, frame, own, ids)
            case ast.ListComp(element, [clause]) | ast.SetComp(element, [clause]):
                return self._comprehended(element, clause, frame, own, ids)
            case ast.GeneratorExp(element, [clause]):
                return self._comprehended(element, clause, frame, own, ids)
            case ast.IfExp(_, body, orelse):
                arms = (self._shifts(x, frame, own, ids) for x in (body, orelse))
                return frozenset[int]().union(*arms)
            case _:
                return frozenset()

    def _comprehended(
        self,
        element: ast.expr,
        clause: ast.comprehension,
        frame: _Frame,
        own: str,
        ids: dict[str, Shifts],
    ) -> Shifts:
        """``[layer_id + 1 for layer_id in ids]``; what is filtered is not known."""
        if clause.ifs or not isinstance(clause.target, ast.Name):
            return frozenset()
        shifts = self._shifts(clause.iter, frame, own, ids)
        match element:
            case ast.Name(id) if id == clause.target.id:
                return shifts
            case ast.BinOp(ast.Name(id), ast.Add(), ast.Constant(int(by))) if (
                id == clause.target.id
            ):
                return frozenset(shift + by for shift in shifts)
            case _:
                return frozenset()

    def _call(self, call: ast.Call, frame: _Frame, own: str, ids: dict[str, Shifts]) -> None:
        if isinstance(call.func, ast.Attribute):
            for inner, function in self._callees(call.func.value, call.func.attr, frame, own):
                given = self._given(call, function, frame, own, ids)
                self.method(function, inner, given)

    def _callees(
        self, owner: ast.expr, name: str, frame: _Frame, own: str
    ) -> Iterator[tuple[_Frame, FunctionOutline]]:
        if frame.depth >= CALL_DEPTH:
            return
        modules = self._index.modules
        if ast.unparse(owner) == "super()":
            found = modules.method(frame.instance.cls, name, after=modules.owner(frame.ref))
            if found is not None:
                yield _Frame(found[0], frame.instance, frame.path, frame.depth + 1), found[1]
            return
        path = self._path(owner, frame, own)
        if path is None:
            return
        for instance in self._index.types.along([frame.instance], path[len(frame.path) :]):
            found = modules.method(instance.cls, name)
            if found is not None:
                yield _Frame(found[0], instance, path, frame.depth + 1), found[1]

    def _given(
        self,
        call: ast.Call,
        function: FunctionOutline,
        frame: _Frame,
        own: str,
        ids: dict[str, Shifts],
    ) -> dict[str, Shifts]:
        parameters = [item.arg for item in function.node.args.args[1:]]
        pairs = [*zip(parameters, call.args, strict=False)]
        pairs += [(item.arg, item.value) for item in call.keywords if item.arg]
        return {name: self._shifts(value, frame, own, ids) for name, value in pairs}


def _orders(test: ast.expr, ids: dict[str, Shifts]) -> list[ast.Compare]:
    """The comparisons of a test of requested ids that are by order."""
    names = {name for name, shifts in ids.items() if shifts}
    if not any(isinstance(x, ast.Name) and x.id in names for x in ast.walk(test)):
        return []
    orders = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
    return [
        part
        for part in ast.walk(test)
        if isinstance(part, ast.Compare) and any(isinstance(x, orders) for x in part.ops)
    ]


def _subtracts(compare: ast.Compare) -> bool:
    bounds = (compare.left, *compare.comparators)
    return any(isinstance(x, ast.BinOp) and isinstance(x.op, ast.Sub) for x in bounds)
