"""Lays a patch on a tree: says whether it is in it, fits it, or neither; nothing is written."""

import io
import tokenize
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import StrEnum
from functools import partial

import msgspec
from msgspec import Struct

from pathaudit.errors import SourceError, UsageError
from pathaudit.sources.patches import Hunk, LineKind, Patch, PatchedFile
from pathaudit.sources.tree import Files, SourceTree

# Further from where the patch says, a hunk has to fit one place only.
NEAR_LINES = 100


class Standing(StrEnum):
    """How a tree stands to a patch: with it, without it, or neither."""

    PATCHED = "patched"
    UNPATCHED = "unpatched"
    NEITHER = "neither"


class Place(Struct, frozen=True, order=True):
    """A line of a file of a tree."""

    file: str
    line: int


class Misfit(Struct, frozen=True):
    """A hunk that does not fit a file: its line in the patch, the path there, and why."""

    at: int
    path: str
    reason: str


class Fitted(Struct, frozen=True, eq=False):
    """A patch on a tree.

    ``old`` is the tree without the patch and ``new`` with it; one of them is the tree itself, and
    both are where it fits neither. ``added`` are the lines of ``new`` that the patch adds,
    ``removed`` those of ``old`` that it takes out. ``misfits`` are empty unless it fits neither,
    ``others`` the files that are no part of the tree.
    """

    standing: Standing
    old: SourceTree
    new: SourceTree
    added: tuple[Place, ...] = ()
    removed: tuple[Place, ...] = ()
    misfits: tuple[Misfit, ...] = ()
    others: tuple[str, ...] = ()


def fit_patch(tree: SourceTree, patch: Patch) -> Fitted:
    """Say how a tree stands to a patch, and lay the patch on a tree that is without it.

    Context must fit to the letter, the numbers of lines need not. UsageError if the patch changes
    no Python file of the package.
    """
    mine, others = _of_package(tree, patch)
    if not mine:
        hint = f"looked for paths such as {tree.package}/... in {tree.label}"
        raise UsageError(f"{patch.label}: changes no Python file of {tree.package}", hint)
    forth, back = _Bench(tree, undo=False), _Bench(tree, undo=True)
    forth.take(mine)
    back.take(mine[::-1])
    if forth.misfits and back.misfits:
        worse = back if len(back.misfits) < len(forth.misfits) else forth
        misfits = tuple(sorted(worse.misfits, key=lambda misfit: misfit.at))
        return Fitted(Standing.NEITHER, tree, tree, misfits=misfits, others=others)
    if forth.misfits or (not back.misfits and back.rank < forth.rank):
        old = back.result(f"{tree.label} without {patch.label}")
        added, removed = _sorted(back.dropped), _sorted(back.placed())
        return Fitted(Standing.PATCHED, old, tree, added, removed, (), others)
    new = forth.result(f"{tree.label} with {patch.label}")
    added, removed = _sorted(forth.placed()), _sorted(forth.dropped)
    return Fitted(Standing.UNPATCHED, tree, new, added, removed, (), others)


def find_path(tree: SourceTree, path: str) -> str | None:
    """The file of a tree that a path of a patch means: the longest end of it that is one."""
    parts = path.split("/")
    for start in range(len(parts)):
        end = "/".join(parts[start:])
        if end in tree:
            return end
        for name, module in tree.guests:
            inside = module.replace(".", "/") + end.removeprefix(name)
            if parts[start] in (name, f"{name}.py") and inside in tree:
                return inside
    return None


class _Line:
    """A line of a file in the making; ``number`` is that in the tree, of a line that was there."""

    def __init__(self, text: str, number: int | None, *, placed: bool = False) -> None:
        self.text = text
        self.number = number
        self.placed = placed


def _sorted(places: Iterable[Place]) -> tuple[Place, ...]:
    return tuple(sorted(set(places)))


def _of_package(tree: SourceTree, patch: Patch) -> tuple[list[PatchedFile], tuple[str, ...]]:
    """The files of a patch by their paths in a tree, and the paths of those that are no part."""
    mine: list[PatchedFile] = []
    others = list(patch.others)
    inside = not any(_below(tree, file.path) for file in patch.files)
    for file in patch.files:
        old, new = (_own(tree, path, inside) for path in (file.old_path, file.new_path))
        if old or new:
            mine.append(msgspec.structs.replace(file, old_path=old, new_path=new))
        else:
            others.append(file.path)
    return mine, tuple(others)


def _own(tree: SourceTree, path: str | None, inside: bool) -> str | None:
    """The path in a tree; ``inside``, the paths of the patch begin below the package."""
    if path is None:
        return None
    found = find_path(tree, path) or _below(tree, path)
    if found is None and inside and f"{tree.package}/{path}" in tree:
        return f"{tree.package}/{path}"
    return found


def _below(tree: SourceTree, path: str) -> str | None:
    """The part of a path from the package's folder on, where it has one."""
    _, found, rest = f"/{path}".partition(f"/{tree.package}/")
    return f"{tree.package}/{rest}" if found else None


