"""Reads a wheel or a source archive as data: member names, sizes and links are not trusted.

What looks like an attack is refused as a whole; what is merely no Python file is passed over.
"""

import bz2
import gzip
import io
import lzma
import os
import posixpath
import re
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager
from typing import IO, Protocol, cast

from pathaudit.errors import SourceError
from pathaudit.sources.listing import printable
from pathaudit.sources.members import Member
from pathaudit.sources.tree import MAX_FILE_BYTES

MAX_MEMBERS = 60_000
MAX_UNPACKED = 512 * 1024 * 1024
_MAX_LINK = 4096
_MAX_NAME = 1024

_BROKEN = (
    zipfile.BadZipFile,
    tarfile.TarError,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    OSError,
    RuntimeError,
    NotImplementedError,
    ValueError,
    struct.error,
    OverflowError,
)


class Archive(Protocol):
    """An open archive."""

    def members(self) -> Iterator[tuple[str, Member]]:
        """Yield what it holds under the names it gives, folders left out."""

    def files(self, names: Collection[str]) -> Iterator[tuple[str, bytes]]:
        """Yield the bytes of files by the keys of their members, one too many where too large."""


@contextmanager
def reading(path: str, label: str) -> Iterator[Archive]:
    """Open an archive; whatever is wrong with it is a SourceError that names it."""
    try:
        if path.lower().endswith((".whl", ".zip")):
            with open(path, "rb") as file:
                yield _Zip(file)
        else:
            yield _Tar(path)
    except _UnsafeError as refused:
        raise SourceError(
            f"{label}: {refused}", "get the archive from where it came from"
        ) from None
    except _BROKEN as error:
        told = error.strerror if isinstance(error, OSError) else None
        reason = printable(told or str(error)) or type(error).__name__
        raise SourceError(f"{label}: the archive cannot be read: {reason}") from None


def list_members(archive: Archive) -> dict[str, Member]:
    """Return all that an archive holds by its path; what is not safe is refused."""
    found: dict[str, Member] = {}
    for name, member in archive.members():
        path = _safe(name)
        if path in found:
            raise _UnsafeError(f"holds {printable(path)} twice")
        if member.kind == "link":
            _expect_inside(path, member.key)
        if member.kind == "special":
            raise _UnsafeError(f"holds a device or a pipe: {printable(path)}")
        found[path] = member
        if len(found) > MAX_MEMBERS:
            raise _UnsafeError(f"holds more than {MAX_MEMBERS:,} files")
    return found


class _UnsafeError(Exception):
    """An archive is unsafe; the message says how."""


def _safe(name: str) -> str:
    """Return the path of a member in normal form."""
    shown = printable(name)
    if not name or not _is_text(name) or len(name) > _MAX_NAME:
        raise _UnsafeError(f"holds a file with an unsafe name: {shown[:80]!r}")
    if name.startswith("/") or "\\" in name or re.match("[A-Za-z]:", name):
        raise _UnsafeError(f"holds a file with an absolute name: {shown}")
    if ".." in name.split("/"):
        raise _UnsafeError(f"holds a file outside of itself: {shown}")
    return posixpath.normpath(name)


def _is_text(name: str) -> bool:
    return not any(ord(character) < 32 or ord(character) == 127 for character in name)


def _expect_inside(path: str, target: str) -> None:
    place = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
    if target.startswith("/") or place.split("/")[0] == "..":
        raise _UnsafeError(f"holds a link that leads out of it: {printable(path)}")


class _Zip:
    """A zip file, such as a wheel."""

    def __init__(self, file: IO[bytes]) -> None:
        _expect_directory(file)
        self._zip = zipfile.ZipFile(file)

    def members(self) -> Iterator[tuple[str, Member]]:
        for info in self._zip.infolist():
            mode = info.external_attr >> 16
            if info.flag_bits & 1:
                raise _UnsafeError("is encrypted")
            if info.is_dir():
                _safe(info.filename)
            elif stat.S_ISLNK(mode):
                target = self._read(info, _MAX_LINK)
                yield info.orig_filename, Member("link", os.fsdecode(target))
            else:
                regular = stat.S_IFMT(mode) in (0, stat.S_IFREG)
                yield info.orig_filename, Member("file" if regular else "special", info.filename)

    def files(self, names: Collection[str]) -> Iterator[tuple[str, bytes]]:
        for name in sorted(names):
            yield name, self._read(self._zip.getinfo(name), MAX_FILE_BYTES + 1)

    def _read(self, info: zipfile.ZipInfo, limit: int) -> bytes:
        with self._zip.open(info) as file:
            return file.read(limit)


def _expect_directory(file: IO[bytes]) -> None:
    """Refuse a zip file of very many members before they are all loaded."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - 66_000))
    tail = file.read()
    end = tail.rfind(b"PK\5\6")
    if end < 0 or len(tail) - end < 22:
        raise _UnsafeError("the archive cannot be read: it is no zip file, or cut off")
    (members,) = struct.unpack("<H", tail[end + 10 : end + 12])
    # With the mark before it, the number stands elsewhere and may be anything.
    if members > MAX_MEMBERS or tail[max(0, end - 20) : end].startswith(b"PK\6\7"):
        raise _UnsafeError(f"holds more than {MAX_MEMBERS:,} files")
    file.seek(0)


class _Tar:
    """A tar file, compressed or not; it is read from the start each time."""

    def __init__(self, path: str) -> None:
        self._path = path

    def members(self) -> Iterator[tuple[str, Member]]:
        for _, info in self._walk():
            if info.isdir():
                _safe(info.name)
            elif info.isreg():
                yield info.name, Member("file", info.name)
            elif info.issym():
                yield info.name, Member("link", info.linkname)
            elif info.islnk():
                below = posixpath.dirname(posixpath.normpath(info.name)) or "."
                yield info.name, Member("link", posixpath.relpath(_safe(info.linkname), below))
            else:
                yield info.name, Member("special", info.name)

    def files(self, names: Collection[str]) -> Iterator[tuple[str, bytes]]:
        wanted = set(names)
        for tar, info in self._walk():
            if info.isreg() and info.name in wanted:
                file = tar.extractfile(info)
                yield info.name, file.read(MAX_FILE_BYTES + 1) if file else b""

    def _walk(self) -> Iterator[tuple[tarfile.TarFile, tarfile.TarInfo]]:
        with (
            _decompressed(self._path) as data,
            tarfile.open(fileobj=_Bounded(data), mode="r|") as tar,
        ):
            for number, info in enumerate(tar):
                if number > 2 * MAX_MEMBERS:
                    raise _UnsafeError(f"holds more than {MAX_MEMBERS:,} files")
                yield tar, info


@contextmanager
def _decompressed(path: str) -> Iterator[IO[bytes]]:
    """Open a file for what it holds, by how it starts."""
    with open(path, "rb") as file, ExitStack() as opened:
        start = file.read(6)
        file.seek(0)
        data: IO[bytes] = file
        if start.startswith(b"\x1f\x8b"):
            data = cast(IO[bytes], opened.enter_context(gzip.open(file)))
        elif start.startswith(b"BZh"):
            data = opened.enter_context(bz2.open(file))
        elif start == b"\xfd7zXZ\0":
            data = opened.enter_context(lzma.open(file))
        yield data


class _Bounded(io.RawIOBase):
    """Reads no more of a file than is allowed to come out of an archive."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._left = MAX_UNPACKED

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(min(size, self._left + 1) if size >= 0 else self._left + 1)
        self._left -= len(data)
        if self._left < 0:
            raise _UnsafeError(f"unpacks to more than {MAX_UNPACKED:,} bytes")
        return data
