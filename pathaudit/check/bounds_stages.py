"""Layers that a later pipeline stage does not own, and that one of its sites runs all the same.

A stage holds placeholders for the layers of the others. One site that keeps to the layers of the
stage shows that the class is meant to be split; another that goes beyond them meets placeholders.
"""

import ast
import re
from collections.abc import Iterator

from msgspec import Struct

from pathaudit import ir
from pathaudit.check.answer import Fault
from pathaudit.check.dispatches_runner import Runner
from pathaudit.check.places import region_of
from pathaudit.check.sites import handoffs, layer_classes
from pathaudit.check.subjects import Owner, Subject
from pathaudit.conditions import ALWAYS, Bound, PathCondition, conjoin, disjoin, render, simplify
from pathaudit.index import FunctionOutline, Index
from pathaudit.paths import (
    BudgetExceeded,
    Executor,
    Question,
    Run,
    State,
    Trail,
    execute,
    plain,
)
from pathaudit.results import Gap, Reach
from pathaudit.ruleset import BoundsRule, Placeholder


class Seen(Struct, frozen=True, eq=False):
    """A run in a state; ``refused`` where the callee raises before a layer runs."""

    run: Run
    condition: PathCondition
    refused: bool = False


class Spanned(Struct, frozen=True):
    """What was found in one method, or why it was not followed to its end."""

    faults: tuple[Fault, ...]
    gap: Gap | None = None


class RunsMonitor:
    """Keeps every run of layers, whatever else happens."""

    def __init__(self) -> None:
        self.seen: list[Seen] = []

    def required(self, state: State, evidence: str) -> State:  # noqa: ARG002
        return state

    def ran(self, state: State, run: Run, loop: int) -> State:  # noqa: ARG002
        self.seen.append(Seen(run, state.condition))
        return state

    def delegated(self, state: State, run: Run, evidence: str) -> State:  # noqa: ARG002
        self.seen.append(Seen(run, state.condition))
        return state

    def unknown(self, state: State, run: Run, callee: str) -> State:  # noqa: ARG002
        return state

    def blocked(self, state: State, run: Run, trail: Trail | None) -> None:  # noqa: ARG002
        self.seen.append(Seen(run, state.condition, refused=True))

    def surround(self, state: State, evidence: str) -> State:  # noqa: ARG002
        return state

    def unsurround(self, state: State) -> State:
        return state

    def happened(self, state: State) -> bool:  # noqa: ARG002
        return False

    def enter(self, state: State, loop: int) -> State:  # noqa: ARG002
        return state

    def leave(self, state: State, loop: int, *, judged: bool) -> State:  # noqa: ARG002
        return state

    def finish(self, state: State) -> None: ...

    def checkpoint(self) -> tuple[int, ...]:
        return (len(self.seen),)

    def rollback(self, checkpoint: tuple[int, ...]) -> None:
        del self.seen[checkpoint[0] :]


def judge_stages(index: Index, rule: BoundsRule, subject: Subject) -> Spanned:
    """Follow one method on a stage that is not the first, and judge the ranges that it runs."""
    placeholder = index.profile.stacks.placeholder
    if placeholder is None or not _may_differ(index, subject, placeholder):
        return Spanned(())
    question = Question(
        index.profile, rule.assume, (), {}, {}, frozenset(), frozenset(subject.stacks)
    )
    monitor = RunsMonitor()
    try:
        executor = execute(index, question, monitor, subject.instance, subject.root)
    except BudgetExceeded as cut:
        return Spanned((), _gap(subject, cut))
    own = {item.run.region for item in monitor.seen if _keeps_to_stage(item.run, placeholder)}
    if not own:
        return Spanned(())
    faults = _faults(index, rule, subject, executor, monitor.seen, placeholder)
    return Spanned(tuple(faults))


def _gap(subject: Subject, cut: BudgetExceeded) -> Gap:
    return Gap(
        kind="budget",
        file=cut.file,
        line=cut.line,
        message=f"{subject.root.qualname} was not analysed to the end: {cut.reason}",
        entries=subject.entries,
    )


def _may_differ(index: Index, subject: Subject, placeholder: Placeholder) -> bool:
    """Is a stack split over stages, and named other than with the number of one layer?"""
    cls = subject.instance.cls
    if placeholder.first not in index.attributes_stored(cls):
        return False
    functions = (index.modules.function(ref) for ref in index.closure(cls, subject.root))
    return any(x is not None and _names_whole(x, subject.stacks) for x in functions)


def _names_whole(function: FunctionOutline, stacks: frozenset[str]) -> bool:
    if not function.attributes & stacks:
        return False
    single = {
        id(node.value)
        for node in function.nodes
        if isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Slice)
    }
    return any(
        isinstance(node, ast.Attribute) and node.attr in stacks and id(node) not in single
        for node in function.nodes
    )


