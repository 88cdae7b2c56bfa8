"""Keeps the Python files of archives, each unpacked once, in a folder named after its hash.

What is kept is written to a temporary folder and renamed: it is whole, or not there.
"""

import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from difflib import get_close_matches
from functools import partial
from pathlib import Path

import msgspec
from msgspec import Struct
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from pathaudit.errors import SourceError, StoreError
from pathaudit.sources.archive import MAX_UNPACKED, Archive, list_members, reading
from pathaudit.sources.members import choose, find_inside
from pathaudit.sources.tree import MAX_FILE_BYTES, Files, SourceTree, blob_id
from pathaudit.sources.version import coded_version, version_in

_ABOUT = "about.json"
_FILES = "files"
_PINS = "pins"
_PART = ".part-"

# The metadata of a wheel, and that of a source archive with a folder around everything.
_STATING = re.compile(r"[^/]+\.dist-info/METADATA$|(?:[^/]+/)?PKG-INFO$")


class _About(Struct, frozen=True):
    """What a folder keeps: the blob id of each path, and what was left out with why."""

    version: str | None
    blobs: dict[str, str]
    skipped: tuple[tuple[str, str], ...]


class Pin(Struct, frozen=True):
    """A release of an index: the name of its wheel, and the hash that was found right."""

    wheel: str
    sha256: str


