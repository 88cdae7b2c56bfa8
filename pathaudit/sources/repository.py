"""Reads any files of a git repository: those of a revision, or those of the work tree.

As for trees, nothing is checked out, fetched or run that the repository is configured to run.
"""

import os
import stat
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

from msgspec import Struct

from pathaudit.errors import SourceError, StoreError
from pathaudit.sources.forms import GIT
from pathaudit.sources.listing import printable
from pathaudit.sources.objects import Objects
from pathaudit.sources.revision import Blobs, expect_revision, find_commit, open_objects
from pathaudit.sources.tree import MAX_FILE_BYTES, read_file

_MODULES = ".gitmodules"
_LINK = "160000"
_FILES = ("100644", "100755", "100664")
# No hook that watches the file system, no file of ignored names outside of the repository.
_QUIET = ("-c", "core.fsmonitor=false", "-c", "core.excludesFile=")


class Submodule(Struct, frozen=True):
    """A repository inside another one: where, from which address, and at which commit.

    ``line`` is that of its address in ``.gitmodules``; ``folder`` holds its objects, if they are
    there.
    """

    path: str
    address: str
    commit: str
    line: int
    folder: str | None


class RepositoryFiles(Struct, frozen=True, eq=False):
    """Files of one state of a repository, read when asked for, and its submodules.

    ``label`` names the state. ``read`` raises SourceError for a file that cannot be read.
    """

    label: str
    paths: frozenset[str]
    read: Callable[[str], bytes]
    submodules: tuple[Submodule, ...] = ()


def files_of_texts(texts: Mapping[str, str | bytes], label: str = "text") -> RepositoryFiles:
    """Files that are given as texts by their paths."""
    data = {
        path: text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
        for path, text in texts.items()
    }
    return RepositoryFiles(label, frozenset(data), data.__getitem__)


def files_at(revision: str, repository: str | None) -> RepositoryFiles:
    """The files of a revision of a folder's repository, without one of the current folder's.

    SourceError, with a hint, for a revision that is not there; StoreError for missing objects.
    """
    revision = revision.removeprefix(GIT)
    label = printable(revision)
    expect_revision(revision, label)
    objects = open_objects(repository)
    listing = list(objects.listing(find_commit(objects, revision, label)))
    blobs = {path: key for mode, key, path in listing if mode in _FILES}
    links = {path: key for mode, key, path in listing if mode == _LINK}
    read = partial(_blob, Blobs(objects, blobs))
    modules: tuple[Submodule, ...] = ()
    if links and _MODULES in blobs:
        listed = objects.tell("config", f"--blob={blobs[_MODULES]}", "--list", "-z")
        modules = tuple(_submodules(listed, links, read(_MODULES), objects.folder, None))
    return RepositoryFiles(label, frozenset(blobs), read, modules)


def files_of_work_tree(repository: str | None) -> RepositoryFiles:
    """The files of a work tree as they are, with those that are not tracked and not ignored.

    SourceError for a repository that has no work tree.
    """
    objects = open_objects(repository)
    root = _root(repository, objects)
    list_files = ("-C", root, f"--work-tree={root}", *_QUIET, "ls-files", "-z")
    tracked = [line.partition("\t") for line in _split(objects.tell(*list_files, "--stage"))]
    others = _split(objects.tell(*list_files, "--others", "--exclude-standard"))
    links = {path: about.split()[1] for about, _, path in tracked if about.startswith(_LINK)}
    paths = {path for about, _, path in tracked if path not in links} | set(others)
    present = frozenset(path for path in paths if _is_file(root, path))
    read = partial(_read, root)
    modules: tuple[Submodule, ...] = ()
    if links and _MODULES in present:
        file = f"--file={os.path.join(root, _MODULES)}"
        listed = objects.tell("config", "--no-includes", file, "--list", "-z")
        modules = tuple(_submodules(listed, links, read(_MODULES), objects.folder, root))
    return RepositoryFiles("the work tree", present, read, modules)


