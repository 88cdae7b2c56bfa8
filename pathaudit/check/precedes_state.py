"""What is known of one path through a function: what was frozen, what was configured since."""

from collections.abc import Iterable
from functools import reduce
from typing import TypeAlias

import msgspec
from msgspec import Struct

from pathaudit import ir
from pathaudit.check.precedes_tests import about, marked, mentions, related, text_of
from pathaudit.conditions import ALWAYS, Conjunction, Literal, PathCondition, Test, conjoin, disjoin
from pathaudit.index import FunctionRef
from pathaudit.paths.formulas import Formula, alternatives

NOTHING: frozenset[str] = frozenset()
# A name, the objects, what they are given.
Setting: TypeAlias = tuple[str, tuple[str, ...], str]


class Place(Struct, frozen=True, order=True):
    """A call, and the function that it stands in."""

    file: str
    region: ir.Region
    symbol: str


class Event(Struct, frozen=True, order=True):
    """A call that freezes or configures: its name, the objects it is about, what it is given.

    ``chain`` are the calls that lead to it from the function under audit. A call that names no
    object may be about any.
    """

    name: str
    objects: tuple[str, ...]
    given: str
    place: Place
    chain: tuple[Place, ...] = ()

    def concerns(self, other: "Event") -> bool:
        """Are two events about one object, or an object and a part of it?"""
        if not self.objects or not other.objects:
            return True
        return any(related(one, two) for one in self.objects for two in other.objects)

    @property
    def setting(self) -> Setting:
        """What it sets, and to what: two events of the same setting are the same to a replay."""
        return self.name, self.objects, self.given

    def is_of(self, name: str) -> bool:
        """Is it about parts of what a name stands for, and of nothing else?"""
        return bool(self.objects) and all(mentions(item, name) for item in self.objects)


class Frozen(Struct, frozen=True, order=True):
    """A freezing call, with the settings that it froze."""

    event: Event
    settings: frozenset[Setting]


class Late(Struct, frozen=True, order=True):
    """A configuring call that came after ``freeze``; ``number`` is the one of the rule.

    ``later`` are the names of other freezing calls that came after both, and froze it as well.
    """

    event: Event
    number: int
    freeze: Event
    later: tuple[str, ...] = ()


class State(Struct, frozen=True, eq=False):
    """One path. ``names`` are those of the function that runs, in terms of the one under audit.

    ``unsure`` are attributes that a freezing call stored: a test of one decides at run time.
    ``told`` is what tests say that decide on an event: nothing else is kept of a test.
    """

    names: dict[str, ir.Expression]
    told: frozenset[Literal] = frozenset()
    condition: PathCondition = ALWAYS
    frozen: tuple[Frozen, ...] = ()
    done: frozenset[Setting] = frozenset()
    late: frozenset[Late] = frozenset()
    unsure: frozenset[str] = NOTHING

    # ---- events ----

    def freeze(self, event: Event, stored: Iterable[str]) -> "State":
        """A freezing call: what was configured so far is part of what it froze."""
        same = (event.name, event.objects)
        others = tuple(x for x in self.frozen if (x.event.name, x.event.objects) != same)
        late = (
            msgspec.structs.replace(x, later=tuple(sorted({*x.later, event.name})))
            if x.event.concerns(event)
            else x
            for x in self.late
            if (x.freeze.name, x.freeze.objects) != same
        )
        state = msgspec.structs.replace(
            self, frozen=(*others, Frozen(event, self.done)), late=frozenset(late)
        )
        for path in stored:
            state = state.forget(path)
        return msgspec.structs.replace(state, unsure=self.unsure | frozenset(stored))

    def configure(self, event: Event, number: int) -> "State":
        """A configuring call: it is late for what froze its object with other settings."""
        found = [
            Late(event, number, item.event)
            for item in self.frozen
            if item.event.concerns(event) and event.setting not in item.settings
        ]
        kept = {x for x in self.done if x[:2] != event.setting[:2]} | {event.setting}
        late = self.late | (frozenset(found) if self._is_sure() else frozenset())
        return msgspec.structs.replace(self, done=frozenset(kept), late=late)

    def _is_sure(self) -> bool:
        return any(
            not any(about(literal, path) for literal in part.literals for path in self.unsure)
            for part in self.condition.alternatives
        )

    # ---- what is known ----

    def narrowed(self, formula: Formula) -> "State | None":
        """The state where a test holds, as far as that is kept; ``None`` if nowhere."""
        expanded = alternatives(formula)
        if expanded is None:
            parts = self.condition.alternatives
            weak = tuple(Conjunction(part.literals, weakened=True) for part in parts)
            return msgspec.structs.replace(self, condition=PathCondition(weak))
        found: PathCondition | None = None
        for literals in expanded:
            part = conjoin(self.condition, literals & self.told, frozenset())
            if part is not None:
                found = part if found is None else disjoin(found, part)
        return None if found is None else msgspec.structs.replace(self, condition=found)

    def bind(self, name: str, value: ir.Expression) -> "State":
        return msgspec.structs.replace(self, names={**self.names, name: value})

    def forget(self, path: str) -> "State":
        """Something else is stored at a path: what was said of it, and in terms of it, is void."""
        stale = [
            name
            for name, value in self.names.items()
            if name != path and mentions(text_of(value), path)
        ]
        names = {**self.names, **{name: marked(name, 0) for name in stale}} if stale else self.names
        return msgspec.structs.replace(self, condition=_freed(self.condition, path), names=names)

    def store(self, path: str, value: ir.Expression) -> "State":
        """``path = value``; of a constant the value is known from here on."""
        kept = {name: x for name, x in self.names.items() if not name.startswith(f"{path}.")}
        kept.pop(path, None)
        state = msgspec.structs.replace(self, names=kept).forget(path)
        if not isinstance(value, ir.Constant):
            return state
        known = frozenset([_known(path, value)]) & self.told
        condition = conjoin(state.condition, known, frozenset())
        return msgspec.structs.replace(state, condition=condition or state.condition)

    def renewed(self, name: str) -> "State":
        """A loop binds a name anew: what was done to the object it stood for was to another."""
        frozen = (
            Frozen(item.event, _without(item.settings, name))
            for item in self.frozen
            if not item.event.is_of(name)
        )
        return msgspec.structs.replace(
            self.forget(name), frozen=tuple(frozen), done=_without(self.done, name)
        )


