"""What layers do with a value that is handed from one to the next: is there one, is it read?"""

import ast
from collections.abc import Iterable

from pathaudit.check.relays_layers import Run
from pathaudit.index import FunctionRef, Index, Instance
from pathaudit.index.outline import FunctionOutline

# How many calls lie between a layer and what makes its result.
_DEPTH = 3


class Layers:
    """The classes of an object's layers, as far as they are known."""

    def __init__(self, index: Index, instance: Instance, stacks: Iterable[str]) -> None:
        self._index = index
        held = [
            x for name in sorted(stacks) for x in index.types.attribute(instance, name).stacks()
        ]
        types = [stack.elements for stack in held if stack.decoder]
        known = bool(types) and all(item.complete for item in types)
        self._classes = tuple(x for item in types for x in item.instances()) if known else ()

    def hand_on(self, run: Run, name: str) -> bool:
        """Does some layer give, and read, a value that a loop hands on under a name?

        ``True`` where the layers are not known.
        """
        methods = [self._method(layer, run) for layer in self._classes]
        if not methods or any(item is None for item in methods):
            return True
        pairs = zip(self._classes, (x for x in methods if x is not None), strict=True)
        return any(
            self._gives(layer, ref, _position(run, name), 0) and self._reads(ref, run, name)
            for layer, ref in pairs
        )

    def _method(self, layer: Instance, run: Run) -> FunctionRef | None:
        call = self._index.profile.modules.call
        function = run.call.func
        name = function.attr if isinstance(function, ast.Attribute) else call
        found = self._index.modules.method(layer.cls, name)
        return found[0] if found is not None else None

    def _gives(self, layer: Instance, ref: FunctionRef, position: int | None, depth: int) -> bool:
        """Does a method return anything but ``None`` at a position of its tuple?"""
        function = self._index.modules.function(ref)
        if function is None or position is None or depth > _DEPTH:
            return True
        found = function.returns
        return not found or any(
            self._is_given(layer, ref, value, position, depth) for value in found
        )

    def _is_given(
        self, layer: Instance, ref: FunctionRef, value: ast.expr, position: int, depth: int
    ) -> bool:
        match value:
            case ast.Tuple(items) if position < len(items):
                function = self._index.modules.function(ref)
                return function is None or not _is_nothing(items[position], function)
            case ast.Call(ast.Attribute(ast.Name("self"), name)):
                inner = self._index.modules.method(layer.cls, name)
                return inner is None or self._gives(layer, inner[0], position, depth + 1)
            case _:
                return True

    def _reads(self, ref: FunctionRef, run: Run, name: str) -> bool:
        """Does a method read the parameter that brings the value?"""
        function = self._index.modules.function(ref)
        if function is None:
            return True
        names = _given_as(function, run.call, name)
        read = {
            part.id
            for statement in function.node.body
            for part in ast.walk(statement)
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load)
        }
        return names is None or not names.isdisjoint(read)


def _position(run: Run, name: str) -> int | None:
    """Where a name stands in the tuple that a run is unpacked to."""
    for target in run.node.targets if isinstance(run.node, ast.Assign) else ():
        for position, item in enumerate(target.elts if isinstance(target, ast.Tuple) else ()):
            if isinstance(item, ast.Name) and item.id == name:
                return position
    return None


def _is_nothing(value: ast.expr, function: FunctionOutline) -> bool:
    match value:
        case ast.Constant(None):
            return True
        case ast.Name(name):
            values = function.locals.get(name, [])
            given = {item.arg for item in function.nodes if isinstance(item, ast.arg)}
            return bool(values) and name not in given and all(_is_none(x.value) for x in values)
        case _:
            return False


def _is_none(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value is None


def _given_as(function: FunctionOutline, call: ast.Call, name: str) -> set[str] | None:
    """The parameters that a name is given as; ``None`` where that is not plain."""
    arguments = function.node.args
    order = [item.arg for item in (*arguments.posonlyargs, *arguments.args)][1:]
    known = {*order, *(item.arg for item in arguments.kwonlyargs)}
    pairs = [*zip(order, call.args, strict=False)]
    pairs += [(item.arg, item.value) for item in call.keywords if item.arg]
    found = {key for key, value in pairs if isinstance(value, ast.Name) and value.id == name}
    plain = found and found <= known
    return found if plain else None
