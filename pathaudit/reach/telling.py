"""What was recorded about one entry, told by places: which layers run with the target, and when."""

import re
from collections.abc import Callable, Iterable

from msgspec import Struct
from msgspec.structs import replace

from pathaudit.check.iterations import Breach, Kept, Unfollowed
from pathaudit.conditions import (
    ALWAYS,
    Bound,
    Conjunction,
    Literal,
    PathCondition,
    both,
    disjoin,
    render,
    simplify,
)
from pathaudit.paths import Run, plain
from pathaudit.reach.executor import ReachExecutor
from pathaudit.reach.monitor import ReachMonitor
from pathaudit.results.reaches import Extent, Range

_SiteKey = tuple[str, int, int]
_MARK = re.compile(r"@\d+")


class Told(Struct, frozen=True):
    """What is to be said of one entry, but for the flags."""

    extent: Extent
    runs: tuple[Range, ...]
    bypasses: tuple[Range, ...]
    raises: tuple[str, ...] = ()
    reason: str = ""


class _Site(Struct):
    """A place that runs layers: how with the target, and how without."""

    run: Run
    kept: list[tuple[Run, PathCondition]]
    lost: list[tuple[Run, PathCondition]]


def tell(executor: ReachExecutor, monitor: ReachMonitor) -> Told:
    """Where the target ran, and where not: by layers where it belongs to them, else by calls."""
    if monitor.kept:
        told = _by_layers(executor, monitor)
    elif monitor.seen:
        told = _by_calls(executor, monitor)
    else:
        told = Told(Extent.NONE, (), ())
    if executor.cuts and told.extent is not Extent.EVERY:
        reason = "; ".join(executor.cuts)
        extent = Extent.SOME if told.extent is Extent.SOME else Extent.UNKNOWN
        return Told(extent, told.runs, told.bypasses, told.raises, reason)
    return told


# ---- layers -----------------------------------------------------------------------------------


def _by_layers(executor: ReachExecutor, monitor: ReachMonitor) -> Told:
    stacks = {item.run.stack for item in monitor.kept}
    sites: dict[_SiteKey, _Site] = {}
    for kept in dict.fromkeys(monitor.kept):
        _at(sites, kept.run).kept.append((kept.run, _left(executor, kept)))
    missed: tuple[Breach | Unfollowed, ...] = (*monitor.breaches, *monitor.unfollowed)
    for lost in missed:
        if lost.run.stack in stacks:
            _at(sites, lost.run).lost.append((lost.run, _left(executor, lost)))
    facts = executor.evaluator.facts
    runs: list[Range] = []
    bypasses: list[Range] = []
    for key in sorted(sites):
        site = sites[key]
        runs += _ranges(site, site.kept, site.lost, facts, runs=True)
        bypasses += _ranges(site, site.lost, site.kept, facts, runs=False)
    extent = Extent.SOME if bypasses else Extent.EVERY
    unknown = sorted({item.callee for item in monitor.unfollowed if item.run.stack in stacks})
    reason = f"layers go to {', '.join(map(plain, unknown))}, not followed" if unknown else ""
    return Told(extent, tuple(runs), tuple(bypasses), (), reason)


def _at(sites: dict[_SiteKey, _Site], run: Run) -> _Site:
    key = (run.file, run.region.line, run.region.column)
    return sites.setdefault(key, _Site(run, [], []))


def _left(executor: ReachExecutor, found: Kept | Breach | Unfollowed) -> PathCondition:
    """The condition at the place; where layers leave their object, that of the call there."""
    point = found.run.point
    if point < 0 or isinstance(found, Kept):
        return found.condition
    return executor.points[point].state.condition


