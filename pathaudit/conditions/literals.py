"""Literals, conjunctions and path conditions; data only.

Expressions are known by their canonical text (``self.end_layer``, ``len(aux)``); equal text is
taken for equal value, so a caller that wants versions writes them into the text.
"""

from functools import lru_cache
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import force_setattr

LIMIT = 8
"""How many alternatives a path condition keeps before literals are dropped."""


class Test(Struct, frozen=True, order=True, tag=True):
    """An opaque test of one value.

    ``predicate`` is ``true`` (truthiness), ``none`` (``is None``), ``equals`` (``argument`` is the
    repr of a constant), ``in`` (``argument`` is the text of the container) or ``isinstance``
    (``argument`` is the text of the class). Two ``equals`` with different constants exclude each
    other, so what is compared with a variable is no ``equals``.
    """

    __test__ = False  # or pytest takes the class for a test case

    predicate: str
    subject: str
    argument: str = ""
    positive: bool = True


class Bound(Struct, frozen=True, order=True, tag=True):
    """``low + gap <= high``, or ``<`` where ``strict``; ``""`` stands for zero on either side.

    Over the integers a strict bound is stored as ``gap + 1``, so that equal bounds are equal.
    """

    low: str
    high: str
    gap: int
    strict: bool = False
    integral: bool = True

    def __post_init__(self) -> None:
        if self.strict and self.integral:
            force_setattr(self, "gap", self.gap + 1)
            force_setattr(self, "strict", False)


Literal: TypeAlias = Test | Bound


class Conjunction(Struct, frozen=True):
    """All of ``literals``. ``weakened``: some were dropped, so it holds on more than the truth."""

    literals: frozenset[Literal]
    weakened: bool = False


class PathCondition(Struct, frozen=True):
    """Any of ``alternatives``, in a stable order."""

    alternatives: tuple[Conjunction, ...]


ALWAYS = PathCondition((Conjunction(frozenset()),))

SortKey: TypeAlias = tuple[int, str, str, int, bool, bool]

_PREDICATES = {"true": 0, "none": 1, "equals": 2, "in": 3, "isinstance": 4}


def negate(literal: Literal) -> Literal:
    """Return the exact complement of ``literal``."""
    if isinstance(literal, Test):
        return Test(literal.predicate, literal.subject, literal.argument, not literal.positive)
    if literal.integral:
        return Bound(literal.high, literal.low, 1 - literal.gap)
    return Bound(literal.high, literal.low, -literal.gap, not literal.strict, integral=False)


def literal_key(literal: Literal) -> SortKey:
    """Return a total order: tests before bounds, plain truth first, then by text."""
    if isinstance(literal, Test):
        rank = _PREDICATES.get(literal.predicate, len(_PREDICATES))
        return (rank, literal.subject, literal.argument, 0, not literal.positive, False)
    rank = len(_PREDICATES) + 1
    return (rank, literal.low, literal.high, literal.gap, literal.strict, literal.integral)


@lru_cache(maxsize=1 << 14)
def conjunction_key(conjunction: Conjunction) -> tuple[int, tuple[SortKey, ...], bool]:
    """Return a total order: few literals first, then by literal, exact before weakened."""
    keys = tuple(sorted(map(literal_key, conjunction.literals)))
    return (len(keys), keys, conjunction.weakened)
