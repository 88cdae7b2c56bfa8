"""Conditions are decided, merged and printed without changing what they say."""

from collections.abc import Iterable, Iterator
from fractions import Fraction
from functools import cache
from itertools import product

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pathaudit.conditions import (
    ALWAYS,
    LIMIT,
    Bound,
    Conjunction,
    Literal,
    PathCondition,
    Test,
    both,
    conjoin,
    disjoin,
    feasible,
    implied,
    negate,
    render,
    simplify,
    witness,
)

NO_FACTS: frozenset[Bound] = frozenset()
A, B, C, D, E, X = (Test("true", name) for name in "abcdex")


def no(literal: Literal) -> Literal:
    return negate(literal)


def none(subject: str) -> Test:
    return Test("none", subject)


def equals(subject: str, constant: str) -> Test:
    return Test("equals", subject, constant)


def at_least(term: str, value: int) -> Bound:
    return Bound("", term, value)


def at_most(term: str, value: int) -> Bound:
    return Bound(term, "", -value)


def below(low: str, high: str) -> Bound:
    return Bound(low, high, 1)


def up_to(low: str, high: str) -> Bound:
    return Bound(low, high, 0)


def real(low: str, high: str, gap: int = 0, *, strict: bool = True) -> Bound:
    return Bound(low, high, gap, strict, integral=False)


def any_of(*alternatives: Iterable[Literal]) -> PathCondition:
    return PathCondition(tuple(Conjunction(frozenset(one)) for one in alternatives))


# ---- literals ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("literal", "expected"),
    [
        pytest.param(X, Test("true", "x", positive=False), id="test"),
        pytest.param(Bound("a", "b", 2), Bound("b", "a", -1), id="integers"),
        pytest.param(real("a", "b", 2), real("b", "a", -2, strict=False), id="reals"),
    ],
)
def test_negation(literal: Literal, expected: Literal) -> None:
    assert expected == negate(literal)
    assert literal == negate(expected)


def test_strict_integer_bounds_are_stored_as_plain_ones() -> None:
    assert Bound("a", "b", 1) == Bound("a", "b", 0, strict=True)
    assert real("a", "b") != Bound("a", "b", 1)


def test_literals_survive_encoding() -> None:
    literals: list[Literal] = [none("x"), below("a", "b"), real("a", "b")]
    assert literals == msgspec.json.decode(msgspec.json.encode(literals), type=list[Literal])


# ---- feasibility ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("literals", "facts"),
    [
        pytest.param([X, no(X)], [], id="both polarities"),
        pytest.param([none("x"), no(none("x"))], [], id="None or not"),
        pytest.param([Test("in", "i", "x"), no(Test("in", "i", "x"))], [], id="member or not"),
        pytest.param([none("x"), X], [], id="None is false"),
        pytest.param([none("x"), Test("isinstance", "x", "list")], [], id="None is no instance"),
        pytest.param([none("x"), equals("x", "3")], [], id="None is not 3"),
        pytest.param([none("x"), Test("in", "x", "layers")], [], id="None is no member"),
        pytest.param([none("x"), Test("in", "i", "x")], [], id="None holds nothing"),
        pytest.param([no(X), Test("in", "i", "x")], [], id="empty holds nothing"),
        pytest.param([equals("x", "1"), equals("x", "2")], [], id="two constants"),
        pytest.param([equals("x", "1"), no(equals("x", "True"))], [], id="equal constants"),
        pytest.param([equals("x", "0"), X], [], id="0 is false"),
        pytest.param([equals("x", "'a'"), no(X)], [], id="text is true"),
        pytest.param([X, at_most("len(x)", 0)], [], id="true is not empty"),
        pytest.param([no(X), at_least("len(x)", 1)], [], id="false is not filled"),
        pytest.param([none("x")], [at_least("len(x)", 1)], id="None against a fact"),
        pytest.param([X, up_to("len(x)", "n"), at_most("n", 0)], [], id="length by way of n"),
        pytest.param([at_most("len(x)", -1)], [], id="no negative length"),
        pytest.param([real("len(x)", "")], [], id="no negative length, reals"),
        pytest.param([below("a", "b"), below("b", "a")], [], id="cycle"),
        pytest.param([at_least("a", 3), at_most("a", 2)], [], id="empty range"),
        pytest.param([up_to("end", "start")], [below("start", "end")], id="fact"),
        pytest.param([], [below("a", "a")], id="contradictory facts"),
        pytest.param([real("a", "b"), real("b", "a", strict=False)], [], id="strict reals"),
        pytest.param([real("b", "a"), real("a", "b", strict=False)], [], id="strict back"),
        pytest.param([real("", "a"), real("a", "", strict=False)], [], id="strict from zero"),
        pytest.param([real("a", ""), real("", "a", strict=False)], [], id="strict to zero"),
        pytest.param([real("", "len(x)"), real("len(x)", "", -1)], [], id="lengths are integers"),
        pytest.param(
            [real("m", "r"), real("r", "n"), real("n", "s"), real("s", "k"), Bound("k", "m", -1)],
            [at_least("n", -9)],
            id="reals between integers",
        ),
    ],
)
def test_infeasible(literals: list[Literal], facts: list[Bound]) -> None:
    assert not feasible(frozenset(literals), frozenset(facts))


