"""Which methods unpack what a model returns: a cheap look, before anything is executed.

A model is a module that owns decoder layers, or holds one that does.
"""

import ast
from collections.abc import Iterator

from pathaudit.index import ClassRef, FunctionOutline, FunctionRef, Index, Instance

INNER_DEPTH = 2
MODEL_DEPTH = 3


class Models:
    """Tells models from other modules; answers are kept."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._known: dict[ClassRef, bool] = {}

    def owns_layers(self, instance: Instance, depth: int = MODEL_DEPTH) -> bool:
        """Has a module decoder layers, or holds one that has?"""
        cls = instance.cls
        if cls not in self._known:
            self._known[cls] = False  # answers recursion
            self._known[cls] = self._index.is_model(cls.file) and (
                self._has_stack(instance) or self._holds_model(instance, depth)
            )
        return self._known[cls]

    def _has_stack(self, instance: Instance) -> bool:
        """Does a class make a stack of layers? Only containers are asked what they hold."""
        stacks = self._index.profile.stacks
        makers = {item.call for item in stacks.constructors}
        containers = {name.rpartition(".")[2] for name in stacks.containers}
        for cls in self._index.modules.mro(instance.cls):
            outline = self._index.modules.class_outline(cls)
            for store in outline.stores if outline is not None else ():
                name = _called(store.value)
                if name in makers:
                    return True
                if name in containers:
                    held = self._index.types.attribute(instance, store.name)
                    if any(stack.decoder for stack in held.stacks()):
                        return True
        return False

    def _holds_model(self, instance: Instance, depth: int) -> bool:
        return depth > 0 and any(
            self.owns_layers(inner, depth - 1)
            for name in sorted(called_modules(self._index, instance))
            for inner in self._index.types.attribute(instance, name).instances()
        )

    def is_member(self, instance: Instance, name: str) -> bool:
        """Is an attribute of an object a model, or a method that mentions one?"""
        method = self._index.modules.method(instance.cls, name)
        if method is not None and not _is_property(method[1]):
            mentioned = self._index.attributes_of(method[0])
            return any(self._is_model(instance, x) for x in sorted(mentioned))
        return self._is_model(instance, name)

    def _is_model(self, instance: Instance, name: str) -> bool:
        if name not in self._index.attributes_stored(instance.cls):
            method = self._index.modules.method(instance.cls, name)
            if method is None or not _is_property(method[1]):
                return False
        held = self._index.types.attribute(instance, name).instances()
        return any(self.owns_layers(item) for item in held)


def unpacking_methods(
    index: Index, models: Models, instance: Instance, depth: int = INNER_DEPTH
) -> Iterator[tuple[Instance, FunctionRef]]:
    """The entry methods of an object, and of the unserved models it holds, that may unpack."""
    found = False
    for name in index.profile.entries.methods:
        method = index.modules.method(instance.cls, name)
        closure = index.closure(instance.cls, method[0]) if method is not None else ()
        if method is not None and any(_unpacks(index, models, instance, x) for x in closure):
            found = True
            yield instance, method[0]
    if found or not depth:
        return
    for name in sorted(called_modules(index, instance)):
        for inner in index.types.attribute(instance, name).instances():
            served = inner.cls in index.served(inner.cls.file)
            if index.is_model(inner.cls.file) and not served and models.owns_layers(inner):
                yield from unpacking_methods(index, models, inner, depth - 1)


def _called(node: ast.expr) -> str:
    """The last name of what a call calls."""
    match node:
        case ast.Call(ast.Name(name)) | ast.Call(ast.Attribute(_, name)):
            return name
        case _:
            return ""


def _is_property(function: FunctionOutline) -> bool:
    return any(name.endswith("property") for name in function.decorators)


def called_modules(index: Index, instance: Instance) -> frozenset[str]:
    """The attributes that hold new objects and are mentioned where the object is called."""
    mentioned: set[str] = set()
    for name in (index.profile.modules.call, *index.profile.entries.methods):
        method = index.modules.method(instance.cls, name)
        if method is not None:
            mentioned.update(index.attributes_of(method[0]))
    return index.attributes_stored(instance.cls) & mentioned


def _unpacks(index: Index, models: Models, instance: Instance, ref: FunctionRef) -> bool:
    """Does a method unpack what a model may have returned?"""
    function = index.modules.function(ref)
    nodes = list(function.nodes) if function is not None else []
    assignments = [node for node in nodes if isinstance(node, ast.Assign)]
    return any(
        _may_return(models, instance, call)
        for item in assignments
        if any(isinstance(x, ast.Tuple | ast.List) and len(x.elts) > 1 for x in item.targets)
        for call in _calls_behind(item.value, assignments)
    )


def _calls_behind(value: ast.expr, assignments: list[ast.Assign]) -> Iterator[ast.Call]:
    """The calls that an unpacked value comes from: itself, or what its name was assigned."""
    values = [value]
    if isinstance(value, ast.Name):
        values = [
            item.value
            for item in assignments
            if any(isinstance(x, ast.Name) and x.id == value.id for x in item.targets)
        ]
    for item in values:
        arms = (item.body, item.orelse) if isinstance(item, ast.IfExp) else (item,)
        yield from (arm for arm in arms if isinstance(arm, ast.Call))


def _may_return(models: Models, instance: Instance, call: ast.Call) -> bool:
    """``self.model(...)``, ``self.method(...)``, ``super().forward(...)``, ``run(self.model)``."""
    name = _own_member(call.func)
    if name is not None:
        return not name or models.is_member(instance, name)
    values = [*call.args, *(item.value for item in call.keywords)]
    members = (_own_member(value) for value in values)
    return any(models.is_member(instance, member) for member in members if member)


def _own_member(node: ast.expr) -> str | None:
    """The first attribute after ``self``; nothing after ``super()``; ``None`` for other code."""
    name = ""
    while isinstance(node, ast.Attribute):
        name, node = node.attr, node.value
    match node:
        case ast.Name("self") if name:
            return name
        case ast.Call(ast.Name("super")):
            return ""
        case _:
            return None
