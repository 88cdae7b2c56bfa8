"""Where something stands: regions of the nodes of ``ast``, whose columns count bytes."""

import ast

from pathaudit import ir
from pathaudit.index import Index


def region_of(index: Index, file: str, node: ast.expr | ast.stmt) -> ir.Region:
    """The region of a node of ``file``, its columns in characters."""
    outline = index.modules.outline(file)
    lines = outline.lines if outline is not None else []
    last = node.end_lineno or node.lineno
    end = node.end_col_offset or node.col_offset
    return ir.Region(
        node.lineno,
        _characters(lines, node.lineno, node.col_offset),
        last,
        _characters(lines, last, end),
    )


def _characters(lines: list[str], line: int, column: int) -> int:
    text = lines[line - 1] if 0 < line <= len(lines) else ""
    if text.isascii():
        return column
    return len(text.encode()[:column].decode(errors="replace"))
