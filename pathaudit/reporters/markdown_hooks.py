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
from pathaudit.reporters.markdown import code, escaped
from pathaudit.results.hooks import HookGroup, HookPlace, HooksReport


def render(report: HooksReport, out: TextIO) -> None:
    """Write a table for each group of served classes, and the places behind its cells."""
    encoding = out.encoding or "utf-8"
    for line in _lines(report):
        out.write(line.encode(encoding, "backslashreplace").decode(encoding) + "\n")


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
        cells = " | ".join(f"`{word_of(cell)}`" for cell in row.module.cells)
        path = code(row.path) or "the served class itself"
        yield f"| {path} | {', '.join(map(code, row.names))} | {cells} |"
    yield ""
    yield "<details><summary>The places behind the cells</summary>"
    yield ""
    for row in rows:
        yield from _places(row, group)
    yield ""
    yield "</details>"


def _places(row: Row, group: HookGroup) -> Iterator[str]:
    yield f"- {code(row.path) or code(row.names[0])}"
    for number, (variant, cell) in enumerate(zip(group.variants, row.module.cells, strict=True)):
        if variant.replays or not cell.places:
            continue
        same = f", as on {escaped(group.variants[0].title)}" if same_as_first(row, number) else ""
        yield f"  - {escaped(variant.title)}: {escaped(cell.answer)}{same}"
        yield from (f"    - {_place(place)}" for place in cell.places if not same)


def _place(place: HookPlace) -> str:
    parts = [f"{code(place_text(place))} {HOWS[place.how]}: {code(place.text)}"]
    parts += [f"layers {code(place.layers)}"] if place.layers else []
    parts += [f"by way of {code(place.via)}"] if place.via else []
    parts += [f"when {code(place.when)}"] if place.when else []
    return ", ".join(parts)
