"""Where a trace ends: what a value comes from, and the way there."""

from collections.abc import Iterable

from msgspec import Struct

from pathaudit.gates.declarations import Declared
from pathaudit.results import GateHop


class Origin(Struct, frozen=True):
    """What a value comes from.

    ``kind`` is ``setting``, ``environment``, ``config``, ``constant``, ``run time`` or
    ``unresolved``; ``name`` is the field, variable or key, or the code.
    """

    kind: str
    name: str
    default: str | None = None
    declared: Declared | None = None

    @property
    def controls(self) -> bool:
        """Is it something a user states?"""
        return self.kind in ("setting", "environment", "config")


class Trace(Struct, frozen=True):
    origin: Origin
    hops: tuple[GateHop, ...]

    def after(self, *hops: GateHop) -> "Trace":
        return Trace(self.origin, (*hops, *self.hops))


Traces = tuple[Trace, ...]


def after(hops: tuple[GateHop, ...], traces: Iterable[Trace]) -> Traces:
    """The traces with the steps that lead to where they begin."""
    return tuple(trace.after(*hops) for trace in traces)


def controlled(traces: Iterable[Trace]) -> bool:
    return any(trace.origin.controls for trace in traces)


def constant(value: object) -> Traces:
    return (Trace(Origin("constant", repr(value)), ()),)


def run_time(text: str) -> Traces:
    return (Trace(Origin("run time", text), ()),)


def unresolved(text: str) -> Traces:
    return (Trace(Origin("unresolved", text), ()),)
