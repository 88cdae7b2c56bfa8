"""Kept hunks on a tree: does each fit, is it in the tree, or which line is in its way?"""

import re
from collections.abc import Iterator
from difflib import get_close_matches
from enum import StrEnum
from itertools import accumulate

import msgspec
from msgspec import Struct

from pathaudit.index import FunctionRef, Index
from pathaudit.relies.finding import home_of
from pathaudit.ruleset import patches
from pathaudit.sources import SourceTree
from pathaudit.sources.fitting import Fitted, Place, Standing, fit_patch
from pathaudit.sources.patches import Hunk, LineKind, Patch, PatchedFile, PatchLine

_NEAR = 0.7  # how alike the line must be that stands where another was expected
_TELLING = re.compile(r"\w.*\w.*\w")  # a line that is more than a bracket or two
_SLACK = 4  # lines that may have come between those of a hunk


class State(StrEnum):
    """How a hunk stands to a tree."""

    FITS = "fits"
    PRESENT = "present"
    BLOCKED = "blocked"


class Placed(Struct, frozen=True):
    """A hunk in a file of a tree, the path as it is now.

    ``line`` is where its change stands, or would. Of one that is blocked, ``expected`` is a line
    that it needs and that is not there, ``instead`` the one that is most like it; where all are
    there, one that stands between them. ``there`` of the lines that are its ``own`` are there.
    A file that is not there is ``missing``. ``spots`` are the lines that are its own, where it is
    there in other surroundings.
    """

    file: str
    hunk: patches.Hunk
    state: State
    line: int
    expected: str = ""
    instead: str = ""
    own: int = 0
    there: int = 0
    missing: bool = False
    spots: tuple[int, ...] = ()


def homes(index: Index, reliance: patches.Reliance) -> dict[str, str]:
    """The files of a patch, each with the one that holds now what it held."""
    found = {}
    for file in reliance.files:
        if not file.added:
            symbols = (item.symbol for item in file.functions)
            found[file.was or file.path] = home_of(index, file.was or file.path, symbols)
    return found


def as_patch(reliance: patches.Reliance, where: dict[str, str]) -> Patch:
    """The whole patch, on the files as they are now."""
    return Patch(reliance.name, tuple(_file(item, item.hunks, where) for item in reliance.files))


def fit_whole(tree: SourceTree, reliance: patches.Reliance, where: dict[str, str]) -> Fitted:
    """The whole patch on a tree, with its files as they are now."""
    return fit_patch(tree, as_patch(reliance, where))


def fit_alike(index: Index, reliance: patches.Reliance, where: dict[str, str]) -> Fitted:
    """As ``fit_whole``, but a tree that has all lines of its own in other surroundings has it."""
    fitted = fit_whole(index.tree, reliance, where)
    if fitted.standing is not Standing.NEITHER:
        return fitted
    placed = tuple(place_hunks(index, reliance, where, fitted.standing))
    if not placed or any(item.state is not State.PRESENT for item in placed):
        return fitted
    added = tuple(Place(item.file, line) for item in placed for line in _lines_of(index, item))
    return msgspec.structs.replace(fitted, standing=Standing.PATCHED, added=added)


def _lines_of(index: Index, item: Placed) -> tuple[int, ...]:
    """The lines that a hunk has put into a file where it is."""
    if item.spots:
        return item.spots
    kept = [text for text in item.hunk.lines if text[:1] != LineKind.REMOVED]
    first = position(_lines(index, item.file), [text[1:] for text in kept], item.hunk.new)
    return tuple(first + at for at, text in enumerate(kept) if text[:1] == LineKind.ADDED)


def place_hunks(
    index: Index, reliance: patches.Reliance, where: dict[str, str], whole: Standing
) -> Iterator[Placed]:
    """Each hunk of a patch on a tree. A patch that fits as a whole is not asked hunk by hunk."""
    for file in reliance.files:
        path = where.get(file.was or file.path, file.path)
        lines = _lines(index, path)
        for hunk in file.hunks:
            yield _place(index, file, hunk, path, lines, whole, where)


def _place(
    index: Index,
    file: patches.File,
    hunk: patches.Hunk,
    path: str,
    lines: list[str],
    whole: Standing,
    where: dict[str, str],
) -> Placed:
    standing = whole
    single = Patch("", (_file(file, (hunk,), where),))
    if whole is Standing.NEITHER:
        standing = fit_patch(index.tree, single).standing
    side = LineKind.REMOVED if standing is Standing.PATCHED else LineKind.ADDED
    texts = [text[1:] for text in hunk.lines if text[:1] != side]
    line = position(lines, texts, hunk.new if standing is Standing.PATCHED else hunk.old)
    if standing is not Standing.NEITHER:
        state = State.PRESENT if standing is Standing.PATCHED else State.FITS
        return Placed(path, hunk, state, line + _offset(hunk, side))
    return _blocked(index, hunk, path, lines)


