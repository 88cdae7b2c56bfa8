"""How a path is told: its condition in the fewest literals, witness values, steps, proof."""

import re
from collections.abc import Iterable

from msgspec import Struct

from pathaudit import ir
from pathaudit.check.judging import Judged
from pathaudit.conditions import (
    ALWAYS,
    Bound,
    Conjunction,
    Literal,
    PathCondition,
    Test,
    disjoin,
    feasible,
    render,
    simplify,
    witness,
)
from pathaudit.paths import Run, TrailStep, plain
from pathaudit.results import (
    PathReport,
    Reach,
    Step,
    Value,
)

# The most reachable path of a finding decides how loud it is.
REACH_ORDER = (Reach.REACHABLE, Reach.GATED, Reach.BLOCKED, Reach.DORMANT)


class Case(Struct, frozen=True, eq=False):
    """One way to break the rule: of which subject, and whether it can run."""

    run: Run
    condition: PathCondition
    steps: tuple[TrailStep, ...]
    judged: Judged
    reach: Reach
    callee: str = ""


def paths_of(cases: list[Case]) -> list[PathReport]:
    """The ways to a place, one for each layer range; conditions are joined.

    Where one receiver can get there and another cannot, the way of the one that can is told.
    """
    ranges: dict[tuple[int, str, str], list[Case]] = {}
    for case in cases:
        key = (REACH_ORDER.index(case.reach), case.run.low, case.run.high)
        ranges.setdefault(key, []).append(case)
    told: dict[tuple[str, str], tuple[int, PathReport]] = {}
    for reach, *_ in sorted(ranges):
        for key, group in ranges.items():
            if key[0] == reach:
                path = _path(group)
                told.setdefault((path.layers, path.condition), (reach, path))
    ordered = sorted(told.values(), key=lambda x: (x[0], -len(x[1].witness), x[1].layers))
    return [path for _, path in ordered]


def _path(group: list[Case]) -> PathReport:
    first = group[0]
    facts = first.judged.facts
    shortest = joined(group, facts)
    literals = shortest.alternatives[0].literals
    told = literals | _equal_numbers(literals)
    values = witness(told, facts, _integers(told)) or ()
    return PathReport(
        condition=render(shortest, plain),
        layers=layers_of(first.run),
        witness=tuple(Value(plain(name), value) for name, value in values),
        steps=_steps(first, literals),
        reach=first.reach,
        proof=proof_of(first),
    )


def joined(cases: list[Case], facts: frozenset[Bound]) -> PathCondition:
    """The cases' conditions as one, in the fewest literals."""
    condition: PathCondition | None = None
    for case in cases:
        shown = _shown(case)
        condition = shown if condition is None else disjoin(condition, shown)
    return simplify(condition or ALWAYS, facts)


def layers_of(run: Run) -> str:
    """The layers of a run as a half-open range."""
    return f"[{plain(run.low)}, {plain(run.high)})"


def proof_of(case: Case) -> str:
    """Why a path cannot run."""
    if case.reach is Reach.DORMANT:
        return "no setter of the served class arms the feature"
    if case.reach is Reach.GATED:
        return case.judged.gate.proof
    return refusal_of(case.steps) if case.reach is Reach.BLOCKED else ""


def refusal_of(steps: Iterable[TrailStep]) -> str:
    """What raises on a path before a layer runs, and where."""
    raised = [step for step in steps if step.kind == "raise"]
    if not raised:
        return "every path raises before a layer runs"
    step = raised[-1]
    return f"raises {step.text} at {step.file}:{step.region.line} before a layer runs"


def _shown(case: Case) -> PathCondition:
    """Without the literals that only say that the loop's counter lies in its range."""
    ranges = case.judged.ranges
    alternatives = [
        Conjunction(frozenset(x for x in part.literals if not _is_range(x, ranges)), part.weakened)
        for part in case.condition.alternatives
    ]
    condition = PathCondition((alternatives[0],))
    for part in alternatives[1:]:
        condition = disjoin(condition, PathCondition((part,)))
    return condition


def _is_range(literal: Literal, ranges: dict[int, tuple[str, str]]) -> bool:
    """Does a literal only say that a loop's counter lies in the loop's range?"""
    if not isinstance(literal, Bound):
        return False
    for counter, other in ((literal.low, literal.high), (literal.high, literal.low)):
        mark = re.search(r"@(\d+)", counter)
        low, high = ranges.get(int(mark.group(1)), ("", "")) if mark else ("", "")
        if not low or not high:
            continue
        if counter == literal.low:
            base, offset = _split_offset(high)
            wanted: tuple[int, ...] = (1 - offset,)
        else:
            base, offset = _split_offset(low)
            wanted = (offset, offset + 1)
        if other == base and literal.gap in wanted:
            return True
    return False


def _split_offset(text: str) -> tuple[str, int]:
    """``end - 1`` as the expression and the number; a number alone has no expression."""
    if text.lstrip("-").isdigit():
        return "", int(text)
    match = re.fullmatch(r"(.*) ([+-]) (\d+)", text)
    if match is None:
        return text, 0
    return match.group(1), int(match.group(2) + match.group(3))


def _equal_numbers(literals: frozenset[Literal]) -> frozenset[Literal]:
    """``k == 1`` as bounds, for witness values and for what else is said of ``k``."""
    bounds: set[Literal] = set()
    for literal in literals:
        if not isinstance(literal, Test) or literal.predicate != "equals" or not literal.positive:
            continue
        if re.fullmatch(r"-?\d+", literal.argument):
            number = int(literal.argument)
            bounds.add(Bound("", literal.subject, number))
            bounds.add(Bound(literal.subject, "", -number))
    return frozenset(bounds)


def possible(case: Case) -> bool:
    """Can the condition of a case hold, once equalities with numbers are taken as bounds?"""
    facts = case.judged.facts
    return any(
        feasible(part.literals | _equal_numbers(part.literals), facts)
        for part in case.condition.alternatives
    )


def _integers(literals: frozenset[Literal]) -> tuple[str, ...]:
    bounds = sorted(x for x in literals if isinstance(x, Bound) and x.integral)
    names = [name for bound in bounds for name in (bound.low, bound.high) if name]
    return tuple(dict.fromkeys(names))


def _steps(case: Case, literals: frozenset[Literal]) -> tuple[Step, ...]:
    """The branches that decide the path, and the call that leaves the class."""
    found = []
    subjects = _subjects_of(literals)
    for item in case.steps:
        if item.taken is None or not (_subjects_of(item.literals) & subjects):
            continue
        if item.region == ir.NOWHERE:
            continue
        text = "taken" if item.taken else "not taken"
        found.append(_step(item.file, item.region, "branch", text, taken=item.taken))
    text = f"goes to {case.run.handoff}" if case.run.handoff else "runs layers"
    kind = "call" if case.run.handoff else "loop" if case.run.kind == "loop" else "event"
    found.append(_step(case.run.file, case.run.region, kind, text))
    return tuple(dict.fromkeys(found))


def _step(file: str, region: ir.Region, kind: str, text: str, taken: bool | None = None) -> Step:
    return Step(
        file=file,
        line=region.line,
        column=region.column,
        end_line=region.end_line,
        end_column=region.end_column,
        kind=kind,
        text=text,
        taken=taken,
    )


def _subjects_of(literals: frozenset[Literal]) -> frozenset[str]:
    found = set()
    for literal in literals:
        if isinstance(literal, Bound):
            found.add(f"{min(literal.low, literal.high)} {max(literal.low, literal.high)}")
        else:
            found.add(f"{literal.predicate} {literal.subject} {literal.argument}")
    return frozenset(found)
