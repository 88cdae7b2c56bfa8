"""What one tree adds to another and takes out of it, as if it were a patch."""

from collections.abc import Iterator
from difflib import SequenceMatcher

from pathaudit.errors import SourceError, UsageError
from pathaudit.sources.fitting import Fitted, Place, Standing
from pathaudit.sources.tree import SourceTree


def compare_trees(old: SourceTree, new: SourceTree) -> Fitted:
    """The lines that differ; a file that cannot be read in either tree is left out.

    UsageError where both trees are the same.
    """
    added: list[Place] = []
    removed: list[Place] = []
    for path in sorted({*old.paths, *new.paths}):
        if path in old and path in new and _same(old, new, path):
            continue
        before, after = _lines(old, path), _lines(new, path)
        for first, last, other, end in _changes(before, after):
            removed += [Place(path, number + 1) for number in range(first, last)]
            added += [Place(path, number + 1) for number in range(other, end)]
    if not added and not removed:
        raise UsageError(f"{new.label} does not differ from {old.label}", "name another revision")
    return Fitted(Standing.PATCHED, old, new, tuple(added), tuple(removed))


def _same(old: SourceTree, new: SourceTree, path: str) -> bool:
    try:
        return old.digest_once(path) == new.digest_once(path)
    except SourceError:
        return True


def _lines(tree: SourceTree, path: str) -> list[str]:
    try:
        text = tree.text(path) if path in tree else ""
    except SourceError:
        return []
    return [line.removesuffix("\r") for line in text.split("\n")]


def _changes(before: list[str], after: list[str]) -> Iterator[tuple[int, int, int, int]]:
    for kind, first, last, other, end in SequenceMatcher(None, before, after, False).get_opcodes():
        if kind != "equal":
            yield first, last, other, end
