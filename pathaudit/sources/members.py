"""What a git tree or an archive holds, and which of it are the Python files of a package.

The same is left out as of a folder, for the same reasons; links are followed as there.
"""

import posixpath
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

from msgspec import Struct

from pathaudit.errors import SourceError
from pathaudit.sources.listing import printable

MAX_PATHS = 100_000
_MAX_HOPS = 8
_USUAL = ("", "python", "src")


class Member(Struct, frozen=True):
    """What stands at a path: ``key`` leads to the bytes of a file, and is the target of a link."""

    kind: Literal["file", "link", "submodule", "special"]
    key: str


class Chosen(Struct, frozen=True):
    """The key of each Python file of a package by its path there, and what is left out with why."""

    keys: dict[str, str]
    skipped: tuple[tuple[str, str], ...]


def find_inside(paths: Iterable[str], package: str, label: str) -> str:
    """Return the folder of a listing that holds the package: its path, empty for the root.

    SourceError if there is none or more than one.
    """
    python = [path for path in paths if path.endswith(".py")]
    tops = sorted({path.partition("/")[0] for path in python if "/" in path})
    places = [posixpath.join(top, x) for top in ("", *tops[: len(tops) == 1]) for x in _USUAL]
    # Most source archives have one folder around everything, which may be named like the package.
    held = [place.rstrip("/") for place in places if _holds(python, place, package)]
    whole = set(python)
    held.sort(key=lambda place: posixpath.join(place, package, "__init__.py") not in whole)
    holders = held[:1] or [top for top in tops if _holds(python, top, package)]
    if len(holders) == 1:
        return holders[0]
    if holders:
        names = ", ".join(printable(name) for name in holders)
        raise SourceError(f"{label}: several folders hold {package}: {names}")
    looked = ", ".join(f"{where}{package}/" for where in ("", "python/", "src/", "*/"))
    raise SourceError(
        f"{label}: no Python files of the package {package}; looked for {looked}",
        f"is this a source tree of {package}?",
    )


def _holds(paths: list[str], holder: str, package: str) -> bool:
    prefix = posixpath.join(holder, package, "")
    return any(path.startswith(prefix) for path in paths)


def choose(members: Mapping[str, Member], holder: str, package: str) -> Chosen:
    """Choose the Python files of the package from the members of a tree, by their full paths."""
    listing = _Listing(members, posixpath.join(holder, package))
    keys: dict[str, str] = {}
    skipped: dict[str, str] = {}
    for path, found in listing.files():
        name = path[len(holder) + 1 :] if holder else path
        if name != printable(name):
            skipped[printable(name)] = "name is not valid Unicode"
        elif isinstance(found, Member):
            keys[name] = found.key
        else:
            skipped[name] = found
        if len(keys) + len(skipped) > MAX_PATHS:
            raise SourceError(f"{listing.home}: more than {MAX_PATHS:,} Python files")
    return Chosen(keys, tuple(sorted(skipped.items())))


class _Listing:
    """What is in the folder of a package; folders are known by what is in them."""

    def __init__(self, members: Mapping[str, Member], home: str) -> None:
        self.home = home
        self._inside = {x: member for x, member in members.items() if x.startswith(f"{home}/")}
        self._all = sorted(self._inside)
        self._relevant = [x for x in self._all if x.endswith(".py") or self._is_other(x)]

    def files(self) -> Iterator[tuple[str, Member | str]]:
        """Yield each Python file, and each path left out with why."""
        for path in self._shown(self.home):
            if self._inside[path].kind == "link":
                yield from self._linked(path)
            else:
                yield from self._plain(path, path)

    def _plain(self, path: str, place: str) -> Iterator[tuple[str, Member | str]]:
        member = self._inside[path]
        if member.kind == "submodule":
            yield place, "submodule is not read"
        elif path.endswith(".py"):
            yield place, member if member.kind == "file" else "not a regular file"

    def _linked(self, path: str) -> Iterator[tuple[str, Member | str]]:
        """Yield what a link stands for."""
        target, fault = self._target(path)
        if fault:
            yield path, fault
        elif target in self._inside:
            yield from [(path, self._inside[target])] if path.endswith(".py") else []
        else:
            for below in self._shown(target):
                place = path + below[len(target) :]
                if self._inside[below].kind == "link":
                    # Folders that link to each other crosswise would have exponentially many paths.
                    yield place, "link inside a linked folder"
                else:
                    yield from self._plain(below, place)

    def _target(self, path: str) -> tuple[str, str]:
        """The file or folder that a link leads to in the end, and else why it leads to none."""
        place = path
        for _ in range(_MAX_HOPS):
            link = self._inside[place].key
            place = posixpath.normpath(posixpath.join(posixpath.dirname(place), link))
            if link.startswith("/") or not f"{place}/".startswith(f"{self.home}/"):
                return "", "link leaves the tree"
            if place not in self._inside:
                if next(_below(place, self._all), None) is None:
                    return "", "link cannot be followed: No such file or directory"
                return place, "link runs in a circle" if path.startswith(f"{place}/") else ""
            if self._inside[place].kind != "link":
                is_file = self._inside[place].kind == "file"
                return place, "" if is_file else "not a regular file"
        return "", "link runs in a circle"

    def _shown(self, folder: str) -> Iterator[str]:
        """Yield what is below a folder, but not in hidden folders and those of compiled code."""
        for path in _below(folder, self._relevant):
            names = path[len(folder) + 1 :].split("/")
            if not any(name.startswith(".") or name == "__pycache__" for name in names):
                yield path

    def _is_other(self, path: str) -> bool:
        return self._inside[path].kind in ("link", "submodule")


def _below(folder: str, paths: list[str]) -> Iterator[str]:
    """Yield those of some sorted paths that are in a folder."""
    prefix = f"{folder}/"
    for position in range(bisect_left(paths, prefix), len(paths)):
        if not paths[position].startswith(prefix):
            return
        yield paths[position]
