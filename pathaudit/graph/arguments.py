"""Calls as syntax: which argument is for which parameter."""

import ast
from collections.abc import Iterator

from pathaudit.graph.flow import Origin
from pathaudit.index import FunctionRef, Index


def arguments(node: ast.Call) -> Iterator[tuple[str | None, ast.expr]]:
    """Arguments with their keywords; ``**`` for a mapping of them."""
    for item in node.args:
        yield None, item
    for keyword in node.keywords:
        yield keyword.arg or "**", keyword.value


def named(
    names: list[str], given: list[tuple[str | None, ast.expr, Origin]]
) -> Iterator[tuple[str, ast.expr, Origin]]:
    """Arguments by the parameters that they are for; those after a star are not told."""
    position = 0
    for keyword, item, origin in given:
        if keyword is not None:
            yield keyword, item, origin
        elif position < len(names) and not isinstance(item, ast.Starred):
            yield names[position], item, origin
            position += 1


def parameters(index: Index, ref: FunctionRef) -> list[str]:
    outline = index.modules.function(ref)
    arguments = outline.node.args if outline else None
    if arguments is None:
        return []
    names = [item.arg for item in (*arguments.posonlyargs, *arguments.args)]
    keywords = [item.arg for item in arguments.kwonlyargs]
    return [*names[1 if _is_bound(index, ref) else 0 :], *keywords]


def receiver(index: Index, ref: FunctionRef) -> str:
    outline = index.modules.function(ref)
    names = [item.arg for item in outline.node.args.args] if outline else []
    bound = _is_bound(index, ref) and not index.is_class_method(ref)
    return names[0] if bound and names else ""


def _is_bound(index: Index, ref: FunctionRef) -> bool:
    return index.modules.owner(ref) is not None and not index.is_static(ref)
