"""The file that answers are kept in.

One SQLite file in the user's cache folder. Two processes may use it at once; one that is damaged
or of another version is replaced. Nothing that goes wrong with it is an error: ``fault`` says why
answers are not kept, and the analysis goes on without them.
"""

import os
import sqlite3
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cached_property, partial
from pathlib import Path

import msgspec
import platformdirs
from msgspec import Struct

from pathaudit.cache.known import Known, State
from pathaudit.cache.manifest import (
    Manifest,
    decode_manifest,
    digest_of,
    encode_manifest,
    take_manifest,
)
from pathaudit.sources import SourceTree

FILE = "answers.sqlite"
FOLDER_VARIABLE = "PATHAUDIT_CACHE_DIR"

_VERSION = 1
_APPLICATION = 0x70617564
_STATES = 200  # states of trees that are kept
_BYTES = 256 * 1024 * 1024
_CONSIDERED = 8  # earlier states that are compared with that of now
_LOOKED_AT = 3  # the nearest of them, which answers are taken from
_PATIENCE = 5.0  # seconds to wait for another process that writes

_SCHEMA = f"""
PRAGMA auto_vacuum = FULL;
PRAGMA application_id = {_APPLICATION};
PRAGMA user_version = {_VERSION};
CREATE TABLE state (
    id INTEGER PRIMARY KEY, scope BLOB, digest BLOB, manifest BLOB, used REAL,
    UNIQUE (scope, digest)
);
CREATE TABLE answer (
    state INTEGER, key BLOB, record BLOB, PRIMARY KEY (state, key)
) WITHOUT ROWID;
"""


class CacheInfo(Struct, frozen=True):
    """What the cache holds: its file, bytes on disk, states of trees, and answers."""

    path: str
    size: int
    states: int
    answers: int


def cache_path() -> Path:
    """The file that answers are kept in; ``PATHAUDIT_CACHE_DIR`` names another folder for it."""
    folder = os.environ.get(FOLDER_VARIABLE) or platformdirs.user_cache_dir("pathaudit")
    return Path(folder) / FILE


class Cache:
    """The answers in one file. ``fault`` is why it could not be used, if it could not."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.fault = ""
        self._connection: sqlite3.Connection | None = None

    def known(self, tree: SourceTree) -> Known:
        """What is known of a tree as it is now."""
        manifest = take_manifest(tree)
        return Known(tree, manifest, self._states(manifest))

    def keep(self, known: Known, tree: SourceTree) -> None:
        """Keep what was found; nothing if the tree changed while it was read."""
        if not known.fresh or take_manifest(tree).digest != known.manifest.digest:
            return
        with self._guarded(), self._open() as connection:
            _write(connection, self._scope, known)

    def info(self) -> CacheInfo:
        """What the file holds now."""
        states = answers = 0
        if not self.path.exists():
            return CacheInfo(str(self.path), 0, states, answers)
        with self._guarded():
            states, answers = (_count(self._open(), name) for name in ("state", "answer"))
        return CacheInfo(str(self.path), self.path.stat().st_size, states, answers)

    def clear(self) -> int:
        """Delete the file, and return its size in bytes; OSError if that fails."""
        self.close()
        size = 0
        for path in (self.path, self.path.with_name(f"{FILE}-journal")):
            with suppress(FileNotFoundError):
                size += path.stat().st_size
                path.unlink()
        return size

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None

    @cached_property
    def _scope(self) -> bytes:
        """What every answer depends on beside the tree: this program and the Python it runs on."""
        package = Path(__file__).parent.parent
        parts = [sys.version.encode()]
        for path in sorted(package.rglob("*.py")):
            parts += [path.relative_to(package).as_posix().encode(), path.read_bytes()]
        return digest_of(*parts)

    def _states(self, now: Manifest) -> Iterator[State]:
        """That of now, if anything is known of it; then the nearest of those used last."""
        with self._guarded():
            yield from self._exact(now)
        with self._guarded():
            yield from self._near(now)

    def _exact(self, now: Manifest) -> Iterator[State]:
        query = "SELECT id FROM state WHERE scope = ? AND digest = ?"
        for (number,) in self._open().execute(query, (self._scope, now.digest)).fetchall():
            yield State(now, partial(self._fetch, number))

    def _near(self, now: Manifest) -> Iterator[State]:
        query = (
            "SELECT id, manifest FROM state WHERE scope = ? AND digest != ?"
            " ORDER BY used DESC LIMIT ?"
        )
        rows = self._open().execute(query, (self._scope, now.digest, _CONSIDERED)).fetchall()
        states = [(number, decode_manifest(data)) for number, data in rows]
        states.sort(key=lambda item: len(item[1].changed(now)))
        for number, manifest in states[:_LOOKED_AT]:
            yield State(manifest, partial(self._fetch, number))

    def _fetch(self, state: int, key: bytes) -> bytes | None:
        query = "SELECT record FROM answer WHERE state = ? AND key = ?"
        with self._guarded():
            row = self._open().execute(query, (state, key)).fetchone()
            return row[0] if row is not None else None
        return None

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError, msgspec.MsgspecError) as error:
            reason = error.strerror if isinstance(error, OSError) else None
            self.fault = self.fault or reason or str(error)

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            try:
                self._connection = _connect(self.path)
            except sqlite3.OperationalError:
                raise
            except sqlite3.DatabaseError:
                self.path.unlink()
                self._connection = _connect(self.path)
        return self._connection


def open_cache() -> Cache:
    """The user's cache; nothing is read or made before it is used."""
    return Cache(cache_path())


