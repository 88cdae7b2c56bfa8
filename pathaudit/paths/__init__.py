"""Feasible paths of a method between the events that a rule mentions, within a budget."""

from pathaudit.index import FunctionRef, Index, Instance
from pathaudit.paths.machine import BudgetExceeded, CallPoint, Monitor
from pathaudit.paths.question import Question, ask
from pathaudit.paths.state import Run, Scope, State, Trail, TrailStep
from pathaudit.paths.statements import Executor
from pathaudit.paths.values import plain

__all__ = [
    "BudgetExceeded",
    "CallPoint",
    "Executor",
    "Monitor",
    "Question",
    "Run",
    "Scope",
    "State",
    "Trail",
    "TrailStep",
    "ask",
    "execute",
    "plain",
]


def execute(
    index: Index, question: Question, monitor: Monitor, instance: Instance, root: FunctionRef
) -> Executor:
    """Run ``root`` of ``instance`` under ``question``; the monitor hears of every event.

    Returns the executor for its facts and call points. Raises ``BudgetExceeded``.
    """
    executor = Executor(index, question, monitor)
    executor.run_root(instance, root)
    return executor
