"""What became of patches, as text for people: the answer first, then why."""

from collections.abc import Iterator
from typing import TextIO

from pathaudit.reporters.escaping import visible
from pathaudit.reporters.phrases import counted, shown_path, source_name
from pathaudit.reporters.terminal import Line, Page, hanging, write_glued
from pathaudit.results.patches import (
    KeptPatch,
    KeptPatches,
    KeptPath,
    PatchAnswer,
    PatchesReport,
    PatchPoint,
)

_NARROWEST = 40
_STATUS = 9  # columns of the status of a point
_STYLES = {"error": "error", "warning": "warning", "note": "note", "holds": "good"}
_SOUND = {
    "patched": "is in the tree, and what it needs is there",
    "unpatched": "fits, and what it needs is there",
    "neither": "what it needs is there",
}


def render(
    report: PatchesReport,
    out: TextIO,
    *,
    width: int = 80,
    color: bool = False,
    verbose: bool = False,
) -> None:
    """Write the answer to ``out`` in ``width`` columns; ``verbose``, also what holds."""
    page = Page({}, max(width, _NARROWEST), verbose)
    write_glued(_lines(report, page), out, color)


def render_kept(kept: KeptPatches, out: TextIO, *, width: int = 80) -> None:
    """Write what a file keeps to ``out`` in ``width`` columns."""
    page = Page({}, max(width, _NARROWEST), verbose=True)
    write_glued(_kept_lines(kept, page), out, color=False)


def render_patch(item: KeptPatch, out: TextIO, *, width: int = 80) -> None:
    """Write what is kept of one patch to ``out`` in ``width`` columns."""
    write_glued(_kept_patch(item, Page({}, max(width, _NARROWEST), verbose=True)), out, color=False)


# ---- patch check ------------------------------------------------------------------------------


def _lines(report: PatchesReport, page: Page) -> Iterator[Line]:
    yield from hanging((("bold", ""),), _answer(report), 2, page, "bold")
    for item in report.patches:
        yield ()
        yield from _patch(item, page)


def _answer(report: PatchesReport) -> str:
    where = source_name(report.source)
    count = len(report.patches)
    if not count:
        return f"There are no patches to check in {where}"
    stale = [item for item in report.patches if item.faults]
    if not stale:
        return f"{'The patch holds' if count == 1 else f'All {count} patches hold'} in {where}"
    if count == 1:
        return f"The patch does not hold in {where}"
    return (
        f"{len(stale)} of {count} patches {'does' if len(stale) == 1 else 'do'} not hold in {where}"
    )


def _patch(item: PatchAnswer, page: Page) -> Iterator[Line]:
    name = visible(item.name)
    told = [point for point in item.points if page.verbose or point.status != "holds"]
    yield from hanging((("bold", f"{name}: "),), _headline(item), 4, page)
    if item.reason:
        yield from hanging((("dim", "  for: "),), visible(item.reason), 7, page, "dim")
    for point in told:
        yield from _point(point, page)


def _headline(item: PatchAnswer) -> str:
    counts = [
        counted(len(found), what)
        for what in ("error", "warning", "note")
        if (found := [point for point in item.points if point.status == what])
    ]
    unknown = [point for point in item.points if point.status == "unknown"]
    counts += [f"{len(unknown)} unknown"] if unknown else []
    if any(point.status in ("error", "warning", "note") for point in item.points):
        return ", ".join(counts)
    told = ", as far as can be told" if unknown else ""
    return "; ".join([f"{_SOUND[item.standing]}{told}", *counts])


def _point(point: PatchPoint, page: Page) -> Iterator[Line]:
    style = _STYLES.get(point.status, "unknown")
    yield (
        (style, f"  {point.status:{_STATUS}}"),
        ("", f"{shown_path(point.file)}:{point.line}"),
    )
    indent = _STATUS + 2
    margin = (("", " " * indent),)
    yield from hanging(margin, visible(point.text), indent, page)
    if point.effect:
        yield from hanging(margin, visible(point.effect), indent, page, "dim")


# ---- patch list -------------------------------------------------------------------------------


def _kept_lines(kept: KeptPatches, page: Page) -> Iterator[Line]:
    for item in kept.patches:
        yield from _kept_patch(item, page)
        yield ()
    yield (("", f"{counted(len(kept.patches), 'patch', 'patches')} in {visible(kept.file)}"),)


def _kept_patch(item: KeptPatch, page: Page) -> Iterator[Line]:
    version = f" of {visible(item.version)}" if item.version else ""
    how = f"in the tree{version}" if item.patched else f"on top of the tree{version}"
    yield (("bold", visible(item.name)), ("", f": noted {how}"))
    if item.reason:
        yield from hanging((("", "  for: "),), visible(item.reason), 7, page)
    for file in item.files:
        yield from hanging((("", "  "),), shown_path(file), 4, page)
    if item.functions:
        changes = ", ".join(visible(name) for name in item.functions)
        yield from hanging((("", "  changes "),), changes, 4, page)
    for path in item.paths:
        yield from _kept_path(path, page)


def _kept_path(path: KeptPath, page: Page) -> Iterator[Line]:
    paths = "every path" if path.runs == "every" else "some paths"
    text = f"`{visible(path.code)}` on {paths} of {', '.join(map(visible, path.entries))}"
    yield from hanging((("", "  runs    "),), text, 4, page)
    for missed in path.missed:
        yield from hanging((("", "    without it "),), visible(missed), 6, page)
