"""Branch tests and object paths of a function, written in the terms of the function it is read for.

A callee that is followed is read in its caller's terms: a parameter stands for what was given.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import TypeVar

import msgspec
from msgspec import Struct

from pathaudit import ir
from pathaudit.conditions import Literal, Test, negate
from pathaudit.lower import render
from pathaudit.paths.formulas import (
    FALSE,
    TRUE,
    All,
    Atom,
    Formula,
    Known,
    Some,
    conjunction,
    disjunction,
    opposite,
)
from pathaudit.paths.walking import dotted, walk

Names = Mapping[str, ir.Expression]
Node = TypeVar("Node", bound=Struct)

# A local that is longer than this is not written out where it is tested.
LONGEST = 160


def placed(node: ir.Expression, names: Names) -> ir.Expression:
    """The expression with its names replaced by what they stand for.

    So are attributes of a new object that were given one: ``Runner@7.owner`` for ``self``.
    """
    if isinstance(node, ir.Name):
        return names.get(node.id, node)
    if isinstance(node, ir.Attribute):
        found = ir.Attribute(placed(node.value, names), node.name)
        return names.get(dotted(found), found)
    return _rebuilt(node, names)


def _rebuilt(node: Node, names: Names) -> Node:
    changed = {}
    for field in node.__struct_fields__:
        value = getattr(node, field)
        found = _part(value, names)
        if found is not value:
            changed[field] = found
    return msgspec.structs.replace(node, **changed) if changed else node


def _part(value: object, names: Names) -> object:
    if isinstance(value, ir.Name | ir.Attribute):
        return placed(value, names)
    if isinstance(value, tuple):
        parts = tuple(_part(item, names) for item in value)
        return parts if any(x is not y for x, y in zip(parts, value, strict=True)) else value
    return _rebuilt(value, names) if isinstance(value, Struct) else value


def marked(name: str, line: int) -> ir.Name:
    """The value that a name has from a line on, where it is not known."""
    return ir.Name(f"{name}@{line}")


def is_plain(node: ir.Expression) -> bool:
    """Can a local be written out as this expression wherever it is tested?"""
    kinds = (ir.Lambda, ir.Comprehension, ir.Yield, ir.Walrus, ir.Opaque, ir.Mapping)
    return not any(isinstance(part, kinds) for part in walk(node)) and len(render(node)) <= LONGEST


@lru_cache(maxsize=1 << 14)
def text_of(node: ir.Expression) -> str:
    """The canonical text of an expression."""
    return render(node)


def mentions(text: str, name: str) -> bool:
    """Does canonical text mention a name or an attribute path?"""
    return name in text and _mention(name).search(text) is not None


@lru_cache(maxsize=1 << 12)
def _mention(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w.]){re.escape(name)}(?![\w@])")


def about(literal: Literal, name: str) -> bool:
    """Does a literal speak of a name or an attribute path?"""
    return isinstance(literal, Test) and any(
        mentions(text, name) for text in (literal.subject, literal.argument)
    )


def object_path(node: ir.Expression) -> str:
    """``self.model`` for a chain of attributes, else nothing."""
    return dotted(node)


def related(one: str, other: str) -> bool:
    """Is one of two objects part of the other?"""
    return f"{one}.".startswith(f"{other}.") or f"{other}.".startswith(f"{one}.")


# ---- tests ------------------------------------------------------------------------------------


def formula_of(node: ir.Expression) -> Formula:
    """A branch test, already in the caller's terms, as a formula."""
    match node:
        case ir.Constant(value):
            return TRUE if value else FALSE
        case ir.Unary("not", operand):
            return opposite(formula_of(operand))
        case ir.Boolean("and", operands):
            return conjunction([formula_of(part) for part in operands])
        case ir.Boolean("or", operands):
            return disjunction([formula_of(part) for part in operands])
        case ir.Compare(operator, left, right):
            return _compared(operator, left, right, node)
        case ir.Call(ir.Name("bool"), [ir.Argument(value, None, "")]):
            return formula_of(value)
        case ir.Walrus(_, value):
            return formula_of(value)
        case _:
            return Atom(Test("true", render(node)))


def _compared(
    operator: str, left: ir.Expression, right: ir.Expression, node: ir.Expression
) -> Formula:
    subject = render(left)
    match operator, right:
        case ("is" | "==", ir.Constant(None)):
            return Atom(Test("none", subject))
        case ("is not" | "!=", ir.Constant(None)):
            return Atom(Test("none", subject, positive=False))
        case ("==" | "is", ir.Constant(value)):
            return Atom(Test("equals", subject, repr(value)))
        case ("!=" | "is not", ir.Constant(value)):
            return Atom(Test("equals", subject, repr(value), positive=False))
        case ("in", ir.Collection(_, items)) if _constants(items):
            return _one_of(subject, items)
        case ("not in", ir.Collection(_, items)) if _constants(items):
            return opposite(_one_of(subject, items))
        case ("in" | "not in", _):
            return Atom(Test("in", subject, render(right), positive=operator == "in"))
        case ("!=", _):
            return Atom(Test("true", render(ir.Compare("==", left, right)), positive=False))
        case _:
            return Atom(Test("true", render(node)))


def _constants(items: tuple[ir.Expression, ...]) -> bool:
    return all(isinstance(item, ir.Constant) for item in items)


def _one_of(subject: str, items: tuple[ir.Expression, ...]) -> Formula:
    values = [item.value for item in items if isinstance(item, ir.Constant)]
    return disjunction([Atom(Test("equals", subject, repr(value))) for value in values])


def literals_of(formula: Formula) -> frozenset[Literal]:
    """The literals of a test, and their opposites."""
    match formula:
        case Known():
            return frozenset()
        case Atom(literal):
            return frozenset((literal, negate(literal)))
        case All(parts) | Some(parts):
            return frozenset().union(*(literals_of(part) for part in parts))


def loop_test(statement: ir.Loop, names: Names) -> Formula | None:
    """The test of a ``while``."""
    return None if statement.test is None else formula_of(placed(statement.test, names))


def case_test(statement: ir.Match, case: ir.Case, names: Names) -> Formula | None:
    """What an arm of ``match`` says of its subject; ``None`` where it may match or not."""
    if case.pattern is None or case.guard is not None:
        return None
    comparison = ir.Compare("==", statement.subject, case.pattern)
    return formula_of(placed(comparison, names))
