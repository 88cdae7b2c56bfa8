"""Combine path conditions: exactly, until there are too many alternatives."""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import combinations

from pathaudit.conditions.feasibility import feasible, implied
from pathaudit.conditions.literals import (
    LIMIT,
    Bound,
    Conjunction,
    Literal,
    PathCondition,
    Test,
    conjunction_key,
    literal_key,
    negate,
)


def conjoin(
    condition: PathCondition, literals: Iterable[Literal], facts: frozenset[Bound]
) -> PathCondition | None:
    """Return ``condition and literals``, or ``None`` where no alternative stays feasible.

    The alternatives of ``condition`` are taken to be feasible as they are.
    """
    added = frozenset(literals)
    if all(added <= alternative.literals for alternative in condition.alternatives):
        return condition
    kept = [
        Conjunction(longer, alternative.weakened)
        for alternative in condition.alternatives
        if feasible(longer := alternative.literals | added, facts)
    ]
    return _union(kept)


@lru_cache(maxsize=1 << 14)
def both(
    left: PathCondition, right: PathCondition, facts: frozenset[Bound]
) -> PathCondition | None:
    """Return ``left and right``, or ``None`` where they exclude each other."""
    product = [
        Conjunction(longer, one.weakened or other.weakened)
        for one in left.alternatives
        for other in right.alternatives
        if feasible(longer := one.literals | other.literals, facts)
    ]
    return _union(product)


def disjoin(left: PathCondition, right: PathCondition) -> PathCondition:
    """Return ``left or right``.

    It is equivalent as long as ``LIMIT`` alternatives suffice. Past that the two alternatives with
    most in common give way to what they have in common, which is weaker and marked so.
    """
    if left == right:
        return left
    return _merged(frozenset(left.alternatives + right.alternatives))


def simplify(condition: PathCondition, facts: frozenset[Bound]) -> PathCondition:
    """Return ``condition`` without what the rest of it and ``facts`` already say."""
    shorter = {
        Conjunction(_needed(alternative.literals, facts), alternative.weakened)
        for alternative in condition.alternatives
    }
    kept = sorted(shorter, key=conjunction_key)
    for alternative in reversed(tuple(kept)):
        others = [other for other in kept if other != alternative]
        if any(_covers(other, alternative, facts) for other in others):
            kept = others
    found = _merged(frozenset(kept))
    # What was resolved may cover more; every round is shorter than the one before.
    return found if found == condition else simplify(found, facts)


@lru_cache(maxsize=1 << 14)
def _needed(literals: frozenset[Literal], facts: frozenset[Bound]) -> frozenset[Literal]:
    for literal in sorted(literals, key=_dispensable, reverse=True):
        rest = literals - {literal}
        if implied(literal, rest, facts):
            literals = rest
    return literals


def _dispensable(literal: Literal) -> tuple[bool, int, object]:
    """Of two literals that imply each other a reader wants the test, then the shorter one."""
    if isinstance(literal, Test):
        return (False, len(literal.subject + literal.argument), literal_key(literal))
    return (True, len(literal.low + literal.high), literal_key(literal))


def _covers(wide: Conjunction, narrow: Conjunction, facts: frozenset[Bound]) -> bool:
    return all(implied(literal, narrow.literals, facts) for literal in wide.literals)


def _union(alternatives: Sequence[Conjunction]) -> PathCondition | None:
    if len(alternatives) > 1:
        return _merged(frozenset(alternatives))
    return PathCondition(tuple(alternatives)) if alternatives else None


@lru_cache(maxsize=1 << 14)
def _merged(alternatives: frozenset[Conjunction]) -> PathCondition:
    found = _reduced(alternatives)
    while len(found) > LIMIT:
        found = _reduced(_weakened(found))
    return PathCondition(tuple(found))


def _reduced(alternatives: Iterable[Conjunction]) -> list[Conjunction]:
    """Absorb and resolve to a fixed point; the result is equivalent, and sorted.

    Every step loses a literal or an alternative, so it ends.
    """
    found = _absorbed(alternatives)
    while (shorter := [_resolved(one, found) for one in found]) != found:
        found = _absorbed(shorter)
    return found


def _absorbed(alternatives: Iterable[Conjunction]) -> list[Conjunction]:
    """``a or (a and b)`` is ``a``. Of equal ones the exact one stays, for it covers the other."""
    kept: list[Conjunction] = []
    for alternative in sorted(alternatives, key=conjunction_key):
        if not any(shorter.literals <= alternative.literals for shorter in kept):
            kept.append(alternative)
    return kept


def _resolved(alternative: Conjunction, others: Iterable[Conjunction]) -> Conjunction:
    """``not a and b`` next to ``a`` is ``b``, next to ``a and c`` it stays: not all of ``b``."""
    for other in others:
        opposed = alternative.literals & _negations(other.literals)
        if len(opposed) != 1:
            continue
        rest = alternative.literals - opposed
        if other.literals - _negations(opposed) <= rest:
            return Conjunction(rest, alternative.weakened or other.weakened)
    return alternative


@lru_cache(maxsize=1 << 14)
def _negations(literals: frozenset[Literal]) -> frozenset[Literal]:
    return frozenset(map(negate, literals))


def _weakened(alternatives: Sequence[Conjunction]) -> list[Conjunction]:
    """Replace the pair that loses least by what it shares; the first of equals."""
    one, other = max(
        combinations(alternatives, 2), key=lambda pair: len(pair[0].literals & pair[1].literals)
    )
    shared = Conjunction(one.literals & other.literals, weakened=True)
    return [shared, *(rest for rest in alternatives if rest not in (one, other))]
