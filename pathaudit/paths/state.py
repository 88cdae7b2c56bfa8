"""One symbolic state: what names hold, under which condition, and what is still owed."""

from collections.abc import Iterable

import msgspec
from msgspec import Struct

from pathaudit import ir
from pathaudit.conditions import ALWAYS, Literal, PathCondition, both, disjoin
from pathaudit.paths.values import Value

# How a path stands: still running, or left by a jump.
RUNNING, RETURNED, RAISED, BROKE, CONTINUED = (
    "running",
    "returned",
    "raised",
    "broke",
    "continued",
)


class TrailStep(Struct, frozen=True):
    """A step kept for the witness only; ``literals`` are those it added to the condition."""

    file: str
    region: ir.Region
    kind: str
    text: str
    taken: bool | None
    literals: frozenset[Literal] = frozenset()


class Trail(Struct, frozen=True, eq=False):
    step: TrailStep
    parent: "Trail | None"

    def steps(self) -> tuple[TrailStep, ...]:
        """From the first to the last."""
        found = []
        node: Trail | None = self
        while node is not None:
            found.append(node.step)
            node = node.parent
        return tuple(reversed(found))


class Run(Struct, frozen=True):
    """Layers are run: one layer, or all of a view handed to something that runs them.

    ``file`` and ``region`` are those of the statement where a finding stands; ``function`` is the
    qualified name of the method there. ``handoff`` names the callee that the layers go to, and
    ``point`` is then the number of the call in the executor's list, else -1. ``element`` and
    ``index`` are the layer and its index as canonical text where one layer runs.
    """

    file: str
    region: ir.Region
    function: str
    kind: str
    stack: str
    low: str
    high: str
    handoff: str = ""
    point: int = -1
    element: str = ""
    index: str = ""


class Pending(Struct, frozen=True):
    """A run that lacks its event: in every state, or only where ``condition`` holds too."""

    run: Run
    condition: PathCondition = ALWAYS


class Scope(Struct, frozen=True):
    """What one iteration, or the code outside loops, owes: runs that lack their event.

    ``ran`` tells an iteration of a layer from one of another loop inside it. ``broken`` are the
    numbers of the breaches so far, which count unless every path from there raises.
    """

    loop: int
    evidence: str = ""
    pending: tuple[Pending, ...] = ()
    ran: bool = False
    broken: frozenset[int] = frozenset()


class State(Struct, frozen=True, eq=False):
    """``names`` is never changed in place. ``versions`` count stores to an attribute."""

    names: dict[str, Value]
    condition: PathCondition = ALWAYS
    scopes: tuple[Scope, ...] = (Scope(0),)
    versions: tuple[tuple[str, int], ...] = ()
    stores: tuple[tuple[str, Value], ...] = ()
    trail: Trail | None = None
    status: str = RUNNING
    value: Value | None = None

    def bind(self, name: str, value: Value) -> "State":
        return msgspec.structs.replace(self, names={**self.names, name: value})

    def forget(self, names: Iterable[str]) -> "State":
        """Without what ``names`` hold: they are known by their text alone."""
        gone = set(names)
        kept = {name: value for name, value in self.names.items() if name not in gone}
        return msgspec.structs.replace(self, names=kept) if len(kept) != len(self.names) else self

    def without_new(self, before: "State") -> "State":
        """Without the names that were not there before: those of a comprehension."""
        names = {name: self.names.get(name, value) for name, value in before.names.items()}
        return msgspec.structs.replace(self, names=names)

    def under(self, condition: PathCondition) -> "State":
        return msgspec.structs.replace(self, condition=condition)

    def leave(self, status: str, value: Value | None = None) -> "State":
        return msgspec.structs.replace(self, status=status, value=value)

    def owing(self, scopes: tuple[Scope, ...]) -> "State":
        return msgspec.structs.replace(self, scopes=scopes)

    def walked(self, step: TrailStep) -> "State":
        return msgspec.structs.replace(self, trail=Trail(step, self.trail))

    def version(self, attribute: str) -> int:
        return next((count for name, count in self.versions if name == attribute), 0)

    def touched(self, attribute: str) -> "State":
        """After a store to some object's ``attribute``: equal text is no longer equal value."""
        versions = dict(self.versions)
        versions[attribute] = versions.get(attribute, 0) + 1
        suffix = f".{attribute}"
        stores = tuple((text, value) for text, value in self.stores if not text.endswith(suffix))
        return msgspec.structs.replace(
            self, versions=tuple(sorted(versions.items())), stores=stores
        )


def merge_states(states: Iterable[State]) -> list[State]:
    """Join states that differ in their condition or in what is owed.

    The condition becomes a disjunction; a run that only some of them owe keeps their condition.
    """
    merged: dict[object, State] = {}
    for state in states:
        key = (
            state.status,
            frozenset(state.names.items()),
            tuple((scope.loop, scope.evidence, scope.ran) for scope in state.scopes),
            state.versions,
            state.stores,
            state.value,
        )
        known = merged.get(key)
        merged[key] = state if known is None else _joined(known, state)
    return list(merged.values())


def _joined(left: State, right: State) -> State:
    scopes = tuple(
        msgspec.structs.replace(
            one,
            pending=one.pending if one.pending == other.pending else _owed(one, left, other, right),
            broken=one.broken | other.broken,
        )
        for one, other in zip(left.scopes, right.scopes, strict=True)
    )
    return left.owing(scopes).under(disjoin(left.condition, right.condition))


def _owed(one: Scope, left: State, other: Scope, right: State) -> tuple[Pending, ...]:
    """The runs that either state owes, each with the states that owe it."""
    owed: dict[Run, PathCondition] = {}
    for scope, state in ((one, left), (other, right)):
        for item in scope.pending:
            condition = both(item.condition, state.condition, frozenset())
            if condition is not None:
                known = owed.get(item.run)
                owed[item.run] = condition if known is None else disjoin(known, condition)
    return tuple(Pending(run, condition) for run, condition in owed.items())
