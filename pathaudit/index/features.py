"""What a feature is: the attributes that its arming setter writes, followed as code.

``set_eagle3_layers_to_capture`` of a served class may write ``self.model.layers_to_capture`` and
``self.capture_aux_hidden_states``, call the model's own setter, and mark single layers. What is
assumed while the feature is on is what these stores imply, and nothing else.
"""

import ast
from collections.abc import Iterator

from msgspec import Struct

from pathaudit.index.oracle import TypeOracle
from pathaudit.index.outline import FunctionOutline
from pathaudit.index.resolve import ClassRef, FunctionRef, Modules
from pathaudit.index.types import Instance

CALL_DEPTH = 8

# Kinds of stored values: a list that is not empty, a constant, or something not known.
LISTED, TRUE, FALSE, NONE, ANYTHING = "listed", "true", "false", "none", "anything"


class Write(Struct, frozen=True, order=True):
    """``self.<path>.<name> = value``; ``element`` where it is stored on a layer of a stack."""

    path: tuple[str, ...]
    name: str
    kind: str
    element: bool = False


class Feature(Struct, frozen=True, order=True):
    """One setter of one served class, and what it stores; paths start at that class.

    ``lost`` are paths of objects that it asks to arm themselves, and whose class is not known.
    """

    setter: str
    entry: ClassRef
    writes: tuple[Write, ...]
    lost: tuple[tuple[str, ...], ...] = ()

    def seen_from(self, path: tuple[str, ...]) -> "tuple[Write, ...]":
        """The writes below the object at ``path``, relative to it."""
        depth = len(path)
        return tuple(
            Write(write.path[depth:], write.name, write.kind, write.element)
            for write in self.writes
            if write.path[:depth] == path
        )


class _Target(Struct, frozen=True):
    """An object that code names: a path from the served class, or a layer of the stack there."""

    path: tuple[str, ...]
    element: bool = False


class _Frame(Struct, frozen=True, eq=False):
    """One method being followed: its receiver and what its names mean."""

    instance: Instance
    path: tuple[str, ...]
    owner: ClassRef
    names: dict[str, _Target]
    kinds: dict[str, str]
    depth: int


def follow_setter(modules: Modules, types: TypeOracle, entry: ClassRef, setter: str) -> Feature:
    """The feature that ``setter``, found on ``entry`` or its bases, arms."""
    follower = _Follower(modules, types, setter)
    found = modules.method(entry, setter)
    if found is not None:
        owner = modules.owner(found[0]) or entry
        follower.method(found[1], _Frame(Instance(entry), (), owner, {}, {}, 0), None)
    lost = tuple(sorted(set(follower.lost)))
    return Feature(setter, entry, tuple(sorted(_settled(follower.writes))), lost)


def _settled(writes: list[Write]) -> Iterator[Write]:
    """One write an attribute: stores that differ in kind say only that it is written."""
    kinds: dict[tuple[tuple[str, ...], str, bool], set[str]] = {}
    for write in writes:
        kinds.setdefault((write.path, write.name, write.element), set()).add(write.kind)
    for (path, name, element), found in kinds.items():
        yield Write(path, name, found.pop() if len(found) == 1 else ANYTHING, element)


