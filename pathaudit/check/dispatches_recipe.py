"""What a recipe takes from a layer: the operations that it lists, and which the layer lacks."""

import ast
from collections.abc import Iterator

from msgspec import Struct

from pathaudit.check.dispatches_runner import CALL_DEPTH, Recipe
from pathaudit.check.sites import symbol_of
from pathaudit.index import ClassRef, External, FunctionRef, Index, Instance, Symbol


class Listed(Struct, frozen=True, eq=False):
    """``layer.mlp.op_gate`` in a list of the function ``ref``: ``path`` is ``mlp, op_gate``."""

    ref: FunctionRef
    node: ast.Attribute
    path: tuple[str, ...]


def operations(index: Index, recipe: Recipe, depth: int = 0) -> Iterator[Listed]:
    """What a recipe, and those it hands its layer to, list to be called."""
    function = index.modules.function(recipe.ref)
    if function is None or depth > CALL_DEPTH:
        return
    for node in function.nodes:
        if isinstance(node, ast.List):
            for item in node.elts:
                path = _path(item, recipe.name)
                if path and isinstance(item, ast.Attribute):
                    yield Listed(recipe.ref, item, path)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            symbol = symbol_of(index, recipe.ref.file, function, node.func.id)
            if isinstance(symbol, FunctionRef):
                for name in _given(index, node, symbol, recipe.name):
                    yield from operations(index, Recipe(symbol, name), depth + 1)


def _given(index: Index, call: ast.Call, callee: FunctionRef, layer: str) -> Iterator[str]:
    function = index.modules.function(callee)
    if function is None:
        return
    names = [item.arg for item in function.node.args.args]
    pairs = [*zip(names, call.args, strict=False)]
    pairs += [(x.arg, x.value) for x in call.keywords if x.arg in function.parameters]
    yield from (name for name, x in pairs if isinstance(x, ast.Name) and x.id == layer)


def _path(node: ast.expr, layer: str) -> tuple[str, ...]:
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    return tuple(reversed(names)) if isinstance(node, ast.Name) and node.id == layer else ()


def lacks(index: Index, cls: ClassRef, path: tuple[str, ...]) -> bool:
    """Does no object at the path have the method? Not, where a class of one is not known."""
    holders = [Instance(cls)]
    for name in path[:-1]:
        found = [index.types.attribute(item, name) for item in holders]
        if not all(types.complete and types.instances() for types in found):
            return False
        holders = [x for types in found for x in types.instances()]
    return all(_has_not(index, item.cls, path[-1]) for item in holders)


def _has_not(index: Index, cls: ClassRef, name: str) -> bool:
    order = index.modules.mro(cls)
    bases = [base for item in order for base in index.modules.bases(item)]
    plain = (*index.profile.modules.bases, "object", "abc.ABC")
    if any(
        base is None or (isinstance(base, External) and base.name not in plain) for base in bases
    ):
        return False
    if any(index.modules.method(cls, x) is not None for x in (name, "__getattr__")):
        return False
    outlines = [index.modules.class_outline(item) for item in order]
    return not any(
        outline is not None
        and (name in outline.attributes or any(x.name == name for x in outline.stores))
        for outline in outlines
    )


def _is_plain(index: Index, base: Symbol | None) -> bool:
    """Is a base a class of the tree, or one that brings no operations?"""
    if isinstance(base, External):
        return base.name in (*index.profile.modules.bases, "object", "abc.ABC")
    return base is not None
