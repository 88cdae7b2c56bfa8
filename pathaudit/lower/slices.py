"""Cut a function out of its file and have LibCST parse just that slice."""

import ast
from collections.abc import Sequence

import libcst as cst
from msgspec import Struct


class LoweringError(Exception):
    """A function cannot be lowered; the caller reports it as a gap."""


class Slice(Struct, frozen=True, eq=False):
    """A parsed function. A line of ``module`` plus ``offset`` is a line of the file."""

    module: cst.Module
    function: cst.FunctionDef
    offset: int


def cut(lines: Sequence[str], node: ast.FunctionDef | ast.AsyncFunctionDef) -> Slice:
    """Parse the lines of one function, without its decorators, at their own indentation.

    Raises:
        LoweringError: LibCST rejects them.
    """
    taken = list(lines[node.lineno - 1 : node.end_lineno])
    # A form feed sets the tokenizer's column back to zero; LibCST is confused by one here.
    margin = taken[0][: node.col_offset].rpartition("\f")[2]
    taken[0] = margin + taken[0][node.col_offset :]
    if taken[-1].rstrip("\r\n").endswith("\\"):
        taken.append("\n")  # the backslash continues the last statement onto an empty line
    header = ["class _:\n"] if margin else []
    offset = node.lineno - 1 - len(header)
    try:
        module = cst.parse_module("".join(header + taken))
    except (cst.ParserSyntaxError, cst.CSTValidationError) as error:
        raise LoweringError(f"LibCST cannot parse {node.name}{_line(error, offset)}") from error
    return Slice(module, _definition(module, node.name), offset)


def parse_expression(node: ast.expr) -> cst.BaseExpression:
    """The LibCST tree of an expression that stands outside the slice, such as a decorator.

    Raises:
        LoweringError: LibCST rejects it.
    """
    text = ast.unparse(node)
    try:
        return cst.parse_expression(text)
    except (cst.ParserSyntaxError, cst.CSTValidationError) as error:
        raise LoweringError(f"LibCST cannot parse {text}") from error


def _line(error: Exception, offset: int) -> str:
    return f", line {error.raw_line + offset}" if isinstance(error, cst.ParserSyntaxError) else ""


def _definition(module: cst.Module, name: str) -> cst.FunctionDef:
    found: cst.CSTNode = module.body[0]
    if isinstance(found, cst.ClassDef):
        found = found.body.body[0]
    if not isinstance(found, cst.FunctionDef):
        raise LoweringError(f"LibCST finds no function where {name} is defined")
    return found