class _Follower:
    def __init__(self, modules: Modules, types: TypeOracle, setter: str) -> None:
        self._modules = modules
        self._types = types
        self._setter = setter
        self.writes: list[Write] = []
        self.lost: list[tuple[str, ...]] = []

    def method(self, function: FunctionOutline, frame: _Frame, call: ast.Call | None) -> None:
        """Follow one method, its parameters bound to the kinds of the call's arguments."""
        names = [item.arg for item in function.node.args.args]
        if names:
            frame.names[names[0]] = _Target(frame.path)
        # The outermost call hands over the ids of the layers that are asked for.
        frame.kinds.update(dict.fromkeys(names[1:], LISTED if call is None else ANYTHING))
        self._body(function.node.body, frame)

    def _body(self, body: list[ast.stmt], frame: _Frame) -> None:
        for statement in body:
            self._statement(statement, frame)

    def _statement(self, statement: ast.stmt, frame: _Frame) -> None:  # noqa: C901 - one arm a form
        match statement:
            case ast.Assign(targets, value):
                self._calls(value, frame)
                for target in targets:
                    self._store(target, value, frame)
            case ast.AnnAssign(target, _, value) if value is not None:
                self._store(target, value, frame)
            case ast.If(test, body, orelse):
                known = self._known(test, frame)
                if known is not False:
                    self._body(body, frame)
                if known is not True:
                    self._body(orelse, frame)
            case ast.For(target, iterable, body, _):
                self._bind_loop(target, iterable, frame)
                self._body(body, frame)
            case ast.With(_, body) | ast.While(_, body, _):
                self._body(body, frame)
            case ast.Try(body, _, orelse, final):
                self._body([*body, *orelse, *final], frame)
            case ast.Expr(value):
                self._calls(value, frame)

    # ---- stores ----

    def _store(self, target: ast.expr, value: ast.expr, frame: _Frame) -> None:
        kind = self._kind(value, frame)
        if isinstance(target, ast.Name):
            frame.kinds[target.id] = kind
            found = self._target(value, frame)
            if found is not None:
                frame.names[target.id] = found
        elif isinstance(target, ast.Attribute):
            self._write(target.value, target.attr, kind, value, frame)

    def _write(self, where: ast.expr, name: str, kind: str, value: ast.expr, frame: _Frame) -> None:
        target = self._target(where, frame)
        if target is None:
            return
        if target.element and isinstance(value, ast.Compare):
            # `layer.flag = layer_id in ids` is true for the layers that are asked for.
            kind = TRUE if isinstance(value.ops[0], ast.In) else ANYTHING
        self.writes.append(Write(target.path, name, kind, target.element))

    def _target(self, node: ast.expr, frame: _Frame) -> _Target | None:
        match node:
            case ast.Name(id):
                return frame.names.get(id)
            case ast.Attribute(value, attr):
                base = self._target(value, frame)
                return _Target((*base.path, attr)) if base and not base.element else None
            case ast.Subscript(value):
                base = self._target(value, frame)
                return _Target(base.path, element=True) if base else None
            case _:
                return None

    def _bind_loop(self, target: ast.expr, iterable: ast.expr, frame: _Frame) -> None:
        """``for layer in self.layers`` and ``for i, layer in enumerate(self.layers)``."""
        if isinstance(iterable, ast.Call) and iterable.args:
            iterable = iterable.args[0]
            if isinstance(target, ast.Tuple) and len(target.elts) == 2:
                target = target.elts[1]
        base = self._target(iterable, frame)
        if isinstance(target, ast.Name) and base is not None:
            frame.names[target.id] = _Target(base.path, element=True)

    def _kind(self, node: ast.expr, frame: _Frame) -> str:  # noqa: C901 - one arm a form
        match node:
            case ast.Constant(True):
                return TRUE
            case ast.Constant(False):
                return FALSE
            case ast.Constant(None):
                return NONE
            case ast.List(items) | ast.Tuple(items) | ast.Set(items):
                return LISTED if items else ANYTHING
            case ast.ListComp() | ast.SetComp():
                return LISTED
            case ast.Name(id):
                return frame.kinds.get(id, ANYTHING)
            case ast.Call(ast.Name("list" | "set" | "tuple" | "sorted" | "frozenset"), [inner]):
                return self._kind(inner, frame)
            case ast.GeneratorExp():
                return LISTED
            case ast.BoolOp(_, values):
                return self._kind(values[-1], frame)
            case ast.IfExp(_, body, orelse):
                kinds = {self._kind(body, frame), self._kind(orelse, frame)}
                return kinds.pop() if len(kinds) == 1 else ANYTHING
            case _:
                return ANYTHING

    # ---- calls ----

    def _calls(self, value: ast.expr, frame: _Frame) -> None:
        for node in ast.walk(value):
            match node:
                case ast.Call(ast.Name("setattr"), [where, ast.Constant(str(name)), stored]):
                    self._write(where, name, self._kind(stored, frame), stored, frame)
                case ast.Call(ast.Attribute(receiver, name)):
                    self._call(node, receiver, name, frame)

    def _call(self, node: ast.Call, receiver: ast.expr, name: str, frame: _Frame) -> None:
        if frame.depth > CALL_DEPTH:
            return
        if ast.unparse(receiver) == "super()":
            found = self._modules.method(frame.instance.cls, name, after=frame.owner)
            self._enter(node, found, frame.instance, frame.path, frame)
            return
        target = self._target(receiver, frame)
        if target is None or target.element:
            return
        instances = self.instances(frame, target.path)
        if not instances and name == self._setter:
            self.lost.append(target.path)
        for instance in instances:
            found = self._modules.method(instance.cls, name)
            self._enter(node, found, instance, target.path, frame)

    def _enter(
        self,
        call: ast.Call,
        found: tuple[FunctionRef, FunctionOutline] | None,
        instance: Instance,
        path: tuple[str, ...],
        frame: _Frame,
    ) -> None:
        if found is None:
            return
        ref, function = found
        owner = self._modules.owner(ref) or instance.cls
        inner = _Frame(instance, path, owner, {}, {}, frame.depth + 1)
        parameters = [item.arg for item in function.node.args.args[1:]]
        pairs = [*zip(parameters, call.args, strict=False)]
        pairs += [(item.arg, item.value) for item in call.keywords if item.arg]
        kinds = {name: self._kind(value, frame) for name, value in pairs}
        names = [item.arg for item in function.node.args.args]
        if names:
            inner.names[names[0]] = _Target(path)
        inner.kinds.update(kinds)
        self._body(function.node.body, inner)

    def instances(self, frame: _Frame, path: tuple[str, ...]) -> tuple[Instance, ...]:
        """The classes of the object at ``path``, which starts at the served class."""
        return self._types.along([frame.instance], path[len(frame.path) :])

    def _known(self, test: ast.expr, frame: _Frame) -> bool | None:
        """``hasattr(self.model, "name")`` where the class is known."""
        match test:
            case ast.UnaryOp(ast.Not(), operand):
                known = self._known(operand, frame)
                return None if known is None else not known
            case ast.Call(ast.Name("hasattr"), [where, ast.Constant(str(name))]):
                target = self._target(where, frame)
                if target is None or target.element:
                    return None
                return self._has(self.instances(frame, target.path), name)
            case _:
                return None

    def _has(self, instances: tuple[Instance, ...], name: str) -> bool | None:
        answers = {self._modules.method(item.cls, name) is not None for item in instances}
        if len(answers) != 1:
            return None
        return answers.pop() or None if instances else None