@pytest.mark.parametrize(
    "literals",
    [
        pytest.param([], id="nothing"),
        pytest.param([none("x"), no(X)], id="None and false"),
        pytest.param([none("x"), equals("x", "None")], id="None and equal to None"),
        pytest.param([none("x"), Test("isinstance", "x", "int | None")], id="None is named"),
        pytest.param([none("x"), Test("in", "x", "(0, None)")], id="None is a member"),
        pytest.param([equals("x", "1"), equals("x", "True")], id="1 is True"),
        pytest.param([equals("x", "1"), no(equals("x", "2"))], id="1 is not 2"),
        pytest.param([equals("x", "Mode.A"), no(X)], id="unreadable constant"),
        pytest.param([no(X), at_most("len(x)", 0)], id="false and empty"),
        pytest.param([X, no(none("x")), at_least("len(x)", 1)], id="true and filled"),
        pytest.param([X, Test("true", "y", positive=False)], id="two values"),
        pytest.param([at_most("len(x) - len(y)", -1)], id="difference of lengths"),
        pytest.param([below("a", "b"), below("b", "c")], id="chain"),
        pytest.param([real("a", "b", strict=False), real("b", "a", strict=False)], id="equal"),
        pytest.param([real("a", "b"), real("b", "c"), Bound("c", "a", -1)], id="room for a real"),
    ],
)
def test_feasible(literals: list[Literal]) -> None:
    assert feasible(frozenset(literals), NO_FACTS)


@pytest.mark.parametrize(
    ("literal", "by", "facts", "expected"),
    [
        pytest.param(X, [X], [], True, id="itself"),
        pytest.param(no(none("x")), [X], [], True, id="true is not None"),
        pytest.param(X, [Test("in", "i", "x")], [], True, id="what holds i is true"),
        pytest.param(at_least("len(x)", 1), [X], [], True, id="true has a length"),
        pytest.param(no(X), [none("x")], [], True, id="None is false"),
        pytest.param(at_most("len(x)", 0), [no(X)], [], False, id="false may be None"),
        pytest.param(at_most("len(x)", 0), [none("x")], [], False, id="None has no length"),
        pytest.param(at_most("len(x)", 0), [no(X), at_most("len(x)", 5)], [], True, id="measured"),
        pytest.param(no(X), [at_most("len(x)", 0)], [], True, id="empty is false"),
        pytest.param(X, [], [at_least("len(x)", 1)], True, id="filled by a fact"),
        pytest.param(below("a", "c"), [below("a", "b"), up_to("b", "c")], [], True, id="chain"),
        pytest.param(at_least("end", 1), [], [at_least("start", 0)], False, id="unrelated"),
        pytest.param(
            at_least("end", 1), [below("start", "end")], [at_least("start", 0)], True, id="facts"
        ),
        pytest.param(no(A), [B], [], False, id="other value"),
    ],
)
def test_implied(literal: Literal, by: list[Literal], facts: list[Bound], expected: bool) -> None:
    assert expected is implied(literal, frozenset(by), frozenset(facts))


