"""What is known of one state of a tree: answers found for it, and for others that still hold."""

from collections.abc import Callable, Iterator

import msgspec
from msgspec import Struct

from pathaudit.cache.manifest import Manifest
from pathaudit.index.reads import Found, Reads, compile_globs
from pathaudit.results import Gap
from pathaudit.sources import SourceTree


class Record(Struct, frozen=True, array_like=True):
    """The answer of a unit of work, encoded, with what it asked of the tree and could not read."""

    result: bytes
    reads: Reads
    gaps: tuple[Gap, ...] = ()


NOTHING_ASKED = Reads(frozenset(), frozenset(), frozenset(), frozenset())

_DECODER = msgspec.msgpack.Decoder(Record)


class State(Struct, frozen=True, eq=False):
    """A state of a tree that answers are kept for; ``fetch`` gets one by key, encoded."""

    manifest: Manifest
    fetch: Callable[[bytes], bytes | None]


class Known:
    """Looks answers up, and collects those to be kept: ``fresh`` by key, encoded.

    ``states`` are earlier states of the tree, that of now first if it is one of them.
    """

    def __init__(self, tree: SourceTree, manifest: Manifest, states: Iterator[State]) -> None:
        self.manifest = manifest
        self.fresh: dict[bytes, bytes] = {}
        self._tree = tree
        self._states = states
        self._compared: list[_Comparison] = []
        self._stale: dict[bytes, frozenset[str]] = {}  # the files that answers depended on

    def find(self, key: bytes) -> Record | None:
        """The answer kept under a key, if every question of it is answered as it was."""
        for state in self._comparisons():
            encoded = state.fetch(key)
            if encoded is None:
                continue
            record = _DECODER.decode(encoded)
            if state.same or state.holds(record.reads):
                if not state.same:
                    self.fresh[key] = encoded
                return record
            self._stale.setdefault(key, record.reads.files)
        return None

    def depended(self, key: bytes, files: frozenset[str]) -> bool:
        """Did an answer that was looked for under a key, and is true no more, depend on files?"""
        return not files.isdisjoint(self._stale.get(key, ()))

    def keep(self, key: bytes, record: Record) -> None:
        self.fresh[key] = msgspec.msgpack.encode(record)

    def find_whole(self, key: bytes) -> bytes | None:
        """What was kept under a key by ``keep_whole`` for a tree that is the same in all files."""
        first = next(self._comparisons(), None)
        encoded = first.fetch(key) if first is not None and first.same else None
        return _DECODER.decode(encoded).result if encoded is not None else None

    def keep_whole(self, key: bytes, result: bytes) -> None:
        """Keep what may depend on anything in the tree."""
        self.keep(key, Record(result, NOTHING_ASKED))

    def _comparisons(self) -> "Iterator[_Comparison]":
        """The earlier states, each loaded when the ones before it did not have the answer."""
        yield from self._compared
        for state in self._states:
            self._compared.append(_Comparison(state, self.manifest, self._tree))
            yield self._compared[-1]


class _Comparison:
    """How an earlier state differs from that of now."""

    def __init__(self, earlier: State, now: Manifest, tree: SourceTree) -> None:
        before = earlier.manifest
        self.fetch = earlier.fetch
        self.same = before.digest == now.digest
        self._changed = before.changed(now)
        self._moved = before.files.keys() ^ now.files.keys()
        self._folders = before.folders ^ now.folders
        self._tree = tree
        self._alike: dict[Found, bool] = {}

    def holds(self, reads: Reads) -> bool:
        return (
            self._changed.isdisjoint(reads.files)
            and self._moved.isdisjoint(reads.paths)
            and self._folders.isdisjoint(reads.folders)
            and all(self._finds_alike(found) for found in reads.found)
        )

    def _finds_alike(self, found: Found) -> bool:
        """Would a search find the same now? Only what differs can make a difference."""
        if found not in self._alike:
            spec = compile_globs(found.search.globs)
            asked = (path for path in self._changed if spec.match_file(path))
            now = self._tree.find(found.search.text.encode(), asked)
            self._alike[found] = self._changed.intersection(found.files) == set(now)
        return self._alike[found]
