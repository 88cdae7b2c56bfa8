"""The kind ``precedes``: configuration comes before the call that freezes it.

What counts are the paths, not the lines: a configuring call is late where a path leads to it from a
freezing call of the same object, and on to an end of the function without the object being frozen
again.
"""

import re
from collections.abc import Iterable, Iterator
from functools import reduce

from msgspec import Struct

from pathaudit.check.answer import Answer, Fault, merge_faults
from pathaudit.check.precedes_calls import Scene
from pathaudit.check.precedes_state import Late, PathsExceeded, Place
from pathaudit.check.precedes_walk import Walker
from pathaudit.conditions import Conjunction, PathCondition, disjoin, render, simplify
from pathaudit.index import FunctionRef, Index
from pathaudit.paths import plain
from pathaudit.results import Gap, Severity, Step
from pathaudit.ruleset import PrecedesRule, Rule
from pathaudit.work import Stage, Work

_FEW = 12  # files that are looked through in no time


class Frozen(Struct, frozen=True):
    """The files that hold freezing or configuring calls."""

    files: tuple[str, ...]


class Ordered(Struct, frozen=True):
    """What was found there, and how many functions both freeze and configure."""

    faults: tuple[Fault, ...]
    gaps: tuple[Gap, ...]
    examined: int


def begin_precedes(work: Work, rule: PrecedesRule) -> None:
    """Start to judge: it is one unit, and long where many files hold such calls."""
    files = _files(work, rule)
    if len(files) > _FEW:
        work.begin(ORDERED, Frozen(files), rule)


def check_precedes(work: Work, rule: PrecedesRule) -> Answer:
    """Judge the order of the calls in every function of the framework that makes both.

    These calls are made for all served classes, so there is no part of it for one of them.
    """
    files = _files(work, rule)
    ordered = work.run(ORDERED, [Frozen(files)], rule)
    return Answer(
        findings=merge_faults(rule, (fault for item in ordered for fault in item.faults)),
        entries=(),
        gaps=tuple(gap for item in ordered for gap in item.gaps),
        examined=sum(item.examined for item in ordered),
    )


def _files(work: Work, rule: PrecedesRule) -> tuple[str, ...]:
    """The files with a call that freezes, and those with a call that configures.

    Model files define the setters, and freeze nothing.
    """
    framework = (*rule.files, *(f"!{glob}" for glob in work.profile.models))
    freezing = _holding(work, rule.freeze, rule.files)
    configuring = (_holding(work, item.calls, framework) for item in rule.configure)
    return tuple(sorted(freezing.union(*configuring))) if freezing else ()


def _holding(work: Work, names: Iterable[str], under: tuple[str, ...]) -> frozenset[str]:
    """The files that hold a text which every name that fits a glob has in it."""
    needles = {_needle(name) for name in names}
    modules = work.index.modules
    return frozenset(path for needle in needles for path in modules.holding(under, needle))


def _needle(glob: str) -> str:
    parts = re.split(r"[*?]|\[.*?\]", glob)
    longest = max(parts, key=len)
    return f"{longest}(" if parts[-1] == longest else longest


def _find_late(index: Index, rule: Rule | None, item: Frozen) -> Ordered:
    if not isinstance(rule, PrecedesRule):
        raise AssertionError("a rule of this kind is needed")
    scene = Scene(index, rule, item.files)
    roots = list(scene.roots())
    found: dict[Place, list[Case]] = {}
    gaps = []
    for ref in roots:
        try:
            walked = Walker(scene, index.modules.owner(ref)).walk(ref)
        except PathsExceeded:
            gaps.append(_gap(index, ref))
            continue
        for case in _exact(ref, walked):
            found.setdefault(case.late.event.place, []).append(case)
    faults = tuple(_fault(rule, _nearest(cases)) for _, cases in sorted(found.items()))
    return Ordered(faults, tuple(gaps), len(roots))


class Case(Struct, frozen=True):
    """What is late in a function, and when."""

    root: FunctionRef
    late: Late
    condition: PathCondition


