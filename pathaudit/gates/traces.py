"""Where a trace ends: what a value comes from, and the way there."""

from collections.abc import Iterable

from msgspec import Struct

from pathaudit.decisions import GateHop
from pathaudit.gates.declarations import Declared


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
        """Is it a setting, a variable or a key of the model's configuration?"""
        return self.kind in ("setting", "environment", "config")

    @property
    def stated(self) -> bool:
        """Does a user state it? A setting without a flag is set by other code."""
        without = self.kind == "setting" and not (self.declared and self.declared.flags)
        return self.controls and not without


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
    """Does one of them lead to what a user states?"""
    return any(trace.origin.stated for trace in traces)


def constant(value: object) -> Traces:
    return (Trace(Origin("constant", repr(value)), ()),)


def run_time(text: str) -> Traces:
    return (Trace(Origin("run time", text), ()),)


def unresolved(text: str) -> Traces:
    return (Trace(Origin("unresolved", text), ()),)