class _Bench:
    """Files of a tree on which a patch is laid, or with ``undo`` taken off."""

    def __init__(self, tree: SourceTree, *, undo: bool) -> None:
        self._tree = tree
        self._undo = undo
        self._files: dict[str, list[_Line] | None] = {}
        self.misfits: list[Misfit] = []
        self.dropped: list[Place] = []
        self._strayed = 0
        self._compared = 0

    @property
    def rank(self) -> tuple[int, int]:
        """How far the hunks are from where the patch says; then, less is more compared."""
        return self._strayed, -self._compared

    def take(self, files: Iterable[PatchedFile]) -> None:
        """Change the files one after the other; what does not fit is noted."""
        for file in files:
            try:
                self._change(file)
            except SourceError as error:
                self._misfit(file.at, file.path, str(error))
            except UnicodeError:
                self._misfit(file.at, file.path, "what it adds is not in the file's encoding")

    def placed(self) -> Iterator[Place]:
        """The lines that the patch has put there, by their numbers now."""
        for path, lines in self._files.items():
            for number, line in enumerate(lines or (), 1):
                if line.placed:
                    yield Place(path, number)

    def result(self, label: str) -> SourceTree:
        """The tree with what was changed."""
        changed: dict[str, bytes] = {}
        for path, lines in self._files.items():
            if lines is not None:
                text = "\n".join(line.text for line in lines)
                changed[path] = text.encode(self._encoding(path))
        gone = frozenset(path for path, lines in self._files.items() if lines is None)
        return _changed(self._tree, changed, gone, label)

    def _change(self, file: PatchedFile) -> None:
        source, target = file.old_path, file.new_path
        if self._undo:
            source, target = target, source
        lines = self._lines(source) if source else []
        if lines is None:
            self._misfit(file.at, source or "", "there is no such file in the tree")
            return
        if target and target != source and self._lines(target) is not None:
            self._misfit(file.at, target, "is there already")
            return
        changed = self._fit(file, source or target or "", list(lines))
        "\n".join(line.text for line in changed if line.placed).encode(self._encoding(source))
        if source and source != target and (not file.copied or self._undo):
            self._files[source] = None
        if target and not (file.copied and self._undo):
            self._files[target] = changed

    def _fit(self, file: PatchedFile, path: str, lines: list[_Line]) -> list[_Line]:
        """The lines with all hunks that fit; a hunk stands below the one before it."""
        low = moved = 0
        for hunk in file.hunks:
            old, start = hunk.before, hunk.old_start
            if self._undo:
                old, start = hunk.after, hunk.new_start
            first = max(start - 1, 0) if old else start
            texts = [line.text for line in old]
            spot = _find(lines, texts, first + moved, low)
            if spot is None:
                self._misfit(hunk.at, path, _why(lines, texts))
                continue
            self._strayed += abs(spot - first - moved)
            self._compared += len(texts)
            moved += spot - first - moved
            put = self._put(hunk, path, lines[spot : spot + len(old)], _crlf(lines))
            lines[spot : spot + len(old)] = put
            low = spot + len(put)
            moved += len(put) - len(old)
        return lines

    def _put(self, hunk: Hunk, path: str, old: list[_Line], crlf: bool) -> list[_Line]:
        """What a hunk leaves in the place of lines; what it drops of the tree is noted."""
        drops = LineKind.ADDED if self._undo else LineKind.REMOVED
        there = iter(old)
        put: list[_Line] = []
        for line in hunk.lines:
            if line.kind is LineKind.CONTEXT:
                put.append(next(there))
            elif line.kind is drops:
                number = next(there).number
                self.dropped += [Place(path, number)] if number else []
            else:
                put.append(_Line(line.text + "\r" * crlf, None, placed=True))
        return put

    def _lines(self, path: str) -> list[_Line] | None:
        """The lines of a file as it is now; None if it is not there."""
        if path not in self._files:
            if path not in self._tree:
                return None
            texts = self._tree.text(path).split("\n")
            self._files[path] = [_Line(text, number) for number, text in enumerate(texts, 1)]
        return self._files[path]

    def _encoding(self, path: str | None) -> str:
        if path is None or path not in self._tree:
            return "utf-8"
        return tokenize.detect_encoding(io.BytesIO(self._tree.read(path)).readline)[0]

    def _misfit(self, at: int, path: str, reason: str) -> None:
        self.misfits.append(Misfit(at, path, reason))


def _crlf(lines: list[_Line]) -> bool:
    return bool(lines) and lines[0].text.endswith("\r")


def _find(lines: list[_Line], texts: list[str], wanted: int, low: int) -> int | None:
    """Where texts stand from ``low`` on: nearest to what is wanted; far from it only if once."""
    last = len(lines) - len(texts)
    if not texts:
        return wanted if low <= wanted <= len(lines) else None
    fits = [spot for spot in range(low, last + 1) if _same(lines, spot, texts)]
    near = [spot for spot in fits if abs(spot - wanted) <= NEAR_LINES]
    if near:
        return min(near, key=lambda spot: abs(spot - wanted))
    return fits[0] if len(fits) == 1 else None


def _same(lines: list[_Line], spot: int, texts: list[str]) -> bool:
    if lines[spot].text.removesuffix("\r") != texts[0]:
        return False
    there = lines[spot : spot + len(texts)]
    return [line.text.removesuffix("\r") for line in there] == texts


def _why(lines: list[_Line], texts: list[str]) -> str:
    """Say why texts fit no place."""
    known = {line.text.removesuffix("\r") for line in lines}
    strange = next((text for text in texts if text not in known), None)
    if strange is None:
        return "its lines stand there in another order, or in several places"
    return f"there is no line {strange.strip()!r}"


def _changed(
    tree: SourceTree, changed: Mapping[str, bytes], gone: frozenset[str], label: str
) -> SourceTree:
    """A tree with other files in it, and without some."""
    paths = (frozenset(tree.paths) | frozenset(changed)) - gone
    own = dict(changed)
    blobs = {path: blob for path, blob in tree.known_blobs.items() if path not in own}
    files = Files(paths, partial(_read, own, tree.read_once), blobs)
    return msgspec.structs.replace(tree, label=label, paths=tuple(sorted(paths)), _files=files)


def _read(own: Mapping[str, bytes], other: Callable[[str], bytes], path: str) -> bytes:
    return own[path] if path in own else other(path)
