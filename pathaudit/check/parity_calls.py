"""Calls of layers as they stand in a function: what each parameter of a layer is given."""

import ast
from collections.abc import Iterator

from msgspec import Struct

from pathaudit.check.sites import stack_in
from pathaudit.index import ClassRef, FunctionOutline, FunctionRef, Index


class LayerCall(Struct, frozen=True, eq=False):
    """A call of one layer: ``given`` by the parameter's name, ``targets`` what the result is.

    ``moving`` are the names that each iteration sets anew, such as the number of the layer.
    """

    ref: FunctionRef
    function: FunctionOutline
    call: ast.Call
    given: tuple[tuple[str, ast.expr], ...]
    targets: tuple[str, ...]
    moving: frozenset[str]


def layer_calls(
    index: Index,
    ref: FunctionRef,
    stacks: frozenset[str],
    layers: tuple[ClassRef, ...],
) -> Iterator[LayerCall]:
    """The calls in loops of a function that run a layer of a stack, with all arguments bound."""
    function = index.modules.function(ref)
    if function is None or not function.attributes & stacks:
        return
    names = _parameters(index, layers)
    for loop in function.nodes:
        if not isinstance(loop, ast.For | ast.While) or names is None:
            continue
        elements = layers_in(loop, function, stacks)
        for statement in ast.walk(loop):
            if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Call):
                call = statement.value
                if is_element(call.func, elements, stacks):
                    given = tuple(_bound(call, names))
                    targets = _targets(statement.targets[0])
                    moving = _moving(loop, targets)
                    yield LayerCall(ref, function, call, given, targets, moving)


def _parameters(index: Index, layers: tuple[ClassRef, ...]) -> list[str] | None:
    """The parameters of a layer without the receiver, if all classes agree on them."""
    found: list[list[str]] = []
    for cls in layers:
        method = index.modules.method(cls, index.profile.modules.call)
        if method is not None:
            arguments = method[1].node.args
            found.append([x.arg for x in (*arguments.posonlyargs, *arguments.args)][1:])
    return found[0] if found and all(names == found[0] for names in found) else None


def layers_in(
    loop: ast.For | ast.While, function: FunctionOutline, stacks: frozenset[str]
) -> frozenset[str]:
    """The names that hold a layer in a loop."""
    found = set()
    if isinstance(loop, ast.For):
        targets = loop.target.elts if isinstance(loop.target, ast.Tuple) else [loop.target]
        if isinstance(targets[-1], ast.Name) and stack_in(loop.iter, function, stacks):
            found.add(targets[-1].id)
    for node in ast.walk(loop):
        match node:
            case ast.Assign([ast.Name(name)], value) if _is_item(value, stacks):
                found.add(name)
    return frozenset(found)


def is_element(node: ast.expr, elements: frozenset[str], stacks: frozenset[str]) -> bool:
    """Is an expression a layer: one of some names, or an item of a stack?"""
    return (isinstance(node, ast.Name) and node.id in elements) or _is_item(node, stacks)


def _is_item(node: ast.expr, stacks: frozenset[str]) -> bool:
    """``self.layers[i]`` or ``self.model.layers[i]``."""
    match node:
        case ast.Subscript(ast.Attribute(_, name), index):
            return name in stacks and not isinstance(index, ast.Slice)
        case _:
            return False


def _bound(call: ast.Call, names: list[str]) -> Iterator[tuple[str, ast.expr]]:
    yield from zip(names, call.args, strict=False)
    yield from ((item.arg, item.value) for item in call.keywords if item.arg is not None)


def _targets(node: ast.expr) -> tuple[str, ...]:
    items = node.elts if isinstance(node, ast.Tuple | ast.List) else [node]
    return tuple(ast.unparse(item) for item in items)


def _moving(loop: ast.For | ast.While, results: tuple[str, ...]) -> frozenset[str]:
    """The names that a loop sets in each iteration, other than the results of its layers."""
    stored = {
        node.id
        for node in ast.walk(loop)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    return frozenset(stored - set(results))


def reads(index: Index, layers: tuple[ClassRef, ...], name: str) -> bool:
    """Does every layer do something with a parameter?"""
    found = [index.modules.method(cls, index.profile.modules.call) for cls in layers]
    return all(
        method is not None
        and name in method[1].parameters
        and any(
            isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load)
            for node in method[1].nodes
        )
        for method in found
    )


def root_of(node: ast.expr) -> str:
    """The local that an argument is taken from: ``x`` of ``x`` and of ``x.y``; else nothing."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) and node.id != "self" else ""