@pytest.mark.parametrize(
    ("literals", "names", "expected"),
    [
        pytest.param([], ["x"], (("x", 0),), id="free"),
        pytest.param([at_least("x", 3)], ["x"], (("x", 3),), id="lower"),
        pytest.param([at_most("x", -2)], ["x"], (("x", -2),), id="negative"),
        pytest.param([below("b", "a")], ["b", "a"], (("b", 0), ("a", 1)), id="not negative"),
        pytest.param([below("b", "a")], ["a"], (("a", 1),), id="what is not asked counts"),
        pytest.param([real("", "x"), real("x", "y")], ["y", "x"], (("y", 2), ("x", 1)), id="reals"),
        pytest.param([real("", "x"), real("x", "", -1)], ["x"], None, id="no integer between"),
        pytest.param([X], ["len(x)"], (("len(x)", 1),), id="length"),
        pytest.param([X, no(X)], ["n"], None, id="tests contradict"),
        pytest.param([no(equals("x", "0")), no(equals("x", "1"))], ["x"], (("x", 2),), id="not 0"),
        pytest.param(
            [no(equals("k", "0")), at_most("k", 0)], ["k"], (("k", -1),), id="not 0, nor more"
        ),
        pytest.param(
            [no(equals("b", "1")), below("a", "b"), below("b", "c")],
            ["a", "b", "c"],
            (("a", 0), ("b", 2), ("c", 3)),
            id="excluded between others",
        ),
        pytest.param(
            [no(equals("b", "0")), Bound("a", "b", 0), Bound("b", "a", 0)],
            ["a", "b"],
            (("a", 1), ("b", 1)),
            id="excluded for one that is equal",
        ),
        pytest.param([below("x", "x")], [], None, id="bounds contradict"),
        pytest.param(
            [Bound("k", "end", 3), below("start", "k")],
            ["start", "k", "end"],
            (("start", 0), ("k", 1), ("end", 4)),
            id="layers",
        ),
    ],
)
def test_witness(
    literals: list[Literal], names: list[str], expected: tuple[tuple[str, int], ...] | None
) -> None:
    assert expected == witness(frozenset(literals), NO_FACTS, names)


