"""Whether a target runs on every path, for people at a terminal: the answer first."""

import ast
from collections.abc import Iterable, Iterator
from typing import TextIO

from pathaudit.reporters.escaping import visible
from pathaudit.reporters.phrases import (
    condition_text,
    counted,
    listed,
    shown_path,
    source_name,
)
from pathaudit.reporters.terminal import GLUE, Line, Page, cut, hanging, write_glued
from pathaudit.results.reaches import (
    EntryReach,
    Extent,
    Range,
    ReachReport,
    TargetReach,
)

_NARROWEST = 40
_INDENT = 12  # columns before what is said of an entry
_ROWS = 6  # ways of one kind that are shown of an entry
_WAYS = 3  # alternatives of a condition that are shown
_GROUPS = 8  # groups of classes that are shown
_WORDS = {
    Extent.EVERY: "on every path",
    Extent.SOME: "on some paths",
    Extent.NONE: "on no path",
    Extent.UNKNOWN: "not known",
}
_STYLES = {
    Extent.EVERY: "good",
    Extent.SOME: "warning",
    Extent.NONE: "error",
    Extent.UNKNOWN: "unknown",
}


def render(
    report: ReachReport,
    out: TextIO,
    *,
    width: int = 80,
    color: bool = False,
    verbose: bool = False,
) -> None:
    """Write the answer to ``out`` in ``width`` columns."""
    page = Page({}, max(width, _NARROWEST), verbose)
    write_glued(_lines(report, page), out, color)


def answer_of(report: ReachReport) -> tuple[Extent, str]:
    """The answer in one sentence; of a patch, of all that it adds."""
    outer = [target for target in report.targets if not target.within] or list(report.targets)
    if not report.standing:
        outer = [target for target in outer if target.entries] or outer
    if len(outer) == 1:
        return outer[0].extent, _sentence(outer[0])
    extents = {target.extent for target in outer}
    if len(extents) == 1:
        first = outer[0]
        return first.extent, f"{_sentence(first)} (all {len(outer)} parts)"
    parts = []
    for extent in (Extent.NONE, Extent.SOME, Extent.UNKNOWN, Extent.EVERY):
        found = [target for target in outer if target.extent is extent]
        if found:
            lines = ", ".join(str(target.line) for target in found[:4])
            more = "..." if len(found) > 4 else ""
            parts.append(f"{_WORDS[extent]}: {counted(len(found), 'part')} (line {lines}{more})")
    worst = next(x for x in (Extent.NONE, Extent.SOME, Extent.UNKNOWN) if x in extents)
    return worst, "; ".join(parts)


def _sentence(target: TargetReach) -> str:
    word = _WORDS[target.extent]
    if not target.entries:
        return f"{word}: {visible(target.reason)}" if target.reason else word
    if target.extent is Extent.EVERY:
        return f"{word} of {_methods(target.entries)}{_missing(target)}"
    if target.extent in (Extent.UNKNOWN, Extent.NONE):
        reason = next((entry.reason for entry in target.entries if entry.reason), "")
        return f"{word}: {visible(reason)}" if reason else f"{word} of {_methods(target.entries)}"
    every = _classes(target, Extent.EVERY)
    if not every:
        return f"{word}{_why_not(target)}{_missing(target)}"
    served = counted(len(every), "served class", "served classes")
    others = listed(_classes(target, Extent.SOME, Extent.NONE, Extent.UNKNOWN))
    methods = _methods(x for x in target.entries if x.extent is Extent.EVERY)
    text = f"{_WORDS[Extent.EVERY]} of {methods} in {served}, not in {others}"
    return f"{text}{_missing(target)}"


def _classes(target: TargetReach, *extents: Extent) -> list[str]:
    found = (name for x in target.entries if x.extent in extents for name in x.classes)
    return list(dict.fromkeys(found))


def _methods(entries: Iterable[EntryReach]) -> str:
    return " and ".join(dict.fromkeys(visible(entry.method) for entry in entries))


