"""Where hooks fire, as Markdown; what comes from the audited code stands in code spans."""

from collections.abc import Iterator
from typing import TextIO

from pathaudit.reporters.hook_rows import (
    HOWS,
    Row,
    meanings,
    place_text,
    rows_of,
    same_as_first,
    word_of,
)
from pathaudit.reporters.markdown_text import cell, cells, code, escaped
from pathaudit.reporters.terminal import write_plain
from pathaudit.results.hooks import HookGroup, HookPlace, HooksReport


def render(report: HooksReport, out: TextIO) -> None:
    """Write a table for each group of served classes, and the places behind its cells."""
    write_plain(_lines(report), out)


def _lines(report: HooksReport) -> Iterator[str]:
    version = f" ({code(report.source.version)})" if report.source.version else ""
    yield f"### pathaudit hooks: {code(report.source.label)}{version}"
    yield ""
    yield escaped(report.answer)
    for group in report.groups:
        yield from _group(group)
    yield ""
    yield from (f"- `{word}`: {escaped(text)}" for word, text in meanings(report.groups))


def _group(group: HookGroup) -> Iterator[str]:
    rows = rows_of(group.modules)
    yield ""
    yield f"#### {', '.join(map(code, group.entries))}"
    yield ""
    yield f"| module | class | {' | '.join(escaped(x.title) for x in group.variants)} |"
    yield f"|{' --- |' * (len(group.variants) + 2)}"
    for row in rows:
        words = " | ".join(f"`{word_of(x)}`" for x in row.cells)
        path = cell(row.path) or "the served class itself"
        yield f"| {path} | {cells(row.names)} | {words} |"
    yield ""
    yield "<details><summary>The places behind the cells</summary>"
    yield ""
    for row in rows:
        yield from _places(row, group)
    yield ""
    yield "</details>"


def _places(row: Row, group: HookGroup) -> Iterator[str]:
    yield f"- {code(row.path) or code(row.names[0])}"
    for number, (variant, item) in enumerate(zip(group.variants, row.cells, strict=True)):
        if variant.replays or not item.places:
            continue
        same = f", as on {escaped(group.variants[0].title)}" if same_as_first(row, number) else ""
        yield f"  - {escaped(variant.title)}: {escaped(item.answer)}{same}"
        yield from (f"    - {_place(place)}" for place in item.places if not same)


def _place(place: HookPlace) -> str:
    parts = [f"{code(place_text(place))} {HOWS[place.how]}: {code(place.text)}"]
    parts += [f"layers {code(place.layers)}"] if place.layers else []
    parts += [f"by way of {code(place.via)}"] if place.via else []
    parts += [f"when {code(' and '.join(place.when))}"] if place.when else []
    return ", ".join(parts)
