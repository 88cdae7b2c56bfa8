"""Patterns of expressions in Semgrep's manner: ``$X`` is any expression, ``...`` any arguments."""

import ast
import re

from pathaudit.errors import UsageError

_META = "META_"
_REST = "META_REST"


def parse_pattern(text: str) -> ast.expr:
    """A pattern as syntax; UsageError if it is no expression."""
    # Unlike `...`, which may stand for arguments after keywords, this is Python.
    plain = re.sub(r"\$([A-Z_][A-Z_0-9]*)", rf"{_META}\1", text.replace("...", f"*{_REST}"))
    try:
        return ast.parse(plain, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        hint = "name FILE:LINE, a function, or a pattern such as '$X.append($Y)'"
        raise UsageError(f"{text!r} is no target: neither code nor a place", hint) from error


def needle(pattern: ast.expr) -> str:
    """A name that every match holds, the longest; nothing if there is none."""
    names = [node.id for node in ast.walk(pattern) if isinstance(node, ast.Name)]
    names += [node.attr for node in ast.walk(pattern) if isinstance(node, ast.Attribute)]
    names += [node.arg or "" for node in ast.walk(pattern) if isinstance(node, ast.keyword)]
    return max((name for name in names if not name.startswith(_META)), key=len, default="")


def matches(pattern: ast.AST, node: ast.AST) -> bool:
    """Is a node of the code what a pattern stands for?"""
    return _match(pattern, node, {})


def _match(pattern: ast.AST, node: ast.AST, bound: dict[str, str]) -> bool:
    if isinstance(pattern, ast.Name) and pattern.id.startswith(_META):
        text = ast.unparse(node)
        return bound.setdefault(pattern.id, text) == text
    if isinstance(pattern, ast.Call) and isinstance(node, ast.Call):
        return _match(pattern.func, node.func, bound) and _match_arguments(pattern, node, bound)
    if type(pattern) is not type(node):
        return False
    for name, wanted in ast.iter_fields(pattern):
        if name not in ("ctx", "kind") and not _match_field(wanted, getattr(node, name), bound):
            return False
    return True


def _match_field(wanted: object, found: object, bound: dict[str, str]) -> bool:
    if isinstance(wanted, ast.AST):
        return isinstance(found, ast.AST) and _match(wanted, found, bound)
    if isinstance(wanted, list):
        if not isinstance(found, list) or len(wanted) != len(found):
            return False
        return all(
            _match_field(one, other, bound) for one, other in zip(wanted, found, strict=True)
        )
    return wanted == found


def _match_arguments(pattern: ast.Call, node: ast.Call, bound: dict[str, str]) -> bool:
    """Arguments by position until ``...``, keywords by name; without ``...`` there are no more."""
    wanted = [x for x in pattern.args if not _is_rest(x)]
    open_ended = len(wanted) != len(pattern.args)
    if len(node.args) < len(wanted) or (len(node.args) > len(wanted) and not open_ended):
        return False
    if not all(_match(one, other, bound) for one, other in zip(wanted, node.args, strict=False)):
        return False
    given = {item.arg: item.value for item in node.keywords}
    for keyword in pattern.keywords:
        if keyword.arg not in given or not _match(keyword.value, given.pop(keyword.arg), bound):
            return False
    return open_ended or not given


def _is_rest(node: ast.expr) -> bool:
    return (
        isinstance(node, ast.Starred)
        and isinstance(node.value, ast.Name)
        and (node.value.id == _REST)
    )