# ---- combining --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("condition", "literals", "expected"),
    [
        pytest.param(ALWAYS, [A], any_of([A]), id="first"),
        pytest.param(any_of([A]), [], any_of([A]), id="nothing"),
        pytest.param(any_of([A]), [A], any_of([A]), id="present"),
        pytest.param(any_of([A]), [no(A)], None, id="contradiction"),
        pytest.param(any_of([A], [B]), [no(A)], any_of([no(A), B]), id="one alternative left"),
        pytest.param(any_of([A], [B]), [A], any_of([A]), id="absorbed"),
        pytest.param(any_of([at_least("n", 2)]), [at_most("n", 1)], None, id="bounds"),
    ],
)
def test_conjoin(
    condition: PathCondition, literals: list[Literal], expected: PathCondition | None
) -> None:
    assert expected == conjoin(condition, literals, NO_FACTS)


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        pytest.param(ALWAYS, ALWAYS, ALWAYS, id="always"),
        pytest.param(any_of([A]), any_of([B]), any_of([A, B]), id="two"),
        pytest.param(any_of([A]), any_of([no(A)]), None, id="exclude"),
        pytest.param(
            any_of([X]), any_of([no(none("x"))]), any_of([X, no(none("x"))]), id="not-simplified"
        ),
        pytest.param(
            any_of([A], [B]), any_of([no(A)], [C]), any_of([A, C], [no(A), B]), id="product"
        ),
    ],
)
def test_both(left: PathCondition, right: PathCondition, expected: PathCondition | None) -> None:
    found = both(left, right, NO_FACTS)
    if expected is None or found is None:
        assert expected == found
    elif left == any_of([A], [B]):
        # `b and c` follows from the other two, but neither contains it.
        assert {*expected.alternatives} <= {*found.alternatives}
        assert truth(expected) == truth(found)
    else:
        assert expected == found


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        pytest.param(any_of([A]), any_of([A]), any_of([A]), id="equal"),
        pytest.param(any_of([A]), any_of([no(A)]), ALWAYS, id="complement"),
        pytest.param(any_of([A]), any_of([A, B]), any_of([A]), id="superset"),
        pytest.param(any_of([A]), any_of([no(A), B]), any_of([A], [B]), id="resolved"),
        pytest.param(any_of([A, B]), any_of([no(A), B]), any_of([B]), id="one polarity"),
        pytest.param(
            any_of([A, B]), any_of([no(A), B, C]), any_of([A, B], [B, C]), id="within a superset"
        ),
        pytest.param(
            any_of([A, B]), any_of([no(A), C]), any_of([A, B], [no(A), C]), id="bypass is kept"
        ),
        pytest.param(
            any_of([A, B]),
            any_of([no(A), no(B)]),
            any_of([A, B], [no(A), no(B)]),
            id="two polarities",
        ),
        pytest.param(
            any_of([below("a", "b")]), any_of([up_to("b", "a")]), ALWAYS, id="bounds complement"
        ),
        pytest.param(
            any_of([A, B], [no(A), B]), any_of([A, no(B)], [no(A), no(B)]), ALWAYS, id="fixed point"
        ),
    ],
)
def test_disjoin(left: PathCondition, right: PathCondition, expected: PathCondition) -> None:
    assert expected == disjoin(left, right)
    assert expected == disjoin(right, left)


def test_past_the_limit_the_closest_two_lose_what_they_do_not_share() -> None:
    apart: list[list[Literal]] = [[Test("true", f"v{n}"), D] for n in range(LIMIT - 1)]
    close: list[list[Literal]] = [[A, B, C], [A, B, E]]
    found = disjoin(any_of(*apart), any_of(*close))
    expected = [Conjunction(frozenset(one)) for one in apart]
    expected.append(Conjunction(frozenset([A, B]), weakened=True))
    assert set(expected) == set(found.alternatives)


@pytest.mark.parametrize(
    ("alternatives", "expected"),
    [
        pytest.param([([A], True), ([A], False)], [([A], False)], id="exact twin"),
        pytest.param([([A], True), ([A, B], False)], [([A], True)], id="weakened covers"),
        pytest.param([([A], False), ([A, B], True)], [([A], False)], id="exact covers"),
        pytest.param([([A], True), ([no(A)], False)], [([], True)], id="resolved by weakened"),
    ],
)
def test_weakening_is_remembered(
    alternatives: list[tuple[list[Literal], bool]], expected: list[tuple[list[Literal], bool]]
) -> None:
    first, second, answer = (
        PathCondition(tuple(Conjunction(frozenset(one), weakened) for one, weakened in some))
        for some in (alternatives[:1], alternatives[1:], expected)
    )
    assert answer == disjoin(first, second)


