"""The calls that a forward leads to, by the classes of the objects that are called.

Every arm of the source is gone through, feasible or not: what this finds nowhere, no path runs.
"""

import ast
from collections.abc import Iterator
from fnmatch import fnmatchcase
from weakref import WeakKeyDictionary

from msgspec import Struct

from pathaudit import ir
from pathaudit.check.covers_calls import calls_of
from pathaudit.check.covers_objects import Objects
from pathaudit.check.places import region_of
from pathaudit.index import (
    ClassRef,
    ClassType,
    FunctionOutline,
    FunctionRef,
    FunctionType,
    Index,
    Instance,
    Types,
)
from pathaudit.index.types import Scope

# More functions than any forward of a release leads to; a call graph that has more is cut.
MOST = 20_000
# How many methods in a row may choose the method that an attribute holds.
CHOICES = 3

Arguments = tuple[tuple[str, Types], ...]


class Called(Struct, frozen=True):
    """A function, the object whose method it is, and the objects that it is given by name."""

    ref: FunctionRef
    receiver: Instance | None = None
    arguments: Arguments = ()


class Edge(Struct, frozen=True):
    """A call, or something that is handed on to be called, by where it ends.

    ``targets`` are all that it may call, as far as is known. ``handed`` is a method that is named
    and not called there; in a list of layers' methods it is one that will be.
    """

    line: int
    column: int
    targets: tuple[Called, ...]
    handed: bool = False


class Named(Struct, frozen=True, eq=False):
    """The calls of a function, and the attributes that it reads and does not call.

    Of each of these it is told whether it stands in a list or tuple.
    """

    calls: tuple[ast.Call, ...]
    attributes: tuple[tuple[ast.Attribute, bool], ...]


_NAMED: "WeakKeyDictionary[FunctionOutline, Named]" = WeakKeyDictionary()


def named_in(function: FunctionOutline) -> Named:
    """What a function calls and reads; it says nothing of a tree, so that it holds for all."""
    if function not in _NAMED:
        nodes = function.nodes
        calls = tuple(node for node in nodes if isinstance(node, ast.Call))
        called = {id(node.func) for node in calls}
        displays = (node for node in nodes if isinstance(node, ast.List | ast.Tuple | ast.Set))
        listed = {id(item) for node in displays for item in node.elts}
        attributes = (
            (node, id(node) in listed)
            for node in nodes
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load)
            if id(node) not in called
        )
        _NAMED[function] = Named(calls, tuple(attributes))
    return _NAMED[function]


