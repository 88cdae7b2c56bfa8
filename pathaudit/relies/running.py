"""Compares on which paths a patch runs in a tree with those on which it ran."""

from collections.abc import Iterator

import msgspec

from pathaudit.index import Index
from pathaudit.reach.spots import Part
from pathaudit.relies.hunks import fit_alike, homes
from pathaudit.relies.judging import Point, listed, region_of_line
from pathaudit.relies.paths import Shortfall, Way, find_ways, shortfalls, text_of
from pathaudit.results import Severity
from pathaudit.results.reaches import Extent, Range
from pathaudit.ruleset.patches import File, Function, Reliance
from pathaudit.sources.fitting import Fitted, Standing
from pathaudit.work import Work

_SILENT = "silent: what the patch does is not done there"


def path_points(work: Work, reliance: Reliance, entry: str | None) -> Iterator[Point]:
    """What is to be said of the paths of a patch that is in the tree, or fits it.

    With ``entry``, of those of one served class.
    """
    if not any(function.paths for file in reliance.files for function in file.functions):
        return
    where = homes(work.index, reliance)
    fitted = fit_alike(work.index, reliance, where)
    laid = work.over(fitted.new, msgspec.msgpack.encode(reliance))
    try:
        for file in reliance.files:
            path = where.get(file.was or file.path, file.path)
            yield from _Running(work.index, laid, fitted, path).points(file, entry)
    finally:
        laid.stop()


class _Running:
    """One file of the tree, and of that tree with the patch."""

    def __init__(self, index: Index, laid: Work, fitted: Fitted, path: str) -> None:
        self._index = index
        self._laid = laid
        self._fitted = fitted
        self._path = path

    def points(self, file: File, entry: str | None) -> Iterator[Point]:
        """What is to be said of the functions of the file."""
        functions = [item for item in file.functions if item.paths]
        lines = frozenset(x.line for x in self._fitted.added if x.file == self._path)
        names = [item.symbol for item in functions]
        ways = tuple(find_ways(self._laid, self._path, names, lines)) if functions else ()
        for function in functions:
            here = tuple(way for way in ways if way.part.symbol == function.symbol)
            found = [x for x in shortfalls(function.paths, here) if _is_about(x, entry)]
            yield from map(self._point, found)
            if here and not found:
                yield self._sound(function, here[0])

    def _sound(self, function: Function, way: Way) -> Point:
        every = all(path.runs == "every" for path in function.paths)
        paths = "every path" if every else "the paths that it ran on"
        entries = listed(name for path in function.paths for name in path.entries)
        how = f"what it adds to {function.symbol} runs on {paths} of {entries}"
        return self._at(way.part, how, f"runs {function.symbol}")

    def _point(self, item: Shortfall) -> Point:
        part, bypass = item.part, item.bypass
        entries = listed(item.entries)
        if item.extent is Extent.UNKNOWN:
            how = f"whether `{part.text}` runs on every path of {entries}: {item.reason}"
            return self._at(part, how, f"runs {part.text}", doubtful=True)
        if item.extent is Extent.NONE or bypass is None:
            how = f"adds `{part.text}`, which runs on no path of {entries} here{_why(item)}"
            return self._at(part, how, f"runs {part.text}", severity=Severity.ERROR)
        how = f"adds `{part.text}`, which no longer runs on every path of {entries}: without it "
        how += f"{'run ' if bypass.layers else ''}{text_of(bypass)}"
        severity = Severity.ERROR if bypass.layers else Severity.WARNING
        return self._at(part, how, f"runs {part.text}", severity=severity, bypass=bypass)

    def _at(
        self,
        part: Part,
        how: str,
        kind: str,
        *,
        severity: Severity | None = None,
        bypass: Range | None = None,
        doubtful: bool = False,
    ) -> Point:
        """Something to say where layers run without a statement, else where that stands."""
        file, line = part.file, part.line
        if bypass is not None and bypass.file and bypass.line:
            file, line = bypass.file, bypass.line
        region = region_of_line(self._index, file, self._line_here(file, line))
        return Point(
            file,
            region,
            part.symbol,
            how,
            kind,
            severity,
            _SILENT if severity is not None else "",
            doubtful,
            bypass.condition if bypass is not None else "",
        )

    def _line_here(self, file: str, line: int) -> int:
        """The line of the tree as it is, of one with the patch; of an added line, the one above."""
        if self._fitted.standing is Standing.PATCHED:
            return line
        added = {x.line for x in self._fitted.added if x.file == file}
        removed = {x.line for x in self._fitted.removed if x.file == file}
        old = 0
        for new in range(1, line + 1):
            while old + 1 in removed:
                old += 1
            old += new not in added
        return max(old, 1)


def _is_about(item: Shortfall, entry: str | None) -> bool:
    return entry is None or any(name.partition(".")[0] == entry for name in item.entries)


def _why(item: Shortfall) -> str:
    return f": {item.reason}" if item.reason else ""
