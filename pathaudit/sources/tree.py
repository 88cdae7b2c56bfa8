"""The tree itself: the Python files of one package, their bytes and text, read when asked for."""

import hashlib
import io
import os
import re
import string
import tokenize
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping

from msgspec import Struct

from pathaudit.errors import SourceError

MAX_FILE_BYTES = 4 * 1024 * 1024
CACHE_BYTES = 64 * 1024 * 1024

# What a source encoding must leave alone. Codecs that change it (utf-16, unicode_escape, idna) are
# no encodings of Python source, and some take quadratic time on a long file.
_PLAIN_TEXT = string.printable + ".xn--bcher-kva.\\u0041"

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+")


class Span(Struct, frozen=True, order=True):
    """A place in a file of the tree: lines from 1, columns from 0 in characters, end exclusive."""

    file: str
    line: int
    column: int
    end_line: int
    end_column: int


Fetch = Callable[[str], bytes]


class Files:
    """The bytes of known paths; keeps what was read last, but a copy for a process is empty.

    ``blobs`` are the blob ids of those paths whose content is known by one before it is read.
    """

    def __init__(
        self, paths: frozenset[str], fetch: Fetch, blobs: Mapping[str, str] | None = None
    ) -> None:
        self.paths = paths
        self.fetch = fetch
        self.blobs = blobs or {}
        self._kept: OrderedDict[str, bytes] = OrderedDict()
        self._size = 0

    def __reduce__(self) -> tuple[type["Files"], tuple[frozenset[str], Fetch, Mapping[str, str]]]:
        return Files, (self.paths, self.fetch, self.blobs)

    def read(self, path: str, *, evict: bool) -> bytes:
        """Return the bytes of a path; ``evict`` says whether older ones may be dropped for them."""
        if path in self._kept:
            self._kept.move_to_end(path)
            return self._kept[path]
        data = self.read_once(path)
        if evict or self._size + len(data) <= CACHE_BYTES:
            self._keep(path, data)
        return data

    def may_hold(self, path: str, needle: bytes) -> bool:
        """Is a text in the bytes of a path? It may be where these cannot be had.

        A look through a whole tree must not drop what is in use: SGLang 0.5.23 is just larger than
        what is kept, so every look would drop what the next one needs first.
        """
        kept = self._kept.get(path)
        if kept is not None:
            return needle in kept
        try:
            return path in self.paths and needle in self.read(path, evict=False)
        except SourceError:
            return True

    def read_once(self, path: str) -> bytes:
        """Return the bytes of a path as they are now, and keep nothing of them."""
        if path not in self.paths:
            raise SourceError(f"{path}: no such file in the source tree")
        data = self.fetch(path)
        if len(data) > MAX_FILE_BYTES:
            raise SourceError(f"{path}: too large, more than {MAX_FILE_BYTES:,} bytes")
        return data

    def _keep(self, path: str, data: bytes) -> None:
        self._kept[path] = data
        self._size += len(data)
        while self._size > CACHE_BYTES:
            self._size -= len(self._kept.popitem(last=False)[1])


