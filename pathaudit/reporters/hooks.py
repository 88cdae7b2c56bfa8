"""Where hooks fire, for people at a terminal: the answer, the table, and the places behind it."""

from collections.abc import Iterator, Sequence
from typing import TextIO

from rich.cells import cell_len

from pathaudit.reporters.escaping import visible
from pathaudit.reporters.hook_rows import (
    HOWS,
    Row,
    meanings,
    place_text,
    rows_of,
    same_as_first,
    word_of,
)
from pathaudit.reporters.phrases import condition_text, counted, listed, shown_path, source_name
from pathaudit.reporters.terminal import Line, Page, hanging, padded, write_glued
from pathaudit.results.hooks import HookCell, HookGroup, HookPlace, HooksReport

_NARROWEST = 60
_COLUMN = 8
_TESTS = 2  # innermost tests around a place that are shown
_FEW = 6  # rows whose places are shown without being asked for
_STYLES = {
    "fires": "good",
    "partly": "warning",
    "patch only": "warning",
    "hook only": "warning",
    "no": "error",
    "raises": "error",
    "replay": "note",
    "not run": "dim",
    "unknown": "unknown",
}


def render(
    report: HooksReport,
    out: TextIO,
    *,
    width: int = 80,
    color: bool = False,
    verbose: bool = False,
) -> None:
    """Write the answer to ``out`` in ``width`` columns; ``verbose`` shows all places."""
    page = Page({}, max(width, _NARROWEST), verbose=True)
    write_glued(_lines(report, page, verbose), out, color)


def _lines(report: HooksReport, page: Page, verbose: bool) -> Iterator[Line]:
    yield from hanging((), visible(report.answer), 0, page, "bold")
    for group in report.groups:
        yield ()
        yield from _group(group, page, verbose)
    yield ()
    for word, text in meanings(report.groups):
        yield from hanging((("", padded(f"  {word}", 10)),), text, 10, page, "dim")
    if report.void:
        text = f"{', '.join(map(visible, report.void))}: the code known of it is not in this tree"
        yield from hanging((("", "not told: "),), text, 2, page)
    for gap in report.gaps:
        lead = (("note", "note"), ("", ": "))
        where = f"{shown_path(gap.file)}:{gap.line}: {visible(gap.message)}"
        yield from hanging(lead, where, 6, page)
    classes = len({name for group in report.groups for name in group.entries})
    told = counted(classes, "served class", "served classes")
    yield from hanging((), f"{told} in {source_name(report.source)}", 2, page)


def _group(group: HookGroup, page: Page, verbose: bool) -> Iterator[Line]:
    rows = rows_of(group.modules)
    names = listed(group.entries, everything=verbose)
    yield from hanging((("bold", ""),), f"{names}  {shown_path(group.file)}", 2, page, "bold")
    room = page.width - _COLUMN * len(group.variants)
    heads = "".join(padded(visible(x.short), _COLUMN) for x in group.variants).rstrip()
    yield (("dim", padded("module", room)), ("dim", heads))
    for row in rows:
        yield from _row(row, room)
    for title in group.alike:
        yield from hanging((("dim", "  "),), f"{visible(title)} runs as forward does", 2, page)
    if verbose or len(rows) <= _FEW:
        for row in rows:
            yield from _places(row, group, page, verbose)
    else:
        yield (("dim", f"  {counted(len(rows), 'row')}; --verbose shows the places behind them"),)


def _row(row: Row, room: int) -> Iterator[Line]:
    """The path with the cells, and the class below it; both below where the path is too long."""
    path = visible(row.path) or "the served class itself"
    more = f" and {len(row.names) - 1} more" if len(row.names) > 1 else ""
    name = f"  {_short(row.names[0])}{more}"
    *first, last = row.cells
    painted = [(_STYLES[x.answer], padded(word_of(x), _COLUMN)) for x in first]
    cells = (*painted, (_STYLES[last.answer], word_of(last)))
    if cell_len(path) < room:
        yield (("", padded(path, room)), *cells)
        yield (("dim", name),)
    elif cell_len(name) < room:
        yield (("", path),)
        yield (("dim", padded(name, room)), *cells)
    else:
        yield (("", path),)
        yield (("dim", name),)
        yield (("", " " * room), *cells)


def _short(name: str) -> str:
    """``nn.Linear``, as code has it."""
    return visible(name.removeprefix("torch."))


def _places(row: Row, group: HookGroup, page: Page, verbose: bool) -> Iterator[Line]:
    yield ()
    names = listed([_short(name) for name in row.names])
    title = f"{visible(row.path)} ({names})" if row.path else names
    made = f", made at {', '.join(map(shown_path, row.made))}" if row.made else ""
    yield from hanging((("bold", ""),), f"{title}{made}", 2, page)
    for number, (variant, cell) in enumerate(zip(group.variants, row.cells, strict=True)):
        lead: Line = (("", "  "), (_STYLES[cell.answer], f"{visible(variant.title)}: "))
        text = _summary(cell)
        if variant.replays:
            shown = f" ({shown_path(variant.place)})" if cell.answer == "replay" else ""
            if cell.answer == "unknown" and row.cells[0].answer != "unknown":
                text = "not known: what holds the layers, and is recorded, was not found"
            yield from hanging(lead, f"{text}{shown}", 4, page)
        elif same_as_first(row, number):
            yield from hanging(lead, f"{text}, as on {visible(group.variants[0].title)}", 4, page)
        else:
            yield from hanging(lead, text, 4, page)
            for place in cell.places:
                yield from _place(place, page, verbose)


def _summary(cell: HookCell) -> str:
    if cell.answer == "replay":
        return "no Python runs"
    if cell.answer == "unknown" and not cell.places:
        return "not known: no place was found that runs it"
    return visible(cell.answer) + (", and perhaps elsewhere" if cell.open else "")


def _place(place: HookPlace, page: Page, verbose: bool) -> Iterator[Line]:
    yield from hanging((("step", "    "),), place_text_shown(place), 6, page, "step")
    text = visible(place.text) if place.how == "recipe" else condition_text(place.text)
    told = f"{HOWS[place.how]}: {text}"
    parts: Sequence[str] = (
        told,
        f"layers {visible(place.layers)}" if place.layers else "",
        f"in {visible(place.within)}" if place.within else "",
        f"by way of {shown_path(place.via)}" if place.via else "",
    )
    yield from hanging((("", "      "),), ", ".join(filter(None, parts)), 6, page)
    if place.when:
        tests = place.when if verbose else place.when[-_TESTS:]
        left = "..., and " if len(tests) < len(place.when) else ""
        text = left + " and ".join(map(condition_text, tests))
        yield from hanging((("dim", "      when "),), text, 11, page, "dim")


def place_text_shown(place: HookPlace) -> str:
    """File and lines, never cut nor broken."""
    return shown_path(place_text(place))
