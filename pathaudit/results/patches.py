"""What became of users' patches in a tree; the answer of ``patch check``, and of ``patch list``.

Field names are those in the JSON.
"""

from typing import Literal

from msgspec import Struct

from pathaudit.results import Severity, Source

Status = Literal["error", "warning", "note", "holds", "unknown"]


class PatchPoint(Struct, frozen=True, kw_only=True):
    """Something to say of a patch at a place: a fault, what holds, or what cannot be told."""

    status: Status
    file: str
    line: int
    symbol: str
    text: str
    condition: str = ""
    effect: str = ""


class PatchAnswer(Struct, frozen=True, kw_only=True):
    """What became of one patch.

    ``standing`` is ``patched``, ``unpatched`` or ``neither``: whether the tree has it. ``version``
    is that of the tree that it was noted in.
    """

    name: str
    reason: str
    version: str
    standing: str
    points: tuple[PatchPoint, ...]

    @property
    def faults(self) -> tuple[PatchPoint, ...]:
        """The points that are faults, mere notes left out."""
        return tuple(point for point in self.points if point.status in ("error", "warning"))


class PatchesReport(Struct, frozen=True, kw_only=True):
    """The answer of ``patch check``: one for each patch asked about, by name."""

    tool: str
    source: Source
    patches: tuple[PatchAnswer, ...]
    schema: int = 1


class KeptPath(Struct, frozen=True, kw_only=True):
    """A statement that a patch adds: ``entries`` run it on ``every`` path, or on ``some``.

    ``missed`` tells what runs without it then.
    """

    code: str
    runs: Literal["every", "some"]
    entries: tuple[str, ...]
    missed: tuple[str, ...]


class KeptPatch(Struct, frozen=True, kw_only=True):
    """A patch as ``patch list`` tells it: what it changes, and on which paths that runs."""

    name: str
    reason: str
    version: str
    patched: bool
    files: tuple[str, ...]
    functions: tuple[str, ...]
    paths: tuple[KeptPath, ...] = ()


class KeptPatches(Struct, frozen=True, kw_only=True):
    """The answer of ``patch list``: what a file holds."""

    file: str
    patches: tuple[KeptPatch, ...]
    schema: int = 1


def patch_fails(point: PatchPoint, fail_on: Severity, *, strict: bool = False) -> bool:
    """Does this point make the run fail?"""
    if point.status in ("holds", "unknown"):
        return strict and point.status == "unknown"
    order = tuple(Severity)
    return order.index(Severity(point.status)) <= order.index(fail_on)
