"""Opens the Python source tree of one package as data; nothing is imported, built or executed."""

import os
from collections.abc import Sequence
from functools import partial

import msgspec

from pathaudit.sources.listing import printable, walk
from pathaudit.sources.locate import find_files, find_holder, find_installed
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
    "SourceTree",
    "Span",
    "from_text",
    "open_files",
    "open_source",
    "split_lines",
]


def open_source(target: str | None, package: str) -> SourceTree:
    """Open the tree of a package in a directory, or without a target the installed package.

    The directory may be the package itself, a checkout, a site-packages folder, or hold one of
    these. SourceError, with a hint, if the package is not found or found more than once.
    """
    if target is None:
        return _open_folder(find_installed(package), package, f"installed {package}")
    return _open_folder(find_holder(target, package), package, printable(target))


def open_files(targets: Sequence[str], package: str) -> tuple[SourceTree, tuple[str, ...]]:
    """Open the tree that some files belong to, and return it with their paths in it.

    SourceError if there is no such tree or more than one, or a file is not there.
    """
    holder, paths = find_files(targets, package)
    below = os.path.relpath(holder)
    label = holder if below.startswith(os.pardir) else below
    tree = _open_folder(holder, package, printable(label))
    return tree, paths


def _open_folder(holder: str, package: str, label: str) -> SourceTree:
    listing = sorted(walk(holder, package))
    paths = tuple(path for path, reason in listing if not reason)
    skipped = tuple((path, reason) for path, reason in listing if reason)
    files = Files(frozenset(paths), partial(read_file, holder))
    tree = SourceTree(label, stated_version(holder, package), package, paths, skipped, files)
    return tree if tree.version else msgspec.structs.replace(tree, version=coded_version(tree))
