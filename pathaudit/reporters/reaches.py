"""Whether a target runs on every path, for people at a terminal: the answer first."""

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
from pathaudit.reporters.terminal import GLUE, Line, Page, cut, hanging, paint
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
    encoding = out.encoding or "utf-8"
    for line in _lines(report, page):
        text = "".join(paint(style, text) if color else text for style, text in line)
        text = text.replace(GLUE, " ").rstrip()
        out.write(text.encode(encoding, "backslashreplace").decode(encoding) + "\n")


def answer_of(report: ReachReport) -> tuple[Extent, str]:
    """The answer in one sentence; of a patch, of all that it adds."""
    outer = [target for target in report.targets if not target.within] or list(report.targets)
    if len(outer) == 1:
        return outer[0].extent, _sentence(outer[0])
    extents = {target.extent for target in outer}
    if len(extents) == 1:
        first = outer[0]
        return first.extent, f"{_sentence(first)}; so are all {len(outer)} parts"
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
    return f"{word}{_why_not(target)}{_missing(target)}"


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
    every = [entry for entry in target.entries if entry.extent is Extent.EVERY]
    if every:
        classes = {name for entry in every for name in entry.classes}
        return f": on every path of {counted(len(classes), 'served class', 'served classes')}"
    return ""


def _missing(target: TargetReach) -> str:
    methods = dict.fromkeys(name.rpartition(".")[2] for name in target.absent)
    return f"; absent from {' and '.join(map(visible, methods))}" if methods else ""


def _bypass(found: Range) -> str:
    parts = []
    if found.variant:
        parts.append(f"by {visible(found.variant)}")
    if found.layers:
        parts.append(f"for layers {visible(found.layers)}".replace(" ", GLUE))
    parts.append(_when(found))
    flags = f" ({visible(found.controls[0])})" if found.controls else ""
    return ", ".join(parts) + flags


def _when(found: Range) -> str:
    return "always" if found.condition == "always" else f"when {condition_text(found.condition)}"


def _where(found: Range) -> str:
    word = "where" if found.layers else "when"
    return f"{word} {condition_text(found.condition)}"


# ---- the page ---------------------------------------------------------------------------------


def _lines(report: ReachReport, page: Page) -> Iterator[Line]:
    extent, text = answer_of(report)
    yield from hanging((), text, 0, page, _STYLES[extent])
    if report.standing:
        had = "has it" if report.standing == "patched" else "does not have it yet, and was given it"
        yield from hanging((), f"The tree {had}: {visible(report.request)}", 0, page, "dim")
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