class Calls:
    """Everything that one function leads to; found when made."""

    def __init__(self, index: Index, root: FunctionRef, receiver: Instance) -> None:
        self._index = index
        self.root = Called(root, receiver)
        self.receiver = receiver
        self.edges: dict[Called, tuple[Edge, ...]] = {}
        pending = [self.root]
        while pending and len(self.edges) < MOST:
            called = pending.pop()
            if called not in self.edges:
                self.edges[called] = tuple(self._edges(called))
                pending += [x for edge in self.edges[called] for x in edge.targets]

    @property
    def functions(self) -> frozenset[FunctionRef]:
        """All functions that may run."""
        return frozenset(called.ref for called in self.edges)

    def leading(self, targets: frozenset[FunctionRef]) -> frozenset[Called]:
        """What leads to one of some functions, these included."""
        callers: dict[Called, list[Called]] = {}
        for called, edges in self.edges.items():
            for edge in edges:
                for target in edge.targets:
                    callers.setdefault(target, []).append(called)
        found = {called for called in self.edges if called.ref in targets}
        pending = list(found)
        while pending:
            fresh = [x for x in callers.get(pending.pop(), ()) if x not in found]
            found.update(fresh)
            pending += fresh
        return frozenset(found)

    def handed(self, leading: frozenset[Called]) -> tuple[str, ...]:
        """The places where something that leads on is named and not called."""
        found = (
            f"{edge.targets[0].ref.qualname} is named at {called.ref.file}:{edge.line}"
            for called in self.edges
            for edge in self.edges[called]
            if edge.handed and not leading.isdisjoint(edge.targets)
        )
        return tuple(dict.fromkeys(found))

    def _edges(self, called: Called) -> Iterator[Edge]:
        function = self._index.modules.function(called.ref)
        if function is None:
            return
        owner = self._index.modules.owner(called.ref)
        scope = Scope(called.ref.file, called.receiver, owner, function, called.arguments)
        objects = _Made(self._index, scope, calls_of(function).bound)
        named = named_in(function)
        for call in named.calls:
            found = tuple(dict.fromkeys(self._called(call, called, scope, objects)))
            if found:
                yield self._edge(called.ref.file, call, found, handed=False)
        for node, listed in named.attributes:
            found = tuple(self._bound(node, scope, objects))
            if found:
                yield self._edge(called.ref.file, node, found, handed=not listed)

    def _edge(
        self, file: str, node: ast.expr, targets: tuple[Called, ...], *, handed: bool
    ) -> Edge:
        region = region_of(self._index, file, node)
        return Edge(region.end_line, region.end_column, targets, handed)

    def _called(
        self, node: ast.Call, called: Called, scope: Scope, objects: Objects
    ) -> Iterator[Called]:
        for ref, receiver in self._callees(node.func, scope, objects):
            yield Called(ref, receiver, self._handed(ref, receiver, node, objects))
        receiver = called.receiver
        if receiver is None or self._index.is_model(called.ref.file):
            return
        if _is_picked(node.func, objects):
            refs = self._forwards(receiver)
            yield from (Called(ref, receiver) for ref in refs if ref != called.ref)

    def _forwards(self, instance: Instance) -> Iterator[FunctionRef]:
        """The methods of a module that run it, one of which it picks at run time."""
        names: dict[str, None] = {}
        for cls in self._index.modules.mro(instance.cls):
            outline = self._index.modules.class_outline(cls)
            names.update(dict.fromkeys(outline.methods if outline is not None else ()))
        for name in names:
            found = self._index.modules.method(instance.cls, name)
            if found and any(fnmatchcase(name, x) for x in self._index.profile.modules.runs):
                yield found[0]

    def _bound(self, node: ast.Attribute, scope: Scope, objects: Objects) -> Iterator[Called]:
        """A method that is named: a property that runs, or one that is handed on."""
        match node.value:
            case ast.Name("self") if scope.receiver is not None:
                owners: tuple[Instance, ...] = (scope.receiver,)
            case ast.Name() | ast.Attribute():
                owners = objects.of(node.value).instances()
            case _:
                owners = ()
        for item in owners:
            found = self._index.modules.method(item.cls, node.attr)
            if found is not None:
                yield Called(found[0], item)

    def _callees(
        self, function: ast.expr, scope: Scope, objects: Objects
    ) -> Iterator[tuple[FunctionRef, Instance | None]]:
        match function:
            case ast.Attribute(ast.Call(ast.Name("super")), name) if scope.receiver is not None:
                found = self._index.modules.method(scope.receiver.cls, name, after=scope.owner)
                if found is not None:
                    yield found[0], scope.receiver
            case ast.Attribute(owner, name):
                yield from self._members(owner, name, function, scope, objects)
            case _:
                yield from self._of_types(objects.of(function))

    def _members(
        self, owner: ast.expr, name: str, function: ast.expr, scope: Scope, objects: Objects
    ) -> Iterator[tuple[FunctionRef, Instance | None]]:
        """``owner.name(...)``: a method of the owner, or a module that it holds."""
        known = False
        for item in objects.of(owner).items:
            match item:
                case Instance():
                    known = True
                    found = self._index.modules.method(item.cls, name)
                    if found is not None:
                        yield found[0], item
                    else:
                        yield from self._of_types(self._index.types.attribute(item, name))
                        yield from ((ref, item) for ref in self._kept_methods(item, name))
                case ClassType(cls):
                    known = True
                    found = self._index.modules.method(cls, name)
                    if found is not None:
                        yield found[0], scope.receiver if self._is_base(cls, scope) else None
        if not known:
            yield from self._of_types(objects.of(function))

    def _kept_methods(self, instance: Instance, name: str) -> Iterator[FunctionRef]:
        """The methods of an object that one of its attributes may hold."""
        for cls in self._index.modules.mro(instance.cls):
            outline = self._index.modules.class_outline(cls)
            for store in outline.stores if outline is not None else ():
                if store.name == name and store.position is None:
                    yield from self._held(instance, store.value, 0)

    def _held(self, instance: Instance, value: ast.expr, depth: int) -> Iterator[FunctionRef]:
        """The own methods that an expression may be: ``self.a``, or what ``self.pick()`` gives."""
        match value:
            case ast.Attribute(ast.Name("self"), name):
                found = self._index.modules.method(instance.cls, name)
                if found is not None:
                    yield found[0]
            case ast.IfExp(_, body, orelse):
                yield from self._held(instance, body, depth)
                yield from self._held(instance, orelse, depth)
            case ast.Call(ast.Attribute(ast.Name("self"), name)) if depth < CHOICES:
                found = self._index.modules.method(instance.cls, name)
                for returned in found[1].returns if found is not None else ():
                    yield from self._held(instance, returned, depth + 1)

    def _is_base(self, cls: ClassRef, scope: Scope) -> bool:
        """``Base.forward(self, ...)``."""
        receiver = scope.receiver
        return receiver is not None and cls in self._index.modules.mro(receiver.cls)

    def _of_types(self, types: Types) -> Iterator[tuple[FunctionRef, Instance | None]]:
        """Calling a module calls its forward, and a class its constructor."""
        for item in types.items:
            match item:
                case Instance(cls):
                    found = self._index.modules.method(cls, self._index.profile.modules.call)
                    if found is None:
                        found = self._index.modules.method(cls, "__call__")
                    if found is not None:
                        yield found[0], item
                case ClassType(cls):
                    found = self._index.modules.method(cls, "__init__")
                    if found is not None:
                        yield found[0], Instance(cls)
                case FunctionType(ref):
                    yield ref, None

    def _handed(
        self, ref: FunctionRef, receiver: Instance | None, node: ast.Call, objects: Objects
    ) -> Arguments:
        """The objects that a function is given, by the names it gives them."""
        function = self._index.modules.function(ref)
        if function is None:
            return ()
        names = [item.arg for item in function.node.args.args]
        names = names[1:] if receiver is not None and not self._index.is_static(ref) else names
        pairs = [*zip(names, node.args, strict=False)]
        pairs += [(item.arg, item.value) for item in node.keywords if item.arg]
        found = [
            (name, objects.of(value))
            for name, value in pairs
            if isinstance(value, ast.Name | ast.Attribute | ast.Subscript)
        ]
        return tuple((name, types) for name, types in found if types.instances() or types.stacks())