def _why_not(target: TargetReach) -> str:
    """What keeps a target from running, on the path that most classes share."""
    for entry in target.entries:
        structural = [x for x in entry.bypasses if not x.beside]
        if structural:
            return f" of {visible(entry.method)}: bypassed {_bypass(structural[0])}"
    for entry in target.entries:
        runs = [x for x in entry.runs if x.condition != "always"]
        if entry.extent is Extent.SOME and runs:
            return f" of {visible(entry.method)}: only {_where(runs[0])}"
    return ""


def _missing(target: TargetReach) -> str:
    methods = dict.fromkeys(name.rpartition(".")[2] for name in target.absent)
    return f"; absent from {' and '.join(map(visible, methods))}" if methods else ""


def _bypass(found: Range) -> str:
    parts = []
    if found.variant:
        parts.append(f"by {visible(found.variant)}")
    if found.layers:
        parts.append(f"for layers {visible(found.layers).replace(' ', GLUE)}")
    parts.append(_when(found))
    flags = f" ({visible(found.controls[0])})" if found.controls else ""
    return ", ".join(parts) + flags


def _when(found: Range) -> str:
    if found.condition != "always":
        return f"when {_shortened(found.condition)}"
    return "always" if found.layers else "by what no test tells (an exception, an empty loop)"


def _where(found: Range) -> str:
    word = "where" if found.layers else "when"
    return f"{word} {_shortened(found.condition)}"


