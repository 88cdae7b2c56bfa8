"""What a scan is about: a tree, or some files of one."""

import os
from typing import TYPE_CHECKING, NamedTuple

import click
from click.core import ParameterSource

from pathaudit.cli.options import Reach, access_of, open_tree
from pathaudit.errors import UsageError

if TYPE_CHECKING:
    from pathaudit.ruleset import Ruleset
    from pathaudit.sources import SourceTree


class Asked(NamedTuple):
    """A tree, and the paths in it that are asked about; without any, all of it.

    Without a tree, none of the files that were named belongs to one.
    """

    tree: "SourceTree | None"
    files: tuple[str, ...] = ()


def open_targets(
    targets: tuple[str, ...], named: str | None, ruleset: "Ruleset", reach: Reach
) -> Asked:
    """Open a source tree, or the one that some files belong to: if ``named``, that one.

    Raises ``SourceError`` or ``UsageError`` where that fails.
    """
    if not _are_files(targets):
        _expect_one_tree(targets)
        return Asked(open_tree(targets[0] if targets else named, ruleset, reach))
    tree = _tree_of(targets, named, ruleset, reach)
    files = tree.paths_of(targets) if tree is not None else ()
    if tree is None or not files:
        return Asked(None)
    # What is asked about all of a tree is asked about the tree.
    return Asked(tree, () if frozenset(tree.paths).issubset(files) else files)


def _expect_one_tree(targets: tuple[str, ...]) -> None:
    if len(targets) > 1:
        raise UsageError(f"{targets[1]}: only one tree can be scanned", "or name its files")
    stated = click.get_current_context().get_parameter_source("tree")
    if targets and stated is ParameterSource.COMMANDLINE:
        raise UsageError(f"{targets[0]}: is no file, and --tree names the tree", "give one of them")


def _tree_of(
    files: tuple[str, ...], named: str | None, ruleset: "Ruleset", reach: Reach
) -> "SourceTree | None":
    """The tree of some files; nothing, and nothing is looked for, if they are of none."""
    from pathaudit.sources import open_tree_of

    if named is None:
        tree = open_tree_of(files, ruleset.profile.package, access_of(ruleset, reach))
        if tree is not None:
            return tree
    folders = _folders(named, ruleset.profile.package, reach)
    inside = any(_is_below(file, folder) for folder in folders for file in files)
    return open_tree(named, ruleset, reach) if inside else None


def _folders(named: str | None, package: str, reach: Reach) -> list[str]:
    """The folders that a tree is read from, as far as it is read from folders."""
    from pathaudit.sources.forms import Form, form_of

    found = [named] if named is not None and form_of(named, package) is Form.FOLDER else []
    found += [reach.overlay] if reach.overlay is not None else []
    for name in found:
        if not os.path.isdir(name):
            raise UsageError(f"{name}: no such directory", "see --tree and --with, or the settings")
    return found


def _is_below(file: str, folder: str) -> bool:
    return os.path.abspath(file).startswith(os.path.join(os.path.abspath(folder), ""))


def _are_files(targets: tuple[str, ...]) -> bool:
    """Are these files, as a hook names them: of any kind, and some perhaps gone by now?"""
    if not any(map(_is_source, targets)):
        return bool(targets) and all(map(_is_script, targets))
    lost = next((name for name in targets if not os.path.isfile(name)), None)
    if lost is None:
        return True
    if _is_source(lost):
        hint = "leave out what was deleted, as git diff --name-only --diff-filter=d does"
        raise UsageError(f"{lost}: no such file", hint)
    raise UsageError(f"{lost}: is no file, and files are named", "name a tree, or files of it")


def _is_source(target: str) -> bool:
    return target.endswith(".py") and not os.path.isdir(target)


def _is_script(target: str) -> bool:
    """Is this a file of another name that runs as a script, as a hook for Python takes for one?"""
    try:
        with open(target, "rb") as file:
            return file.read(2) == b"#!"
    except OSError:
        return False
