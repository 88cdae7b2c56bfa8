"""Reads a patch: a unified diff as git, diff or a pull request writes it; nothing is applied here.

Where its hunks belong in a tree is asked of ``sources/fitting.py``.
"""

import codecs
import os
import re
from collections.abc import Iterator
from enum import StrEnum

from msgspec import Struct
from unidiff import patch as diffs
from unidiff.errors import UnidiffParseError

from pathaudit.errors import UsageError
from pathaudit.sources.listing import printable

MAX_PATCH_BYTES = 16 * 1024 * 1024

# Bytes that a name between quotes has as escapes: git's `core.quotePath`.
_ESCAPE = re.compile(rb'\\([0-7]{3}|[abfnrtv"\\])')
_LETTERS = {
    b"a": b"\a",
    b"b": b"\b",
    b"f": b"\f",
    b"n": b"\n",
    b"r": b"\r",
    b"t": b"\t",
    b"v": b"\v",
}
_PREFIX = re.compile(r"^[abciow12]/")
_NO_FILE = "/dev/null"
_HINT = "make it with git diff, or with diff -u"


class LineKind(StrEnum):
    """What a patch says of a line."""

    CONTEXT = " "
    ADDED = "+"
    REMOVED = "-"


_KINDS = frozenset(kind.value for kind in LineKind)


class PatchLine(Struct, frozen=True):
    """A line of a hunk, its text without line end.

    ``old`` and ``new`` are its numbers before and after the change, ``at`` its line in the patch.
    """

    kind: LineKind
    text: str
    old: int | None
    new: int | None
    at: int


class Hunk(Struct, frozen=True):
    """Lines that stand together; ``section`` is what the diff says of where they stand.

    ``old_start`` and ``new_start`` are the numbers of the first line, as the header gives them:
    the line above where a side is empty. ``at`` is the line of the header in the patch.
    """

    old_start: int
    new_start: int
    section: str
    lines: tuple[PatchLine, ...]
    at: int

    @property
    def before(self) -> tuple[PatchLine, ...]:
        """The lines that stand there before the change."""
        return tuple(line for line in self.lines if line.kind is not LineKind.ADDED)

    @property
    def after(self) -> tuple[PatchLine, ...]:
        """The lines that stand there after the change."""
        return tuple(line for line in self.lines if line.kind is not LineKind.REMOVED)

    @property
    def added(self) -> tuple[PatchLine, ...]:
        """The lines that the change adds."""
        return tuple(line for line in self.lines if line.kind is LineKind.ADDED)

    @property
    def removed(self) -> tuple[PatchLine, ...]:
        """The lines that the change takes out."""
        return tuple(line for line in self.lines if line.kind is LineKind.REMOVED)


class PatchedFile(Struct, frozen=True):
    """A file that a patch changes, by its paths as the patch writes them, without ``a/``.

    ``old_path`` is None for a file that is new, ``new_path`` for one that is deleted; they differ
    in a rename. ``copied`` says that the old file stays. ``at`` is the line of the patch where the
    file begins.
    """

    old_path: str | None
    new_path: str | None
    hunks: tuple[Hunk, ...]
    at: int
    copied: bool = False

    @property
    def path(self) -> str:
        """The path after the change, of a deleted file that before."""
        return self.new_path or self.old_path or ""


class Patch(Struct, frozen=True):
    """The Python files that a patch changes, in its order; a series may change one repeatedly.

    ``label`` is the user's name for it, ``others`` the files that are no Python.
    """

    label: str
    files: tuple[PatchedFile, ...]
    others: tuple[str, ...] = ()


