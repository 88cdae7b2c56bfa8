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
    """A method of a served class, and what it may lead to: of each, any of some spots will do."""

    entrance: Entrance
    targets: tuple[tuple[Spot, ...], ...]


class Judged(Struct, frozen=True):
    """The answer, and the functions on the way to the first spot."""

    told: Told
    chain: tuple[Hop, ...]


def _called(index: Index, _: AnyRule | None, cls: ClassRef) -> tuple[str, ...]:
    """The methods of a served class that the framework calls."""
    methods = index.profile.entries.methods
    return tuple(name for name in methods if index.modules.method(cls, name) is not None)


def _lead(index: Index, _: AnyRule | None, entrance: Entrance) -> tuple[FunctionRef, ...]:
    """All functions that a method of a served class may lead to."""
    found = index.modules.method(entrance.cls, entrance.method)
    if found is None:
        return ()
    return tuple(sorted(Calls(index, found[0], Instance(entrance.cls)).functions))


def _judge(index: Index, _: AnyRule | None, asked: Asked) -> tuple[Judged, ...]:
    found = index.modules.method(asked.entrance.cls, asked.entrance.method)
    if found is None:
        return tuple(Judged(Told(Extent.NONE, (), ()), ()) for _ in asked.targets)
    calls = Calls(index, found[0], Instance(asked.entrance.cls))
    return tuple(_one(index, calls, spots) for spots in asked.targets)


def _one(index: Index, calls: Calls, spots: tuple[Spot, ...]) -> Judged:
    """Whether a method leads to some spots, on which paths, and how."""
    refs = frozenset(spot.ref for spot in spots)
    leading = calls.leading(refs)
    chain = _chain(index, calls, refs)
    if any(spot == Spot(calls.root.ref) for spot in spots):
        always = Range(layers="", condition="always", file="", line=0)
        return Judged(Told(Extent.EVERY, (always,), ()), chain)
    if not leading:
        return Judged(Told(Extent.NONE, (), (), (), "no call leads there"), chain)
    told = _told(index, Aim(calls, leading, spots))
    handed = calls.handed(leading)
    if told.extent is Extent.NONE and not told.raises and handed:
        told = Told(Extent.UNKNOWN, (), (), (), f"{handed[0]}, and may be called from there")
    return Judged(told, chain)


def _told(index: Index, aim: Aim) -> Told:
    """In full, or if that takes too long less deep; where that does too, it is not known."""
    reason = ""
    root, instance = aim.calls.root.ref, aim.calls.receiver
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


CALLED: Stage[ClassRef, tuple[str, ...]] = Stage(
    "reach-called", _called, ClassRef, tuple[str, ...], lambda item: item.file
)
LED: Stage[Entrance, tuple[FunctionRef, ...]] = Stage(
    "reach-led", _lead, Entrance, tuple[FunctionRef, ...], lambda item: item.cls.file, long=True
)
JUDGED: Stage[Asked, tuple[Judged, ...]] = Stage(
    "reach", _judge, Asked, tuple[Judged, ...], lambda item: item.entrance.cls.file, long=True
)
