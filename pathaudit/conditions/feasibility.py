"""Decide whether a conjunction of literals can hold, and for which integers.

Tests contradict each other by what they say of the same value. Bounds are difference constraints:
``low + gap <= high`` is an edge, and a cycle whose gaps add up to more than zero (or to zero, with
a strict edge on it) cannot be satisfied.
"""

import ast
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import TypeAlias

from pathaudit.conditions.literals import Bound, Literal, Test, negate

_Weight: TypeAlias = tuple[int, bool]
_Graph: TypeAlias = dict[str, dict[str, _Weight]]

_ZERO = ""
_NOTHING: _Weight = (0, False)
_TRIES = 100  # values tried for a witness before there is none


@lru_cache(maxsize=1 << 16)
def feasible(literals: frozenset[Literal], facts: frozenset[Bound]) -> bool:
    """Return whether all ``literals`` can hold together, given ``facts``.

    ``False`` is certain. ``True`` may be wrong where tests are related in a way their texts do not
    tell. O(literals), plus O(terms ** 3) for bounds not seen before.
    """
    tests = [literal for literal in literals if isinstance(literal, Test)]
    return not _contradictory(tests) and _satisfiable(_bounds(literals, facts), facts)


def implied(literal: Literal, by: frozenset[Literal], facts: frozenset[Bound]) -> bool:
    """Return whether ``literal`` is known to hold wherever ``by`` and ``facts`` do."""
    if literal in by:
        return True
    known = _measured(by, literal, facts) if isinstance(literal, Bound) else by
    return not feasible(known | {negate(literal)}, facts)


def witness(
    literals: frozenset[Literal], facts: frozenset[Bound], names: Iterable[str]
) -> tuple[tuple[str, int], ...] | None:
    """Return a value for each of ``names``, in that order, or ``None`` where there are none.

    Every name is taken for an integer, even where it has only bounds over the reals. The values
    satisfy all bounds and facts, and are not negative and small where that is possible: each is
    the one next to zero that its shortest paths from and to zero allow after the names before it,
    and that no test excludes.
    """
    wanted = tuple(names)
    if not feasible(literals, facts):
        return None
    bounds = _bounds(literals, facts, frozenset(wanted)) | facts
    integers = _integers(bounds).union(wanted)
    excluded = _excluded(literals, wanted)
    tries = iter(range(_TRIES))
    positive = _assigned(wanted, _not_negative(bounds, integers), integers, excluded, tries)
    return positive or _assigned(wanted, bounds, integers, excluded, tries)


def _assigned(
    names: tuple[str, ...],
    bounds: frozenset[Bound],
    integers: frozenset[str],
    excluded: frozenset[tuple[str, int]],
    tries: Iterator[int],
) -> tuple[tuple[str, int], ...] | None:
    """Values for the names in order; the next candidate where those after one find none."""
    if not names:
        return ()
    name, *rest = names
    graph = _closed(bounds, integers)
    for value in _candidates(graph, name, excluded) if graph is not None else ():
        if next(tries, None) is None:
            return None
        fixed = bounds | {Bound(_ZERO, name, value), Bound(name, _ZERO, -value)}
        found = _assigned(tuple(rest), fixed, integers, excluded, tries)
        if found is not None:
            return ((name, value), *found)
    return None


# ---- tests ------------------------------------------------------------------------------------


def _contradictory(tests: list[Test]) -> bool:
    """Whether a test has both outcomes, or a value is true and false, or it is two values."""
    outcomes = {(test.predicate, test.subject, test.argument) for test in tests}
    truths = {truth for test in tests for truth in _truths(test)}
    return len(outcomes) < len(tests) or len(dict(truths)) < len(truths) or _values_differ(tests)


@lru_cache(maxsize=1 << 14)
def _truths(test: Test) -> tuple[tuple[str, bool], ...]:
    """What a test says of the truth of values; a container that holds something is true."""
    match test:
        case Test("true", subject, _, positive):
            return ((subject, positive),)
        case Test("none", subject, _, True):
            return ((subject, False),)
        case Test("equals", subject, argument, True):
            constant = _constant(argument)
            return () if constant is None else ((subject, bool(constant[0])),)
        case Test("in", _, container, True):
            return ((container, True),)
        case _:
            return ()


def _values_differ(tests: list[Test]) -> bool:
    """Whether a value is fixed by one test and excluded by another."""
    known = {
        test.subject: "None" if test.predicate == "none" else test.argument
        for test in tests
        if test.positive and test.predicate in ("none", "equals")
    }
    if not known:
        return False
    return any(_excludes(test, known[test.subject]) for test in tests if test.subject in known)


def _excludes(test: Test, value: str) -> bool:
    match test:
        case Test("equals", _, argument, positive):
            return positive != _same(argument, value)
        case Test("none", _, _, True):
            return value != "None"
        case Test("isinstance" | "in", _, argument, True):
            # `None` is no instance and no member, except of what names it: `NoneType`, `(None, 0)`.
            return value == "None" and "None" not in argument
        case _:
            return False


def _same(one: str, other: str) -> bool:
    """Whether two constants are equal: ``1``, ``1.0`` and ``True`` are."""
    first, second = _constant(one), _constant(other)
    return one == other or (first is not None and first == second)


@lru_cache(maxsize=1 << 12)
def _constant(text: str) -> tuple[object] | None:
    try:
        return (ast.literal_eval(text),)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None


# ---- bounds -----------------------------------------------------------------------------------


