"""What was recorded about one entry, told by places: which layers run with the target, and when."""

import re
from collections.abc import Callable, Iterable, Sequence

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
    given: tuple[str, ...] = ()


class _Site(Struct):
    """A place that runs layers: how with the target, and how without."""

    run: Run
    kept: list[tuple[Run, PathCondition]]
    lost: list[tuple[Run, PathCondition]]


def tell(executor: ReachExecutor, monitor: ReachMonitor) -> Told:
    """Where the target ran, and where not: by layers where it belongs to them, else by calls."""
    if monitor.kept or monitor.early:
        told = _by_layers(executor, monitor)
    elif monitor.seen:
        told = _by_calls(executor, monitor)
    else:
        told = Told(Extent.NONE, (), ())
    told = replace(told, given=tuple(map(plain, executor.given)))
    if executor.cuts and told.extent is not Extent.EVERY:
        extent = Extent.SOME if told.extent is Extent.SOME else Extent.UNKNOWN
        return replace(told, extent=extent, reason="; ".join(executor.cuts))
    return told


# ---- layers -----------------------------------------------------------------------------------


def _by_layers(executor: ReachExecutor, monitor: ReachMonitor) -> Told:
    ranges = {_range_of(item.run) for item in monitor.kept}
    early = [item for item in monitor.early if _range_of(item.run) not in ranges]
    stacks = {item.run.stack for item in (*monitor.kept, *early)}
    sites: dict[_SiteKey, _Site] = {}
    for kept in dict.fromkeys((*monitor.kept, *early)):
        _at(sites, kept.run).kept.append((kept.run, _left(executor, kept)))
    missed: tuple[Breach | Unfollowed, ...] = (*monitor.breaches, *monitor.unfollowed)
    for lost in missed:
        if lost.run.stack in stacks:
            _at(sites, lost.run).lost.append((lost.run, _left(executor, lost)))
    runs: list[Range] = []
    bypasses: list[Range] = []
    for key in sorted(sites):
        site = sites[key]
        runs += _ranges(site, site.kept, site.lost, executor, runs=True)
        bypasses += _ranges(site, site.lost, site.kept, executor, runs=False)
    extent = Extent.SOME if bypasses else Extent.EVERY
    unknown = sorted({item.callee for item in monitor.unfollowed if item.run.stack in stacks})
    reason = f"layers go to {', '.join(map(plain, unknown))}, not followed" if unknown else ""
    return Told(extent, tuple(runs), tuple(bypasses), (), reason)


def _at(sites: dict[_SiteKey, _Site], run: Run) -> _Site:
    key = (run.file, run.region.line, run.region.column)
    return sites.setdefault(key, _Site(run, [], []))


def _range_of(run: Run) -> tuple[str, int, str, str]:
    return (run.file, run.region.line, run.low, run.high)


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
    executor: ReachExecutor,
    *,
    runs: bool,
) -> list[Range]:
    """The layers that ran one way at a place, each range with what tells it from the other way."""
    found: dict[tuple[str, bool], list[str]] = {}
    facts = executor.evaluator.facts
    name = _names(executor, site.run.stack.rpartition(".")[0])
    for key in dict.fromkeys((run.low, run.high) for run, _ in own):
        conditions, against = _of_range(own, key), _of_range(other, key)
        if runs and not against:
            conditions = [ALWAYS]  # wherever that place runs these layers
        text = render(simplify(apart(conditions, against, facts), facts), name)
        layers = f"[{name(key[0])}, {name(key[1])})"
        found.setdefault((text, bool(against)), []).append(layers)
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


def _of_range(found: list[tuple[Run, PathCondition]], key: tuple[str, str]) -> list[PathCondition]:
    return [_unmarked(condition) for run, condition in found if (run.low, run.high) == key]


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


def apart(
    own: Iterable[PathCondition], others: Sequence[PathCondition], facts: frozenset[Bound]
) -> PathCondition:
    """What of some conditions tells them from others: literals are dropped as long as it does.

    Together they hold wherever one of ``own`` does, and where one of ``others`` does only if both
    were not to be told apart to begin with.
    """
    found: PathCondition | None = None
    for condition in own:
        for part in condition.alternatives:
            short = PathCondition((_shortest(part, others, facts),))
            found = short if found is None else disjoin(found, short)
    return found or ALWAYS


def _shortest(
    part: Conjunction, others: Sequence[PathCondition], facts: frozenset[Bound]
) -> Conjunction:
    if not others or _meets(part, others, facts):
        return part
    for literal in sorted(part.literals, key=_order):
        fewer = Conjunction(part.literals - {literal}, part.weakened)
        if not _meets(fewer, others, facts):
            part = fewer
    return part


def _meets(part: Conjunction, others: Sequence[PathCondition], facts: frozenset[Bound]) -> bool:
    return any(both(PathCondition((part,)), other, facts) is not None for other in others)


def _order(literal: Literal) -> tuple[bool, int, str]:
    """Bounds are dropped first, then the longest test."""
    if isinstance(literal, Bound):
        return (False, -len(literal.low + literal.high), f"{literal.low} {literal.high}")
    return (True, -len(literal.subject + literal.argument), literal.subject)


# ---- calls ------------------------------------------------------------------------------------


def _by_calls(executor: ReachExecutor, monitor: ReachMonitor) -> Told:
    facts = executor.evaluator.facts
    owners = list(executor.owners)
    name = _names(executor, owners[0] if len(owners) == 1 else "self")
    went = [x.condition for x in monitor.ended if x.ran and not x.raised]
    missed = [x.condition for x in monitor.ended if not x.ran and not x.raised]
    raised = [x.condition for x in monitor.ended if x.ran and x.raised]
    raises = tuple(dict.fromkeys(render(simplify(x, facts), name) for x in raised))
    if not went:
        return Told(Extent.NONE, (), (), raises, "every path that runs it raises")
    if not missed:
        return Told(Extent.EVERY, (_call("always"),), (), raises)
    runs, bypasses = (
        render(simplify(apart(own, others, facts), facts), name)
        for own, others in ((went, missed), (missed, went))
    )
    return Told(Extent.SOME, (_call(runs),), (_call(bypasses),), raises)


def _call(condition: str) -> Range:
    return Range(layers="", condition=condition, file="", line=0)


def _names(executor: ReachExecutor, owner: str) -> Callable[[str], str]:
    """Text for people, as ``owner`` would say it; parameters of functions by their names alone."""
    own = re.compile(rf"(?<![\w.]){re.escape(owner)}\.") if owner else None
    within = "|".join(re.escape(x) for x in sorted(executor.followed, reverse=True))
    parameter = re.compile(rf"(?<![\w.])(?:{within})\.(?=\w)") if within else None

    def name(text: str) -> str:
        text = own.sub("self.", text) if own is not None else text
        return plain(parameter.sub("", text) if parameter is not None else text)

    return name