@pytest.mark.parametrize(
    ("condition", "facts", "expected"),
    [
        pytest.param(any_of([X, no(none("x"))]), [], any_of([X]), id="not None"),
        pytest.param(any_of([X, at_least("len(x)", 1)]), [], any_of([X]), id="test before bound"),
        pytest.param(
            any_of([no(X), at_most("len(x)", 0)]), [], any_of([at_most("len(x)", 0)]), id="empty"
        ),
        pytest.param(any_of([at_least("n", 0), A]), [at_least("n", 2)], any_of([A]), id="fact"),
        pytest.param(
            any_of([below("a", "c"), below("a", "b"), below("b", "c")]),
            [],
            any_of([below("a", "b"), below("b", "c")]),
            id="chain",
        ),
        pytest.param(
            any_of([at_least("n", 5)], [at_least("n", 3)]),
            [],
            any_of([at_least("n", 3)]),
            id="implied alternative",
        ),
        pytest.param(
            any_of([at_least("n", 5)], [at_least("m", 5)]),
            [up_to("n", "m"), up_to("m", "n")],
            any_of([at_least("m", 5)]),
            id="alternatives that imply each other",
        ),
    ],
)
def test_simplify(condition: PathCondition, facts: list[Bound], expected: PathCondition) -> None:
    assert expected == simplify(condition, frozenset(facts))


# ---- rendering --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("alternatives", "expected"),
    [
        pytest.param([[]], "always", id="always"),
        pytest.param([[A], []], "always", id="one is always"),
        pytest.param([], "never", id="never"),
        pytest.param([[none("x"), no(B), A]], "a and not b and x is None", id="tests"),
        pytest.param([[no(equals("x", "'a'"))]], "x != 'a'", id="constant"),
        pytest.param([[no(Test("in", "i", "x or ()"))]], "i not in (x or ())", id="container"),
        pytest.param([[no(Test("isinstance", "x", "list"))]], "not isinstance(x, list)", id="type"),
        pytest.param([[no(Test("true", "a < b"))]], "not (a < b)", id="opaque comparison"),
        pytest.param([[A, Test("true", "b or c")]], "a and (b or c)", id="opaque or"),
        pytest.param([[Test("true", "not a b")]], "not a b", id="no expression"),
        pytest.param([[no(C)], [A, B]], "not c or (a and b)", id="alternatives"),
        pytest.param([[at_least("x", 3)]], "x >= 3", id="at least"),
        pytest.param([[at_least("x", 1)]], "x >= 1", id="at least one"),
        pytest.param([[at_most("x", -1)]], "x <= -1", id="at most"),
        pytest.param([[real("", "x")]], "x > 0", id="more, reals"),
        pytest.param([[real("x", "", -2)]], "x < 2", id="less, reals"),
        pytest.param([[below("a", "b")]], "a < b", id="less"),
        pytest.param([[up_to("a", "b")]], "a <= b", id="up to"),
        pytest.param([[Bound("a", "b", 2)]], "a + 2 <= b", id="gap"),
        pytest.param([[Bound("a", "b", -2)]], "a <= b + 2", id="negative gap"),
        pytest.param([[Bound("a & c", "b", 2)]], "(a & c) + 2 <= b", id="operator in a term"),
        pytest.param([[real("a", "b", 1)]], "a + 1 < b", id="gap, reals"),
        pytest.param([[below("lo", "i"), below("i", "hi")]], "lo < i < hi", id="chain"),
        pytest.param([[at_least("a", 0), below("a", "b")]], "0 <= a < b", id="chain from zero"),
        pytest.param([[at_least("a", 1), up_to("a", "b")]], "0 < a <= b", id="chain above zero"),
        pytest.param([[at_least("a", 3), at_most("a", 7)]], "3 <= a <= 7", id="range"),
        pytest.param(
            [[below("a", "b"), below("b", "c"), below("b", "d")]], "a < b < c and b < d", id="fork"
        ),
        pytest.param(
            [[Bound("a", "b", 2), below("b", "c")]], "a + 2 <= b and b < c", id="no chain"
        ),
        pytest.param([[up_to("a", "b"), up_to("b", "a")]], "a == b", id="equal"),
        pytest.param(
            [[real("a", "b"), real("b", "a", strict=False)]], "a < b <= a", id="never equal"
        ),
        pytest.param([[at_least("a", -3), at_most("a", -3)]], "a == -3", id="equal constant"),
        pytest.param([[Bound("a", "b", -2), Bound("b", "a", 2)]], "a == b + 2", id="equal and gap"),
        pytest.param([[at_least("", 0), at_most("", 0)]], "0 == 0", id="zero"),
    ],
)
def test_render(alternatives: list[list[Literal]], expected: str) -> None:
    assert expected == render(any_of(*alternatives))