def _bounds(
    literals: frozenset[Literal], facts: frozenset[Bound], names: frozenset[str] = frozenset()
) -> frozenset[Bound]:
    """The bounds among ``literals``, and what the tests say of lengths that occur anywhere."""
    stated = frozenset([literal for literal in literals if isinstance(literal, Bound)])
    lengths = [term for term in _terms(stated) | _terms(facts) | names if term.startswith("len(")]
    if not lengths:
        return stated
    truths = {truth for test in literals if isinstance(test, Test) for truth in _truths(test)}
    filled = [Bound(_ZERO, length, 1) for length in lengths if (length[4:-1], True) in truths]
    empty = [Bound(length, _ZERO, 0) for length in lengths if (length[4:-1], False) in truths]
    return stated.union(filled, empty)


def _measured(
    by: frozenset[Literal], literal: Bound, facts: frozenset[Bound]
) -> frozenset[Literal]:
    """``by`` without the ``not x`` that say nothing of ``len(x)``.

    ``not x`` leaves open that ``x`` is ``None``, which has no length: only where something else
    takes the length does it follow that the length is zero.
    """
    taken = _terms(frozenset(known for known in by if isinstance(known, Bound))) | _terms(facts)
    untaken = {literal.low, literal.high} - taken
    return frozenset(
        known
        for known in by
        if isinstance(known, Bound)
        or not any(f"len({subject})" in untaken and not true for subject, true in _truths(known))
    )


@lru_cache(maxsize=1 << 14)
def _terms(bounds: frozenset[Bound]) -> frozenset[str]:
    return frozenset(term for bound in bounds for term in (bound.low, bound.high))


@lru_cache(maxsize=1 << 14)
def _is_length(term: str) -> bool:
    """Whether the whole of ``term`` is one ``len(...)``; in doubt, over quoted text, not."""
    if not (term.startswith("len(") and term.endswith(")")) or "'" in term or '"' in term:
        return False
    depth = 0
    for character in term[3:-1]:
        depth += (character in "([{") - (character in ")]}")
        if depth == 0:
            return False
    return True


def _integers(bounds: frozenset[Bound]) -> frozenset[str]:
    integral = _terms(frozenset(bound for bound in bounds if bound.integral))
    return integral.union((_ZERO,), filter(_is_length, _terms(bounds)))


@lru_cache(maxsize=1 << 14)
def _satisfiable(bounds: frozenset[Bound], facts: frozenset[Bound]) -> bool:
    system = bounds | facts
    return _closed(system, _integers(system)) is not None


def _closed(bounds: frozenset[Bound], integers: frozenset[str]) -> _Graph | None:
    """The tightest gap between any two terms (Floyd and Warshall), or ``None`` at a bad cycle.

    Real terms are passed first: what then holds strictly between two integers holds with one more,
    and given the integers the reals between them always exist. So the answer is exact.
    """
    graph = _graph(bounds, integers)
    if not all(_passed(graph, term) for term in graph if term not in integers):
        return None
    for low in integers:
        for high, (gap, strict) in graph[low].items():
            if strict and high in integers:
                graph[low][high] = (gap + 1, False)
    return graph if all(_passed(graph, term) for term in integers) else None


def _graph(bounds: frozenset[Bound], integers: frozenset[str]) -> _Graph:
    graph: _Graph = {term: {} for term in _terms(bounds) | integers}
    for term in filter(_is_length, graph):
        graph[_ZERO][term] = _NOTHING
    for bound in bounds:
        row = graph[bound.low]
        weight = (bound.gap, bound.strict)
        row[bound.high] = max(weight, row.get(bound.high, weight))
    return graph


def _passed(graph: _Graph, middle: str) -> bool:
    """Extend all paths that end in ``middle``; false where a bad cycle goes through it."""
    onward = graph[middle]
    if onward.get(middle, _NOTHING) > _NOTHING:
        return False
    for low, row in graph.items():
        if low == middle or middle not in row:
            continue
        gap, strict = row[middle]
        for high, (further, also_strict) in onward.items():
            weight = (gap + further, strict or also_strict)
            row[high] = max(weight, row.get(high, weight))
    return True


def _not_negative(bounds: frozenset[Bound], integers: frozenset[str]) -> frozenset[Bound]:
    for term in sorted(integers):
        more = bounds | {Bound(_ZERO, term, 0)}
        if _closed(more, integers) is not None:
            bounds = more
    return bounds


def _candidates(graph: _Graph, term: str, excluded: frozenset[tuple[str, int]]) -> Iterator[int]:
    """Values that a term can have, those next to zero first, as many as excluded ones call for."""
    first = _next_to_zero(graph, term)
    low, high = graph[_ZERO].get(term), graph[term].get(_ZERO)
    for step in range(len(excluded) + 1):
        for value in dict.fromkeys((first + step, first - step)):
            fits = (low is None or low[0] <= value) and (high is None or value <= -high[0])
            if fits and (term, value) not in excluded:
                yield value


def _excluded(literals: frozenset[Literal], names: tuple[str, ...]) -> frozenset[tuple[str, int]]:
    """The integers that tests say a name is not."""
    tests = [x for x in literals if isinstance(x, Test) and x.predicate == "equals"]
    found = [(x.subject, _constant(x.argument)) for x in tests if not x.positive]
    return frozenset(
        (subject, constant[0])
        for subject, constant in found
        if subject in names and constant is not None and isinstance(constant[0], int)
    )


def _next_to_zero(graph: _Graph, term: str) -> int:
    least, _ = graph[_ZERO].get(term, _NOTHING)
    most, _ = graph[term].get(_ZERO, _NOTHING)
    return max(least, 0) or min(-most, 0)