def _exact(root: FunctionRef, walked: dict[Late, PathCondition]) -> Iterator[Case]:
    """What was found in a function; a condition that was weakened on the way proves nothing."""
    for late, condition in walked.items():
        exact = tuple(x for x in condition.alternatives if not x.weakened)
        if exact:
            yield Case(root, late, PathCondition(exact))


def _gap(index: Index, ref: FunctionRef) -> Gap:
    function = index.modules.function(ref)
    line = function.line if function else 1
    message = f"{ref.qualname} was not analysed to the end: it has too many paths"
    return Gap(kind="budget", file=ref.file, line=line, message=message)


def _nearest(cases: list[Case]) -> list[Case]:
    """The cases of the function from where the way to the call is shortest, nearest first."""

    def distance(case: Case) -> tuple[int, bool, FunctionRef]:
        elsewhere = case.root.file != case.late.event.place.file
        return len(case.late.event.chain), elsewhere, case.root

    nearest = min(map(distance, cases))
    kept = (case for case in cases if distance(case) == nearest)
    return sorted(kept, key=lambda x: (len(x.late.freeze.chain), x.late.freeze.place, x.late))


# ---- what is said of it -----------------------------------------------------------------------


def _fault(rule: PrecedesRule, cases: list[Case]) -> Fault:
    """One fault for all that is frozen before one call."""
    late = cases[0].late
    severity = rule.configure[late.number].severity or rule.severity
    place = late.event.place
    return Fault(
        file=place.file,
        region=place.region,
        symbol=place.symbol,
        entry=cases[0].root.qualname,
        message=_message(rule, [case.late for case in cases]),
        kind=late.event.name,
        severity=severity,
        condition=_condition(case.condition for case in cases),
        steps=tuple(_steps(late)),
        features=(late.event.name,) if severity is Severity.ERROR else (),
    )


def _condition(conditions: Iterable[PathCondition]) -> str:
    """Any of some conditions, with what all have in common said once."""
    whole = simplify(reduce(disjoin, conditions), frozenset())
    common = frozenset.intersection(*(part.literals for part in whole.alternatives))
    rest = [Conjunction(part.literals - common) for part in whole.alternatives]
    texts = [render(PathCondition((Conjunction(common),)), plain)] if common else []
    if not common or any(part.literals for part in rest):
        text = render(PathCondition(tuple(rest)), plain)
        texts.append(f"({text})" if common and len(rest) > 1 else text)
    return " and ".join(texts)


def _message(rule: PrecedesRule, found: list[Late]) -> str:
    event = found[0].event
    freezes = _calls(x.freeze.name for x in sorted(found, key=lambda x: x.freeze.place))
    text = rule.message.format(call=f"{event.name}()", freeze=freezes)
    before = {x.freeze.name for x in found}
    later = _calls(name for x in found for name in x.later if name not in before)
    also = f"; {later} comes after it" if later else ""
    return f"{text}: {rule.configure[found[0].number].effect}{also}"


def _calls(names: Iterable[str]) -> str:
    return " and ".join(dict.fromkeys(f"{name}()" for name in names))


def _steps(late: Late) -> Iterator[Step]:
    """The calls that lead to the freezing one, that call, and those that lead to the late one."""
    freeze, event = late.freeze, late.event
    for place in freeze.chain:
        yield _step(place, "call", "leads to what freezes")
    yield _step(freeze.place, "call", "freezes")
    for place in event.chain:
        if place not in freeze.chain:
            yield _step(place, "call", "leads to what comes too late")
    yield _step(event.place, "event", "comes too late")


def _step(place: Place, kind: str, text: str) -> Step:
    region = place.region
    return Step(
        file=place.file,
        line=region.line,
        column=region.column,
        end_line=region.end_line,
        end_column=region.end_column,
        kind=kind,
        text=text,
    )


ORDERED = Stage(
    "ordered", _find_late, Frozen, Ordered, lambda item: "".join(item.files[:1]), judges=True
)
