"""Which finding of one version is which of the other.

First by what a fingerprint is made of, then by fingerprint, then by resemblance. Each step pairs
what the steps before it left over, so that a finding has at most one partner.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence

from msgspec import Struct

from pathaudit.diff.naming import Defines, Naming, alike
from pathaudit.results import Finding
from pathaudit.results.versions import Basis

# How alike two findings of one method must be, of 1, to be one that changed.
_ALIKE = 0.6


class Mark(Struct, frozen=True):
    """What a finding is known by. ``kind`` tells a loop from a call, where that is known."""

    rule: str
    fingerprint: str
    file: str
    symbol: str
    layers: str
    message: str
    condition: str = ""
    kind: str = ""


class Pair(Struct, frozen=True):
    """Positions of a finding in the old and in the new version, and what tells that it is one."""

    old: int
    new: int
    basis: Basis
    remark: str = ""


Key = Callable[[Mark], Hashable]


def mark_of(finding: Finding) -> Mark:
    return Mark(
        finding.rule,
        finding.fingerprint,
        finding.file,
        finding.symbol,
        finding.layers,
        finding.message,
        finding.condition,
        _kind_of(finding),
    )


def _kind_of(finding: Finding) -> str:
    """A loop, or a call: whether layers are handed over by it depends on what is known of it."""
    if not finding.steps:
        return ""
    return "loop" if finding.steps[-1].kind == "loop" else "call"


def match(
    old: Sequence[Mark],
    new: Sequence[Mark],
    naming: Naming,
    *,
    old_has: Defines,
    new_has: Defines,
) -> tuple[Pair, ...]:
    """Pair the findings of two versions. At most one pair for each, in the order of the new."""
    matcher = _Matcher(old, new, naming, old_has, new_has)
    pairs = [*matcher.same(), *matcher.alike()]
    return tuple(sorted(pairs, key=lambda pair: pair.new))


def match_same(old: Sequence[Mark], new: Sequence[Mark], naming: Naming) -> tuple[Pair, ...]:
    """As ``match``, but what merely resembles is no pair."""
    matcher = _Matcher(old, new, naming, lambda *_: True, lambda *_: True)
    return tuple(sorted(matcher.same(), key=lambda pair: pair.new))


class _Matcher:
    """Pairs in steps what is left of two lists of findings."""

    def __init__(
        self,
        old: Sequence[Mark],
        new: Sequence[Mark],
        naming: Naming,
        old_has: Defines,
        new_has: Defines,
    ) -> None:
        self.old = dict(enumerate(old))
        self.new = dict(enumerate(new))
        self.naming = naming
        self.old_has = old_has
        self.new_has = new_has

    def same(self) -> Iterator[Pair]:
        yield from self._equal(_saying, _saying)
        yield from self._equal(_print, _print)
        yield from self._equal(_message, _message)
        yield from self._equal(self._moved_print, _placed_print)

    def alike(self) -> Iterator[Pair]:
        yield from self._equal(self._moved_layers, _placed_layers)
        yield from self._alike(self._place, _place_of)
        yield from self._alike(self._owner, _owner_of)

    def _equal(self, key: Key, other: Key) -> Iterator[Pair]:
        """Pair those of equal keys in order."""
        waiting: defaultdict[Hashable, list[int]] = defaultdict(list)
        for number, mark in self.new.items():
            waiting[other(mark)].append(number)
        for number, mark in list(self.old.items()):
            if found := waiting[key(mark)]:
                yield self._take(number, found.pop(0))

    def _alike(self, key: Key, other: Key) -> Iterator[Pair]:
        """Pair those of equal keys that are alike, the most alike first."""
        pairs = [
            (-self._likeness(mark, now), number, position)
            for number, mark in self.old.items()
            for position, now in self.new.items()
            if key(mark) == other(now) and self._may_be(mark, now)
        ]
        for likeness, number, position in sorted(pairs):
            if -likeness >= _ALIKE and number in self.old and position in self.new:
                yield self._take(number, position)

    def _take(self, number: int, position: int) -> Pair:
        mark, now = self.old.pop(number), self.new.pop(position)
        remark = self._remark(mark, now)
        renamed = self.naming.translate(mark.file, mark.symbol)[1] != mark.symbol
        same = (mark.layers, mark.symbol) == (now.layers, now.symbol) and not renamed
        if mark.fingerprint == now.fingerprint:
            return Pair(number, position, Basis.FINGERPRINT, remark)
        basis = Basis.PLACE if same and mark.file == now.file else Basis.RESEMBLANCE
        return Pair(number, position, basis, remark)

    def _remark(self, mark: Mark, now: Mark) -> str:
        parts = [self.naming.remark(mark.file, mark.symbol)]
        if self.naming.translate(mark.file, mark.symbol)[1] != now.symbol:
            parts.append(f"was in {mark.symbol}")
        if mark.layers != now.layers:
            parts.append(f"layers were {mark.layers}")
        return ", ".join(filter(None, parts))

    def _may_be(self, mark: Mark, now: Mark) -> bool:
        """Can code have gone from one method to another? One of them must be there only once."""
        file, symbol = self.naming.translate(mark.file, mark.symbol)
        if symbol == now.symbol:
            return True
        return not (self.new_has(file, symbol) and self.old_has(mark.file, now.symbol))

    def _likeness(self, mark: Mark, now: Mark) -> float:
        texts = ((x.layers, x.condition, x.message) for x in (mark, now))
        pairs = [(a, b) for a, b in zip(*texts, strict=True) if a or b]
        return sum(alike(a, b) for a, b in pairs) / len(pairs) if pairs else 1.0

    def _moved(self, mark: Mark) -> tuple[str, str]:
        return self.naming.translate(mark.file, mark.symbol)

    def _moved_print(self, mark: Mark) -> Hashable:
        return (mark.rule, mark.fingerprint, *self._moved(mark))

    def _moved_layers(self, mark: Mark) -> Hashable:
        return (mark.rule, mark.kind, mark.layers, *self._moved(mark)) if mark.layers else mark

    def _place(self, mark: Mark) -> Hashable:
        return (mark.rule, mark.kind, *self._moved(mark))

    def _owner(self, mark: Mark) -> Hashable:
        file, symbol = self._moved(mark)
        return (mark.rule, mark.kind, file, symbol.partition(".")[0])


def _saying(mark: Mark) -> Hashable:
    return (mark.rule, mark.file, mark.symbol, mark.layers, mark.message, mark.condition)


def _print(mark: Mark) -> Hashable:
    return (mark.rule, mark.fingerprint, mark.file)


def _message(mark: Mark) -> Hashable:
    return (mark.rule, mark.file, mark.symbol, mark.layers, mark.message)


def _placed_print(mark: Mark) -> Hashable:
    return (mark.rule, mark.fingerprint, mark.file, mark.symbol)


def _placed_layers(mark: Mark) -> Hashable:
    return (mark.rule, mark.kind, mark.layers, mark.file, mark.symbol)


def _place_of(mark: Mark) -> Hashable:
    return (mark.rule, mark.kind, mark.file, mark.symbol)


def _owner_of(mark: Mark) -> Hashable:
    return (mark.rule, mark.kind, mark.file, mark.symbol.partition(".")[0])