def _ranges(
    site: _Site,
    own: list[tuple[Run, PathCondition]],
    other: list[tuple[Run, PathCondition]],
    facts: frozenset[Bound],
    *,
    runs: bool,
) -> list[Range]:
    """The layers that ran one way at a place, each range with what tells it from the other way."""
    found: dict[tuple[str, bool], list[str]] = {}
    for key in dict.fromkeys((run.low, run.high) for run, _ in own):
        condition = _of_range(own, key) or ALWAYS
        against = _of_range(other, key)
        if against is not None:
            condition = apart(condition, against, facts)
        elif runs:
            condition = ALWAYS  # wherever that place runs these layers
        text = _text(condition, lambda text: shown(text, site.run), facts)
        layers = f"[{shown(key[0], site.run)}, {shown(key[1], site.run)})"
        found.setdefault((text, against is not None), []).append(layers)
    return [
        Range(
            layers=" or ".join(sorted(set(layers))),
            condition=text,
            file=site.run.file,
            line=site.run.region.line,
            symbol=site.run.function,
            by=site.run.handoff,
            beside=beside,
        )
        for (text, beside), layers in sorted(found.items())
    ]


def _of_range(found: list[tuple[Run, PathCondition]], key: tuple[str, str]) -> PathCondition | None:
    return _joined(_unmarked(x) for run, x in found if (run.low, run.high) == key)


def _unmarked(condition: PathCondition) -> PathCondition:
    """Executed twice, a loop has two numbers, and its counter is one all the same."""
    parts = (
        Conjunction(frozenset(map(_same_loop, part.literals)), part.weakened)
        for part in condition.alternatives
    )
    return PathCondition(tuple(parts))


def _same_loop(literal: Literal) -> Literal:
    if isinstance(literal, Bound):
        low, high = (_MARK.sub("@0", text) for text in (literal.low, literal.high))
        return replace(literal, low=low, high=high)
    subject, argument = (_MARK.sub("@0", text) for text in (literal.subject, literal.argument))
    return replace(literal, subject=subject, argument=argument)


def apart(one: PathCondition, other: PathCondition, facts: frozenset[Bound]) -> PathCondition:
    """What of a condition tells it from another: literals are dropped as long as it does."""
    if both(one, other, facts) is not None:
        return one
    found: PathCondition | None = None
    for part in one.alternatives:
        literals = part.literals
        for literal in sorted(part.literals, key=_order):
            fewer = PathCondition((Conjunction(literals - {literal}, part.weakened),))
            if both(fewer, other, facts) is None:
                literals = literals - {literal}
        short = PathCondition((Conjunction(literals, part.weakened),))
        found = short if found is None else disjoin(found, short)
    return found or one


def _order(literal: Literal) -> tuple[bool, int, str]:
    """Bounds are dropped first, then the longest test."""
    if isinstance(literal, Bound):
        return (False, -len(literal.low + literal.high), f"{literal.low} {literal.high}")
    return (True, -len(literal.subject + literal.argument), literal.subject)


def _joined(conditions: Iterable[PathCondition]) -> PathCondition | None:
    found: PathCondition | None = None
    for condition in conditions:
        found = condition if found is None else disjoin(found, condition)
    return found


# ---- calls ------------------------------------------------------------------------------------


def _by_calls(executor: ReachExecutor, monitor: ReachMonitor) -> Told:
    facts = executor.evaluator.facts
    went = _joined(x.condition for x in monitor.ended if x.ran and not x.raised)
    missed = _joined(x.condition for x in monitor.ended if not x.ran and not x.raised)
    raised = [x.condition for x in monitor.ended if x.ran and x.raised]
    raises = tuple(dict.fromkeys(_text(x, plain, facts) for x in raised))
    if went is None:
        why = "every path that runs it raises" if raises else ""
        return Told(Extent.NONE, (), (), raises, why)
    if missed is None:
        return Told(Extent.EVERY, (_call("always"),), (), raises)
    runs, bypasses = apart(went, missed, facts), apart(missed, went, facts)
    return Told(
        Extent.SOME,
        (_call(_text(runs, plain, facts)),),
        (_call(_text(bypasses, plain, facts)),),
        raises,
    )


def _call(condition: str) -> Range:
    return Range(layers="", condition=condition, file="", line=0)


# ---- text -------------------------------------------------------------------------------------


def shown(text: str, run: Run) -> str:
    """Text for people, as the object that owns the layers would say it."""
    owner = run.stack.rpartition(".")[0]
    return plain(re.sub(rf"(?<![\w.]){re.escape(owner)}\.", "self.", text))


def _text(condition: PathCondition, name: Callable[[str], str], facts: frozenset[Bound]) -> str:
    return render(simplify(condition, facts), name)
