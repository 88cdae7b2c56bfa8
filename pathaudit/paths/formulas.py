"""Branch tests as formulas over literals, and their expansion into alternatives."""

from typing import TypeAlias

from msgspec import Struct

from pathaudit.conditions import Literal, negate

# A test that needs more alternatives than this is not taken apart.
ALTERNATIVES = 24


class Known(Struct, frozen=True):
    value: bool


class Atom(Struct, frozen=True):
    literal: Literal


class All(Struct, frozen=True):
    parts: tuple["Formula", ...]


class Some(Struct, frozen=True):
    parts: tuple["Formula", ...]


Formula: TypeAlias = Known | Atom | All | Some

TRUE = Known(True)
FALSE = Known(False)


def opposite(formula: Formula) -> Formula:
    """The formula that holds exactly where this one does not."""
    match formula:
        case Known(value):
            return Known(not value)
        case Atom(literal):
            return Atom(negate(literal))
        case All(parts):
            return Some(tuple(opposite(part) for part in parts))
        case Some(parts):
            return All(tuple(opposite(part) for part in parts))


def conjunction(parts: list[Formula]) -> Formula:
    """All of the parts, with what is known folded away."""
    open_parts = [part for part in parts if part != TRUE]
    if FALSE in open_parts:
        return FALSE
    if len(open_parts) == 1:
        return open_parts[0]
    return All(tuple(open_parts)) if open_parts else TRUE


def disjunction(parts: list[Formula]) -> Formula:
    """At least one of the parts, with what is known folded away."""
    return opposite(conjunction([opposite(part) for part in parts]))


def alternatives(formula: Formula) -> tuple[frozenset[Literal], ...] | None:
    """The formula as a disjunction of conjunctions; ``()`` is false, ``None`` is too many."""
    match formula:
        case Known(value):
            return (frozenset(),) if value else ()
        case Atom(literal):
            return (frozenset([literal]),)
        case Some(parts):
            found: dict[frozenset[Literal], None] = {}
            for part in parts:
                expanded = alternatives(part)
                if expanded is None:
                    return None
                found.update(dict.fromkeys(expanded))
            return tuple(found) if len(found) <= ALTERNATIVES else None
        case All(parts):
            return _product(parts)


def _product(parts: tuple[Formula, ...]) -> tuple[frozenset[Literal], ...] | None:
    product: tuple[frozenset[Literal], ...] = (frozenset(),)
    for part in parts:
        expanded = alternatives(part)
        if expanded is None or len(product) * len(expanded) > ALTERNATIVES:
            return None
        product = tuple(left | right for left in product for right in expanded)
    return product
