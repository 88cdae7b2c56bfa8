"""Print a path condition as a Python expression."""

import ast
from collections.abc import Callable, Sequence
from functools import lru_cache

from pathaudit.conditions.literals import Bound, Conjunction, PathCondition, Test, literal_key

# How tightly an expression binds; an operand that binds looser than its place needs parentheses.
_LOOSE, _NEGATION, _COMPARISON, _BITWISE, _SUM, _TIGHT = range(6)

_FORMS = {
    "true": ("{}", "not {}"),
    "none": ("{} is None", "{} is not None"),
    "equals": ("{} == {}", "{} != {}"),
    "in": ("{} in {}", "{} not in {}"),
    "isinstance": ("isinstance({}, {})", "not isinstance({}, {})"),
}


def _identity(text: str) -> str:
    return text


def render(condition: PathCondition, name: Callable[[str], str] = _identity) -> str:
    """Return ``condition`` as a Python expression, or ``always``, or ``never``.

    ``name`` turns the canonical text of a value, a container or a term of a bound into what the
    reader sees. Constants and classes are printed as they are.
    """
    if not condition.alternatives:
        return "never"
    if any(not alternative.literals for alternative in condition.alternatives):
        return "always"
    groups = [_parts(alternative, name) for alternative in condition.alternatives]
    if len(groups) == 1:
        return " and ".join(groups[0])
    return " or ".join(
        group[0] if len(group) == 1 else f"({' and '.join(group)})" for group in groups
    )


def _parts(conjunction: Conjunction, name: Callable[[str], str]) -> list[str]:
    ordered = sorted(conjunction.literals, key=literal_key)
    tests = [_test(literal, name) for literal in ordered if isinstance(literal, Test)]
    return tests + _bounds([bound for bound in ordered if isinstance(bound, Bound)], name)


def _test(test: Test, name: Callable[[str], str]) -> str:
    form = _FORMS[test.predicate][not test.positive]
    if test.predicate == "isinstance":
        return form.format(name(test.subject), test.argument)
    place = _NEGATION if test.predicate == "true" and test.positive else _BITWISE
    argument = name(test.argument) if test.predicate == "in" else test.argument
    return form.format(_fitted(name(test.subject), place), _fitted(argument, _BITWISE))


def _fitted(text: str, place: int) -> str:
    return f"({text})" if _binding(text) < place else text


@lru_cache(maxsize=1 << 12)
def _binding(text: str) -> int:
    """How tightly ``text`` binds; what is no Python expression is taken for a name."""
    try:
        expression = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return _TIGHT
    match expression:
        case ast.BoolOp() | ast.IfExp() | ast.Lambda() | ast.NamedExpr():
            return _LOOSE
        case ast.UnaryOp(op=ast.Not()):
            return _NEGATION
        case ast.Compare():
            return _COMPARISON
        case ast.BinOp(op=ast.Add() | ast.Sub()):
            return _SUM
        case ast.BinOp(op=ast.BitOr() | ast.BitAnd() | ast.BitXor() | ast.LShift() | ast.RShift()):
            return _BITWISE
        case _:
            return _TIGHT


# ---- bounds -----------------------------------------------------------------------------------


def _bounds(bounds: Sequence[Bound], name: Callable[[str], str]) -> list[str]:
    opposites = {_opposite(bound) for bound in bounds if not bound.strict}
    equal = [bound for bound in bounds if bound in opposites and _leads(bound)]
    chains = _chains([bound for bound in bounds if bound not in opposites])
    return [_equality(bound, name) for bound in equal] + [_chain(chain, name) for chain in chains]


def _opposite(bound: Bound) -> Bound:
    return Bound(bound.high, bound.low, -bound.gap, integral=bound.integral)


def _leads(bound: Bound) -> bool:
    """Of the two bounds of an equality, the one that is printed: ``b == a + 1``, ``x == -1``."""
    if not (bound.low and bound.high):
        return not bound.low
    return bound.gap > 0 or (bound.gap == 0 and bound.low <= bound.high)


def _equality(bound: Bound, name: Callable[[str], str]) -> str:
    high = _term(bound.high, name)
    if not bound.low:
        return f"{high} == {bound.gap}"
    if not bound.gap:
        return f"{_term(bound.low, name)} == {high}"
    return f"{high} == {_term(bound.low, name, bound.gap)}"


def _chains(bounds: Sequence[Bound]) -> list[list[Bound]]:
    """Split into runs to print as one comparison, each as long as it gets; stable."""
    chains: list[list[Bound]] = []
    left = list(bounds)
    while left:
        linked = {bound.high for bound in left if _links(bound)} - {""}
        first = next((bound for bound in left if bound.low not in linked), left[0])
        left.remove(first)
        chains.append([first])
        while following := _following(chains[-1][-1], left):
            left.remove(following)
            chains[-1].append(following)
    return chains


def _following(bound: Bound, left: Sequence[Bound]) -> Bound | None:
    if not (bound.high and _links(bound)):
        return None
    return next((more for more in left if more.low == bound.high and _links(more)), None)


def _links(bound: Bound) -> bool:
    """Whether a bound reads well in a chain: a constant end, or nothing to add to either side."""
    return not (bound.low and bound.high) or bound.gap == (1 if _below(bound) else 0)


def _below(bound: Bound) -> bool:
    """Whether an integer bound reads as ``<``."""
    return bound.integral and bound.gap == 1 and bool(bound.high)


def _chain(chain: Sequence[Bound], name: Callable[[str], str]) -> str:
    if len(chain) == 1:
        return _single(chain[0], name)
    first = chain[0]
    text = _term(first.low, name) if first.low else str(first.gap - _below(first))
    for bound in chain:
        operator = "<" if bound.strict or _below(bound) else "<="
        high = _term(bound.high, name) if bound.high else str(-bound.gap)
        text += f" {operator} {high}"
    return text


def _single(bound: Bound, name: Callable[[str], str]) -> str:
    if not bound.low:
        return f"{_term(bound.high, name)} {'>' if bound.strict else '>='} {bound.gap}"
    operator = "<" if bound.strict else "<="
    if not bound.high:
        return f"{_term(bound.low, name)} {operator} {-bound.gap}"
    if _below(bound):
        return f"{_term(bound.low, name)} < {_term(bound.high, name)}"
    low = _term(bound.low, name, max(bound.gap, 0))
    return f"{low} {operator} {_term(bound.high, name, max(-bound.gap, 0))}"


def _term(term: str, name: Callable[[str], str], more: int = 0) -> str:
    text = name(term) if term else "0"
    return f"{_fitted(text, _SUM)} + {more}" if more else _fitted(text, _BITWISE)