def test_names_are_what_the_reader_sees() -> None:
    condition = any_of(
        [Test("in", "i", "x"), equals("x", "'x'"), below("i", "x"), at_least("x", 0)]
    )
    expected = "self.x == 'x' and self.i in self.x and self.x >= 0 and self.i < self.x"
    assert expected == render(condition, lambda text: f"self.{text}")


# ---- against Python itself --------------------------------------------------------------------

NAMES = ("a", "b", "c", "x", "items", "m", "n")
FLAGS = (False, True)
VALUES: list[object] = [None, 0, 1, 3, "", "a", [], [1]]
ITEMS: list[list[int] | None] = [None, [], [1], [0, 3]]
NUMBERS = (-2, -1, 0, 1)
WORLDS = [
    dict(zip(NAMES, values, strict=True))
    for values in product(FLAGS, FLAGS, FLAGS, VALUES, ITEMS, NUMBERS, NUMBERS)
]
EVERYWHERE = (1 << len(WORLDS)) - 1

PYTHON = {
    "true": "bool({0})",
    "none": "{0} is None",
    "equals": "{0} == {1}",
    "in": "{0} in {1}",
    "isinstance": "isinstance({0}, {1})",
}


def source(literal: Literal) -> str:
    if isinstance(literal, Test):
        text = PYTHON[literal.predicate].format(literal.subject, literal.argument)
        return text if literal.positive else f"not ({text})"
    operator = "<" if literal.strict else "<="
    return f"{literal.low or 0} + {literal.gap} {operator} {literal.high or 0}"


def outcomes(text: str) -> tuple[int, int]:
    """The worlds, as bits, where an expression is true, and those where it has a value."""
    code = compile(text, "<condition>", "eval")
    true = defined = 0
    for bit, world in enumerate(WORLDS):
        try:
            value = bool(eval(code, dict(world)))
        except TypeError:
            continue
        defined |= 1 << bit
        true |= value << bit
    return true, defined


@cache
def worlds(literal: Literal) -> tuple[int, int]:
    return outcomes(source(literal))


def all_hold(literals: Iterable[Literal]) -> int:
    true = EVERYWHERE
    for literal in literals:
        true &= worlds(literal)[0]
    return true


def defined(*conditions: PathCondition) -> int:
    """The worlds where no literal of the conditions raises."""
    known = EVERYWHERE
    for condition in conditions:
        for alternative in condition.alternatives:
            for literal in alternative.literals:
                known &= worlds(literal)[1]
    return known


def truth(condition: PathCondition) -> int:
    true = 0
    for alternative in condition.alternatives:
        true |= all_hold(alternative.literals)
    return true


def is_weakened(condition: PathCondition) -> bool:
    return any(alternative.weakened for alternative in condition.alternatives)