def _offset(hunk: patches.Hunk, other: LineKind) -> int:
    """How far the change of a hunk is from its first line, on one side."""
    kept = [text for text in hunk.lines if text[:1] != other]
    changed = (at for at, text in enumerate(kept) if text[:1] != LineKind.CONTEXT)
    context = (at for at, text in enumerate(hunk.lines) if text[:1] != LineKind.CONTEXT)
    return next(changed, max(next(context, 0) - 1, 0))


def position(lines: list[str], texts: list[str], wanted: int) -> int:
    """The line, from 1, where some texts stand; nearest to the one wanted, 1 if nowhere."""
    count = len(texts)
    fits = [
        at + 1
        for at in range(len(lines) - count + 1)
        if count and lines[at] == texts[0] and lines[at : at + count] == texts
    ]
    return min(fits, key=lambda at: abs(at - wanted), default=min(max(wanted, 1), len(lines) or 1))


def _lines(index: Index, file: str) -> list[str]:
    outline = index.modules.outline(file)
    return [line.rstrip("\r\n") for line in outline.lines] if outline is not None else []


def _blocked(index: Index, hunk: patches.Hunk, path: str, lines: list[str]) -> Placed:
    """What is in the way of a hunk that is neither there nor fits."""
    if not lines:
        return Placed(path, hunk, State.BLOCKED, 1, missing=True)
    start, inside = _around(index, path, hunk.symbol, lines)
    stripped = {line.strip() for line in inside}
    own = [hunk.lines[at][1:].strip() for at in hunk.own if at < len(hunk.lines)]
    kept = [text for text in own if text in stripped]
    spots = _in_order(inside, own)
    if spots:
        lines_there = tuple(start + at for at in spots)
        return Placed(path, hunk, State.PRESENT, lines_there[0], spots=lines_there)
    needed = [text[1:] for text in hunk.lines if text[:1] != LineKind.ADDED]
    known = frozenset(inside)
    missing = [text.strip() for text in needed if text not in known]
    expected = next((text for text in missing if _TELLING.search(text)), "")
    at = _best_window(inside, needed)
    window = [line.strip() for line in inside[at : at + len(needed) + _SLACK]]
    wanted = {text.strip() for text in needed}
    others = [line for line in window if line not in wanted and _TELLING.search(line)]
    near = get_close_matches(expected, others, n=1, cutoff=_NEAR) if expected else others[:1]
    line = start + at + (window.index(near[0]) if near else 0)
    instead = near[0] if near else ""
    return Placed(path, hunk, State.BLOCKED, line, expected, instead, len(own), len(kept))


def _in_order(inside: list[str], texts: list[str]) -> list[int]:
    """Where some texts stand one after the other, with others between them; nothing if not all."""
    spots: list[int] = []
    lines = enumerate(line.strip() for line in inside)
    for text in texts:
        at = next((at for at, line in lines if line == text), None)
        if at is None:
            return []
        spots.append(at)
    return spots


def _best_window(inside: list[str], texts: list[str]) -> int:
    """Where most of some texts stand together, counting from the first line inside."""
    wanted = {text.strip() for text in texts}
    worth = [len(line.strip()) if line.strip() in wanted else 0 for line in inside]
    sums = list(accumulate(worth, initial=0))
    size = len(texts) + _SLACK
    spots = range(max(len(inside) - size, 0) + 1)
    best = max(spots, key=lambda at: sums[min(at + size, len(inside))] - sums[at], default=0)
    return next((at for at in range(best, len(inside)) if worth[at]), best)


def _around(index: Index, path: str, symbol: str, lines: list[str]) -> tuple[int, list[str]]:
    """The lines of the function that a hunk stands in, with the number of the first."""
    function = index.modules.function(FunctionRef(path, symbol)) if symbol else None
    if function is None:
        return 1, lines
    return function.first, lines[function.first - 1 : function.last]


# ---- the form that the tree is asked in ---------------------------------------------------------


def _file(
    file: patches.File, hunks: tuple[patches.Hunk, ...], where: dict[str, str]
) -> PatchedFile:
    was = file.was or file.path
    old = None if file.added else where.get(was, was)
    renamed = bool(file.was) and file.was != file.path
    new = None if file.deleted else file.path if renamed or old is None else old
    return PatchedFile(old, new, tuple(map(_hunk, hunks)), 1)


def _hunk(hunk: patches.Hunk) -> Hunk:
    return Hunk(hunk.old, hunk.new, "", tuple(_numbered(hunk)), 1)


def _numbered(hunk: patches.Hunk) -> Iterator[PatchLine]:
    old, new = hunk.old, hunk.new
    for at, text in enumerate(hunk.lines):
        kind = LineKind(text[:1]) if text[:1] in ("+", "-") else LineKind.CONTEXT
        added, removed = kind is LineKind.ADDED, kind is LineKind.REMOVED
        yield PatchLine(kind, text[1:], None if added else old, None if removed else new, at + 2)
        old, new = old + (not added), new + (not removed)
