"""A tree with some of its files replaced, for mutations of real code."""

from collections.abc import Mapping

from pathaudit.sources import SourceTree
from pathaudit.sources.tree import Files


def overlay(
    tree: SourceTree, replaced: Mapping[str, str], kept: tuple[str, ...] | None = None
) -> SourceTree:
    """``tree`` with the text of ``replaced`` in place of its own; paths may be new.

    Of the others only those in ``kept`` stay, if it is given.
    """

    def fetch(path: str) -> bytes:
        return replaced[path].encode() if path in replaced else tree.read(path)

    paths = tuple(sorted({*(tree.paths if kept is None else kept), *replaced}))
    files = Files(frozenset(paths), fetch)
    return SourceTree(tree.label, tree.version, tree.package, paths, tree.skipped, files)
