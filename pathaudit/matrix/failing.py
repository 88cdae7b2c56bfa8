"""A setter that hands on to an object which has no such method: it raises when it is called."""

import ast
from collections.abc import Iterator

from pathaudit.index import ClassRef, Index, Instance
from pathaudit.results.matrices import Evidence


def failing_call(index: Index, entry: ClassRef, setter: str) -> Evidence | None:
    """Where a served class's setter calls one of its name that is not there, whatever it is given.

    Nothing is said of a call that asks first, or of an object that may have methods which are not
    to be seen.
    """
    found = index.modules.method(entry, setter)
    if found is None:
        return None
    ref, function = found
    for call, path in _calls(function.node, setter):
        holders = _held(index, entry, path)
        if holders and all(_lacks(index, item, setter) for item in holders):
            names = " and ".join(sorted({item.cls.name for item in holders}))
            where = ".".join(("self", *path))
            return Evidence(ref.file, call.lineno, f"{where} is {names}, which has no {setter}")
    return None


def _calls(
    function: ast.FunctionDef | ast.AsyncFunctionDef, name: str
) -> Iterator[tuple[ast.Call, tuple[str, ...]]]:
    """``self.model.<name>(...)`` that stands under no test of what the object has."""
    pending: list[ast.AST] = list(function.body)
    while pending:
        node = pending.pop(0)
        if isinstance(node, ast.If | ast.IfExp | ast.Try) and _asks(node):
            continue
        match node:
            case ast.Call(ast.Attribute(owner, called)) if called == name:
                path = _path(owner)
                if path:
                    yield node, path
        pending.extend(ast.iter_child_nodes(node))


def _asks(node: ast.If | ast.IfExp | ast.Try) -> bool:
    if isinstance(node, ast.Try):
        return True
    names = {x.id for x in ast.walk(node.test) if isinstance(x, ast.Name)}
    return not names.isdisjoint(("hasattr", "getattr", "callable", "isinstance"))


def _path(node: ast.expr) -> tuple[str, ...]:
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    return tuple(reversed(names)) if isinstance(node, ast.Name) and node.id == "self" else ()


def _held(index: Index, entry: ClassRef, path: tuple[str, ...]) -> tuple[Instance, ...]:
    """The classes of an object, if they are all known."""
    held: tuple[Instance, ...] = (Instance(entry),)
    for name in path:
        types = [index.types.attribute(item, name) for item in held]
        if not types or not all(item.complete for item in types):
            return ()
        held = tuple(x for item in types for x in item.instances())
    return held


def _lacks(index: Index, item: Instance, name: str) -> bool:
    modules = index.modules
    hidden = modules.has_unknown_base(item.cls) or modules.method(item.cls, "__getattr__")
    return not hidden and modules.method(item.cls, name) is None
