"""The monitor of ``covers``: is each run of a layer followed by its event in its iteration?

The obligation is a small automaton for each iteration: runs without the event are pending until
the event happens or the iteration ends. ``raise`` ends it; ``continue``, ``break`` and ``return``
do not.
"""

from collections.abc import Callable, Iterator

import msgspec
from msgspec import Struct

from pathaudit.conditions import PathCondition, both
from pathaudit.paths import Run, Scope, State, Trail
from pathaudit.paths.state import RAISED, Pending

# The scope of what stands around runs; loops have numbers from 1, the method itself 0.
AROUND = -1


class Breach(Struct, frozen=True, eq=False):
    """A run whose iteration ended without the event, and the state in which it did."""

    run: Run
    condition: PathCondition
    trail: Trail | None


class Kept(Struct, frozen=True):
    """A run that came with the event, where that happened, and in which states."""

    run: Run
    evidence: str
    condition: PathCondition


class Unfollowed(Struct, frozen=True, eq=False):
    """Layers that went to a callee that cannot be looked up."""

    run: Run
    callee: str
    condition: PathCondition
    trail: Trail | None


class Blocked(Struct, frozen=True, eq=False):
    """Layers that were handed over on a path that raises before one of them runs."""

    run: Run
    condition: PathCondition
    trail: Trail | None


class CoversMonitor:
    """Keeps the scopes of a state; a scope is one iteration, the first is the whole method.

    ``asked`` narrows a condition to the states in which the layer of a run was asked for.
    """

    def __init__(self, asked: Callable[[PathCondition, Run], PathCondition | None]) -> None:
        self._asked = asked
        self._found: list[Breach] = []
        self._confirmed: set[int] = set()
        self.kept: list[Kept] = []
        self.unfollowed: list[Unfollowed] = []
        self.stopped: list[Blocked] = []

    @property
    def breaches(self) -> tuple[Breach, ...]:
        """The breaches after which a path goes on to the end of the method."""
        return tuple(x for number, x in enumerate(self._found) if number in self._confirmed)

    def required(self, state: State, evidence: str) -> State:
        """The event happened: in the innermost iteration nothing is owed any more."""
        *outer, scope = state.scopes
        return state.owing((*outer, self._satisfied(scope, evidence, state)))

    def _satisfied(self, scope: Scope, evidence: str, state: State) -> Scope:
        self.kept.extend(Kept(item.run, evidence, state.condition) for item in scope.pending)
        return msgspec.structs.replace(scope, evidence=scope.evidence or evidence, pending=())

    def ran(self, state: State, run: Run, loop: int) -> State:
        """A layer ran: fine if the event already happened in its iteration."""
        position = _position(state, loop)
        state = self._closed(state, run, position)
        evidence = next((x for x in self._evidences(state, position)), "")
        scope = msgspec.structs.replace(state.scopes[position], ran=True)
        if evidence:
            self.kept.append(Kept(run, evidence, state.condition))
            # Outside loops an event stands for the one layer that it precedes.
            if not scope.loop:
                scope = msgspec.structs.replace(scope, evidence="")
        else:
            rest = tuple(item for item in scope.pending if item.run != run)
            scope = msgspec.structs.replace(scope, pending=(*rest, Pending(run)))
        return state.owing((*state.scopes[:position], scope, *state.scopes[position + 1 :]))

    def _evidences(self, state: State, position: int) -> Iterator[str]:
        """What happened in the iteration, and what stands around it."""
        for place, scope in enumerate(state.scopes):
            if scope.evidence and (place >= position or scope.loop == AROUND):
                yield scope.evidence

    def surround(self, state: State, evidence: str) -> State:
        return state.owing((*state.scopes, Scope(AROUND, evidence)))

    def unsurround(self, state: State) -> State:
        *outer, scope = state.scopes
        if scope.loop != AROUND:
            raise AssertionError("what stands around must nest")
        return state.owing(tuple(outer))

    def _closed(self, state: State, run: Run, position: int) -> State:
        """Once another layer runs, an event comes too late for one that ran outside loops."""
        root = state.scopes[0]
        others = tuple(item for item in root.pending if item.run.element != run.element)
        if not others or (position and not state.scopes[position].loop):
            return state
        left = tuple(item for item in root.pending if item.run.element == run.element)
        broken = self._judge(others, state)
        root = msgspec.structs.replace(root, pending=left, broken=root.broken | broken)
        return state.owing((root, *state.scopes[1:]))

    def delegated(self, state: State, run: Run, evidence: str) -> State:
        """A layer ran and was given what to collect into."""
        self.kept.append(Kept(run, evidence, state.condition))
        *outer, scope = state.scopes
        return state.owing((*outer, msgspec.structs.replace(scope, ran=True)))

    def unknown(self, state: State, run: Run, callee: str) -> State:
        self.unfollowed.append(Unfollowed(run, callee, state.condition, state.trail))
        return state

    def blocked(self, state: State, run: Run, trail: Trail | None) -> None:
        self.stopped.append(Blocked(run, state.condition, trail))

    def happened(self, state: State) -> bool:
        return bool(state.scopes[-1].evidence)

    def enter(self, state: State, loop: int) -> State:
        return state.owing((*state.scopes, Scope(loop)))

    def leave(self, state: State, loop: int, *, judged: bool) -> State:
        """An iteration ends: what is still pending was run without the event."""
        *outer, scope = state.scopes
        if scope.loop != loop:
            raise AssertionError("iterations must nest")
        if judged and scope.pending:
            broken = self._judge(scope.pending, state)
            outer[0] = msgspec.structs.replace(outer[0], broken=outer[0].broken | broken)
        if scope.evidence and not scope.ran:
            # A loop inside the iteration of a layer: what it did, the iteration did.
            outer[-1] = self._satisfied(outer[-1], scope.evidence, state)
        return state.owing(tuple(outer))

    def finish(self, state: State) -> None:
        """The method is left: what was broken on the way counts, unless it is left by raising."""
        if state.status != RAISED:
            root = state.scopes[0]
            self._confirmed |= root.broken | self._judge(root.pending, state)

    def _judge(self, pending: tuple[Pending, ...], state: State) -> frozenset[int]:
        """What is owed when its time is over is broken, in the states that owe it."""
        numbers = set()
        for item in pending:
            condition = both(item.condition, state.condition, frozenset())
            asked = self._asked(condition, item.run) if condition is not None else None
            if asked is not None:
                numbers.add(len(self._found))
                self._found.append(Breach(item.run, asked, state.trail))
        return frozenset(numbers)

    def checkpoint(self) -> tuple[int, ...]:
        return len(self._found), len(self.kept), len(self.unfollowed), len(self.stopped)

    def rollback(self, checkpoint: tuple[int, ...]) -> None:
        breaches, kept, unfollowed, stopped = checkpoint
        del self._found[breaches:], self.kept[kept:]
        del self.unfollowed[unfollowed:], self.stopped[stopped:]


def _position(state: State, loop: int) -> int:
    """The scope of a loop; the innermost one where it is no longer there."""
    for position, scope in enumerate(state.scopes):
        if scope.loop == loop:
            return position
    return len(state.scopes) - 1
