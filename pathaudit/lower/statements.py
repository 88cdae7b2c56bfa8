"""Lower LibCST statements: one small function for each class of them."""

from collections.abc import Sequence
from functools import singledispatch
from typing import TypeAlias

import libcst as cst

from pathaudit import ir
from pathaudit.lower.expressions import (
    Scope,
    lower_expression,
    lower_optional,
    lower_parameters,
    render_node,
)
from pathaudit.lower.operators import AUGMENTED
from pathaudit.lower.patterns import always_matches, bound_names, lower_pattern
from pathaudit.lower.slices import LoweringError

_Body: TypeAlias = tuple[ir.Statement, ...]


def lower_definition(
    node: cst.FunctionDef, scope: Scope, region: ir.Region, decorators: tuple[str, ...]
) -> ir.Function:
    """Lower a function whose region has been taken; ``scope`` is the one around it."""
    parameters = lower_parameters(node.params, scope)
    inner = Scope(scope.regions)
    body = lower_suite(node.body, inner)
    return ir.Function(node.name.value, parameters, body, region, inner.yields, decorators)


def lower_suite(suite: cst.BaseSuite, scope: Scope) -> _Body:
    """Lower the statements of a suite, indented or on the line of its header."""
    lowered: list[ir.Statement] = []
    for node in _statements(suite.body):
        statement = _lower(node, scope, scope.regions.take(node))
        if statement is not None:
            lowered.append(statement)
    return tuple(lowered)


def _statements(nodes: Sequence[cst.CSTNode]) -> list[cst.CSTNode]:
    """Statements one by one: a line may hold several."""
    found: list[cst.CSTNode] = []
    for node in nodes:
        if isinstance(node, cst.SimpleStatementLine):
            found += node.body
        else:
            found.append(node)
    return found


@singledispatch
def _lower(node: cst.CSTNode, scope: Scope, region: ir.Region) -> ir.Statement | None:  # noqa: ARG001
    raise LoweringError(f"cannot lower {type(node).__name__}")


# ---- statements on one line ---------------------------------------------------------------------


@_lower.register
def _nothing(
    _node: cst.Pass | cst.Global | cst.Nonlocal | cst.TypeAlias, _scope: Scope, _region: ir.Region
) -> None:
    return None


@_lower.register
def _expression(node: cst.Expr, scope: Scope, region: ir.Region) -> ir.Statement | None:
    value = lower_expression(node.value, scope)
    idle = isinstance(value, ir.Constant) or (isinstance(value, ir.Opaque) and not value.parts)
    return None if idle else ir.Evaluate(value, region)


@_lower.register
def _assign(node: cst.Assign, scope: Scope, region: ir.Region) -> ir.Statement:
    targets = tuple(lower_expression(each.target, scope) for each in node.targets)
    return ir.Assign(targets, lower_expression(node.value, scope), region)


@_lower.register
def _annotated_assign(node: cst.AnnAssign, scope: Scope, region: ir.Region) -> ir.Statement | None:
    target = lower_expression(node.target, scope)
    if node.value is None:
        return None
    return ir.Assign((target,), lower_expression(node.value, scope), region)


@_lower.register
def _augmented_assign(node: cst.AugAssign, scope: Scope, region: ir.Region) -> ir.Statement:
    target = lower_expression(node.target, scope)
    value = lower_expression(node.value, scope)
    return ir.AugmentedAssign(target, AUGMENTED[type(node.operator)], value, region)


@_lower.register
def _delete(node: cst.Del, scope: Scope, region: ir.Region) -> ir.Statement:
    target = lower_expression(node.target, scope)
    return ir.Delete(target.items if isinstance(target, ir.Collection) else (target,), region)


@_lower.register
def _assert(node: cst.Assert, scope: Scope, region: ir.Region) -> ir.Statement:
    return ir.Assertion(lower_expression(node.test, scope), region)


@_lower.register
def _return(node: cst.Return, scope: Scope, region: ir.Region) -> ir.Statement:
    return ir.Exit("return", lower_optional(node.value, scope), region)


@_lower.register
def _raise(node: cst.Raise, scope: Scope, region: ir.Region) -> ir.Statement:
    return ir.Exit("raise", lower_optional(node.exc, scope), region)


@_lower.register
def _jump(node: cst.Break | cst.Continue, _scope: Scope, region: ir.Region) -> ir.Statement:
    return ir.Exit(type(node).__name__.lower(), None, region)


# ---- imports ------------------------------------------------------------------------------------


@_lower.register
def _import(node: cst.Import, _scope: Scope, region: ir.Region) -> ir.Statement:
    return ir.Import(tuple(_imported_module(alias) for alias in node.names), region)