def _keeps_to_stage(run: Run, placeholder: Placeholder) -> bool:
    owner = run.stack.rpartition(".")[0]
    bounds = (f"{owner}.{placeholder.first}", f"{owner}.{placeholder.end}")
    return (run.low, run.high) == bounds


def _faults(
    index: Index,
    rule: BoundsRule,
    subject: Subject,
    executor: Executor,
    seen: list[Seen],
    placeholder: Placeholder,
) -> Iterator[Fault]:
    groups: dict[tuple[str, ir.Region, str, str], list[Seen]] = {}
    for item in seen:
        run = item.run
        groups.setdefault((run.file, run.region, run.low, run.high), []).append(item)
    for group in groups.values():
        beyond = _beyond(executor, group, placeholder)
        if beyond is not None:
            yield _fault(index, rule, subject, group[0], beyond, placeholder)


def _beyond(
    executor: Executor, group: list[Seen], placeholder: Placeholder
) -> PathCondition | None:
    """When the runs at a place begin before the first layer of the stage, or end after its last."""
    run = group[0].run
    owner = run.stack.rpartition(".")[0]
    first, end = f"{owner}.{placeholder.first}", f"{owner}.{placeholder.end}"
    facts = executor.evaluator.facts | {Bound("", first, 1)}
    before = _bound(executor, run.low, first, below=True)
    after = _bound(executor, run.high, end, below=False)
    for excess in (before, after):
        found: PathCondition | None = None
        for item in group if excess is not None else ():
            condition = _outside(executor, item)
            met = conjoin(condition, (excess,), facts) if excess is not None else None
            if met is not None:
                found = met if found is None else disjoin(found, met)
        if found is not None:
            return simplify(found, facts)
    return None


def _outside(executor: Executor, item: Seen) -> PathCondition:
    """The condition at the call through which the layers leave, not that inside the callee."""
    if item.run.point < 0:
        return item.condition
    return executor.points[item.run.point].state.condition


def _bound(executor: Executor, text: str, limit: str, *, below: bool) -> Bound | None:
    """``text < limit``, or ``text > limit``; nothing where the number is not known as one."""
    base, offset = _number(text)
    if base and not executor.question.is_integer(base):
        return None
    return Bound(base, limit, 1 + offset) if below else Bound(limit, base, 1 - offset)


def _number(text: str) -> tuple[str, int]:
    """``end - 1`` as its base and what is added."""
    if text.lstrip("-").isdigit():
        return "", int(text)
    found = re.fullmatch(r"(.*) ([+-]) (\d+)", text)
    if found is None:
        return text, 0
    return found[1], int(found[2] + found[3])


def _fault(
    index: Index,
    rule: BoundsRule,
    subject: Subject,
    seen: Seen,
    beyond: PathCondition,
    placeholder: Placeholder,
) -> Fault:
    run = seen.run
    layers = f"{plain(run.stack)}[{plain(run.low)}:{plain(run.high)}]"
    own = f"{plain(run.stack)}[{placeholder.first}:{placeholder.end}]"
    runner = f"{run.handoff} gets" if run.handoff else "this runs"
    blocked = _blocked(index, subject, run)
    effect = f"unknown: a {placeholder.class_name} stands where a layer is expected"
    if seen.refused:
        effect = f"loud: {run.handoff} raises for a {placeholder.class_name} in the first place"
    return Fault(
        file=run.file,
        region=run.region,
        symbol=run.function,
        entry=f"{subject.instance.cls.name}.{subject.method}",
        message=rule.message.format(how=f"{runner} {layers}, a sibling runs {own}"),
        kind=f"{run.low}:{run.high}",
        reach=Reach.BLOCKED if blocked else Reach.REACHABLE,
        proof=blocked,
        effect=effect,
        condition=render(beyond, plain) if beyond != ALWAYS else "",
        architectures=subject.entries,
    )


def _blocked(index: Index, subject: Subject, run: Run) -> str:
    """Why the callee never runs layers of the class at hand, if it does not."""
    owner = Owner(subject.instance, subject.root, subject.method, "", subject.stacks)
    for item in handoffs(index, owner) if run.handoff else ():
        if item.ref.file != run.file or region_of(index, run.file, item.call) != run.region:
            continue
        classes = layer_classes(index, subject.instance, item.stack)
        refused = [Runner(index, cls).refusals(item.callee, item.name) for cls in classes]
        if classes and all(refused):
            names = " and ".join(cls.name for cls in classes)
            return f"{run.handoff} raises {refused[0][0].error} for {names}."
    return ""
