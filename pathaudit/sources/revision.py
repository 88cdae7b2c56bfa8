"""Opens a revision of a git repository: its trees and blobs are read, nothing is checked out.

No command here runs hooks, filters or a transport, whatever the repository is configured to do.
"""

import os
import posixpath
import re
from typing import Literal

import git
import msgspec
from packaging.version import InvalidVersion, Version

from pathaudit.errors import SourceError
from pathaudit.hints import did_you_mean
from pathaudit.sources.forms import GIT
from pathaudit.sources.listing import printable
from pathaudit.sources.members import Member, choose, find_inside
from pathaudit.sources.objects import Objects
from pathaudit.sources.tree import Files, SourceTree
from pathaudit.sources.version import coded_version

_KINDS: dict[str, Literal["file", "link", "submodule"]] = {
    "100": "file",
    "120": "link",
    "160": "submodule",
}


def open_revision(target: str, package: str, repository: str | None) -> SourceTree:
    """Open the package in a revision: ``git:v0.5.6``, ``git:HEAD~3``, ``git:origin/main``.

    The repository is that of a folder, without one that of the current folder. SourceError, with
    a hint, for a revision that is not there; StoreError for an object that is missing or damaged.
    """
    revision = target.removeprefix(GIT)
    label = printable(target)
    expect_revision(revision, label)
    objects = open_objects(repository)
    commit = find_commit(objects, revision, label)
    listing = _listing(objects, commit)
    holder = find_inside(listing, package, label)
    chosen = choose(_with_links(objects, listing, holder, package), holder, package)
    objects.expect(chosen.keys.values(), label)
    files = Files(frozenset(chosen.keys), Blobs(objects, chosen.keys), chosen.keys)
    paths = tuple(sorted(chosen.keys))
    version = _version(revision)
    tree = SourceTree(label, version, package, paths, chosen.skipped, files, home=holder)
    return tree if tree.version else msgspec.structs.replace(tree, version=coded_version(tree))


def open_objects(repository: str | None) -> Objects:
    """The objects of a folder's repository, without one those of the current folder's."""
    return Objects(_git_folder(repository))


class Blobs:
    """Reads files by their blob ids."""

    def __init__(self, objects: Objects, ids: dict[str, str]) -> None:
        self._objects = objects
        self._ids = ids

    def __call__(self, path: str) -> bytes:
        return self._objects.blob(self._ids[path], path)


def expect_revision(revision: str, label: str) -> None:
    hint = "name one as in git:v0.5.6, git:HEAD~3 or git:origin/main"
    if revision.startswith("-"):
        raise SourceError(f"{label}: looks like an option, not like a revision", hint)
    if not revision.strip() or not revision.isprintable():
        raise SourceError(f"{label}: names no revision", hint)
    if ".." in revision:
        raise SourceError(f"{label}: is a range, not one revision", hint)


def _git_folder(repository: str | None) -> str:
    """Return the git folder of the repository that a folder is in, bare or a work tree or none."""
    place = os.curdir if repository is None else repository
    shown = "the current folder" if repository is None else printable(repository)
    hint = "name the repository with --repo DIR"
    try:
        with git.Repo(
            os.path.abspath(place), search_parent_directories=True, expand_vars=False
        ) as repo:
            return os.path.abspath(repo.git_dir)
    except git.NoSuchPathError:
        raise SourceError(f"{shown}: no such directory", hint) from None
    except (git.InvalidGitRepositoryError, git.GitCommandError, OSError, ValueError):
        raise SourceError(f"{shown}: is in no git repository", hint) from None


def find_commit(objects: Objects, revision: str, label: str) -> str:
    """Return the id of the commit that a revision names."""
    found = objects.find(f"{revision}^{{commit}}")
    if found:
        return found
    if objects.find(revision):
        raise SourceError(f"{label}: is not a commit", "name a branch, a tag or a commit")
    raise SourceError(f"{label}: no such revision in {objects.place}", _hint(objects, revision))


def _hint(objects: Objects, revision: str) -> str:
    """Say what may have been meant by a revision that is not there."""
    names = [f"{GIT}{name}" for name in objects.names()]
    if not names:
        return "the repository has no commits yet"
    base = re.split(r"[~^@:]", revision)[0]
    if objects.is_shallow():
        return f"this clone is shallow: git -C {objects.place} fetch --unshallow --tags"
    if base != revision and objects.find(f"{base}^{{commit}}"):
        return f"{base} is there, but its history does not reach so far"
    return did_you_mean(f"{GIT}{revision}", names, f"it has {len(names):,} branches and tags")


def _listing(objects: Objects, commit: str) -> dict[str, Member]:
    """Return the files, links and submodules of a commit by their ids."""
    found = {}
    for mode, identity, path in objects.listing(commit):
        kind = _KINDS.get(mode[:3])
        if kind is not None:
            found[path] = Member(kind, identity)
    return found


def _with_links(
    objects: Objects, listing: dict[str, Member], holder: str, package: str
) -> dict[str, Member]:
    """Return what is in a package, with the targets of its links."""
    home = posixpath.join(holder, package, "")
    inside = {path: member for path, member in listing.items() if path.startswith(home)}
    links = {path: member.key for path, member in inside.items() if member.kind == "link"}
    targets = {path: Member("link", objects.link(key, path)) for path, key in links.items()}
    return inside | targets


def _version(revision: str) -> str | None:
    """Return the version that a tag like ``v0.5.6`` stands for."""
    try:
        return str(Version(revision.rpartition("/")[2]))
    except InvalidVersion:
        return None