TERMS = st.sampled_from(["", "m", "n", "len(x)", "len(items)"])
TESTS = st.one_of(
    st.builds(Test, st.just("true"), st.sampled_from(["a", "b", "c", "x", "items"])),
    st.builds(Test, st.just("none"), st.sampled_from(["x", "items"])),
    st.builds(
        Test,
        st.just("equals"),
        st.just("x"),
        st.sampled_from(["None", "0", "1", "3", "True", "''", "'a'"]),
    ),
    st.builds(Test, st.just("in"), st.sampled_from(["x", "m"]), st.just("items")),
    st.builds(Test, st.just("isinstance"), st.just("x"), st.sampled_from(["int", "str", "list"])),
)
BOUNDS = st.builds(Bound, TERMS, TERMS, st.integers(-2, 2), st.booleans(), st.booleans())
FACTS = st.frozensets(st.builds(Bound, TERMS, TERMS, st.integers(-2, 0)), max_size=2)
LITERALS: st.SearchStrategy[Literal] = st.one_of(TESTS, TESTS.map(negate), BOUNDS)
CONJUNCTIONS = st.frozensets(LITERALS, max_size=5)
CONDITIONS = st.lists(CONJUNCTIONS, min_size=1, max_size=4).map(lambda found: any_of(*found))
FLAG_LITERALS = st.builds(Test, st.just("true"), st.sampled_from("abc"), positive=st.booleans())
FLAG_CONDITIONS = st.lists(
    st.frozensets(FLAG_LITERALS, max_size=3), min_size=1, max_size=LIMIT
).map(lambda found: any_of(*found))

thorough = settings(max_examples=300, deadline=None)


@thorough
@given(LITERALS)
def test_negation_is_the_complement(literal: Literal) -> None:
    true, known = worlds(literal)
    opposite = negate(literal)
    assert literal == negate(opposite)
    assert (known & ~true, known) == worlds(opposite)


@thorough
@given(CONJUNCTIONS, FACTS)
def test_what_holds_somewhere_is_feasible(
    literals: frozenset[Literal], facts: frozenset[Bound]
) -> None:
    assert feasible(literals, facts) or not all_hold(literals | facts)


@thorough
@given(st.frozensets(st.one_of(TESTS, TESTS.map(negate)), max_size=3))
def test_tests_of_one_value_are_decided(literals: frozenset[Literal]) -> None:
    """Two literals are all that a contradiction between tests ever takes."""
    pairs = [frozenset([one, other]) for one in literals for other in literals]
    assert feasible(literals, NO_FACTS) is all(feasible(pair, NO_FACTS) for pair in pairs)


@thorough
@given(LITERALS, CONJUNCTIONS, FACTS)
def test_what_is_implied_holds(
    literal: Literal, by: frozenset[Literal], facts: frozenset[Bound]
) -> None:
    true, known = worlds(literal)
    if implied(literal, by, facts):
        assert not all_hold(by | facts) & known & ~true


@thorough
@given(CONDITIONS, CONDITIONS)
def test_disjoin_is_or(left: PathCondition, right: PathCondition) -> None:
    found = disjoin(left, right)
    expected = truth(left) | truth(right)
    assert not expected & ~truth(found)
    if not is_weakened(found):
        assert not truth(found) & ~expected & defined(left, right)
    assert found == disjoin(right, left)
    assert len(found.alternatives) <= LIMIT


@thorough
@given(st.lists(FLAG_CONDITIONS, min_size=2, max_size=3))
def test_a_few_flags_are_merged_exactly(conditions: list[PathCondition]) -> None:
    found, expected = conditions[0], truth(conditions[0])
    for condition in conditions[1:]:
        found, expected = disjoin(found, condition), expected | truth(condition)
    assert expected == truth(found) or is_weakened(found)
    assert not expected & ~truth(found)
    assert found.alternatives == disjoin(found, found).alternatives


@thorough
@given(CONDITIONS, FACTS)
def test_simplify_keeps_the_meaning(condition: PathCondition, facts: frozenset[Bound]) -> None:
    found = simplify(condition, facts)
    given_facts = all_hold(facts) & defined(condition)
    assert truth(condition) & given_facts == truth(found) & given_facts
    assert found == simplify(condition, facts)
    assert sum(len(one.literals) for one in found.alternatives) <= sum(
        len(one.literals) for one in condition.alternatives
    )


