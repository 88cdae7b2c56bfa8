"""Judges one patch on a tree: what it changes, what it needs, where its lines stand."""

from collections.abc import Iterable, Iterator

from msgspec import Struct

from pathaudit.index import Index
from pathaudit.ir import Region
from pathaudit.relies.code import digest_of
from pathaudit.relies.finding import Fate, Whereabouts, find_body, find_definition, has_file
from pathaudit.relies.hunks import Placed, State, fit_whole, homes, place_hunks
from pathaudit.relies.names import scope_of
from pathaudit.relies.needs import Doubt, Trouble, check_use
from pathaudit.relies.standing import NOT_APPLIED, StandingFault, hunk_faults
from pathaudit.results import Severity
from pathaudit.ruleset import patches
from pathaudit.ruleset.patches import Reliance
from pathaudit.sources.fitting import Standing


class Point(Struct, frozen=True):
    """Something to say of a patch at a place; ``how`` follows on its name.

    ``severity`` is none where it says what holds, or what cannot be told. ``kind`` tells apart
    what the fingerprint must.
    """

    file: str
    region: Region
    symbol: str
    how: str
    kind: str
    severity: Severity | None = None
    effect: str = ""
    doubtful: bool = False
    condition: str = ""


class Judged(Struct, frozen=True):
    """What was found of one patch; ``standing`` is ``patched``, ``unpatched`` or ``neither``."""

    name: str
    standing: str
    points: tuple[Point, ...]


def judge_patch(index: Index, reliance: Reliance) -> Judged:
    """Judge one patch on a tree."""
    where = homes(index, reliance)
    whole = fit_whole(index.tree, reliance, where).standing
    placed = tuple(place_hunks(index, reliance, where, whole))
    judge = _Judge(index, reliance, where)
    points = [point for file in reliance.files for point in judge.file(file, placed)]
    points += map(judge.standing, hunk_faults(reliance, placed, frozenset(judge.lost)))
    if all(point.severity is None for point in points):
        points += judge.fitting(placed)
    return Judged(reliance.name, _told(whole, placed), tuple(points))


def _told(whole: Standing, placed: tuple[Placed, ...]) -> str:
    if placed and all(item.state is State.PRESENT for item in placed):
        return Standing.PATCHED
    return whole