def _shortened(condition: str) -> str:
    """A condition; of many alternatives the shortest, and how many more there are."""
    try:
        node = ast.parse(condition, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return condition_text(condition)
    if not isinstance(node, ast.BoolOp) or isinstance(node.op, ast.And):
        return condition_text(condition)
    parts = [ast.get_source_segment(condition, value) or "" for value in node.values]
    if len(parts) <= _WAYS:
        return condition_text(condition)
    told = sorted(parts, key=len)[:_WAYS]
    texts = [f"({text})" if " and " in text else text for text in told]
    rest = counted(len(parts) - _WAYS, "more way")
    return f"{condition_text(' or '.join(texts))} or in {rest}"


# ---- the page ---------------------------------------------------------------------------------


def _lines(report: ReachReport, page: Page) -> Iterator[Line]:
    extent, text = answer_of(report)
    yield from hanging((), text, 0, page, _STYLES[extent])
    if report.standing:
        yield from hanging((), _standing(report), 0, page, "dim")
    for target in report.targets:
        yield ()
        yield from _target(target, report, page)
    if any(entry.runs for target in report.targets for entry in target.entries):
        for note in report.variants:
            yield ()
            yield from hanging(
                (("bold", f"{visible(note.title)}: "),), visible(note.remark), 4, page
            )
    yield ()
    yield from _end(report, page)


def _standing(report: ReachReport) -> str:
    name = visible(report.request)
    if name.startswith("git:"):
        return f"Judged is what the tree adds to {name}"
    if report.standing == "patched":
        return f"The tree has this patch: {name}"
    return f"The tree is without this patch, and judged with it: {name}"


def _target(target: TargetReach, report: ReachReport, page: Page) -> Iterator[Line]:
    within = f" in {visible(target.symbol)}" if target.symbol else ""
    last = f"-{target.last}" if target.last != target.line else ""
    place = f"{shown_path(target.file)}:{target.line}{last}"
    yield from hanging((), f"{place}{within}".replace(f"{GLUE}", " "), 4, page, "bold")
    yield (("", "    "), ("dim", cut(visible(target.text), page.width - 4)))
    if len(report.targets) > 1:
        yield from hanging((("", "    "),), _sentence(target), 4, page, _STYLES[target.extent])
    if len(target.places) > 1:
        rest = ", ".join(shown_path(x) for x in target.places[:_ROWS])
        more = f" and {len(target.places) - _ROWS} more" if len(target.places) > _ROWS else ""
        yield from hanging((("", "    matches "),), f"{rest}{more}", 4, page)
    for note in target.notes:
        yield from hanging((("", "    "),), visible(note), 4, page)
    groups = target.entries if page.verbose else target.entries[:_GROUPS]
    for entry in groups:
        yield from _entry(entry, page)
    if len(groups) < len(target.entries):
        yield (("dim", f"  ... and {len(target.entries) - len(groups)} more groups of classes"),)
    if target.absent:
        yield from hanging((("bold", "  absent    "),), _absent(target, page), _INDENT, page)


def _absent(target: TargetReach, page: Page) -> str:
    methods: dict[str, list[str]] = {}
    for name in target.absent:
        cls, _, method = name.rpartition(".")
        methods.setdefault(method, []).append(cls)
    return "; ".join(
        f"{visible(method)} of {listed(classes, page.verbose)}"
        for method, classes in methods.items()
    )


def _entry(entry: EntryReach, page: Page) -> Iterator[Line]:
    names = listed(entry.classes, page.verbose)
    drafts = " (drafts)" if entry.drafts == entry.classes else ""
    lead: Line = (("bold", "  "),)
    text = f"{visible(entry.method)} of {names}{drafts}: {_WORDS[entry.extent]}"
    yield from hanging(lead, text, 4, page, _STYLES[entry.extent])
    if len(entry.chain) > 1:
        yield from hanging((("dim", "    way     "),), _chain(entry), _INDENT, page, "dim")
    if entry.given:
        yield from hanging(
            (("dim", "    given   "),), visible("; ".join(entry.given)), _INDENT, page
        )
    for found in entry.runs[:_ROWS]:
        if found.layers or found.condition != "always":
            yield from hanging((("", "    runs    "),), _run(found), _INDENT, page)
    structural = [x for x in entry.bypasses if not x.beside]
    for found in structural[:_ROWS]:
        yield from _bypassed(found, page)
    if len(structural) > _ROWS:
        yield (("dim", f"    ... and {len(structural) - _ROWS} more"),)
    for condition in entry.raises[:1] if entry.extent is Extent.NONE else ():
        text = f"it runs, and the path raises, {_when(_call(condition))}"
        yield from hanging((("", "    raises  "),), text, _INDENT, page)
    if entry.reason:
        word = "why     " if entry.extent is Extent.NONE else "unsure  "
        yield from hanging((("unknown", f"    {word}"),), visible(entry.reason), _INDENT, page)


def _call(condition: str) -> Range:
    return Range(layers="", condition=condition, file="", line=0)


def _chain(entry: EntryReach) -> str:
    file = ""
    parts = []
    for hop in entry.chain:
        place = f"{shown_path(hop.file)}:{hop.line}" if hop.file != file else f":{hop.line}"
        file = hop.file
        parts.append(f"{visible(hop.symbol)} ({place})".replace(" ", GLUE))
    return " > ".join(parts)


def _run(found: Range) -> str:
    if not found.layers:
        return _when(found)
    layers = f"layers {visible(found.layers)}"
    at = f"at {shown_path(found.file)}:{found.line}"
    return f"{layers} {at}" + ("" if found.condition == "always" else f", {_where(found)}")


def _bypassed(found: Range, page: Page) -> Iterator[Line]:
    lead: Line = (("warning", "    without "),)
    if found.layers:
        to = f" go to {visible(found.by)}" if found.by else " run"
        at = f" at {shown_path(found.file)}:{found.line}"
        yield from hanging(lead, f"layers {visible(found.layers)}{to}{at}", _INDENT, page)
        lead = (("", " " * _INDENT),)
    yield from hanging(lead, _when(found), _INDENT, page)
    told = [x for x in (found.variant, *found.controls) if x]
    if told:
        text = "; ".join(visible(x) for x in told)
        yield from hanging((("", " " * _INDENT),), text, _INDENT, page, "dim")


def _end(report: ReachReport, page: Page) -> Iterator[Line]:
    classes = {name for x in report.targets for entry in x.entries for name in entry.classes}
    reach = "reaches" if len(classes) == 1 else "reach"
    told = (
        f"{len(classes)} of {counted(report.entries, 'served class', 'served classes')} {reach} it"
    )
    text = f"{told} in {source_name(report.source)}"
    if report.others:
        text += f"; no part of it: {listed(report.others)}"
    if report.gaps:
        text += f"; {counted(len(report.gaps), 'gap')}"
    yield from hanging((), text, 2, page, "dim")
