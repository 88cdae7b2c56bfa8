"""Judges one part of a target on one method of a served class."""

import msgspec
from msgspec import Struct

from pathaudit.check.subjects import REACHED_DEPTH, reachable
from pathaudit.index import ClassRef, FunctionRef, Index, Instance
from pathaudit.paths import BudgetExceeded, Question, ask
from pathaudit.reach.calls import Called, Calls
from pathaudit.reach.executor import ReachExecutor
from pathaudit.reach.following import Aim
from pathaudit.reach.monitor import ReachMonitor
from pathaudit.reach.spots import Spot
from pathaudit.reach.telling import Told, tell
from pathaudit.results.reaches import Extent, Hop, Range
from pathaudit.ruleset import AnyRule
from pathaudit.work import Stage


class Entrance(Struct, frozen=True, order=True):
    """A served class, and a method of it that the framework calls."""

    cls: ClassRef
    method: str


class Asked(Struct, frozen=True):
    """Some spots, any of which will do, and the method that may lead to them."""

    entrance: Entrance
    spots: tuple[Spot, ...]


class Judged(Struct, frozen=True):
    """The answer, and the functions on the way to the first spot."""

    told: Told
    chain: tuple[Hop, ...]


def _lead(index: Index, _: AnyRule | None, entrance: Entrance) -> tuple[FunctionRef, ...]:
    """All functions that a method of a served class may lead to."""
    found = index.modules.method(entrance.cls, entrance.method)
    if found is None:
        return ()
    return tuple(sorted(Calls(index, found[0], Instance(entrance.cls)).functions))


def _judge(index: Index, _: AnyRule | None, asked: Asked) -> Judged:
    entrance = asked.entrance
    instance = Instance(entrance.cls)
    found = index.modules.method(entrance.cls, entrance.method)
    if found is None:
        return Judged(Told(Extent.NONE, (), ()), ())
    calls = Calls(index, found[0], instance)
    leading = calls.leading(frozenset(spot.ref for spot in asked.spots))
    chain = _chain(index, calls, frozenset(spot.ref for spot in asked.spots))
    if any(spot == Spot(found[0]) for spot in asked.spots):
        always = Range(layers="", condition="always", file="", line=0)
        return Judged(Told(Extent.EVERY, (always,), ()), chain)
    if not leading:
        return Judged(Told(Extent.NONE, (), (), (), "no call leads there"), chain)
    aim = Aim(calls, leading, asked.spots)
    told = _told(index, found[0], instance, aim)
    handed = calls.handed(leading)
    if told.extent is Extent.NONE and not told.raises and handed:
        told = Told(Extent.UNKNOWN, (), (), (), f"{handed[0]}, and may be called from there")
    return Judged(told, chain)


def _told(index: Index, root: FunctionRef, instance: Instance, aim: Aim) -> Told:
    """In full, or if that takes too long less deep; where that does too, it is not known."""
    reason = ""
    for coarse in (False, True):
        monitor = ReachMonitor()
        question = _question(index, instance)
        executor = ReachExecutor(index, question, monitor, aim, coarse=coarse)
        try:
            executor.run_root(instance, root)
            return tell(executor, monitor)
        except BudgetExceeded as reached:
            reason = f"not analysed to the end: {reached.reason} ({reached.file}:{reached.line})"
    return Told(Extent.UNKNOWN, (), (), (), reason)


def _question(index: Index, instance: Instance) -> Question:
    """No feature is on, and no call is an event: the target is all that is looked for."""
    held = (item for _, item in reachable(index, instance, (), REACHED_DEPTH))
    stacks = frozenset[str]().union(*(index.stacks_of(item) for item in held))
    question = ask(index.profile, "target(...)", index.profile.entries.assume, (), stacks)
    return msgspec.structs.replace(question, patterns=())


def _chain(index: Index, calls: Calls, wanted: frozenset[FunctionRef]) -> tuple[Hop, ...]:
    """The shortest way from the method to one of some functions."""
    came: dict[Called, Called | None] = {calls.root: None}
    pending = [calls.root]
    for called in pending:
        if called.ref in wanted:
            return _hops(index, came, called)
        for edge in calls.edges.get(called, ()):
            for target in edge.targets:
                if target not in came:
                    came[target] = called
                    pending.append(target)
    return ()


def _hops(index: Index, came: dict[Called, Called | None], last: Called) -> tuple[Hop, ...]:
    found: list[Hop] = []
    called: Called | None = last
    while called is not None:
        function = index.modules.function(called.ref)
        line = function.line if function is not None else 1
        found.append(Hop(symbol=called.ref.qualname, file=called.ref.file, line=line))
        called = came[called]
    return tuple(reversed(found))


LED: Stage[Entrance, tuple[FunctionRef, ...]] = Stage(
    "reach-led", _lead, Entrance, tuple[FunctionRef, ...], lambda item: item.cls.file
)
JUDGED: Stage[Asked, Judged] = Stage(
    "reach", _judge, Asked, Judged, lambda item: item.entrance.cls.file
)
