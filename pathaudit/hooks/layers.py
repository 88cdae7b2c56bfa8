"""Where the layers of a model can run on one variant of the forward, found by executing it."""

from msgspec import Struct

from pathaudit.check.explain import layers_of
from pathaudit.check.iterations import CoversMonitor
from pathaudit.check.subjects import Owner
from pathaudit.index import FunctionRef, Index
from pathaudit.paths import BudgetExceeded, Executor, Run, ask

STEPS = 10_000
_NOTHING = "_nothing_()"  # where layers run is asked, not what comes with it


class Sites(Struct, frozen=True, eq=False):
    """The places that run layers of an object of ``root``, by file and line, with the layers.

    ``cut`` where a budget ran out, so that the places are not all known.
    """

    root: FunctionRef
    places: dict[tuple[str, int], str]
    cut: bool = False

    def at(self, file: str, lines: tuple[int, ...]) -> str | None:
        """The layers that run at one of some lines; ``None`` if none do."""
        return next((self.places[file, x] for x in lines if (file, x) in self.places), None)


def layer_sites(index: Index, owner: Owner, assume: tuple[str, ...]) -> Sites:
    """The places where a method of an owner of layers runs them, under some assumptions."""
    monitor = CoversMonitor(lambda condition, _: condition)
    executor = Executor(index, ask(index.profile, _NOTHING, assume, (), owner.stacks), monitor)
    executor.allowed = STEPS
    cut = False
    try:
        executor.run_root(owner.instance, owner.root)
    except BudgetExceeded:
        cut = True
    runs: list[Run] = [x.run for x in monitor.breaches]
    runs += [x.run for x in monitor.unfollowed] + [x.run for x in monitor.stopped]
    runs += [x.run for x in monitor.kept]
    places: dict[tuple[str, int], list[str]] = {}
    for run in runs:
        places.setdefault((run.file, run.region.line), []).append(layers_of(run))
    told = {place: " or ".join(sorted(set(ranges))) for place, ranges in places.items()}
    return Sites(owner.root, told, cut)
