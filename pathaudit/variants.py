"""Every way in which the methods of served classes run layers, whatever rules ask of it.

A rule judges the paths that its assumptions lead to. What is new in a version may be a path that
they exclude, or a class that no rule looks at; so nothing is assumed here.
"""

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from pathaudit.check.explain import layers_of
from pathaudit.check.iterations import CoversMonitor
from pathaudit.check.subjects import Owner, find_owners
from pathaudit.index import FunctionRef, Index, Instance
from pathaudit.paths import BudgetExceeded, Executor, Run, ask
from pathaudit.results.versions import EntryName, EventUse, Variant
from pathaudit.ruleset import AnyRule, CoversRule, Rule
from pathaudit.work import Stage, Work

# What is only news is worth less work than a verdict. Of ten releases, the method that takes most
# takes 7,100 steps, the next one 1,100.
_STEPS = 10_000


class Asked(Struct, frozen=True):
    """A method that runs layers of its object, and an event that may come with them."""

    root: FunctionRef
    instance: Instance
    event: str


class Ran(Struct, frozen=True):
    """One run of layers, and the places of the event that came with it."""

    run: Run
    evidence: tuple[str, ...]


class Runs(Struct, frozen=True):
    """The runs of one method; ``cut`` where a budget ran out, so that some may be missing."""

    found: tuple[Ran, ...]
    cut: bool


def find_variants(
    work: Work, rules: Sequence[Rule]
) -> tuple[tuple[Variant, ...], tuple[EntryName, ...]]:
    """The ways to run layers in a tree, with the events that rules require, in order of place.

    Also returns the methods of which some ways may be missing.
    """
    owners = find_owners(work)
    events = sorted({rule.require for rule in rules if isinstance(rule, CoversRule)})
    entries: dict[tuple[FunctionRef, Instance], set[str]] = {}
    for owner in owners:
        entries.setdefault((owner.root, owner.instance), set()).add(owner.entry)
    asked = [Asked(*key, event) for event in events for key in sorted(entries, key=_order)]
    found: dict[FunctionRef, list[tuple[Asked, Ran]]] = {}
    cut: set[EntryName] = set()
    for item, runs in zip(asked, work.run(RUNS, asked), strict=True):
        found.setdefault(item.root, []).extend((item, ran) for ran in runs.found)
        cut |= {EntryName(item.root.file, item.root.qualname)} if runs.cut else set()
    served = _served(owners)
    variants = (x for root in found for x in _variants(root, found[root], served[root]))
    ordered = sorted(variants, key=lambda x: (x.file, x.line, x.entry, x.symbol, x.kind))
    return tuple(ordered), tuple(sorted(cut))


def _order(key: tuple[FunctionRef, Instance]) -> str:
    return repr(key)


def _served(owners: Iterable[Owner]) -> dict[FunctionRef, tuple[str, ...]]:
    found: dict[FunctionRef, set[str]] = {}
    for owner in owners:
        found.setdefault(owner.root, set()).add(owner.entry)
    return {root: tuple(sorted(names)) for root, names in found.items()}


def _variants(
    root: FunctionRef, found: Sequence[tuple[Asked, Ran]], served: tuple[str, ...]
) -> Iterator[Variant]:
    """The runs of one method by place, for all classes that run it."""
    places: dict[tuple[str, int, str, str, str], list[tuple[Asked, Ran]]] = {}
    for item, ran in found:
        run = ran.run
        key = (run.file, run.region.line, run.function, run.kind, run.handoff)
        places.setdefault(key, []).append((item, ran))
    for (file, line, symbol, kind, callee), group in places.items():
        yield Variant(
            entry=root.qualname,
            entry_file=root.file,
            symbol=symbol,
            file=file,
            line=line,
            kind=kind,
            callee=callee,
            layers=tuple(sorted({layers_of(ran.run) for _, ran in group})),
            events=tuple(_uses(group)),
            architectures=served,
        )


def _uses(group: Iterable[tuple[Asked, Ran]]) -> Iterator[EventUse]:
    found: dict[str, set[str]] = {}
    for item, ran in group:
        found.setdefault(item.event, set()).update(ran.evidence)
    for event in sorted(found):
        if found[event]:
            yield EventUse(event, tuple(sorted(found[event])))


def _find_runs(index: Index, _: AnyRule | None, item: Asked) -> Runs:
    """Execute one method with nothing assumed; of one that is too large, what was seen of it."""
    stacks = frozenset(index.stacks_of(item.instance))
    monitor = CoversMonitor(lambda condition, _: condition)
    executor = Executor(index, ask(index.profile, item.event, (), (), stacks), monitor)
    executor.allowed = _STEPS
    cut = False
    try:
        executor.run_root(item.instance, item.root)
    except BudgetExceeded:
        cut = True
    lost = [x.run for x in monitor.breaches]
    lost += [x.run for x in monitor.unfollowed] + [x.run for x in monitor.stopped]
    found: dict[Run, set[str]] = {_plain(run): set() for run in lost}
    for kept in monitor.kept:
        found.setdefault(_plain(kept.run), set()).add(kept.evidence)
    return Runs(tuple(Ran(run, tuple(sorted(places))) for run, places in found.items()), cut)


def _plain(run: Run) -> Run:
    """The run without what only the executor knows."""
    return Run(
        file=run.file,
        region=run.region,
        function=run.function,
        kind=run.kind,
        stack=run.stack,
        low=run.low,
        high=run.high,
        handoff=run.handoff,
    )


RUNS = Stage("runs", _find_runs, Asked, Runs, lambda item: item.root.file)
