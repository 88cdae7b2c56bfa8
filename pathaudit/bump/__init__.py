"""Compares the pins of a framework in two states of a repository: what is to be audited.

Nothing here downloads or runs anything; which version a requirement stands for, and whether that
is known, is asked of whoever calls.
"""

from collections.abc import Iterable

from msgspec import Struct
from packaging.version import InvalidVersion, Version

from pathaudit.bump.matching import differing, pair_pins
from pathaudit.bump.pins import PinsRead, Sought, read_pins
from pathaudit.bump.pins.sought import normal
from pathaudit.bump.settling import Aimed, Newest, State, Target, admits, settle, settled_by
from pathaudit.results import Gap
from pathaudit.results.bumps import Disagreement, Pin, PinChange, PinSource
from pathaudit.sources.repository import RepositoryFiles

__all__ = ["Alone", "Couple", "Missing", "PinComparison", "Sought", "Target", "compare_pins"]

_SAME = ("extras", "marker", "hashes", "text")


class Couple(Struct, frozen=True):
    """Two versions to compare, for the sake of some pins."""

    old: Target
    new: Target
    pins: tuple[Pin, ...]


class Alone(Struct, frozen=True):
    """A version that nothing is to be compared with; ``first`` if none was pinned before."""

    target: Target
    reason: str
    first: bool
    pins: tuple[Pin, ...]


class Missing(Struct, frozen=True):
    """A version that cannot be told, or not be had."""

    reason: str
    pins: tuple[Pin, ...]


class PinComparison(Struct, frozen=True):
    """What changed of the pins, and what is to be audited for that; each once."""

    pins: int
    changes: tuple[PinChange, ...]
    disagreements: tuple[Disagreement, ...]
    couples: tuple[Couple, ...]
    alone: tuple[Alone, ...]
    missing: tuple[Missing, ...]
    gaps: tuple[Gap, ...]


def compare_pins(
    base: RepositoryFiles, head: RepositoryFiles, sought: Sought, newest: Newest
) -> PinComparison:
    """Find the pins of a package in two states of a repository, and what changed of them.

    ``newest`` is asked only for requirements that changed and admit several versions.
    """
    before = State(read_pins(base, sought), base.submodules, sought)
    after = State(read_pins(head, sought), head.submodules, sought)
    plan = _Plan(before, after, newest)
    for old, new in pair_pins(before.read.pins, after.read.pins):
        plan.add(old, new)
    return PinComparison(
        pins=len(after.read.pins),
        changes=tuple(plan.changes),
        disagreements=_disagreements(before.read.pins, after.read.pins),
        couples=tuple(plan.couples.values()),
        alone=tuple(plan.alone.values()),
        missing=tuple(plan.missing.values()),
        gaps=_gaps(before.read, after.read),
    )


