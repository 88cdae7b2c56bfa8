"""What is asked of a function: which feature is on, what is assumed, what must happen."""

import ast
import re
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from functools import lru_cache

from msgspec import Struct

from pathaudit.conditions import Bound
from pathaudit.index import Instance, Write
from pathaudit.paths.values import MARKS
from pathaudit.ruleset import Assumption, EventPattern, Profile, call_pattern, text_pattern


class CallPattern(Struct, frozen=True):
    """A call to recognise: ``$AUX.append(...)`` or ``$F(..., capture=$C, ...)``.

    ``method`` is the attribute called, ``function`` the dotted name, ``keyword`` an argument that
    must be there with a value other than ``None``.
    """

    method: str = ""
    function: str = ""
    keyword: str = ""
    accumulator: bool = False


class Around(Struct, frozen=True, eq=False):
    """Something must stand around each run of a layer that leads to an event.

    ``makers`` are the names of the calls that make such a context manager. ``leads`` says of a
    method of a layer, or of a module in one, where it leads: ``None`` if not to the event, nothing
    if it does with nothing around it, else the place of what it puts around it itself. It is also
    told whether ``one`` layer is meant, which may be of another make than the rest.
    """

    makers: frozenset[str]
    leads: Callable[[Instance, str, bool], str | None]


class Question(Struct, frozen=True, eq=False):
    """Everything that does not change while one root is executed for one feature.

    ``armed`` maps canonical text such as ``self.layers_to_capture`` to the kind of value the
    setter stored; ``flags`` does so for attributes of single layers.
    """

    profile: Profile
    assume: tuple[str, ...]
    patterns: tuple[CallPattern, ...]
    armed: dict[str, str]
    flags: dict[str, str]
    switches: frozenset[str]
    stacks: frozenset[str]
    around: Around | None = None

    @property
    def collecting(self) -> frozenset[str]:
        return frozenset(item.method for item in self.patterns if item.method)

    @property
    def makers(self) -> frozenset[str]:
        """The names of the calls that make what must stand around a run."""
        return self.around.makers if self.around is not None else frozenset()

    @property
    def keywords(self) -> frozenset[str]:
        return frozenset(item.keyword for item in self.patterns if item.keyword)

    def assumed(self, text: str) -> bool | str | None:
        """What is assumed of a value: true, false, ``some`` (not ``None``), ``positive``."""
        return _assumed(self._assumptions(), MARKS.sub("", text))

    def _assumptions(self) -> tuple[Assumption, ...]:
        return tuple(item for name in self.assume for item in self.profile.assumptions[name])

    def is_integer(self, text: str) -> bool:
        """Does the profile declare this expression to be an integer?"""
        return any(
            text_pattern(pattern).fullmatch(text) for pattern in self.profile.integers
        ) or text.startswith("len(")

    def bounds_of(self, text: str) -> Iterator[Bound]:
        """The profile's facts about an integer expression, and what its form implies."""
        if text.startswith("len("):
            yield Bound("", text, 0)
        if self.assumed(text) == "positive":
            yield Bound("", text, 1)
        for fact in self.profile.bounds:
            yield from _grounded(fact, text)


def ask(
    profile: Profile,
    event: str,
    assume: tuple[str, ...],
    writes: tuple[Write, ...],
    stacks: frozenset[str],
    around: Around | None = None,
) -> Question:
    """Where does an event happen, one of the profile or a pattern, under its assumptions?

    ``writes`` are the stores of one feature, relative to the root's object, ``stacks`` the names
    of attributes that hold layer stacks. With ``around`` nothing has to happen, but to stand there.
    """
    armed = {
        ".".join(("self", *write.path, write.name)): write.kind
        for write in writes
        if not write.element
    }
    flags = {write.name: write.kind for write in writes if write.element}
    known = profile.events.get(event, (EventPattern(event),)) if around is None else ()
    patterns = tuple(_compile(item) for item in known)
    return Question(
        profile,
        assume,
        patterns,
        armed,
        flags,
        frozenset(write.name for write in writes),
        stacks,
        around,
    )


def names_of_event(profile: Profile, event: str) -> frozenset[str]:
    """The last parts of the names of the calls that are an event of the profile, or a pattern."""
    known = profile.events.get(event, (EventPattern(event),))
    calls = (_compile(item) for item in known)
    return frozenset(x.method or x.function.rsplit(".", 1)[-1] for x in calls) - {""}


def _compile(event: EventPattern) -> CallPattern:
    call = call_pattern(event.pattern)
    if call is None:
        raise TypeError(f"an event is a call: {event.pattern}")
    keyword = call.keywords[0].arg or "" if call.keywords else ""
    match call.func:
        case ast.Attribute(ast.Name(receiver), method) if receiver.startswith("META_"):
            accumulator = event.where.get(receiver.removeprefix("META_")) == "accumulator"
            return CallPattern(method=method, keyword=keyword, accumulator=accumulator)
        case ast.Name(name) if name.startswith("META_"):
            return CallPattern(keyword=keyword)
        case _:
            return CallPattern(function=ast.unparse(call.func), keyword=keyword)


@lru_cache(maxsize=65536)
def _assumed(assumptions: tuple[Assumption, ...], text: str) -> bool | str | None:
    for item in assumptions:
        if text_pattern(item.expression).fullmatch(text):
            return item.value
    return None


@lru_cache(maxsize=4096)
def _grounded(fact: str, text: str) -> tuple[Bound, ...]:
    """``$X.start_layer < $X.end_layer`` for ``text`` in place of one of its sides.

    A mark such as ``#1`` (a later store) belongs to one attribute and grounds nothing else.
    """
    left, operator, right = fact.split(maxsplit=2)
    gap = 1 if operator == "<" else 0
    for side in (left, right):
        match = text_pattern(side).fullmatch(text) if not side.isdigit() else None
        if match is not None:
            names = match.groupdict()
            low, high = (_ground(item, names) for item in (left, right))
            offset = int(low) if low.isdigit() else 0
            return (Bound("" if low.isdigit() else low, high, gap + offset),)
    return ()


def _ground(side: str, names: dict[str, str]) -> str:
    return re.sub(r"\$([A-Z]+)", lambda found: names[found.group(1)], side)


def matches_any(text: str, globs: tuple[str, ...]) -> bool:
    return any(fnmatchcase(text, glob) for glob in globs)
