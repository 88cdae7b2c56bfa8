"""A tree with some of its files replaced, for mutations of real code."""

from collections.abc import Mapping

from pathaudit.sources import SourceTree
from pathaudit.sources.tree import Files


def overlay(tree: SourceTree, replaced: Mapping[str, str]) -> SourceTree:
    """``tree`` with the text of ``replaced`` in place of its own; paths may be new."""

    def fetch(path: str) -> bytes:
        return replaced[path].encode() if path in replaced else tree.read(path)

    paths = tuple(sorted({*tree.paths, *replaced}))
    files = Files(frozenset(paths), fetch)
    return SourceTree(tree.label, tree.version, tree.package, paths, tree.skipped, files)
