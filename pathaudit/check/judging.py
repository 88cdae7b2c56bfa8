"""Executes the subjects of a rule, and keeps what was recorded about them as data."""

from collections.abc import Iterable

from msgspec import Struct

from pathaudit import ir
from pathaudit.check.covers_leads import Leads
from pathaudit.check.covers_ways import wanted_of
from pathaudit.check.effects import Effect, effect_of
from pathaudit.check.gating import OPEN, GateProof, gate_of
from pathaudit.check.iterations import Blocked, Breach, CoversMonitor, Kept, Unfollowed
from pathaudit.check.subjects import Subject
from pathaudit.conditions import Bound, PathCondition
from pathaudit.index import Index, Instance
from pathaudit.paths import BudgetExceeded, Executor, Run, TrailStep, ask
from pathaudit.paths.question import Around, names_of_event
from pathaudit.results import Gap
from pathaudit.ruleset import RUNS_LAYERS, AnyRule, CoversRule
from pathaudit.work import Stage


class Way(Struct, frozen=True):
    """A run, the condition at the place where it is reported, and the steps that lead there.

    ``callee`` is set where the layers went to something that cannot be followed.
    """

    run: Run
    condition: PathCondition
    steps: tuple[TrailStep, ...]
    callee: str = ""


class Deaf(Struct, frozen=True):
    """A place where layers are handed an accumulator that ``methods`` of theirs ignore."""

    file: str
    region: ir.Region
    methods: tuple[str, ...]


class Judged(Struct, frozen=True):
    """One subject with everything that was recorded about it.

    ``line`` is where its method begins, ``facts`` hold in all its states, ``ranges`` are those of
    its loops by number. ``cut`` is the gap of an analysis that ran out of budget, ``gate`` what
    keeps the method from running with the feature on, ``effect`` what happens where layers ran
    without the event.
    """

    subject: Subject
    line: int
    facts: frozenset[Bound]
    ranges: dict[int, tuple[str, str]]
    breaches: tuple[Way, ...]
    kept: tuple[Kept, ...]
    unfollowed: tuple[Way, ...]
    stopped: tuple[Way, ...]
    deaf: tuple[Deaf, ...]
    cut: Gap | None
    gate: GateProof = OPEN
    effect: Effect = Effect()


def judge(index: Index, rule: AnyRule | None, subject: Subject) -> Judged:
    """Execute one subject; a budget that runs out leaves it unknown."""
    if not isinstance(rule, CoversRule):
        raise AssertionError("a rule of this kind is needed")
    around = _around(index, rule) if rule.scope == "around" else None
    question = ask(index.profile, rule.require, rule.assume, subject.writes, subject.stacks, around)
    monitor = CoversMonitor(lambda condition, run: executor.asked(condition, run))
    executor = Executor(index, question, monitor)
    cut = None
    try:
        executor.run_root(subject.instance, subject.root)
    except BudgetExceeded as reached:
        cut = _cut(subject, reached)
    function = index.modules.function(subject.root)
    return Judged(
        subject,
        function.line if function else 1,
        executor.evaluator.facts,
        executor.ranges,
        _ways(executor, monitor.breaches),
        tuple(dict.fromkeys(monitor.kept)),
        _ways(executor, monitor.unfollowed),
        _ways(executor, monitor.stopped),
        tuple(_deaf(executor)),
        cut,
        gate_of(index, subject.method) if monitor.breaches and around is None else OPEN,
        effect_of(index, subject.root, subject.unpacking) if monitor.breaches else Effect(),
    )


def _around(index: Index, rule: CoversRule) -> Around:
    """What must stand around the layers that lead to the trigger, or around all."""
    if rule.trigger == RUNS_LAYERS:
        return Around(names_of_event(index.profile, rule.require), lambda *_: "")
    wanted = wanted_of(index.profile, rule)
    leads = Leads(index, wanted)

    def told(instance: Instance, method: str, one: bool) -> str | None:
        lead = leads.of_call(instance, method)
        if lead.bare and (lead.sure or not one):
            return ""
        return lead.inside or None

    return Around(wanted.around, told)


def _cut(subject: Subject, reached: BudgetExceeded) -> Gap:
    return Gap(
        kind="budget",
        file=reached.file,
        line=reached.line,
        message=f"{subject.root.qualname} was not analysed to the end: {reached.reason}",
        entries=subject.entries,
    )


def _ways(executor: Executor, found: Iterable[Breach | Blocked | Unfollowed]) -> tuple[Way, ...]:
    return tuple(dict.fromkeys(_way(executor, item) for item in found))


def _way(executor: Executor, found: Breach | Blocked | Unfollowed) -> Way:
    """Inside a callee the condition is that of the call through which the layers left."""
    condition = found.condition
    if found.run.point >= 0:
        condition = executor.points[found.run.point].state.condition
    steps = found.trail.steps() if found.trail else ()
    callee = found.callee if isinstance(found, Unfollowed) else ""
    return Way(found.run, condition, steps, callee)


def _deaf(executor: Executor) -> Iterable[Deaf]:
    for (file, region), handed in executor.handed.items():
        if not any(handed.values()):
            yield Deaf(file, region, tuple(sorted(handed)))


JUDGED = Stage(
    "judged",
    judge,
    Subject,
    Judged,
    lambda item: item.root.file,
    judges=True,
    about=lambda item: item.homes,
)
