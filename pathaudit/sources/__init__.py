"""Opens the Python source tree of one package as data; nothing is imported, built or executed."""

import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import msgspec
from msgspec import Struct

from pathaudit.errors import SourceError
from pathaudit.sources.forms import Form, form_of
from pathaudit.sources.listing import printable, walk
from pathaudit.sources.locate import find_holder, find_installed, find_tree_of
from pathaudit.sources.tree import (
    MAX_FILE_BYTES,
    Files,
    SourceTree,
    Span,
    from_text,
    read_file,
    split_lines,
)
from pathaudit.sources.version import coded_version, stated_version

__all__ = [
    "MAX_FILE_BYTES",
    "NEAR",
    "Access",
    "SourceTree",
    "Span",
    "from_text",
    "newest_release",
    "open_source",
    "open_tree_of",
    "split_lines",
]


class Access(Struct, frozen=True, eq=False):
    """How a tree is reached; none of it is needed for a folder.

    ``repository`` is a folder of the git repository that revisions are of, instead of the current
    one. ``overlay`` is a folder that is laid over the tree; what is no part of the package joins
    the folder ``models`` of it. Archives and releases are kept unpacked in the folder ``keep``;
    ``offline``, none is downloaded. ``tell`` is told what takes long.
    """

    repository: str | None = None
    overlay: str | None = None
    models: str = ""
    keep: Path | None = None
    offline: bool = False
    tell: Callable[[str], None] = lambda _: None


NEAR = Access()


def open_source(target: str | None, package: str, access: Access = NEAR) -> SourceTree:
    """Open the tree of a package, or without a target the installed package.

    A target is a directory (the package itself, a checkout, a site-packages folder, or one that
    holds one of these), a git revision as in ``git:v0.5.6``, a wheel or source archive, the
    package's name, or a requirement of a release. SourceError, with a hint, if it is not found or
    ambiguous; StoreError if what holds it is damaged.
    """
    return _with_overlay(_open(target, package, access), access)


def _with_overlay(tree: SourceTree, access: Access) -> SourceTree:
    if access.overlay is None:
        return tree
    from pathaudit.sources.overlay import lay_over

    return lay_over(tree, access.overlay, access.models)


def _open(target: str | None, package: str, access: Access) -> SourceTree:
    """Open a target by its form; what reads the others is not imported."""
    form = form_of(target, package)
    if target is None or form is Form.INSTALLED:
        return _open_folder(find_installed(package), package, f"installed {package}")
    if form is Form.REVISION:
        try:
            from pathaudit.sources.revision import open_revision
        except ImportError as error:  # GitPython looks for git when it is imported
            hint = "install git, or name a directory"
            raise SourceError(f"{printable(target)}: git is needed, and not found", hint) from error

        return open_revision(target, package, access.repository)
    if form is Form.ARCHIVE:
        from pathaudit.sources.releases import Releases

        return Releases(_keep(access)).open(target, package, printable(target))
    if form is Form.REQUIREMENT:
        from pathaudit.sources.requirement import open_requirement

        return open_requirement(
            target, package, _keep(access), offline=access.offline, tell=access.tell
        )
    return _open_folder(find_holder(target, package), package, printable(target))


def newest_release(specifier: str, package: str, access: Access = NEAR) -> str:
    """Return the version of the newest release of a package that a specifier admits.

    ``offline``, of those that are kept. Nothing is downloaded; SourceError if there is none.
    """
    from pathaudit.sources.requirement import newest_version

    target = f"{package}{specifier}"
    return newest_version(target, package, _keep(access), offline=access.offline, tell=access.tell)


def _keep(access: Access) -> Path:
    if access.keep is None:
        raise SourceError("an archive needs a folder to be unpacked to", "give Access(keep=...)")
    return access.keep


def open_tree_of(files: Sequence[str], package: str, access: Access = NEAR) -> SourceTree | None:
    """Open the tree that some files belong to; nothing if they belong to none.

    SourceError if they belong to several; else as ``open_source``.
    """
    holder = find_tree_of(files, package, access.models)
    if holder is None:
        return None
    below = os.path.relpath(holder)
    label = holder if below.startswith(os.pardir) else below
    return _with_overlay(_open_folder(holder, package, printable(label)), access)


def _open_folder(holder: str, package: str, label: str) -> SourceTree:
    listing = sorted(walk(holder, package))
    paths = tuple(path for path, reason in listing if not reason)
    skipped = tuple((path, reason) for path, reason in listing if reason)
    files = Files(frozenset(paths), partial(read_file, holder))
    version = stated_version(holder, package)
    tree = SourceTree(label, version, package, paths, skipped, files, home=os.path.abspath(holder))
    return tree if tree.version else msgspec.structs.replace(tree, version=coded_version(tree))
