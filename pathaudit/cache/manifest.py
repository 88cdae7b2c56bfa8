"""The state of a tree: what each of its files holds, as digests."""

import hashlib
import zlib
from functools import cached_property

import msgspec
from msgspec import Struct

from pathaudit.errors import SourceError
from pathaudit.index.reads import folders_of
from pathaudit.sources import SourceTree

_DECODER = msgspec.msgpack.Decoder(tuple[dict[str, bytes], bytes])


class Manifest(Struct, frozen=True, dict=True):
    """A digest for each path; ``rest`` is what else an answer about the whole tree tells."""

    files: dict[str, bytes]
    rest: bytes

    @cached_property
    def digest(self) -> bytes:
        """Equal for trees of which every answer is the same."""
        return digest_of(self.rest, *(x for path in sorted(self.files) for x in self._item(path)))

    def _item(self, path: str) -> tuple[bytes, bytes]:
        return path.encode("utf-8", "surrogatepass"), self.files[path]

    @cached_property
    def folders(self) -> frozenset[str]:
        return folders_of(self.files)

    def changed(self, other: "Manifest") -> frozenset[str]:
        """The paths that are not the same, or not there, in one of two trees."""
        pairs = self.files.items() ^ other.files.items()
        return frozenset(path for path, _ in pairs)


def encode_manifest(manifest: Manifest) -> bytes:
    return zlib.compress(msgspec.msgpack.encode((manifest.files, manifest.rest)), 1)


def decode_manifest(data: bytes) -> Manifest:
    """The manifest; ``msgspec.MsgspecError`` where it is damaged."""
    try:
        files, rest = _DECODER.decode(zlib.decompress(data))
    except zlib.error as error:
        raise msgspec.DecodeError(str(error)) from error
    return Manifest(files, rest)


def take_manifest(tree: SourceTree) -> Manifest:
    """The state of a tree, of which files are read that are not known by their blob id.

    A file that cannot be read is known by the reason.
    """
    files = {path: _digest(tree, path) for path in tree.paths}
    rest = msgspec.msgpack.encode((tree.package, tree.version, tree.skipped, tree.guests))
    return Manifest(files, rest)


def _digest(tree: SourceTree, path: str) -> bytes:
    try:
        return digest_of(b"blob", tree.digest_once(path).encode())
    except SourceError as error:
        return digest_of(b"error", error.message.encode("utf-8", "surrogatepass"))


def digest_of(*parts: bytes) -> bytes:
    """One digest of several parts; where one ends and the next begins makes a difference."""
    found = hashlib.sha256()
    for part in parts:
        found.update(len(part).to_bytes(8, "big"))
        found.update(part)
    return found.digest()
