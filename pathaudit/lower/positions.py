"""Look over a function's ``ast``: where its statements and calls stand, is it nested too deeply?

LibCST's own position provider costs twice the parse; these positions are there already. They are
listed by kind, named as LibCST names it, in source order, so that they can be dealt out while the
LibCST tree is walked in the same order.
"""

import ast
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from pathaudit.ir import Region
from pathaudit.lower.slices import LoweringError

Positions: TypeAlias = dict[str, list[Region]]

# Deeper nesting overflows LibCST's native stack sooner or later, or Python's when the result is
# walked. The deepest function of SGLang 0.5.23 has 46 levels.
MAX_DEPTH = 100
# ``a and b and ...`` is flat in ``ast`` and nested in LibCST.
MAX_OPERANDS = 1000
# LibCST's time to parse a pattern grows sevenfold with each bracket around it.
MAX_PATTERN_BRACKETS = 8

_Point: TypeAlias = tuple[int, int]
_Located: TypeAlias = ast.stmt | ast.expr | ast.pattern | ast.excepthandler
_Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef

_COMPREHENSIONS = (ast.GeneratorExp, ast.ListComp, ast.SetComp, ast.DictComp)
# What has a region, under the name of its LibCST class.
_NAMES: dict[type[ast.AST], str] = {
    **{kind: kind.__name__ for kind in ast.stmt.__subclasses__()},
    **{kind: kind.__name__ for kind in (ast.Call, ast.Lambda, *_COMPREHENSIONS)},
    ast.AsyncFunctionDef: "FunctionDef",
    ast.AsyncFor: "For",
    ast.AsyncWith: "With",
    ast.Delete: "Del",
    ast.ExceptHandler: "ExceptHandler",
    ast.JoinedStr: "FormattedString",
    ast.match_case: "MatchCase",
}

# Lowering drops these, so nothing in them is given a region.
_DROPPED_FIELDS = {"annotation", "cause", "decorator_list", "msg", "returns", "type_params"}
_DROPPED_CONTENTS = {"ClassDef", "JoinedStr", "TypeAlias"}
_LEAVES = {"attr", "ctx", "id", "kind", "op", "ops"}


def survey(lines: Sequence[str], function: _Function) -> Positions:
    """The regions of everything in a function that has one, by LibCST class name.

    Returns:
        For each kind its regions in source order, outer before inner. What stands inside an
        f-string, a decorator, an annotation or a nested class is left out.

    Raises:
        LoweringError: the function is nested too deeply to be parsed.
    """
    text = _Text(lines)
    found: Positions = defaultdict(list)
    for nodes, placed in _levels(function):
        for node in nodes:
            _check_limits(node, text)
            if placed and type(node) in _NAMES:
                found[_NAMES[type(node)]].append(text.region(*_place(node)))
    for regions in found.values():
        regions.sort(key=_source_order)
    return found


def _source_order(region: Region) -> tuple[int, int, int, int]:
    return region.line, region.column, -region.end_line, -region.end_column


# ---- the walk -----------------------------------------------------------------------------------


def _levels(function: ast.AST) -> Iterator[tuple[list[ast.AST], bool]]:
    """Nodes level by level, each list with whether its nodes have regions."""
    placed: list[ast.AST] = [function]
    dropped: list[ast.AST] = []
    for _ in range(MAX_DEPTH):
        yield placed, True
        yield dropped, False
        dropped = _children(dropped, 0) + _children(dropped, 1) + _children(placed, 1)
        placed = _children(placed, 0)
        if not placed and not dropped:
            return
    raise LoweringError(f"nested more than {MAX_DEPTH} levels deep")


def _children(nodes: list[ast.AST], part: int) -> list[ast.AST]:
    found: list[ast.AST] = []
    for node in nodes:
        for field in _FIELDS[type(node)][part]:
            value: object = getattr(node, field, None)
            if isinstance(value, ast.AST):
                found.append(value)
            elif isinstance(value, list):
                found += [child for child in value if isinstance(child, ast.AST)]
    return found