class _Judge:
    """Collects what is to be said; ``lost`` are the functions that are not where they were."""

    def __init__(self, index: Index, reliance: Reliance, where: dict[str, str]) -> None:
        self._index = index
        self._reliance = reliance
        self._where = where
        self.lost: set[tuple[str, str]] = set()
        self._told: set[tuple[str, str]] = set()  # names that are missed, by file

    def file(self, file: patches.File, placed: tuple[Placed, ...]) -> Iterator[Point]:
        """What became of the functions of a file, and of what the lines in them need."""
        path = file.was or file.path
        now = self._where.get(path, file.path)
        missing = not file.added and not has_file(self._index, now)
        hunks = [item for item in placed if item.hunk in file.hunks and item.file == now]
        done = bool(hunks) and all(item.state is State.PRESENT for item in hunks)
        if missing and not done and not any(function.digest for function in file.functions):
            how = f"changes {path}, which is not there"
            yield self._point(now, "", how, "file", Severity.ERROR, NOT_APPLIED)
        for function in file.functions:
            own = [x for x in hunks if x.hunk.symbol == function.symbol]
            there = done or (bool(own) and all(item.state is State.PRESENT for item in own))
            yield from self._function(path, now, function, there)
        if missing:
            self.lost |= {(now, hunk.symbol) for hunk in file.hunks}

    def _function(
        self, path: str, now: str, function: patches.Function, there: bool
    ) -> Iterator[Point]:
        """Where what the patch does to it is ``there``, a function may be gone with it.

        Of one that the framework has changed so itself, what that needs is not asked.
        """
        symbol, home = function.symbol, now
        if function.digest:
            found = find_definition(
                self._index, path, symbol, function.sketch, function.callers, function.siblings
            )
            if there and found.fate is Fate.GONE:
                return
            if found.fate is not Fate.THERE:
                yield self._fate(path, function, found)
                self.lost |= {(now, symbol)} if found.file != now else set()
            if found.fate in (Fate.GONE, Fate.RENAMED):
                self.lost.add((now, symbol))
                return
            home, symbol = found.file, found.symbol
            left = find_body(self._index, home, symbol, function.sketch, function.siblings)
            if left is not None and not there:
                yield self._left(function.symbol, left)
                self.lost.add((now, function.symbol))
                return
            yield from self._body(home, symbol, function)
        if not there or self._reliance.patched:
            yield from self._needs(home, symbol, function.uses)

    def _fate(self, path: str, function: patches.Function, found: Whereabouts) -> Point:
        name = function.symbol
        if found.fate is Fate.GONE:
            how = f"changes {name}, which is not there"
            return self._point(path, name, how, f"gone {name}", Severity.ERROR, NOT_APPLIED)
        if found.fate is Fate.RENAMED:
            how = (
                f"changes {name}, which is not there; {found.symbol} seems to be what it is here: "
            )
            how += found.reason
            severity = Severity.ERROR
        else:
            moved = found.file if found.file != path else found.symbol
            how = f"changes {name} of {path}, which is in {moved} here"
            severity = Severity.WARNING
        return self._point(found.file, found.symbol, how, f"moved {name}", severity, NOT_APPLIED)

    def _left(self, name: str, found: Whereabouts) -> Point:
        how = f"changes {name}, whose body is in {found.symbol} here: {found.reason}"
        severity = Severity.WARNING
        return self._point(found.file, found.symbol, how, f"left {name}", severity, NOT_APPLIED)

    def _body(self, file: str, symbol: str, function: patches.Function) -> Iterator[Point]:
        """That a function is there and as it was, or has changed elsewhere, is no fault."""
        scope = scope_of(self._index, file, symbol)
        if scope.function is not None:
            same = digest_of(scope.function.node) == function.digest
            how = f"{symbol} is there, " + ("as it was" if same else "and differs")
            yield self._point(file, symbol, how, f"there {symbol}")

    def _needs(self, file: str, symbol: str, uses: tuple[patches.Use, ...]) -> Iterator[Point]:
        scope = scope_of(self._index, file, symbol)
        found = _first_causes([check_use(self._index, use, scope) for use in uses])
        groups: dict[tuple[str, ...], list[Trouble]] = {}
        for item in found:
            if isinstance(item, Trouble):
                key = (item.verb, item.tail, item.effect, item.severity)
                groups.setdefault(key, []).append(item)
        for (verb, tail, effect, _), items in groups.items():
            what = listed([item.what for item in items])
            kind = f"{items[0].use.kind} {what}"
            how = f"{verb} {what}{tail}"
            yield self._point(file, symbol, how, kind, items[0].severity, effect)
        missed = (item.use.code for items in groups.values() for item in items)
        self._told |= {(file, code.rpartition(" ")[2]) for code in missed}
        doubts = [item for item in found if isinstance(item, Doubt)]
        # What a call runs is not known where what it calls is not.
        for item in sorted(doubts, key=lambda x: x.use.kind == "call"):
            if (file, item.use.code) not in self._told:
                yield self._point(file, symbol, item.why, item.use.code, doubtful=True)
                self._told.add((file, item.use.code.rpartition(" ")[2]))

    def standing(self, fault: StandingFault) -> Point:
        region = region_of_line(self._index, fault.file, fault.line)
        return Point(
            fault.file, region, fault.symbol, fault.how, fault.kind, fault.severity, fault.effect
        )

    def fitting(self, placed: tuple[Placed, ...]) -> Iterator[Point]:
        """Where the hunks stand, if nothing is wrong with them."""
        for item in placed:
            there = item.state is State.PRESENT
            how = "a hunk is there" if there else "a hunk fits"
            region = region_of_line(self._index, item.file, item.line)
            yield Point(item.file, region, item.hunk.symbol, how, f"hunk {item.line}")

    def _point(
        self,
        file: str,
        symbol: str,
        how: str,
        kind: str,
        severity: Severity | None = None,
        effect: str = "",
        *,
        doubtful: bool = False,
    ) -> Point:
        function = scope_of(self._index, file, symbol).function
        line = function.line if function is not None else 1
        region = region_of_line(self._index, file, line)
        return Point(file, region, symbol, how, kind, severity, effect, doubtful)


def _first_causes(found: list[Trouble | Doubt | None]) -> list[Trouble | Doubt]:
    """What is wrong, without what follows from it: of a name that is gone, its attributes."""
    told = [item for item in found if item is not None]
    missed = {item.use.code for item in told if isinstance(item, Trouble)}
    return [x for x in told if not any(x.use.code.startswith((f"{y}.", f"{y}(")) for y in missed)]


def region_of_line(index: Index, file: str, line: int) -> Region:
    """The code in a line of a file."""
    outline = index.modules.outline(file)
    lines = outline.lines if outline is not None else []
    text = lines[line - 1].rstrip() if 0 < line <= len(lines) else ""
    return Region(line, len(text) - len(text.lstrip()), line, len(text))


def listed(names: Iterable[str]) -> str:
    """Names as a part of a sentence."""
    *first, last = dict.fromkeys(names)
    return f"{', '.join(first)} and {last}" if first else last
