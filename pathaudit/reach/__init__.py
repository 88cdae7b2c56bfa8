"""Does a line, a function, a call or a patch run on every path of the forwards that matter?

``reach`` is the verb. It finds which methods of served classes may lead to the target, executes
each with its eyes on it, and tells those that give the same answer together.
"""

from collections.abc import Collection, Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from pathaudit import __version__
from pathaudit.check import find_entries
from pathaudit.errors import UsageError
from pathaudit.hints import did_you_mean
from pathaudit.index import FunctionRef
from pathaudit.reach.absence import explain_absence
from pathaudit.reach.judging import CALLED, JUDGED, LED, Asked, Entrance, Judged
from pathaudit.reach.mentions import mentioning
from pathaudit.reach.spots import Part
from pathaudit.reach.targets import MOST_PARTS, find_parts, parts_at
from pathaudit.reach.variants import graph_notes, name_variants
from pathaudit.results import Source
from pathaudit.results.reaches import EntryReach, Extent, ReachReport, TargetReach
from pathaudit.sources.fitting import Fitted
from pathaudit.work import Work

__all__ = ["reach"]


def reach(
    work: Work, target: str, *, entry: str | None = None, patch: Fitted | None = None
) -> ReachReport:
    """Where a target runs: lines, a function or a pattern; or what a patch adds to the tree.

    The tree of ``work`` is that with the patch. ``entry`` narrows it to one served class. Raises
    ``UsageError`` for a target or an entry that is not there.
    """
    entrances = _entrances(work, entry)
    led = _Led(work, entrances)
    if patch is not None:
        parts = _added(work, patch)
    else:
        parts = find_parts(work.index, target, led.functions)
    leading = [led.to(frozenset(spot.ref for spot in part.spots)) for part in parts]
    judged = _judge(work, parts, leading)
    told = tuple(
        _tell(work, part, entrances, judged[number], led)
        for number, (part, entrances) in enumerate(zip(parts, leading, strict=True))
    )
    return ReachReport(
        tool=f"pathaudit {__version__}",
        request=target,
        source=Source(label=work.tree.label, version=work.tree.version),
        targets=name_variants(work, told),
        entries=len({item.cls for item in entrances}),
        variants=graph_notes(work),
        standing=patch.standing.value if patch is not None else "",
        others=patch.others if patch is not None else (),
        gaps=tuple(sorted(work.gaps, key=lambda x: (x.file, x.line, x.message))),
    )


def _entrances(work: Work, entry: str | None) -> tuple[Entrance, ...]:
    served = find_entries(work)
    names = sorted({ref.name for ref in served})
    if not served:
        raise UsageError(f"{work.tree.label}: no served model was found", "is this the right tree?")
    if entry is not None and entry not in names:
        hint = did_you_mean(entry, names, f"{len(names)} classes are served")
        raise UsageError(f"{work.tree.label} serves no class {entry!r}", hint)
    asked = [ref for ref in served if entry in (None, ref.name)]
    methods = work.run(CALLED, asked)
    return tuple(
        Entrance(x, name) for x, names in zip(asked, methods, strict=True) for name in names
    )


class _Led:
    """Which functions each entrance may lead to; found when first asked for."""

    def __init__(self, work: Work, entrances: tuple[Entrance, ...]) -> None:
        self._work = work
        self.entrances = entrances
        self._known: dict[Entrance, frozenset[FunctionRef]] = {}

    def functions(self) -> frozenset[FunctionRef]:
        """All functions that any of them leads to."""
        self._find(self.entrances)
        return frozenset[FunctionRef]().union(*self._known.values())

    def to(self, refs: Collection[FunctionRef]) -> tuple[Entrance, ...]:
        """The entrances that may lead to one of some functions."""
        if not refs:
            return ()
        names = mentioning(self._work.tree, self._work.profile, refs)
        asked = tuple(x for x in self.entrances if names is None or x.cls.name in names)
        self._find(asked)
        return tuple(item for item in asked if not self._known[item].isdisjoint(refs))

    def _find(self, entrances: Sequence[Entrance]) -> None:
        missing = [item for item in entrances if item not in self._known]
        found = self._work.run(LED, missing)
        self._known.update((x, frozenset(y)) for x, y in zip(missing, found, strict=True))