def _split(listed: str) -> list[str]:
    return [item for item in listed.split("\0") if item]


def _root(repository: str | None, objects: Objects) -> str:
    """Return the folder of the work tree that a folder is in: the one that holds ``.git``.

    A bare repository has none, also where it lies in the work tree of another one.
    """
    start = Path(os.path.abspath(repository or os.curdir))
    above = (folder for folder in (start, *start.parents) if os.path.lexists(folder / ".git"))
    root = next(above, None)
    if root is not None and os.path.samefile(open_objects(str(root)).folder, objects.folder):
        return str(root)
    raise SourceError(f"{printable(str(start))}: has no work tree", "name a revision with --head")


def _is_file(root: str, path: str) -> bool:
    """A regular file that no link leads to: what a repository holds must not lead out of it."""
    whole = os.path.join(root, path)
    try:
        regular = stat.S_ISREG(os.lstat(whole).st_mode)
    except (OSError, ValueError):
        return False
    home = os.path.realpath(root)
    return regular and os.path.commonpath([home, os.path.realpath(whole)]) == home


def _read(root: str, path: str) -> bytes:
    return _whole(path, read_file(root, path))


def _blob(blobs: Blobs, path: str) -> bytes:
    return _whole(path, blobs(path))


def _whole(path: str, data: bytes) -> bytes:
    if len(data) > MAX_FILE_BYTES:
        raise SourceError(f"{printable(path)}: too large, more than {MAX_FILE_BYTES:,} bytes")
    return data


# ---- submodules -------------------------------------------------------------------------------


def _submodules(
    listed: str, links: Mapping[str, str], text: bytes, folder: str, root: str | None
) -> Iterator[Submodule]:
    """The submodules of which git lists a configuration, in its order."""
    known: dict[str, dict[str, str]] = {}
    for item in _split(listed):
        key, _, value = item.partition("\n")
        section, _, field = key.rpartition(".")
        if section.startswith("submodule."):
            known.setdefault(section.removeprefix("submodule."), {})[field] = value
    for name, fields in known.items():
        path, address = fields.get("path", ""), fields.get("url", "")
        if path in links and address:
            objects = _objects_of(name, path, folder, root)
            commit = _checked_out(objects, root, path) or links[path]
            yield Submodule(path, address, commit, _line_of(text, address), objects)


def _objects_of(name: str, path: str, folder: str, root: str | None) -> str | None:
    """The git folder of a submodule: in that of its parent, or in its own work tree."""
    if any(os.path.isabs(text) or ".." in Path(text).parts for text in (name, path)):
        return None
    base = root or os.path.dirname(folder)
    places = [os.path.join(folder, "modules", name), os.path.join(base, path, ".git")]
    return next((place for place in places if os.path.isdir(place)), None)


def _checked_out(folder: str | None, root: str | None, path: str) -> str | None:
    """The commit that is checked out of a submodule in a work tree, which may not be staged."""
    if root is None or folder is None or not os.path.lexists(os.path.join(root, path, ".git")):
        return None
    try:
        return open_objects(folder).find("HEAD^{commit}")
    except (SourceError, StoreError):
        return None


def _line_of(text: bytes, address: str) -> int:
    lines = text.decode("utf-8", "replace").splitlines()
    found = (number for number, line in enumerate(lines, start=1) if address in line)
    return next(found, 1)


def tag_at(submodule: Submodule, names: Callable[[str], bool]) -> str | None:
    """The tag of such a name at the commit of a submodule, if there is one."""
    if submodule.folder is None:
        return None
    objects = Objects(submodule.folder)
    if objects.find(f"{submodule.commit}^{{commit}}") is None:
        return None
    tags = objects.tell("tag", "--points-at", submodule.commit).split()
    return next((tag for tag in sorted(tags) if names(tag)), None)


def holds_commit(submodule: Submodule, revision: str) -> bool:
    """Does a submodule have a revision, so that it can be read?"""
    if submodule.folder is None:
        return False
    return Objects(submodule.folder).find(f"{revision}^{{commit}}") is not None