def _imported_module(alias: cst.ImportAlias) -> ir.ImportedName:
    module = render_node(alias.name)
    if alias.asname:
        return ir.ImportedName(render_node(alias.asname.name), module, None)
    package = module.partition(".")[0]
    return ir.ImportedName(package, package, None)


@_lower.register
def _import_from(node: cst.ImportFrom, _scope: Scope, region: ir.Region) -> ir.Statement:
    module = "." * len(node.relative) + (render_node(node.module) if node.module else "")
    if isinstance(node.names, cst.ImportStar):
        return ir.Import((ir.ImportedName("*", module, "*"),), region)
    return ir.Import(tuple(_imported_name(alias, module) for alias in node.names), region)


def _imported_name(alias: cst.ImportAlias, module: str) -> ir.ImportedName:
    attribute = render_node(alias.name)
    name = render_node(alias.asname.name) if alias.asname else attribute
    return ir.ImportedName(name, module, attribute)


# ---- statements with a body ---------------------------------------------------------------------


@_lower.register
def _branch(node: cst.If, scope: Scope, region: ir.Region) -> ir.Statement:
    test = lower_expression(node.test, scope)
    body = lower_suite(node.body, scope)
    if isinstance(node.orelse, cst.If):
        orelse: _Body = (_branch(node.orelse, scope, scope.regions.take(node.orelse)),)
    else:
        orelse = _lower_else(node.orelse, scope)
    return ir.Branch(test, body, orelse, region)


def _lower_else(node: cst.Else | cst.Finally | None, scope: Scope) -> _Body:
    return () if node is None else lower_suite(node.body, scope)


@_lower.register
def _for(node: cst.For, scope: Scope, region: ir.Region) -> ir.Statement:
    target = lower_expression(node.target, scope)
    iterable = lower_expression(node.iter, scope)
    body = lower_suite(node.body, scope)
    return ir.Loop(target, iterable, None, body, _lower_else(node.orelse, scope), region)


@_lower.register
def _while(node: cst.While, scope: Scope, region: ir.Region) -> ir.Statement:
    test = lower_expression(node.test, scope)
    body = lower_suite(node.body, scope)
    return ir.Loop(None, None, test, body, _lower_else(node.orelse, scope), region)


@_lower.register
def _with(node: cst.With, scope: Scope, region: ir.Region) -> ir.Statement:
    items = tuple(_context(item, scope) for item in node.items)
    return ir.With(items, lower_suite(node.body, scope), region)


def _context(item: cst.WithItem, scope: Scope) -> ir.Context:
    manager = lower_expression(item.item, scope)
    target = lower_expression(item.asname.name, scope) if item.asname else None
    return ir.Context(manager, target)


@_lower.register
def _try(node: cst.Try | cst.TryStar, scope: Scope, region: ir.Region) -> ir.Statement:
    body = lower_suite(node.body, scope)
    handlers = tuple(_handler(handler, scope) for handler in node.handlers)
    orelse = _lower_else(node.orelse, scope)
    return ir.Try(body, handlers, orelse, _lower_else(node.finalbody, scope), region)


def _handler(node: cst.ExceptHandler | cst.ExceptStarHandler, scope: Scope) -> ir.Handler:
    region = scope.regions.take(node)
    exception = lower_optional(node.type, scope)
    name = render_node(node.name.name) if node.name else None
    return ir.Handler(exception, name, lower_suite(node.body, scope), region)


@_lower.register
def _match(node: cst.Match, scope: Scope, region: ir.Region) -> ir.Statement:
    subject = lower_expression(node.subject, scope)
    return ir.Match(subject, tuple(_case(case, scope) for case in node.cases), region)


def _case(node: cst.MatchCase, scope: Scope) -> ir.Case:
    region = scope.regions.take(node)
    pattern = lower_pattern(node.pattern, scope)
    guard = lower_optional(node.guard, scope)
    body = lower_suite(node.body, scope)
    irrefutable = guard is None and always_matches(node.pattern)
    return ir.Case(pattern, bound_names(node.pattern), guard, irrefutable, body, region)


@_lower.register
def _define(node: cst.FunctionDef, scope: Scope, region: ir.Region) -> ir.Statement:
    decorators = tuple(render_node(each.decorator) for each in node.decorators)
    return ir.Define(lower_definition(node, scope, region, decorators), region)


@_lower.register
def _class(node: cst.ClassDef, _scope: Scope, region: ir.Region) -> ir.Statement:
    name = node.name.value
    return ir.Assign((ir.Name(name),), ir.Opaque(f"class {name}"), region)
