"""Known predicates: conditions of which the profile says what decides them, with anchors."""

import ast

from msgspec import Struct

from pathaudit.gates.scopes import Scope, is_parameter, is_property, parameter_line
from pathaudit.gates.slicing import Slice
from pathaudit.index import ClassRef, FunctionRef, Index
from pathaudit.results import Gap, GateHop
from pathaudit.ruleset import Predicate, text_pattern


class Fact(Struct, frozen=True):
    """A predicate whose anchor is there, and the step that shows the anchor."""

    predicate: Predicate
    hop: GateHop


def known_condition(index: Index, node: ast.expr) -> Fact | None:
    """What is known of a literal, or of the value that it compares."""
    texts = {ast.unparse(x) for x in (node, subject(node))}
    return _first(
        index,
        [
            x
            for x in index.profile.predicates
            if any(text_pattern(y).fullmatch(z) for y in x.patterns for z in texts)
        ],
    )


def known_entry(index: Index, method: str) -> Fact | None:
    """What is known of when an entry method runs."""
    return _first(index, [x for x in index.profile.predicates if method in x.methods])


def _first(index: Index, predicates: list[Predicate]) -> Fact | None:
    for item in predicates:
        place = index.modules.find(item.anchor.files, item.anchor.text)
        if place is not None:
            hop = GateHop(kind="known", file=place[0], line=place[1], text=item.reason)
            return Fact(item, hop)
    index.modules.gaps.extend(_void(item) for item in predicates[:1])
    return None


def _void(item: Predicate) -> Gap:
    """Nothing rots in silence: what was known and has no anchor any more."""
    names = ", ".join((*item.patterns, *item.methods))
    message = f"what the profile knows of {names} is void: its anchor is not in this tree"
    return Gap(kind="profile", file=item.anchor.files[0], line=1, message=message)


def subject(node: ast.expr) -> ast.expr:
    """What a literal is about: without ``not``, and of ``x is None`` the ``x``."""
    match node:
        case ast.UnaryOp(ast.Not(), operand):
            return subject(operand)
        case ast.Compare(left, [ast.Is() | ast.IsNot()], [ast.Constant(None)]):
            return left
    return node


def steps_into(slices: Slice, node: ast.expr, scope: Scope) -> tuple[GateHop, ...]:
    """The first steps of what a condition reads: where its object is made, its body."""
    node = subject(node)
    match node:
        case ast.Name(id):
            function = scope.function
            if function is not None and is_parameter(function.node, id):
                return (scope.hop("parameter", parameter_line(function.node, id), id),)
        case ast.Call(func):
            return (*_object(slices, func, scope), *_body(slices, func, scope))
        case ast.Attribute():
            return (*_object(slices, node, scope), *_body(slices, node, scope))
    return ()


def _object(slices: Slice, node: ast.expr, scope: Scope) -> tuple[GateHop, ...]:
    """``self.group.is_last``: where ``self.group`` is stored."""
    match node:
        case ast.Attribute(ast.Attribute(ast.Name("self"), name), _):
            written = slices.writers.of(name, scope.cls)
            return tuple(x.scope.hop(x.kind, x.statement) for x in written[:1])
    return ()


def _body(slices: Slice, func: ast.expr, scope: Scope) -> tuple[GateHop, ...]:
    ref = _called(slices, func, scope)
    found = slices.names.method_scope(ref, None) if ref else None
    if found is None or found.function is None:
        return ()
    node = found.function.node
    returns = [x for x in ast.walk(node) if isinstance(x, ast.Return)]
    if not returns:
        return ()
    kind = "property" if is_property(found.function) else "return"
    return (found.hop(kind, max(returns, key=lambda x: x.lineno)),)


def _called(slices: Slice, func: ast.expr, scope: Scope) -> FunctionRef | None:
    symbol = slices.names.symbol(func, scope)
    if isinstance(symbol, FunctionRef):
        return symbol
    if not isinstance(func, ast.Attribute):
        return None
    cls = slices.names.class_of(func.value, scope)
    owners: list[ClassRef] = [cls] if cls else [x for x, _ in slices.owners(func.attr)]
    for owner in owners:
        method = slices.index.modules.method(owner, func.attr)
        if method is not None:
            return method[0]
    return None