class Releases:
    """The archives that are kept in a folder, which is made when there is something to keep."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def open(self, archive: str, package: str, label: str) -> SourceTree:
        """Open an archive file, unpacked if it is not yet; SourceError if it is not sound."""
        digest = hash_of(archive, label)
        return self.kept(digest, package, label) or self._add(archive, digest, package, label)

    def kept(self, digest: str, package: str, label: str) -> SourceTree | None:
        """Return the tree of the archive with a hash, if it is kept."""
        home = self._home(digest, package)
        try:
            about = msgspec.json.decode((home / _ABOUT).read_bytes(), type=_About)
        except (OSError, msgspec.MsgspecError):
            return None
        return _tree(home, about, package, label)

    def pin(self, name: str, version: Version) -> Pin | None:
        """Return which wheel a release of an index is, if that is known."""
        try:
            return msgspec.json.decode(self._pin_file(name, version).read_bytes(), type=Pin)
        except (OSError, msgspec.MsgspecError):
            return None

    def keep_pin(self, name: str, version: Version, pin: Pin) -> None:
        """Note which wheel a release of an index is."""
        path = self._pin_file(name, version)
        with _writing(self.folder):
            path.parent.mkdir(parents=True, exist_ok=True)
            part = path.with_name(f"{_PART}{os.getpid()}")
            part.write_bytes(msgspec.json.encode(pin))
            part.replace(path)

    def versions(self, name: str) -> list[Version]:
        """Return the releases of an index that are kept, the oldest first."""
        found = []
        with suppress(OSError):
            for path in self._pin_file(name, None).iterdir():
                with suppress(InvalidVersion):
                    found.append(Version(path.name))
        return sorted(found)

    @contextmanager
    def scratch(self) -> Iterator[Path]:
        """Give a folder beside what is kept for what is not whole yet; it is gone afterwards."""
        with _writing(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
            made = tempfile.mkdtemp(prefix=_PART, dir=self.folder)
        try:
            yield Path(made)
        finally:
            shutil.rmtree(made, ignore_errors=True)

    def size(self) -> tuple[int, int]:
        """Return how many archives are kept, and in how many bytes."""
        homes = [path for path in self._entries() if (path / _ABOUT).is_file()]
        files = (path for home in homes for path in home.rglob("*") if path.is_file())
        return len(homes), sum(path.stat().st_size for path in files)

    def clear(self) -> None:
        """Delete all that is kept; OSError if that fails."""
        if self.folder.exists():
            shutil.rmtree(self.folder)

    def _entries(self) -> list[Path]:
        return sorted(self.folder.iterdir()) if self.folder.is_dir() else []

    def _home(self, digest: str, package: str) -> Path:
        return self.folder / f"{package}-{digest}"

    def _pin_file(self, name: str, version: Version | None) -> Path:
        folder = self.folder / _PINS / canonicalize_name(name)
        return folder / str(version) if version is not None else folder

    def _add(self, archive: str, digest: str, package: str, label: str) -> SourceTree:
        with self.scratch() as scratch:
            whole = scratch / "whole"
            with reading(archive, label) as opened:
                about = _unpack(opened, whole / _FILES, package, label)
            if about.version is None:
                version = coded_version(_tree(whole, about, package, label))
                about = msgspec.structs.replace(about, version=version)
            with _writing(self.folder):
                (whole / _ABOUT).write_bytes(msgspec.json.encode(about))
            return self._settle(whole, digest, package, label)

    def _settle(self, whole: Path, digest: str, package: str, label: str) -> SourceTree:
        """Give what is whole its name, unless another process did so meanwhile."""
        home = self._home(digest, package)
        tree = self.kept(digest, package, label)
        if tree is None:
            with _writing(self.folder):
                shutil.rmtree(home, ignore_errors=True)  # damaged, or it would have been used
                with suppress(FileExistsError):
                    whole.rename(home)
            tree = self.kept(digest, package, label)
        if tree is None:
            raise StoreError(f"{home}: what was kept there is gone", "run the command once more")
        return tree


def _tree(home: Path, about: _About, package: str, label: str) -> SourceTree:
    files = Files(frozenset(about.blobs), partial(_read_kept, str(home / _FILES)), about.blobs)
    paths = tuple(sorted(about.blobs))
    return SourceTree(label, about.version, package, paths, about.skipped, files)


def _read_kept(folder: str, path: str) -> bytes:
    try:
        with open(os.path.join(folder, path), "rb") as file:
            return file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise StoreError(
            f"{path}: cannot be read in {folder}: {error.strerror}", "run the command once more"
        ) from None


def hash_of(archive: str, label: str) -> str:
    """Return the SHA-256 of a file; SourceError if it cannot be read."""
    try:
        with open(archive, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise SourceError(f"{label}: cannot be read: {error.strerror}", _near(archive)) from None


def _near(archive: str) -> str:
    """Name the file beside it that may be meant by an archive that is not there."""
    folder, name = os.path.split(archive)
    with suppress(OSError):
        near = get_close_matches(name, sorted(os.listdir(folder or os.curdir)), n=1)
        return f"did you mean {os.path.join(folder, near[0])}?" if near and near[0] != name else ""
    return ""


@contextmanager
def _writing(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        hint = "PATHAUDIT_CACHE_DIR names another folder"
        raise StoreError(f"{folder}: cannot be written: {error.strerror}", hint) from None


# ---- unpacking --------------------------------------------------------------------------------


def _unpack(archive: Archive, folder: Path, package: str, label: str) -> _About:
    """Write the Python files of the package that an archive holds to a folder."""
    members = list_members(archive)
    chosen = choose(members, find_inside(members, package, label), package)
    stating = {m.key for path, m in members.items() if m.kind == "file" and _STATING.match(path)}
    places: dict[str, list[str]] = {key: [] for key in stating}
    for path, key in chosen.keys.items():
        places.setdefault(key, []).append(path)
    blobs: dict[str, str] = {}
    skipped = dict(chosen.skipped)
    texts: list[bytes] = []
    total = 0
    for key, data in archive.files(places):
        texts += [data] if key in stating else []
        total += len(data) * len(places[key])
        if total > MAX_UNPACKED:
            raise SourceError(f"{label}: unpacks to more than {MAX_UNPACKED:,} bytes")
        for path in places[key]:
            if len(data) > MAX_FILE_BYTES:
                skipped[path] = f"too large, more than {MAX_FILE_BYTES:,} bytes"
            else:
                blobs[path] = _write(folder / path, data)
    return _About(version_in(texts), blobs, tuple(sorted(skipped.items())))


def _write(path: Path, data: bytes) -> str:
    """Write a file that must not be there, and return its blob id."""
    with _writing(path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("xb") as file:
            file.write(data)
    return blob_id(data)
