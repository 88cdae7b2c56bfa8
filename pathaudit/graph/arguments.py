"""Calls as syntax: what is called, with what, for which parameter."""

import ast
from collections.abc import Iterable, Iterator

from msgspec import Struct

from pathaudit.graph.flow import Literal, Origin
from pathaudit.index import FunctionRef, Index


class Argument(Struct, frozen=True, eq=False):
    """What is given to a call; a ``**`` mapping has that as its keyword."""

    keyword: str
    value: ast.expr
    origin: Origin

    @property
    def is_open(self) -> bool:
        """Does it stand for arguments that are not told?"""
        return self.keyword == "**" or isinstance(self.value, ast.Starred)

    @property
    def literal(self) -> Literal | None:
        if not isinstance(self.value, ast.Constant):
            return None
        return Literal(type(self.value.value).__name__, self.value.value)


def values(node: ast.Call) -> Iterator[tuple[str, ast.expr]]:
    """The arguments of a call with their keywords."""
    for item in node.args:
        yield "", item
    for keyword in node.keywords:
        yield keyword.arg or "**", keyword.value


def named(names: list[str], given: Iterable[Argument]) -> Iterator[tuple[str, Argument]]:
    """Arguments by the parameters that they are for, as far as that can be told."""
    position = 0
    for item in given:
        if item.keyword:
            yield item.keyword, item
        elif position < len(names) and not item.is_open:
            yield names[position], item
            position += 1


def parameters(index: Index, ref: FunctionRef) -> list[str]:
    """What a caller can give, without the receiver."""
    outline = index.modules.function(ref)
    if outline is None:
        return []
    given = outline.node.args
    names = [item.arg for item in (*given.posonlyargs, *given.args)]
    return [*names[1 if _is_bound(index, ref) else 0 :], *(x.arg for x in given.kwonlyargs)]


def receiver_of(index: Index, ref: FunctionRef) -> str:
    """The name of the object that a method is called on; nothing where there is none."""
    outline = index.modules.function(ref)
    names = [item.arg for item in outline.node.args.args] if outline else []
    bound = _is_bound(index, ref) and not index.is_class_method(ref)
    return names[0] if bound and names else ""


def _is_bound(index: Index, ref: FunctionRef) -> bool:
    return index.modules.owner(ref) is not None and not index.is_static(ref)


def chain(node: ast.Attribute) -> tuple[tuple[str, ...], ast.expr]:
    """``layer.mlp.gate`` as the names after the first expression, and that expression."""
    names = [node.attr]
    value = node.value
    while isinstance(value, ast.Attribute):
        names.append(value.attr)
        value = value.value
    return tuple(reversed(names)), value


def last_name(node: ast.expr) -> str:
    """The name by which something is called."""
    match node:
        case ast.Name(name) | ast.Attribute(_, name):
            return name
        case _:
            return ""


def written(node: ast.expr) -> str:
    """A callee as it is written, without what stands in brackets."""
    parts: list[str] = []
    while True:
        match node:
            case ast.Attribute(value, name):
                parts.append(f".{name}")
                node = value
            case ast.Subscript(value):
                parts.append("[...]")
                node = value
            case _:
                parts.append(node.id if isinstance(node, ast.Name) else "(...)")
                return "".join(reversed(parts))
