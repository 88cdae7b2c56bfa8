"""Patches made of texts, noted in a tree and judged in another."""

import difflib
from collections.abc import Mapping

from pathaudit.index import build_index
from pathaudit.relies.judging import Point, judge_patch
from pathaudit.relies.record import record_patch
from pathaudit.ruleset.patches import Reliance
from pathaudit.sources import SourceTree, from_text
from pathaudit.sources.patches import Patch, read_patch
from tests.labels import shipped_rules

PROFILE = shipped_rules().profile
MODEL = "sglang/srt/models/tapped.py"


def diff_of(old: Mapping[str, str], new: Mapping[str, str]) -> str:
    """The unified diff of two trees, as git prints it."""
    return "".join(_diff(path, old.get(path), new.get(path)) for path in sorted({*old, *new}))


def _diff(path: str, old: str | None, new: str | None) -> str:
    before, after = ((text or "").splitlines(keepends=True) for text in (old, new))
    ours, theirs = f"a/python/{path}", f"b/python/{path}"
    names = (ours if old is not None else "/dev/null", theirs if new is not None else "/dev/null")
    found = "".join(difflib.unified_diff(before, after, *names))
    mode = "new file mode 100644\n" if old is None else ""
    mode = "deleted file mode 100644\n" if new is None else mode
    return f"diff --git {ours} {theirs}\n{mode}{found}" if found else ""


def patch_of(old: Mapping[str, str], new: Mapping[str, str]) -> Patch:
    return read_patch(diff_of(old, new).encode(), "fix.diff")


def noted(
    old: Mapping[str, str], new: Mapping[str, str], *, patched: bool = False, name: str = "fix"
) -> Reliance:
    """A patch as noted in the tree without it, or with it."""
    tree = from_text(dict(new if patched else old))
    return record_patch(tree, PROFILE, patch_of(old, new), name=name)


def judged(reliance: Reliance, files: Mapping[str, str]) -> tuple[str, tuple[Point, ...]]:
    """How a tree stands to a patch, and what is to be said of it."""
    found = judge_patch(build_index(tree_of(files), PROFILE), reliance)
    return found.standing, found.points


def tree_of(files: Mapping[str, str]) -> SourceTree:
    return from_text(dict(files))


def faults(points: tuple[Point, ...]) -> list[tuple[str, str]]:
    """What is wrong, with how bad it is."""
    return [(point.severity, point.how) for point in points if point.severity is not None]


def edited(files: Mapping[str, str], *edits: tuple[str, str, str]) -> dict[str, str]:
    """The files with texts replaced, each of which must be there."""
    found = dict(files)
    for path, before, after in edits:
        assert before in found[path], before
        found[path] = found[path].replace(before, after)
    return found
