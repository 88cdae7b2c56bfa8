"""Known predicates: conditions of which the profile says what decides them, with anchors."""

import ast

from msgspec import Struct

from pathaudit.decisions import GateHop
from pathaudit.index import Index
from pathaudit.results import Gap
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


def known_anywhere(index: Index, node: ast.expr) -> Fact | None:
    """What is known of a value that another condition leads to."""
    items = [x for x in index.profile.predicates if x.anywhere]
    text = ast.unparse(node) if items else ""
    found = [x for x in items if any(text_pattern(y).fullmatch(text) for y in x.patterns)]
    return _first(index, found)


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