class _Made(Objects):
    """Also knows what a constructor makes, and from what a name was picked."""

    def picked(self, name: str) -> bool:
        """Is a name given something that is got of ``self`` by whatever way?"""
        return any(_is_of_self(value) for value in self._assigned.get(name, ()))

    def of(self, node: ast.expr) -> Types:
        if isinstance(node, ast.Call):
            made = [
                Instance(x.cls) for x in super().of(node.func).items if isinstance(x, ClassType)
            ]
            if made:
                return Types(tuple(made))
        return super().of(node)


def _is_picked(function: ast.expr, objects: Objects) -> bool:
    """Is something called that an object picked of itself: ``getattr(self, name)(...)``?"""
    match function:
        case ast.Name(name):
            return isinstance(objects, _Made) and objects.picked(name)
        case ast.Call(ast.Name("getattr"), [ast.Name("self"), *_]):
            return True
        case _:
            return False


def _is_of_self(value: ast.expr) -> bool:
    match value:
        case ast.Attribute(ast.Name("self"), _) | ast.Call(ast.Attribute(ast.Name("self"), _)):
            return True
        case ast.Call(ast.Name("getattr"), [ast.Name("self"), *_]):
            return True
        case ast.BoolOp(_, values):
            return any(_is_of_self(item) for item in values)
        case _:
            return False


def ends(region: ir.Region) -> tuple[int, int]:
    """Where a call ends: no two calls of a file end in one place."""
    return region.end_line, region.end_column