class _Fields(dict[type[ast.AST], tuple[tuple[str, ...], tuple[str, ...]]]):
    """The fields of each kind of node that are lowered, and those that are dropped."""

    def __missing__(self, kind: type[ast.AST]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        fields = tuple(field for field in kind._fields if field not in _LEAVES)
        drops_all = kind.__name__ in _DROPPED_CONTENTS
        dropped = tuple(field for field in fields if drops_all or field in _DROPPED_FIELDS)
        self[kind] = tuple(field for field in fields if field not in dropped), dropped
        return self[kind]


_FIELDS = _Fields()


def _check_limits(node: ast.AST, text: "_Text") -> None:
    if isinstance(node, ast.BoolOp) and len(node.values) > MAX_OPERANDS:
        raise LoweringError(f"more than {MAX_OPERANDS} operands")
    if isinstance(node, ast.Match):
        _check_patterns(node, text)


def _check_patterns(node: ast.Match, text: "_Text") -> None:
    start = _end(node.subject)
    for case in node.cases:
        # Parentheses are not in the tree, so brackets are counted in the text.
        if _brackets(text.between(start, _end(case.pattern))) > MAX_PATTERN_BRACKETS:
            raise LoweringError(f"a pattern with more than {MAX_PATTERN_BRACKETS} nested brackets")
        start = _end(case.body[-1])


def _brackets(text: str) -> int:
    """How deeply are brackets nested?"""
    depth = deepest = 0
    for character in text:
        if character in "([{":
            depth += 1
            deepest = max(deepest, depth)
        elif character in ")]}":
            depth = max(depth - 1, 0)
    return deepest


# ---- regions ------------------------------------------------------------------------------------


def _place(node: ast.AST) -> tuple[_Point, _Point]:
    """Start and end of a node's region, in bytes; only the header of what has a body."""
    match node:
        case ast.expr():
            return _start(node), _end(node)
        case ast.Try() | ast.TryStar():
            return _start(node), (node.lineno, node.col_offset + len("try"))
        case ast.ExceptHandler(type=None):
            return _start(node), (node.lineno, node.col_offset + len("except"))
        case ast.match_case(pattern=pattern, guard=guard):
            return _start(pattern), _end(guard or pattern)
        case ast.stmt() | ast.excepthandler():
            return _start(node), _end(_last(node))
    raise TypeError(node)


def _last(node: ast.stmt | ast.excepthandler) -> _Located:
    """The part that ends the region of a statement."""
    match node:
        case ast.If(test=last) | ast.While(test=last) | ast.Match(subject=last):
            return last
        case ast.For(iter=last) | ast.AsyncFor(iter=last):
            return last
        case ast.With(items=items) | ast.AsyncWith(items=items):
            return items[-1].optional_vars or items[-1].context_expr
        case ast.ExceptHandler(type=ast.expr() as last):
            return last
    return node


def _start(node: _Located) -> _Point:
    return node.lineno, node.col_offset


def _end(node: _Located) -> _Point:
    # Only nodes made by hand have no end.
    return node.end_lineno or node.lineno, node.end_col_offset or node.col_offset


class _Text:
    """The lines of a file, where ``ast`` counts UTF-8 bytes and regions count characters."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        self._tables: dict[int, list[int]] = {}

    def region(self, start: _Point, end: _Point) -> Region:
        return Region(start[0], self._column(*start), end[0], self._column(*end))

    def between(self, start: _Point, end: _Point) -> str:
        """The text between two points."""
        taken = list(self._lines[start[0] - 1 : end[0]])
        taken[-1] = taken[-1][: self._column(*end)]
        taken[0] = taken[0][self._column(*start) :]
        return "".join(taken)

    def _column(self, line: int, byte: int) -> int:
        text = self._lines[line - 1]
        if text.isascii():
            return byte
        if line not in self._tables:
            widths = (len(character.encode()) for character in text)
            table = [column for column, width in enumerate(widths) for _ in range(width)]
            self._tables[line] = [*table, len(text)]
        return self._tables[line][byte]
