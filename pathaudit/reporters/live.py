"""What a server runs, for people at a terminal: the answer first, then what it rests on."""

from collections.abc import Iterator
from typing import TextIO

from pathaudit.reporters.escaping import visible
from pathaudit.reporters.phrases import condition_text, source_name
from pathaudit.reporters.terminal import Line, Page, cut, hanging, padded, write_glued
from pathaudit.results.live import Argument, LiveReport, Variant

_NARROWEST = 40
_WORDS = {"possible": "can run", "impossible": "cannot run", "unknown": "not known"}
_STYLES = {"possible": "", "impossible": "dim", "unknown": "unknown"}
_SHOWN = 14  # arguments, unless all are asked for


def render(
    report: LiveReport,
    out: TextIO,
    *,
    width: int = 80,
    color: bool = False,
    verbose: bool = False,
) -> None:
    """Write the answer to ``out`` in ``width`` columns."""
    page = Page({}, max(width, _NARROWEST), verbose=True)
    write_glued(_lines(report, page, verbose), out, color)


def _lines(report: LiveReport, page: Page, verbose: bool) -> Iterator[Line]:
    yield from hanging((), visible(report.answer), 0, page, "bold")
    yield ()
    for variant in report.variants:
        yield from _variant(variant, report, page)
    yield ()
    yield from _table(report, page, verbose)
    for title, items in (("change", report.advice), ("note", report.notes)):
        for item in items:
            yield from hanging((("bold", f"{title}: "),), visible(item), 4, page)
    for item in report.ignored:
        yield from hanging((("bold", "no effect: "),), visible(item), 4, page)
    yield from hanging((("dim", ""),), _source(report), 0, page, "dim")


def _variant(variant: Variant, report: LiveReport, page: Page) -> Iterator[Line]:
    word = _WORDS[variant.state]
    if not variant.selects:
        word = {"possible": "on", "impossible": "off"}.get(variant.state, word)
    lead = padded(cut(visible(variant.title), 27), 28)
    style = "error" if variant.lost and variant.state == "possible" else _STYLES[variant.state]
    reason = f"{word}: {variant.reason}" if variant.reason else word
    yield from hanging((("bold", lead),), visible(reason), 28, page, style)
    yield from _rows(variant, report, page)


def _rows(variant: Variant, report: LiveReport, page: Page) -> Iterator[Line]:
    if variant.state == "impossible" and not variant.remark:
        return
    rows = []
    if variant.condition not in ("", "always"):
        rows.append(("when", condition_text(variant.condition)))
    if variant.state != "impossible" and variant.captured is not None and report.requested:
        rows.append(("captures", _layers(variant.captured)))
    if variant.lost:
        rows.append(("loses", _layers(variant.lost)))
    if variant.effect:
        rows.append(("effect", visible(variant.effect)))
    if variant.place:
        rows.append(("at", visible(variant.place)))
    if variant.remark and (variant.state != "impossible" or not variant.selects):
        rows.append(("", visible(variant.remark)))
    for name, text in rows:
        yield from hanging((("dim", padded(f"    {name}", 14)),), text, 14, page)


def _layers(layers: tuple[int, ...]) -> str:
    return ", ".join(map(str, layers)) if layers else "none"


def _table(report: LiveReport, page: Page, verbose: bool) -> Iterator[Line]:
    """The arguments that decide, and with ``verbose`` all others."""
    shown = report.arguments if verbose else report.arguments[:_SHOWN]
    width = min(max((len(x.name) for x in shown), default=0), 40)
    for argument in shown:
        lead = padded(visible(argument.name), width + 2)
        yield from hanging((("", lead),), _stated(argument), width + 2, page)
    if len(shown) < len(report.arguments):
        yield (("dim", f"{len(report.arguments) - len(shown)} more with --verbose"),)
    for name, value in report.environment.items():
        yield from hanging((("", f"{visible(name)}="),), visible(value) or "''", 4, page)
    yield ()


def _stated(argument: Argument) -> str:
    if argument.state == "set":
        return visible(argument.value) or "''"
    if argument.state == "unresolved":
        return f"not known: {visible(argument.value)}"
    return f"not stated (default {visible(argument.default)})" if argument.default else "not stated"


def _source(report: LiveReport) -> str:
    form = {
        "ServerArgs-repr": "a log line",
        "dict": "a log line",
        "command": "a command",
        "command-yaml": "a manifest",
        "server-info": "an answer of the server",
        "call": "a call in Python",
    }.get(report.form, report.form)
    whole = "" if report.complete else ", not whole"
    code = f"code of {source_name(report.source)}" if report.source is not None else "no code"
    version = f"version {visible(report.version)}" if report.version else "version not known"
    return f"Read from {form}{whole}; {version}; {code}"
