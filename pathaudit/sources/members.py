"""What a git tree or an archive holds, and which of it are the Python files of a package.

The same is left out as of a folder, for the same reasons; links are followed as there.
"""

import posixpath
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
    home = posixpath.join(holder, package)
    inside = {path: member for path, member in members.items() if path.startswith(f"{home}/")}
    folders = {folder for path in inside for folder in _above(path)}
    keys: dict[str, str] = {}
    skipped: dict[str, str] = {}
    for path in sorted(inside):
        if not _is_shown(path[len(home) + 1 :]):
            continue
        for place, found in _follow(path, inside, folders, home):
            name = place[len(holder) + 1 :] if holder else place
            if name != printable(name):
                skipped[printable(name)] = "name is not valid Unicode"
            elif isinstance(found, Member):
                keys[name] = found.key
            else:
                skipped[name] = found
        if len(keys) > MAX_PATHS:
            raise SourceError(f"{home}: more than {MAX_PATHS:,} Python files")
    return Chosen(keys, tuple(sorted(skipped.items())))


def _is_shown(path: str) -> bool:
    """Is a path one that Python code is in? Hidden folders and compiled code are passed over."""
    return not any(name.startswith(".") or name == "__pycache__" for name in path.split("/"))


def _above(path: str) -> Iterator[str]:
    while "/" in path:
        path = path.rpartition("/")[0]
        yield path


def _follow(
    path: str, inside: Mapping[str, Member], folders: set[str], home: str
) -> Iterator[tuple[str, Member | str]]:
    """Yield the files that a path stands for, or why it is left out."""
    member = inside[path]
    if member.kind == "submodule":
        yield path, "submodule is not read"
    elif member.kind == "special" and path.endswith(".py"):
        yield path, "not a regular file"
    elif member.kind == "file" and path.endswith(".py"):
        yield path, member
    elif member.kind == "link":
        target = _target(path, inside, folders, home)
        if target in inside:
            if path.endswith(".py"):
                yield path, inside[target]
        elif target in folders or target == home:
            yield from _linked(path, target, inside)
        else:
            yield path, target


def _target(path: str, inside: Mapping[str, Member], folders: set[str], home: str) -> str:
    """The file or folder that a link leads to in the end, or why it leads to none."""
    place = path
    for _ in range(_MAX_HOPS):
        link = inside[place].key
        place = posixpath.normpath(posixpath.join(posixpath.dirname(place), link))
        if link.startswith("/") or not f"{place}/".startswith(f"{home}/"):
            return "link leaves the tree"
        if place in folders:
            return "link runs in a circle" if path.startswith(f"{place}/") else place
        if place not in inside:
            return "link cannot be followed: No such file or directory"
        if inside[place].kind != "link":
            return place if inside[place].kind == "file" else "not a regular file"
    return "link runs in a circle"


def _linked(
    path: str, folder: str, inside: Mapping[str, Member]
) -> Iterator[tuple[str, Member | str]]:
    """Yield the files of a linked folder under the name of the link."""
    for below in sorted(inside):
        if not below.startswith(f"{folder}/") or not _is_shown(below[len(folder) + 1 :]):
            continue
        place = path + below[len(folder) :]
        if inside[below].kind == "link":
            # Folders that link to each other crosswise would have exponentially many paths.
            yield place, "link inside a linked folder"
        elif inside[below].kind == "file" and below.endswith(".py"):
            yield place, inside[below]