class _Plan:
    """Collects what changed, and what is to be audited for it."""

    def __init__(self, before: State, after: State, newest: Newest) -> None:
        self._before = before
        self._after = after
        self._newest = newest
        self.changes: list[PinChange] = []
        self.couples: dict[tuple[Target, Target], Couple] = {}
        self.alone: dict[Target, Alone] = {}
        self.missing: dict[str, Missing] = {}

    def add(self, old: Pin | None, new: Pin | None) -> None:
        """Take up one pin: changed, added or removed."""
        if new is None:
            if old is not None:
                gone = settle(old, self._before, None).aim
                self.changes.append(PinChange(change="removed", old=gone, new=None))
        elif old is None:
            self._added(new)
        else:
            self._changed(old, new, differing(old, new))

    def _changed(self, old: Pin, new: Pin, fields: tuple[str, ...]) -> None:
        if not fields:
            return
        ask = None if all(field in _SAME for field in fields) else self._newest
        before, after = settle(old, self._before, ask), settle(new, self._after, ask)
        change = "same" if ask is None else _kind(before, after)
        self.changes.append(PinChange(change=change, old=before.aim, new=after.aim, fields=fields))
        if change != "same":
            self._audit(before, after)

    def _audit(self, before: Aimed, after: Aimed) -> None:
        pin = after.aim.pin
        if after.target is None:
            self._miss(after.aim.remark, pin)
        elif before.target is None:
            reason = _untold(before)
            self._miss(reason, pin)
            self._scan(after.target, reason, False, pin)
        else:
            self._compare(before.target, after.target, pin)

    def _added(self, new: Pin) -> None:
        """What was pinned elsewhere before is what a new pin is compared with."""
        aimed = settle(new, self._after, self._newest)
        self.changes.append(PinChange(change="added", old=None, new=aimed.aim))
        pinned = [settle(pin, self._before, None) for pin in self._before.read.pins]
        known = {x.target: x.aim for x in pinned if x.target is not None}
        if aimed.target is None:
            self._miss(aimed.aim.remark, new)
        elif aimed.target in known:
            return
        elif len(known) == 1:
            self._compare(next(iter(known)), aimed.target, new)
        elif known:
            trees = ", ".join(sorted(aim.tree for aim in known.values()))
            self._scan(aimed.target, f"several versions were pinned before: {trees}", False, new)
        elif pinned:
            self._scan(aimed.target, _untold(pinned[0]), False, new)
        else:
            reason = f"{self._after.sought.package} was not pinned before"
            self._scan(aimed.target, reason, True, new)

    def _compare(self, old: Target, new: Target, pin: Pin) -> None:
        known = self.couples.get((old, new))
        pins = (*(known.pins if known else ()), pin)
        self.couples[old, new] = Couple(old, new, pins)

    def _scan(self, target: Target, reason: str, first: bool, pin: Pin) -> None:
        known = self.alone.get(target)
        pins = (*(known.pins if known else ()), pin)
        self.alone[target] = Alone(target, reason, first, pins)

    def _miss(self, reason: str, pin: Pin) -> None:
        known = self.missing.get(reason)
        self.missing[reason] = Missing(reason, (*(known.pins if known else ()), pin))


def _untold(before: Aimed) -> str:
    return f"what was pinned before cannot be told: {before.aim.remark or before.aim.pin.text}"


def _kind(before: Aimed, after: Aimed) -> str:
    """In what a changed pin differs from what it was."""
    old, new = before.aim.version, after.aim.version
    if before.target is not None and before.target == after.target:
        return "same"
    try:
        first, second = Version(old), Version(new)
    except InvalidVersion:
        return "changed"
    if first == second:
        return "same"
    return "upgraded" if first < second else "downgraded"


def _gaps(before: PinsRead, after: PinsRead) -> tuple[Gap, ...]:
    """What could not be read after the change, and what of before is not the same then."""
    known = {(gap.file, gap.message) for gap in after.gaps}
    return (*after.gaps, *(gap for gap in before.gaps if (gap.file, gap.message) not in known))


# ---- disagreements ----------------------------------------------------------------------------


def _disagreements(before: Iterable[Pin], after: Iterable[Pin]) -> tuple[Disagreement, ...]:
    old, new = _at_odds(tuple(before)), _at_odds(tuple(after))
    if [(pin.file, pin.text) for pin in old] == [(pin.file, pin.text) for pin in new]:
        found = [("before and after", new)]
    else:
        found = [("before", old), ("after", new)]
    return tuple(Disagreement(when=when, pins=pins) for when, pins in found if pins)


def _at_odds(pins: tuple[Pin, ...]) -> tuple[Pin, ...]:
    """The pins of which another one names a version that they do not admit."""
    exact = [pin for pin in pins if pin.version]
    loose = [
        pin
        for pin in pins
        if pin.source is PinSource.INDEX and not pin.version and settled_by(pin, pins) is None
    ]
    odd: set[int] = set()
    for version, marker in {(pin.version, pin.marker) for pin in exact}:
        against = [pin for pin in exact if normal(pin.version) != normal(version)]
        against += [pin for pin in loose if not admits(pin.specifier, version)]
        meant = {id(pin) for pin in against if _same_environment(pin.marker, marker)}
        if meant:
            named = (x for x in exact if (x.version, x.marker) == (version, marker))
            odd |= meant | {id(pin) for pin in named}
    return tuple(pin for pin in pins if id(pin) in odd)


def _same_environment(marker: str, other: str) -> bool:
    """May both pins hold at once? Different markers are taken for different environments."""
    return not marker or not other or marker == other
