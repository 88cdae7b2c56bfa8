"""Lays a folder over a tree: changed files of the package, or a package of models of one's own."""

import os
import re
from collections.abc import Callable
from functools import partial

import msgspec

from pathaudit.errors import SourceError
from pathaudit.sources.listing import holds_python, printable, walk
from pathaudit.sources.locate import find_holder
from pathaudit.sources.tree import Files, SourceTree, read_file

# A statement at the start of a line that replaces an attribute of a class, when it is imported.
_REPLACES = re.compile(
    rb"^(?:[\w.]+\.)?([A-Z]\w*)\.(\w+)[ \t]*=(?!=)|^setattr\([ \t]*(?:[\w.]+\.)?([A-Z]\w*)\b", re.M
)


def lay_over(tree: SourceTree, folder: str, models: str) -> SourceTree:
    """Return a tree in which the files of a folder replace or join those of ``tree``.

    The folder holds the package, or parts of it. Or it is a package of another name, which joins
    the models as a guest: it is read as if it stood in the folder ``models`` of the tree.
    SourceError if the folder holds no Python files.
    """
    label = f"{tree.label} with {printable(folder)}"
    home = os.path.abspath(folder)
    if not os.path.isdir(home) or not models or _holds(home, tree.package):
        return _laid(tree, find_holder(folder, tree.package), tree.package, "", label)
    holder, name = os.path.split(home)
    if not holds_python(holder, name):
        raise SourceError(f"{printable(folder)}: holds no Python files", "--with takes a folder")
    place = f"{models}/{printable(name)}"
    laid = _laid(tree, holder, name, f"{models}/", f"{label} as {place}")
    return msgspec.structs.replace(laid, guests=_guests(laid, place))


def _holds(home: str, package: str) -> bool:
    """Does a folder hold the package, or is it the package?"""
    try:
        find_holder(home, package)
    except SourceError:
        return False
    return True


def _guests(tree: SourceTree, place: str) -> tuple[tuple[str, str], ...]:
    """The names that the modules laid to a place have for Python: as a package, or one by one."""
    module = place.replace("/", ".")
    if f"{place}/__init__.py" in tree:
        return ((module.rpartition(".")[2], module),)
    inside = (path[len(place) + 1 :] for path in tree.paths if path.startswith(f"{place}/"))
    names = sorted({path.partition("/")[0].removesuffix(".py") for path in inside})
    return tuple((name, f"{module}.{name}") for name in names)


def _laid(tree: SourceTree, holder: str, name: str, below: str, label: str) -> SourceTree:
    """Lay what is in a folder over a tree, its paths starting with ``below``."""
    listing = {below + path: reason for path, reason in walk(holder, name)}
    over = frozenset(path for path, reason in listing.items() if not reason)
    left_out = {path: reason for path, reason in listing.items() if reason}
    under = {path: reason for path, reason in tree.skipped if path not in over}
    paths = over | frozenset(tree.paths)
    blobs = {path: blob for path, blob in tree.known_blobs.items() if path not in over}
    own = partial(_read_below, holder, len(below))
    files = Files(paths, partial(_read_either, over, own, tree.read_once), blobs)
    told = {path: fault for path in over if (fault := _replacement(own, tree, path))}
    skipped = tuple(sorted((under | left_out | told).items()))
    places = {path: os.path.abspath(os.path.join(holder, path[len(below) :])) for path in listing}
    return SourceTree(
        label,
        tree.version,
        tree.package,
        tuple(sorted(paths)),
        skipped,
        files,
        home=tree.home,
        elsewhere=tuple(sorted((dict(tree.elsewhere) | places).items())),
    )


def _replacement(own: Callable[[str], bytes], tree: SourceTree, path: str) -> str:
    """Say what a file replaces in a class when it is imported: that is not followed."""
    try:
        data = own(path)
        found = _REPLACES.search(data)
        if found is None or (path in tree and tree.read_once(path) == data):
            return ""
    except SourceError:
        return ""  # who reads the file learns why
    what = b".".join(filter(None, found.groups())).decode()
    return f"replaces {what} when it is imported, which is not followed"


def _read_below(holder: str, cut: int, path: str) -> bytes:
    return read_file(holder, path[cut:])


def _read_either(
    over: frozenset[str],
    own: Callable[[str], bytes],
    other: Callable[[str], bytes],
    path: str,
) -> bytes:
    return own(path) if path in over else other(path)