def open_patch(path: str) -> Patch:
    """Read the patch in a file; UsageError as for ``read_patch``, and if there is no such file."""
    label = printable(path)
    if not path or os.path.isdir(path) or not os.path.exists(path):
        fault = "is a folder" if os.path.isdir(path) else "no such file"
        raise UsageError(f"{label or repr(path)}: {fault}", "name a file that holds a diff")
    try:
        with open(path, "rb") as file:
            data = file.read(MAX_PATCH_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{label}: cannot be read: {error.strerror}", _HINT) from error
    return read_patch(data, label)


def read_patch(data: bytes, label: str) -> Patch:
    """Read a unified diff: of one file or several, with or without git's headers, or a series.

    Raises:
        UsageError: names file and line of what is no diff, and says where nothing is changed.
    """
    if len(data) > MAX_PATCH_BYTES:
        raise UsageError(f"{label}: too large, more than {MAX_PATCH_BYTES:,} bytes", _HINT)
    lines = _Lines(_decode(data))
    try:
        parsed = diffs.PatchSet(lines)
    except UnidiffParseError as error:
        what = re.sub(r":.*", "", str(error), flags=re.S).lower()
        raise UsageError(f"{label}:{lines.at}: is no unified diff: {what}", _HINT) from error
    files = [_file(file) for file in parsed]
    if not files:
        raise UsageError(f"{label}: holds no unified diff", _HINT)
    known = tuple(file for file in files if file.path.endswith(".py"))
    others = tuple(file.path for file in files if not file.path.endswith(".py"))
    return Patch(label, known, others)


class _Lines:
    """The lines of a text, without carriage returns at their ends; ``at`` is the last one given."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.at = 0

    def __iter__(self) -> Iterator[str]:
        lines = self._text.removesuffix("\n").split("\n")
        for self.at, line in enumerate(lines, 1):
            yield line.removesuffix("\r") + "\n"


def _decode(data: bytes) -> str:
    """The text of a diff; what is no UTF-8 in it matches no line of a file, and does no harm.

    PowerShell writes what `git diff > file` says in UTF-16.
    """
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16", "replace")
    return data.removeprefix(codecs.BOM_UTF8).decode("utf-8", "surrogateescape")


def _file(file: diffs.PatchedFile) -> PatchedFile:
    hunks = tuple(_hunk(hunk) for hunk in file if len(hunk))
    old, new = _path(file.source_file), _path(file.target_file)
    told: list[str] = list(file.patch_info or ())
    copied = any(line.startswith("copy from ") for line in told)
    if not copied and not any(line.startswith("rename from ") for line in told):
        # Two names of one file, as `diff -u x.py.orig x.py` and `diff -r old new` write them.
        one = new if new and (new.endswith(".py") or not old) else old
        old = one if (old and any(hunk.old_start for hunk in hunks)) or not hunks else None
        new = one if (new and any(hunk.new_start for hunk in hunks)) or not hunks else None
        old, new = (old, new) if old or new else (None, one)
    return PatchedFile(old, new, hunks, file.diff_line_no or 1, copied)


def _path(name: str) -> str | None:
    """The path that a name in a header stands for, without the prefix of its side."""
    plain = name.strip()
    if plain.startswith('"') and plain.endswith('"') and len(plain) > 1:
        inside = plain[1:-1].encode("utf-8", "surrogateescape")
        plain = _ESCAPE.sub(_unescaped, inside).decode("utf-8", "replace")
    if plain in ("", _NO_FILE):
        return None
    return _PREFIX.sub("", plain, count=1)


def _unescaped(escape: re.Match[bytes]) -> bytes:
    what = escape[1]
    return bytes([int(what, 8) % 256]) if what.isdigit() else _LETTERS.get(what, what)


def _hunk(hunk: diffs.Hunk) -> Hunk:
    lines = tuple(_line(line) for line in hunk if line.line_type in _KINDS)
    at = min((line.at for line in lines), default=2) - 1
    return Hunk(hunk.source_start, hunk.target_start, hunk.section_header.strip(), lines, at)


def _line(line: diffs.Line) -> PatchLine:
    text = line.value.removesuffix("\n")
    number = line.diff_line_no or 0
    return PatchLine(
        LineKind(line.line_type), text, line.source_line_no, line.target_line_no, number
    )