def _added(work: Work, patch: Fitted) -> tuple[Part, ...]:
    """What a patch adds, by functions."""
    lines: dict[str, set[int]] = {}
    for place in patch.added:
        lines.setdefault(place.file, set()).add(place.line)
    found = tuple(
        part for file in sorted(lines) for part in parts_at(work.index, file, lines[file])
    )
    if not found:
        hint = "comments and blank lines run nowhere; what it takes out is not judged"
        raise UsageError("the patch adds no statement", hint)
    if len(found) > MOST_PARTS:
        hint = "give a smaller one, or compare both versions with diff"
        raise UsageError(f"the patch adds {len(found)} groups of statements, too many", hint)
    return found


class _Group(Struct):
    """Methods of served classes that give the same answer."""

    entrances: list[Entrance]
    judged: Judged


def _judge(
    work: Work, parts: Sequence[Part], leading: Sequence[tuple[Entrance, ...]]
) -> list[list[Judged]]:
    """The answers of each part, in the order of its entrances; each entrance is gone into once."""
    asked: dict[Entrance, list[int]] = {}
    for number, entrances in enumerate(leading):
        for item in entrances:
            asked.setdefault(item, []).append(number)
    items = [Asked(x, tuple(parts[at].spots for at in numbers)) for x, numbers in asked.items()]
    found: dict[tuple[int, Entrance], Judged] = {}
    for unit, answers in zip(items, work.run(JUDGED, items), strict=True):
        for number, answer in zip(asked[unit.entrance], answers, strict=True):
            found[number, unit.entrance] = answer
    return [[found[number, item] for item in x] for number, x in enumerate(leading)]


def _tell(
    work: Work,
    part: Part,
    entrances: tuple[Entrance, ...],
    judged: Sequence[Judged],
    led: _Led,
) -> TargetReach:
    refs = frozenset(spot.ref for spot in part.spots)
    groups: dict[object, _Group] = {}
    for item, answer in zip(entrances, judged, strict=True):
        key = (item.method, answer.told)
        groups.setdefault(key, _Group([], answer)).entrances.append(item)
    entries = tuple(_entry(work, group) for group in groups.values())
    told = TargetReach(
        file=part.file,
        line=part.line,
        last=part.last,
        symbol=part.symbol,
        text=part.text,
        extent=_overall(entries),
        entries=tuple(sorted(entries, key=_rank)),
        absent=_absent(led, entrances),
        places=tuple(f"{x.ref.file}:{y[0]}" for x in part.spots for y in x.statements),
        within=part.within,
        reason=part.fault,
    )
    return told if entries or part.fault else _explained(work, told, refs, led)


def _explained(
    work: Work, told: TargetReach, refs: frozenset[FunctionRef], led: _Led
) -> TargetReach:
    """Nothing leads there: why."""
    found = explain_absence(work.index, min(refs), led.functions())
    return replace(told, extent=found.extent, reason=found.reason, notes=found.notes)


def _entry(work: Work, group: _Group) -> EntryReach:
    is_draft = work.profile.is_draft
    told = group.judged.told
    classes = sorted({item.cls for item in group.entrances})
    return EntryReach(
        method=group.entrances[0].method,
        extent=told.extent,
        classes=tuple(dict.fromkeys(x.name for x in classes)),
        drafts=tuple(dict.fromkeys(x.name for x in classes if is_draft(x.name, x.file))),
        runs=told.runs,
        bypasses=told.bypasses,
        chain=group.judged.chain,
        raises=told.raises,
        given=told.given,
        reason=told.reason,
    )


def _rank(entry: EntryReach) -> tuple[int, str, tuple[str, ...]]:
    """Those that most classes share first; drafts last."""
    return (-len(entry.classes) + len(entry.drafts), entry.method, entry.classes)


def _overall(entries: Iterable[EntryReach]) -> Extent:
    extents = {entry.extent for entry in entries}
    if len(extents) == 1:
        return extents.pop()
    if not extents or extents == {Extent.NONE, Extent.UNKNOWN}:
        return Extent.UNKNOWN if extents else Extent.NONE
    return Extent.SOME


def _absent(led: _Led, entrances: tuple[Entrance, ...]) -> tuple[str, ...]:
    """The methods of the same classes that do not lead to the target."""
    classes = {item.cls for item in entrances}
    others = (x for x in led.entrances if x.cls in classes and x not in entrances)
    return tuple(dict.fromkeys(f"{item.cls.name}.{item.method}" for item in others))
