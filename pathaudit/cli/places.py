"""Where the files of a tree are for the reader of a report: below the root of a repository."""

import os
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

import click

from pathaudit.cli.options import Command
from pathaudit.errors import UsageError

if TYPE_CHECKING:
    from pathaudit.sources import SourceTree


def source_root_option(command: Command) -> Command:
    """``--source-root DIR``, for a command whose reports go to a repository's pages."""
    return click.option(
        "--source-root",
        metavar="DIR",
        help="The folder that paths in SARIF, annotations, JUnit and Markdown start at; the "
        "repository of TREE, unless stated.",
    )(command)


def locator(tree: "SourceTree | None", root: str | None) -> Callable[[str], str]:
    """Return what gives the path of a file of ``tree`` from ``root``.

    Without a root it is that of the git work tree around the file, or else the current folder. A
    file that is not below it keeps its path in the tree, as one of a release does. UsageError if
    the tree is not below a root that was stated.
    """
    if tree is None:
        return str
    if root is not None:
        _expect_below(tree, root)
    above = os.path.abspath(root) if root is not None else None
    elsewhere = dict(tree.elsewhere)
    folders: dict[str, str] = {}

    def locate(path: str) -> str:
        place = elsewhere.get(path) or (os.path.join(tree.home, path) if tree.home else path)
        if not os.path.isabs(place):
            return place
        folder = os.path.dirname(place)
        if folder not in folders:
            folders[folder] = above or _work_tree(folder) or os.getcwd()
        return _below(place, folders[folder]) or path

    return locate


def _expect_below(tree: "SourceTree", root: str) -> None:
    if not os.path.isdir(root):
        raise UsageError(f"--source-root {root}: no such directory", "name a folder above the tree")
    places = [tree.home, *(place for _, place in tree.elsewhere)]
    above = os.path.abspath(root)
    if not any(os.path.isabs(place) and _below(place, above) is not None for place in places):
        hint = "leave it out, or name a folder above the tree"
        raise UsageError(f"{tree.label} is not below --source-root {root}", hint)


def _below(place: str, folder: str) -> str | None:
    """The path of a place from a folder that is above it."""
    path = os.path.relpath(place, folder)
    return None if path.split(os.sep)[0] == os.pardir else path.replace(os.sep, "/")


@cache
def _work_tree(folder: str) -> str:
    """The nearest folder with a ``.git``, at or above one; nothing if there is none."""
    if os.path.lexists(os.path.join(folder, ".git")):
        return folder
    above = os.path.dirname(folder)
    return _work_tree(above) if above != folder else ""
