"""LibCST parses the slice of a function and lowers it to statements with regions.

``lower_function`` is the verb; ``dump`` and ``render`` show its output.
"""

import ast
from collections.abc import Sequence

from pathaudit import ir
from pathaudit.lower.expression_text import render
from pathaudit.lower.expressions import Scope, render_node
from pathaudit.lower.function_text import dump
from pathaudit.lower.positions import survey
from pathaudit.lower.regions import LocatedRegions, MismatchError, OrderedRegions, Regions
from pathaudit.lower.slices import LoweringError, Slice, cut, parse_expression
from pathaudit.lower.statements import lower_definition

__all__ = ["LoweringError", "dump", "lower_function", "render"]


def lower_function(
    lines: Sequence[str], node: ast.FunctionDef | ast.AsyncFunctionDef
) -> ir.Function:
    """Lower one function of a file.

    Args:
        lines: the whole file, as ``sources.split_lines`` gives it.
        node: the function in the ``ast`` tree of that very file; its positions are used.

    Raises:
        LoweringError: LibCST rejects the function, or it is nested too deeply.
    """
    try:
        return _lower(lines, node)
    except RecursionError:
        raise LoweringError(f"{node.name} is nested too deeply") from None


def _lower(lines: Sequence[str], node: ast.FunctionDef | ast.AsyncFunctionDef) -> ir.Function:
    # The survey comes first: it refuses what would overflow LibCST's native stack.
    ordered = OrderedRegions(survey(lines, node))
    piece = cut(lines, node)
    decorators = tuple(render_node(parse_expression(each)) for each in node.decorator_list)
    try:
        function = _lower_slice(piece, ordered, decorators)
        ordered.finish()
    except MismatchError:
        function = _lower_slice(piece, LocatedRegions(piece), decorators)
    return function


def _lower_slice(piece: Slice, regions: Regions, decorators: tuple[str, ...]) -> ir.Function:
    region = regions.take(piece.function)
    return lower_definition(piece.function, Scope(regions), region, decorators)
