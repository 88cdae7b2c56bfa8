"""The monitor of ``reach``: where the target ran, and where a path went on without it.

A layer's run is judged in its iteration, as ``covers`` does; anything else when the method ends.
"""

from collections.abc import Sequence

import msgspec
from msgspec import Struct

from pathaudit.check.iterations import CoversMonitor, Kept
from pathaudit.conditions import PathCondition
from pathaudit.paths import Run, Scope, State
from pathaudit.paths.machine import ActiveLoop
from pathaudit.paths.state import RAISED, Pending

# States that differ only in where the target ran are one.
_HERE = "here"


class Ended(Struct, frozen=True):
    """A path that left the method: whether the target ran on it, and whether it raised."""

    condition: PathCondition
    ran: bool
    raised: bool


class ReachMonitor(CoversMonitor):
    """Also keeps, in the outermost scope, whether the target ran at all on a path."""

    def __init__(self) -> None:
        super().__init__(_all_asked)
        self.ended: list[Ended] = []
        # Of the first iteration of a loop that has more: those after it tell the same and more.
        self.early: list[Kept] = []
        self.loops: Sequence[ActiveLoop] = ()
        self.seen: dict[str, None] = {}

    def required(self, state: State, evidence: str) -> State:
        """The target runs."""
        self.seen[evidence] = None
        evidence = _HERE
        *outer, scope = state.scopes
        if not outer:
            return state.owing((msgspec.structs.replace(scope, evidence=evidence),))
        outer[0] = msgspec.structs.replace(outer[0], evidence=evidence)
        return state.owing((*outer, self._satisfied(scope, evidence, state)))

    def ran(self, state: State, run: Run, loop: int) -> State:
        """A layer ran without the target in it; a loop around may still have it beside."""
        position = next((at for at, x in enumerate(state.scopes) if x.loop == loop), -1)
        if position <= 0:
            return self._alone(state, run)
        scope = msgspec.structs.replace(state.scopes[position], ran=True)
        found = next((x.evidence for x in state.scopes[position:] if x.evidence), "")
        if found:
            self.keep(state, run)
        else:
            rest = tuple(item for item in scope.pending if item.run != run)
            scope = msgspec.structs.replace(scope, pending=(*rest, Pending(run)))
        return state.owing((*state.scopes[:position], scope, *state.scopes[position + 1 :]))

    def _alone(self, state: State, run: Run) -> State:
        """Outside loops what stands beside a layer says nothing of it."""
        root, *inner = state.scopes
        broken = self._judge((Pending(run),), state)
        root = msgspec.structs.replace(root, broken=root.broken | broken)
        return state.owing((root, *inner))

    def _satisfied(self, scope: Scope, evidence: str, state: State) -> Scope:
        for item in scope.pending:
            self.keep(state, item.run)
        return msgspec.structs.replace(scope, evidence=evidence, pending=())

    def keep(self, state: State, run: Run) -> None:
        """A layer ran with the target."""
        early = any(not loop.judged for loop in self.loops)
        (self.early if early else self.kept).append(Kept(run, _HERE, state.condition))

    def lose(self, state: State, run: Run) -> State:
        """A layer ran, and the target that could have run in it did not."""
        return state if any(not loop.judged for loop in self.loops) else self._alone(state, run)

    def leave(self, state: State, loop: int, *, judged: bool) -> State:
        """An iteration ends; one inside the iteration of a layer hands on what happened."""
        *outer, scope = state.scopes
        if scope.loop != loop:
            raise AssertionError("iterations must nest")
        if judged and scope.pending:
            broken = self._judge(scope.pending, state)
            outer[0] = msgspec.structs.replace(outer[0], broken=outer[0].broken | broken)
        if scope.evidence and not scope.ran and len(outer) > 1:
            outer[-1] = self._satisfied(outer[-1], scope.evidence, state)
        return state.owing(tuple(outer))

    def inside(self, state: State, number: int) -> State:
        """A layer is entered: what happens in it is told apart from what stands beside it."""
        return state.owing((*state.scopes, Scope(number)))

    def outside(self, state: State) -> tuple[State, str]:
        """It is left; what happened in it, if the target ran."""
        *outer, scope = state.scopes
        return state.owing(tuple(outer)), scope.evidence

    def finish(self, state: State) -> None:
        """The method is left."""
        super().finish(state)
        root = state.scopes[0]
        raised = state.status == RAISED
        self.ended.append(Ended(state.condition, bool(root.evidence), raised))


def _all_asked(condition: PathCondition, _: Run) -> PathCondition:
    return condition