@thorough
@given(CONDITIONS, CONJUNCTIONS, FACTS)
def test_conjoin_is_and(
    condition: PathCondition, literals: frozenset[Literal], facts: frozenset[Bound]
) -> None:
    possible = conjoin(condition, [], facts) or condition
    found = conjoin(possible, literals, facts)
    known = all_hold(facts) & defined(condition)
    expected = truth(condition) & all_hold(literals)
    assert expected & known == (truth(found) if found else 0) & all_hold(literals) & known


@thorough
@given(CONDITIONS, CONDITIONS, FACTS)
def test_both_is_and(left: PathCondition, right: PathCondition, facts: frozenset[Bound]) -> None:
    found = both(left, right, facts)
    known = all_hold(facts) & defined(left, right)
    expected = truth(left) & truth(right) & known
    assert not expected & ~(truth(found) if found else 0)
    if found and not is_weakened(found):
        assert expected == truth(found) & known


@thorough
@given(CONDITIONS)
def test_rendering_says_the_same_in_python(condition: PathCondition) -> None:
    text = render(condition)
    true = EVERYWHERE if text == "always" else outcomes(text)[0]
    known = defined(condition)
    assert truth(condition) & known == true & known


# ---- bounds against search --------------------------------------------------------------------


def solutions(
    bounds: Iterable[Bound], domains: dict[str, list[Fraction]], chosen: dict[str, Fraction]
) -> Iterator[dict[str, Fraction]]:
    """All assignments that satisfy the bounds, by trying."""
    if any(not satisfied(bound, chosen) for bound in bounds):
        return
    term = next((term for term in domains if term not in chosen), None)
    if term is None:
        yield chosen
        return
    for value in domains[term]:
        yield from solutions(bounds, domains, {**chosen, term: value})


def satisfied(bound: Bound, chosen: dict[str, Fraction]) -> bool:
    if bound.low not in chosen or bound.high not in chosen:
        return True
    low, high = chosen[bound.low] + bound.gap, chosen[bound.high]
    return low < high if bound.strict else low <= high


ZERO = {"": Fraction(0)}
INTEGERS = [Fraction(value) for value in sorted(range(-8, 9), key=abs)]
QUARTERS = [Fraction(value, 4) for value in sorted(range(-20, 21), key=abs)]
INTEGER_TERMS = st.sampled_from(["", "i", "j", "k", "l"])
INTEGER_BOUNDS = st.builds(Bound, INTEGER_TERMS, INTEGER_TERMS, st.integers(-2, 2))
MIXED_TERMS = st.sampled_from(["", "i", "r", "s"])
MIXED_BOUNDS = st.one_of(
    st.builds(real, MIXED_TERMS, MIXED_TERMS, st.integers(-1, 1), strict=st.booleans()),
    st.builds(Bound, st.sampled_from(["", "i"]), st.sampled_from(["", "i"]), st.integers(-1, 1)),
)


@thorough
@given(st.frozensets(INTEGER_BOUNDS, max_size=7), st.frozensets(INTEGER_BOUNDS, max_size=2))
def test_integer_bounds_are_decided(bounds: frozenset[Bound], facts: frozenset[Bound]) -> None:
    domains = dict.fromkeys("ijkl", INTEGERS)
    expected = any(True for _ in solutions(bounds | facts, domains, ZERO))
    values = witness(bounds, facts, "ijkl")
    assert expected is feasible(bounds, facts)
    assert expected is (values is not None)
    chosen = ZERO | {name: Fraction(value) for name, value in values or ()}
    assert values is None or all(satisfied(bound, chosen) for bound in bounds | facts)


@settings(max_examples=150, deadline=None)
@given(st.frozensets(MIXED_BOUNDS, max_size=6))
def test_bounds_over_reals_are_decided(bounds: frozenset[Bound]) -> None:
    whole = any(bound.integral and "i" in (bound.low, bound.high) for bound in bounds)
    domains = {"i": INTEGERS if whole else QUARTERS, "r": QUARTERS, "s": QUARTERS}
    expected = any(True for _ in solutions(bounds, domains, ZERO))
    assert expected is feasible(bounds, NO_FACTS)
