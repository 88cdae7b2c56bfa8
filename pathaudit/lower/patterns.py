"""Lower the patterns of ``match``: to a value to compare with, and to the names they bind."""

from collections.abc import Iterator

import libcst as cst

from pathaudit import ir
from pathaudit.lower.expressions import Scope, lower_expression


def lower_pattern(node: cst.MatchPattern, scope: Scope) -> ir.Expression | None:
    """The expression that the subject is compared with, if that is all there is to it."""
    match node:
        case cst.MatchValue(value=value) | cst.MatchSingleton(value=value):
            return lower_expression(value, scope)
        case cst.MatchAs(pattern=cst.MatchPattern() as inner):
            return lower_pattern(inner, scope)
    return None


def always_matches(node: cst.MatchPattern) -> bool:
    """Is it ``_`` or a name, or does it have one as an alternative?"""
    match node:
        case cst.MatchAs(pattern=inner):
            return inner is None or always_matches(inner)
        case cst.MatchOr(patterns=patterns):
            return any(always_matches(each.pattern) for each in patterns)
    return False


def bound_names(node: cst.MatchPattern) -> tuple[str, ...]:
    """The names a pattern binds, in source order; alternatives bind the same ones."""
    return tuple(dict.fromkeys(_names(node)))


def _names(node: cst.CSTNode) -> Iterator[str]:
    for child in node.children:
        yield from _names(child)
    match node:
        case cst.MatchAs(name=cst.Name(value=name)) | cst.MatchStar(name=cst.Name(value=name)):
            yield name
        case cst.MatchMapping(rest=cst.Name(value=name)):
            yield name