def _freed(condition: PathCondition, path: str) -> PathCondition:
    """A condition without what it says of a path."""
    if not any(about(x, path) for part in condition.alternatives for x in part.literals):
        return condition
    freed = (
        Conjunction(frozenset(x for x in part.literals if not about(x, path)), part.weakened)
        for part in condition.alternatives
    )
    return reduce(disjoin, (PathCondition((part,)) for part in freed))


def _without(settings: frozenset[Setting], name: str) -> frozenset[Setting]:
    """The settings that are not in terms of a name."""
    return frozenset(
        item for item in settings if not any(mentions(text, name) for text in (*item[1], item[2]))
    )


def _known(path: str, value: ir.Constant) -> Literal:
    if value.value is None:
        return Test("none", path)
    if isinstance(value.value, bool):
        return Test("true", path, positive=value.value)
    return Test("equals", path, repr(value.value))


_Key: TypeAlias = tuple[object, ...]


def merged(states: Iterable[State]) -> list[State]:
    """States that differ in their conditions only become one."""
    found = list(states)
    if len(found) < 2:
        return found
    groups: dict[_Key, State] = {}
    for state in found:
        names = frozenset((name, text_of(value)) for name, value in state.names.items())
        key = (state.frozen, state.done, state.late, state.unsure, names)
        known = groups.get(key)
        if known is not None:
            condition = disjoin(known.condition, state.condition)
            state = msgspec.structs.replace(state, condition=condition)
        groups[key] = state
    return list(groups.values())


class Ends(Struct, frozen=True, eq=False):
    """The states with which statements end, by how they are left; raising is no end."""

    running: tuple[State, ...] = ()
    returned: tuple[State, ...] = ()
    broke: tuple[State, ...] = ()
    continued: tuple[State, ...] = ()


def kinds_of(ends: Ends) -> tuple[tuple[State, ...], ...]:
    """The states by how the statements are left."""
    return ends.running, ends.returned, ends.broke, ends.continued


def joined(parts: Iterable[Ends]) -> Ends:
    """All ends of several ways through some statements."""
    columns = zip(*(kinds_of(part) for part in parts), strict=True)
    joined = [tuple(merged(state for states in column for state in states)) for column in columns]
    return Ends(*joined) if joined else Ends()


class PathsExceeded(Exception):  # noqa: N818 - a limit that was reached, no error
    """A function has more paths than are walked."""


class Frame(Struct, frozen=True, eq=False):
    """The function that runs; ``chain`` are the calls that lead to it."""

    ref: FunctionRef
    chain: tuple[Place, ...] = ()
