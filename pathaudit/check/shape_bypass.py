"""Can a model return without having collected anything? Where layers run without capture.

The same question that ``covers`` asks, of one model and one setter, and only where a cheap look
says that layers may run in a second place.
"""

import ast
from collections.abc import Iterable

from msgspec import Struct

from pathaudit import ir
from pathaudit.check.explain import refusal_of
from pathaudit.check.iterations import Blocked, Breach, CoversMonitor
from pathaudit.conditions import ALWAYS, PathCondition, disjoin, render, simplify
from pathaudit.index import Feature, Index, Instance
from pathaudit.paths import BudgetExceeded, Executor, State, ask, plain
from pathaudit.paths.events import Given
from pathaudit.paths.machine import Frame
from pathaudit.paths.values import Element
from pathaudit.results import Reach
from pathaudit.ruleset import ShapeRule


class Bypass(Struct, frozen=True):
    """Layers of a model run without capture: when, and whether that can happen."""

    condition: str
    reach: Reach
    proof: str = ""


class _Runner(Executor):
    """Runs layers; one that is handed an accumulator is taken to collect into it."""

    def inside_layer(
        self,
        node: ir.Call,
        element: Element,
        given: tuple[Given, ...],
        state: State,
        frame: Frame,
        handed: dict[str, bool],
    ) -> list[State] | None:
        del node, element, given, state, frame, handed
        return None


def find_bypass(
    index: Index, rule: ShapeRule, feature: Feature, path: tuple[str, ...], instance: Instance
) -> Bypass | None:
    """The paths of the model at ``path`` of the feature's class on which layers are not captured.

    ``None`` where there is none, where the setter leaves the model alone, and where the budget ran
    out.
    """
    writes = feature.seen_from(path)
    stacks = index.stacks_of(instance)
    method = index.modules.method(instance.cls, index.profile.modules.call)
    if not writes or method is None or not _may_bypass(index, instance, stacks):
        return None
    assume = (*rule.assume, *rule.assume_armed)
    question = ask(index.profile, rule.collects, assume, writes, stacks)
    monitor = CoversMonitor(lambda condition, run: executor.asked(condition, run))
    executor = _Runner(index, question, monitor)
    try:
        executor.run_root(instance, method[0])
    except BudgetExceeded:
        return None
    if monitor.breaches:
        return Bypass(_told(executor, monitor.breaches), Reach.REACHABLE)
    if monitor.stopped:
        trail = monitor.stopped[0].trail
        proof = refusal_of(trail.steps() if trail else ())
        return Bypass(_told(executor, monitor.stopped), Reach.BLOCKED, proof)
    return None


def _may_bypass(index: Index, instance: Instance, stacks: frozenset[str]) -> bool:
    """May layers run elsewhere than in one loop: is a stack mentioned twice, or handed on?"""
    method = index.modules.method(instance.cls, index.profile.modules.call)
    closure = index.closure(instance.cls, method[0]) if method is not None else ()
    functions = [index.modules.function(ref) for ref in closure]
    nodes = [node for item in functions if item is not None for node in item.nodes]
    mentions = [node for node in nodes if isinstance(node, ast.Attribute) and node.attr in stacks]
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    return len(mentions) > 1 or any(_hands_on(call, stacks) for call in calls)


def _hands_on(call: ast.Call, stacks: frozenset[str]) -> bool:
    given = [*call.args, *(item.value for item in call.keywords)]
    values = [item.value if isinstance(item, ast.Subscript) else item for item in given]
    return any(isinstance(value, ast.Attribute) and value.attr in stacks for value in values)


def _told(executor: Executor, found: Iterable[Breach | Blocked]) -> str:
    """The condition of the runs: where layers leave their object, that of the call."""
    told: PathCondition | None = None
    for item in found:
        left = item.run.point
        condition = executor.points[left].state.condition if left >= 0 else item.condition
        told = condition if told is None else disjoin(told, condition)
    return render(simplify(told or ALWAYS, executor.evaluator.facts), plain)