# ---- the file ---------------------------------------------------------------------------------


def _connect(path: Path) -> sqlite3.Connection:
    """Open the file, or make it. Raises DatabaseError for one that is not ours."""
    connection = sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None)
    try:
        found = [
            connection.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("application_id", "user_version")
        ]
        if found != [_APPLICATION, _VERSION]:
            if connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                raise sqlite3.DatabaseError("is no cache of this version")
            connection.executescript(_SCHEMA)
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _write(connection: sqlite3.Connection, scope: bytes, known: Known) -> None:
    connection.execute("BEGIN IMMEDIATE")
    try:
        state = _state_of(connection, scope, known.manifest)
        rows = [(state, key, record) for key, record in known.fresh.items()]
        connection.executemany("INSERT OR REPLACE INTO answer VALUES (?, ?, ?)", rows)
        _forget_old(connection)
        connection.execute("COMMIT")
    except sqlite3.Error:
        with suppress(sqlite3.Error):  # a full disk has done so already
            connection.execute("ROLLBACK")
        raise


def _state_of(connection: sqlite3.Connection, scope: bytes, manifest: Manifest) -> int:
    row = (scope, manifest.digest, encode_manifest(manifest), time.time())
    query = (
        "INSERT INTO state (scope, digest, manifest, used) VALUES (?, ?, ?, ?)"
        " ON CONFLICT DO UPDATE SET used = excluded.used RETURNING id"
    )
    found: int = connection.execute(query, row).fetchall()[0][0]
    return found


def _forget_old(connection: sqlite3.Connection) -> None:
    """Drop the states used longest ago, beyond so many and so many bytes."""
    query = (
        "SELECT id, length(manifest) + (SELECT coalesce(sum(length(record)), 0) FROM answer"
        " WHERE state = id) FROM state ORDER BY used DESC"
    )
    total = 0
    for position, (number, size) in enumerate(connection.execute(query).fetchall()):
        total += size
        if position and (position >= _STATES or total > _BYTES):
            connection.execute("DELETE FROM answer WHERE state = ?", (number,))
            connection.execute("DELETE FROM state WHERE id = ?", (number,))


def _count(connection: sqlite3.Connection, table: str) -> int:
    found: int = connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
    return found
