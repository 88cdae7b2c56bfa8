"""Which layers are stored when a setter is given these ids: its code is read and worked out.

A small part of Python is understood, on numbers, lists and the fields of a configuration. Nothing
of the audited code is run; what is not understood makes the answer unknown, never wrong.
"""

import ast
from collections.abc import Iterator, Sequence

from msgspec import Struct

from pathaudit.index import ClassRef, Index, Instance
from pathaudit.index.outline import FunctionOutline
from pathaudit.live.arithmetic import Scope, UnclearError, evaluate
from pathaudit.live.models import Config

_DEPTH = 8
_STEPS = 20_000


class Stored(Struct, frozen=True):
    """Ids that a setter stores: in ``self.<path>.<name>``; ``refused`` what it raises instead."""

    path: tuple[str, ...] = ()
    name: str = ""
    ids: tuple[int, ...] | None = None
    refused: str = ""
    place: str = ""


class _ReturnedError(Exception):
    def __init__(self, value: object) -> None:
        self.value = value


class _RaisedError(Exception):
    def __init__(self, text: str) -> None:
        self.text = text


def stored_ids(
    index: Index,
    entry: ClassRef,
    setter: str,
    ids: tuple[int, ...] | None,
    config: Config,
    switches: Sequence[str],
) -> Stored:
    """Follow ``entry.setter(ids)``; what is stored under a name of ``switches`` comes first."""
    found = index.modules.method(entry, setter)
    if found is None:
        return Stored()
    ref, function = found
    runner = _Runner(index, config)
    given: object = list(ids) if ids is not None else None
    try:
        runner.method(function, (), Instance(entry), [given], 0)
    except _RaisedError as raised:
        return Stored(refused=raised.text, place=f"{ref.file}:{function.line}")
    except (UnclearError, RecursionError):
        return Stored(place=f"{ref.file}:{function.line}")
    held = [
        (path, value)
        for path, value in runner.stores.items()
        if isinstance(value, list | tuple | set) and all(type(x) is int for x in value)
    ]
    held.sort(key=lambda item: item[0][-1] not in switches)
    for path, value in held:
        return Stored(
            path[:-1], path[-1], tuple(sorted(value)), place=f"{ref.file}:{function.line}"
        )
    return Stored(place=f"{ref.file}:{function.line}")


class _Runner:
    """Follows a setter on the last pipeline stage, which is the one that captures."""

    def __init__(self, index: Index, config: Config) -> None:
        self._index = index
        self._config = config
        self._steps = 0
        self.stores: dict[tuple[str, ...], object] = {}

    def method(
        self,
        function: FunctionOutline,
        path: tuple[str, ...],
        instance: Instance,
        given: list[object],
        depth: int,
    ) -> object:
        if depth > _DEPTH:
            raise UnclearError("too deep")
        arguments = function.node.args.args
        names: dict[str, object] = dict(zip((x.arg for x in arguments[1:]), given, strict=False))
        for item, default in zip(
            reversed(arguments), reversed(function.node.args.defaults), strict=False
        ):
            if item.arg not in names and isinstance(default, ast.Constant):
                names[item.arg] = default.value
        own = arguments[0].arg if arguments else "self"
        frame = _Frame(self, path, instance, own, names, depth)
        try:
            self.block(function.node.body, frame)
        except _ReturnedError as returned:
            return returned.value
        return None

    def block(self, body: Sequence[ast.stmt], frame: "_Frame") -> None:
        for statement in body:
            self._steps += 1
            if self._steps > _STEPS:
                raise UnclearError("too long")
            self._statement(statement, frame)

    def _statement(self, node: ast.stmt, frame: "_Frame") -> None:  # noqa: C901 - one arm a form
        match node:
            case ast.Assign(targets, value):
                found = frame.tolerant(value)
                for target in targets:
                    frame.store(target, found)
            case ast.AnnAssign(target, _, value) if value is not None:
                frame.store(target, frame.tolerant(value))
            case ast.If(test, body, orelse):
                self._branch(test, body, orelse, frame)
            case ast.For(target, iterable, body):
                self._loop(target, iterable, body, frame)
            case ast.Return(value):
                raise _ReturnedError(frame.tolerant(value) if value is not None else None)
            case ast.Raise(exception):
                raise _RaisedError(ast.unparse(exception)[:200] if exception is not None else "")
            case ast.Assert(test):
                if not frame.value(test):
                    raise _RaisedError(f"AssertionError({ast.unparse(test)[:150]})")
            case ast.Expr(ast.Call() as call):
                frame.call(call)
            case ast.With(_, body) | ast.Try(body):
                self.block(body, frame)

    def _branch(
        self, test: ast.expr, body: list[ast.stmt], orelse: list[ast.stmt], frame: "_Frame"
    ) -> None:
        """An arm whose test cannot be told is unclear, unless it only refuses or warns."""
        try:
            arm = body if frame.value(test) else orelse
        except UnclearError:
            if any(_stores(x) for x in (*body, *orelse)):
                raise
            arm = []
        self.block(arm, frame)

    def _loop(
        self, target: ast.expr, iterable: ast.expr, body: list[ast.stmt], frame: "_Frame"
    ) -> None:
        items = frame.tolerant(iterable)
        if not isinstance(items, list | tuple | set | range):
            return
        for item in items:
            frame.store(target, item)
            self.block(body, frame)

    def callees(
        self, path: tuple[str, ...], frame: "_Frame", name: str
    ) -> Iterator[tuple[Instance, FunctionOutline]]:
        rest = path[len(frame.path) :]
        for instance in self._index.types.along([frame.instance], rest):
            found = self._index.modules.method(instance.cls, name)
            if found is not None:
                yield instance, found[1]

    def configured(self, path: tuple[str, ...]) -> object:
        """A field of the model's configuration, and on which stage this is."""
        if path[-1] in ("is_last_rank", "is_first_rank"):
            return True
        owner = next((x for x in reversed(path[:-1]) if "config" in x), None)
        value = self._config.find(path[-1]) if owner is not None else None
        if value is None:
            raise UnclearError(".".join(path))
        return value


