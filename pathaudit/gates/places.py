"""Where a condition is tested: the functions whose code holds it."""

import ast
from collections.abc import Iterator

from msgspec import Struct

from pathaudit.errors import UsageError
from pathaudit.gates.scopes import Scope
from pathaudit.gates.writers import functions_of
from pathaudit.index import ClassRef, Index

_MOST = 12  # places that one condition is followed from


class Place(Struct, frozen=True, eq=False):
    """An expression that tests something, and where it stands."""

    node: ast.expr
    scope: Scope


def parse_condition(text: str) -> ast.expr:
    """A condition as an expression; ``UsageError`` where it is none."""
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        hint = "such as forward_batch.can_run_tbo, or the name of a served class"
        raise UsageError(f"{text!r} is no condition in Python", hint=hint) from None


def find_places(index: Index, condition: ast.expr, within: str = "") -> list[Place]:
    """The places where a condition is read, in tests first, then anywhere; models first.

    ``within`` narrows them: a file, a file and a line (``file.py:12``), a class, or a method.
    """
    needle = _needle(condition)
    if not needle:
        return []
    text = ast.unparse(condition)
    file, _, line = within.partition(":")
    files = index.modules.holding(index.profile.settings.files, needle)
    if file.endswith(".py"):
        files = tuple(x for x in files if x.endswith(file))
    found = [
        place
        for path in sorted(files, key=lambda x: (not index.is_model(x), x))
        for place in _in_file(index, path, text, needle)
        if file.endswith(".py") or _inside(place.scope, within)
    ]
    if line.isdigit():
        found = [x for x in found if _holds_line(x.scope, int(line))]
    return found[:_MOST]


def _needle(condition: ast.expr) -> str:
    """The name in a condition that says most: the longest."""
    names = [x.attr if isinstance(x, ast.Attribute) else "" for x in ast.walk(condition)]
    names += [x.id for x in ast.walk(condition) if isinstance(x, ast.Name)]
    names += [str(x.value) for x in ast.walk(condition) if isinstance(x, ast.Constant)]
    return max((x for x in names if x not in ("self", "")), key=len, default="")


def _inside(scope: Scope, within: str) -> bool:
    if not within:
        return True
    cls = scope.cls.name if scope.cls else ""
    return within in (scope.symbol, cls, scope.function.name if scope.function else "")


def _holds_line(scope: Scope, line: int) -> bool:
    return scope.function is not None and scope.function.first <= line <= scope.function.last


def _in_file(index: Index, file: str, text: str, needle: str) -> Iterator[Place]:
    outline = index.modules.outline(file)
    if outline is None:
        return
    lines = [number for number, line in enumerate(outline.lines, start=1) if needle in line]
    for function, cls in functions_of(outline):
        if any(function.first <= line <= function.last for line in lines):
            scope = Scope(file, function, ClassRef(file, cls) if cls else None)
            node = _reading(function.node, text)
            if node is not None:
                yield Place(node, scope)


def _reading(function: ast.AST, text: str) -> ast.expr | None:
    """The first place that reads an expression: in a test if there is one."""
    first: ast.expr | None = None
    for test in tests_of(function):
        found = _equal(test, text)
        if found is not None and (first is None or found.lineno < first.lineno):
            first = found
    return first or _equal(function, text)


def tests_of(function: ast.AST) -> Iterator[ast.expr]:
    """The tests of branches and conditional expressions of a function."""
    for node in ast.walk(function):
        if isinstance(node, ast.If | ast.IfExp | ast.While | ast.Assert):
            yield node.test


def _equal(node: ast.AST, text: str) -> ast.expr | None:
    for inner in ast.walk(node):
        if not isinstance(inner, ast.expr) or isinstance(getattr(inner, "ctx", None), ast.Store):
            continue
        if _may_equal(inner, text) and ast.unparse(inner) == text:
            return inner
    return None


def _may_equal(node: ast.expr, text: str) -> bool:
    """A cheap look before the text is made."""
    match node:
        case ast.Name(id):
            return id == text
        case ast.Attribute(_, attr):
            return text.endswith(attr)
        case ast.Constant():
            return False
    return True
