"""Rewrites a released function so that stand-ins can answer what Python asks of real objects.

Only syntax that no object can intercept is changed: ``is None``, unpacking, loops, ``super()``,
local imports, and list displays that collect states.
"""

import ast
from collections.abc import Sequence

COLLECTS = "aux"


class Rewriter(ast.NodeTransformer):
    """The helpers it calls are given to the function with its globals."""

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        self.generic_visit(node)
        operator, other = node.ops[0], node.comparators[0]
        none = isinstance(other, ast.Constant) and other.value is None
        if len(node.ops) == 1 and none and isinstance(operator, ast.Is | ast.IsNot):
            asked = _call("_is_none", node.left)
            return asked if isinstance(operator, ast.Is) else ast.UnaryOp(ast.Not(), asked)
        if len(node.ops) == 1 and isinstance(operator, ast.In | ast.NotIn):
            asked = _call("_is_in", node.left, other)
            return asked if isinstance(operator, ast.In) else ast.UnaryOp(ast.Not(), asked)
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.stmt:
        self.generic_visit(node)
        target = node.targets[0]
        if isinstance(target, ast.Tuple) and not isinstance(node.value, ast.Tuple):
            node.value = _call("_unpack", node.value, ast.Constant(len(target.elts)))
        node.value = _collected(target, node.value)
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.stmt | None:
        self.generic_visit(node)
        if node.value is None:
            return None
        return ast.Assign([node.target], _collected(node.target, node.value))

    def visit_For(self, node: ast.For) -> ast.stmt:
        self.generic_visit(node)
        node.iter = _call("_loop", node.iter, ast.Constant(node.lineno))
        return node

    def visit_While(self, node: ast.While) -> ast.stmt:
        """A ``while`` becomes a ``for`` without end that is left when the test fails."""
        self.generic_visit(node)
        leave = ast.If(ast.UnaryOp(ast.Not(), node.test), [ast.Break()], [])
        endless = _call("_loop", _call("range", ast.Constant(1000)), ast.Constant(node.lineno))
        return ast.For(ast.Name("_", ast.Store()), endless, [leave, *node.body], node.orelse)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id == "super":
            return _call("_super", ast.Name("self", ast.Load()))
        return node

    def visit_ImportFrom(self, node: ast.ImportFrom) -> list[ast.stmt]:
        found = [(alias.asname or alias.name, alias.name) for alias in node.names]
        return [
            ast.Assign(
                [ast.Name(name, ast.Store())],
                _call("_imported", ast.Constant(node.module or ""), ast.Constant(original)),
            )
            for name, original in found
        ]

    def visit_Import(self, node: ast.Import) -> ast.stmt:
        del node
        return ast.Pass()

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.stmt:
        self.generic_visit(node)
        node.decorator_list, node.returns = [], None
        for argument in ast.walk(node.args):
            if isinstance(argument, ast.arg):
                argument.annotation = None
        return node


def _call(name: str, *arguments: ast.expr) -> ast.expr:
    return ast.Call(ast.Name(name, ast.Load()), list(arguments), [])


def _collected(target: ast.expr, value: ast.expr) -> ast.expr:
    """Let a list that collects states be one that notes what is put into it."""
    if isinstance(target, ast.Name) and COLLECTS in target.id:
        if isinstance(value, ast.List):
            return _call("_collector")
        if isinstance(value, ast.IfExp):
            value.body = _collected(target, value.body)
            value.orelse = _collected(target, value.orelse)
    return value


def rewrite(nodes: Sequence[ast.stmt]) -> ast.Module:
    """Return a module that holds the rewritten statements, with the lines of the originals."""
    module = Rewriter().visit(ast.Module(list(nodes), []))
    assert isinstance(module, ast.Module)
    return ast.fix_missing_locations(module)


def rewrite_expression(text: str) -> ast.Expression:
    expression = Rewriter().visit(ast.parse(text, mode="eval"))
    assert isinstance(expression, ast.Expression)
    return ast.fix_missing_locations(expression)