class SourceTree(Struct, frozen=True, eq=False):
    """The Python files of one package, read when asked for; cheap to pickle.

    ``label`` is the user's name for it. ``paths`` and ``skipped``, the paths left out with why,
    are sorted; each path starts with the package: ``sglang/srt/models/llama.py``. ``guests`` are
    packages that were laid into it: their names, and the modules that they are here.

    ``home`` is the folder that holds the package: of a folder its absolute path, of a revision the
    path in the repository, else nothing. ``elsewhere`` are the files that are not there: their
    paths here and in the file system.
    """

    label: str
    version: str | None
    package: str
    paths: tuple[str, ...]
    skipped: tuple[tuple[str, str], ...]
    _files: Files
    guests: tuple[tuple[str, str], ...] = ()
    home: str = ""
    elsewhere: tuple[tuple[str, str], ...] = ()

    def __contains__(self, path: object) -> bool:
        return path in self._files.paths

    def here(self, module: str) -> str:
        """Return the dotted name that a module has in this tree; a guest's differs from its own."""
        for name, place in self.guests:
            if module == name or module.startswith(f"{name}."):
                return place + module[len(name) :]
        return module

    def paths_of(self, files: Iterable[str]) -> tuple[str, ...]:
        """Return the paths that Python files on disk have in this tree; others are left out.

        A file that the tree leaves out has one, too: its gap says why.
        """
        laid = {place: path for path, place in self.elsewhere}
        named = (os.path.abspath(file) for file in files if file.endswith(".py"))
        found = (laid.get(name) or self._path_below(name) for name in named)
        return tuple(sorted({path for path in found if path}))

    def _path_below(self, file: str) -> str:
        inside = os.path.join(self.home, self.package, "")
        if not os.path.isabs(inside) or not file.startswith(inside):
            return ""
        path = file[len(inside) - len(self.package) - 1 :]
        return path.encode("utf-8", "backslashreplace").decode()

    def read(self, path: str) -> bytes:
        """Return the bytes of a file; SourceError if it is unknown, unreadable or too large."""
        return self._files.read(path, evict=True)

    def read_once(self, path: str) -> bytes:
        """As ``read``, for a look at a whole tree: nothing is kept, and nothing kept is given."""
        return self._files.read_once(path)

    def text(self, path: str) -> str:
        """Return the text of a file in its declared encoding, without byte order mark.

        Line ends stay as they are. SourceError if it cannot be read or decoded, or holds NUL.
        """
        return _decode(path, self.read(path))

    @property
    def known_blobs(self) -> Mapping[str, str]:
        """The blob ids that are known of files before they are read."""
        return self._files.blobs

    def digest(self, path: str) -> str:
        """Return git's blob id of a file; SourceError as for ``read``.

        A file that is kept under its blob id is not read for it, nor found to be too large.
        """
        return self.known_blobs.get(path) or blob_id(self.read(path))

    def digest_once(self, path: str) -> str:
        """As ``digest``, of the file as it is now; nothing is kept, and nothing kept is used."""
        return self.known_blobs.get(path) or blob_id(self.read_once(path))

    def find(self, needle: bytes, under: Iterable[str]) -> tuple[str, ...]:
        """Return those of the given paths of this tree whose bytes contain the needle, in order.

        A file that cannot be read may contain it, so it is returned: who reads it learns why.
        """
        return tuple(path for path in under if self._files.may_hold(path, needle))


def from_text(
    files: Mapping[str, str | bytes],
    *,
    package: str = "sglang",
    version: str | None = None,
    label: str = "text",
) -> SourceTree:
    """Make a tree of texts by full path (``sglang/srt/models/a.py``); SourceError on other keys."""
    for path in files:
        if not (path.startswith(f"{package}/") and path.endswith(".py")):
            raise SourceError(f"{label}: {path!r} is not a path like {package}/models/a.py")
    # A lone surrogate becomes bytes that do not decode, as it would in a file.
    data = {
        path: text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
        for path, text in files.items()
    }
    stored = Files(frozenset(data), data.__getitem__)
    return SourceTree(label, version, package, tuple(sorted(data)), (), stored)


def split_lines(text: str) -> list[str]:
    """Split as Python's tokenizer does, at line feeds and carriage returns only; ends are kept.

    A byte order mark is left out, because ``ast`` counts columns without it.
    """
    return _LINE.findall(text.removeprefix("\ufeff"))


def blob_id(data: bytes) -> str:
    """Return the id that git gives to a file of these bytes."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def read_file(holder: str, path: str) -> bytes:
    """Return the bytes of a file below a folder, at most one more than a file may have."""
    try:
        with open(os.path.join(holder, path), "rb") as file:
            return file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise SourceError(f"{path}: cannot be read: {error.strerror}") from error


def _decode(path: str, data: bytes) -> str:
    if b"\0" in data:
        raise SourceError(f"{path}: holds NUL bytes")
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        if _PLAIN_TEXT.encode().decode(encoding) != _PLAIN_TEXT:
            raise LookupError(f"{encoding} is no encoding of Python source")
        return data.decode(encoding)
    except (SyntaxError, UnicodeError, LookupError) as error:
        raise SourceError(f"{path}: cannot be decoded: {error}") from error
