"""Where something stands: regions of the nodes of ``ast``, whose columns count bytes."""

import ast
from collections.abc import Sequence

from pathaudit import ir
from pathaudit.index import Index


def region_of(index: Index, file: str, node: ast.expr | ast.stmt) -> ir.Region:
    """The region of a node of ``file``, its columns in characters."""
    outline = index.modules.outline(file)
    return region_in(outline.lines if outline is not None else [], node)


def region_in(lines: Sequence[str], node: ast.expr | ast.stmt) -> ir.Region:
    """The region of a node of the file with these lines, its columns in characters."""
    last = node.end_lineno or node.lineno
    end = node.end_col_offset or node.col_offset
    return ir.Region(
        node.lineno,
        _characters(lines, node.lineno, node.col_offset),
        last,
        _characters(lines, last, end),
    )


def _characters(lines: Sequence[str], line: int, column: int) -> int:
    text = lines[line - 1] if 0 < line <= len(lines) else ""
    if text.isascii():
        return column
    return len(text.encode()[:column].decode(errors="replace"))