def _stores(node: ast.stmt) -> bool:
    """Does a statement do more than raise, return nothing or log?"""
    return any(
        isinstance(x, ast.Assign | ast.AnnAssign | ast.AugAssign | ast.For)
        or (isinstance(x, ast.Call) and "capture" in ast.unparse(x.func))
        for x in ast.walk(node)
    )


class _Frame(Scope):
    """The names of one call, and what its object holds."""

    def __init__(
        self,
        runner: _Runner,
        path: tuple[str, ...],
        instance: Instance,
        own: str,
        names: dict[str, object],
        depth: int,
    ) -> None:
        super().__init__(names)
        self._runner = runner
        self.path = path
        self.instance = instance
        self._own = own
        self._depth = depth

    def value(self, node: ast.expr) -> object:
        return evaluate(node, self)

    def tolerant(self, node: ast.expr) -> object:
        """A value, or what stands for one that is not understood."""
        try:
            return evaluate(node, self)
        except UnclearError as unclear:
            return unclear

    def store(self, target: ast.expr, value: object) -> None:
        if isinstance(target, ast.Name):
            self.names[target.id] = value
        elif isinstance(target, ast.Attribute):
            path = self._path(target)
            if path is not None:
                self._runner.stores[path] = value
        elif isinstance(target, ast.Tuple) and isinstance(value, list | tuple):
            for item, inner in zip(target.elts, value, strict=False):
                self.store(item, inner)

    def _path(self, node: ast.expr) -> tuple[str, ...] | None:
        """``self.model.x`` as a path from the served class; also through a local."""
        match node:
            case ast.Name(id) if id == self._own:
                return self.path
            case ast.Name(id):
                held = self.names.get(id)
                return held.path if isinstance(held, UnclearError) and held.path else None
            case ast.Attribute(owner, name):
                base = self._path(owner)
                return None if base is None else (*base, name)
            case _:
                return None

    def attribute(self, node: ast.Attribute) -> object:
        path = self._path(node)
        if path is None:
            raise UnclearError(ast.unparse(node))
        if path in self._runner.stores:
            return self._runner.stores[path]
        try:
            return self._runner.configured(path)
        except UnclearError:
            raise UnclearError(ast.unparse(node), path) from None

    def has(self, owner: ast.expr, name: str) -> bool:
        path = self._path(owner)
        if path is None:
            raise UnclearError(ast.unparse(owner))
        if next(self._runner.callees(path, self, name), None) is not None:
            return True
        try:
            self._runner.configured((*path, name))
        except UnclearError:
            # An object of a known class that has no such method.
            return False
        return True

    def call(self, node: ast.Call) -> object:
        """A method of an object that the served class holds."""
        if not isinstance(node.func, ast.Attribute):
            return self.tolerant(node)
        path = self._path(node.func.value)
        if path is None:
            return self.tolerant(node)
        for instance, function in self._runner.callees(path, self, node.func.attr):
            given = [self.tolerant(x) for x in node.args]
            names = [x.arg for x in function.node.args.args[1:]]
            for keyword in node.keywords:
                if keyword.arg in names:
                    place = names.index(keyword.arg)
                    given += [None] * (place + 1 - len(given))
                    given[place] = self.tolerant(keyword.value)
            return self._runner.method(function, path, instance, given, self._depth + 1)
        raise UnclearError(ast.unparse(node.func))
