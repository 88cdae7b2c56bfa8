"""What decides conditions, as text for people: the answer first, then the way to it by lines."""

from collections.abc import Iterator
from typing import TextIO

from pathaudit.decisions import GateAnswer, GateCheck, GateControl, GateHop, GatesReport
from pathaudit.reporters.escaping import visible
from pathaudit.reporters.phrases import counted, shown_path, source_name
from pathaudit.reporters.terminal import Line, Page, hanging, write_glued

_NARROWEST = 40
_KIND = 11  # columns of the kind of a step
_SHOWN = 6  # parts of a condition that are told by name
_SOURCES = {
    "known": "known",
    "slice": "traced",
    "check": "required at startup",
    "declared": "",
}
_DEFAULTS = {"False": "off", "True": "on", "None": "not set"}


def render(report: GatesReport, out: TextIO, *, width: int = 80, color: bool = False) -> None:
    """Write the answers to ``out`` in ``width`` columns."""
    page = Page({}, max(width, _NARROWEST), False)
    write_glued(_lines(report, page), out, color)


def default_of(control: GateControl) -> str:
    """The default of a control in words, empty where none is stated."""
    if control.default is None:
        return ""
    return f"default {_DEFAULTS.get(control.default, visible(control.default))}"


def _lines(report: GatesReport, page: Page) -> Iterator[Line]:
    for answer in report.answers:
        yield from _answer(answer, page)
        yield ()
    for gap in report.gaps:
        lead = (("note", "note"), ("", ": "))
        yield from hanging(lead, f"{shown_path(gap.file)}: {visible(gap.message)}", 6, page)
    told = counted(len(report.answers), "condition")
    yield (("", f"{told} in {source_name(report.source)}"),)


def _answer(answer: GateAnswer, page: Page) -> Iterator[Line]:
    style, text = _headline(answer)
    condition = visible(answer.condition)
    yield from hanging((("bold", ""),), f"{condition}:", 4, page, "bold")
    yield from hanging((("", "    "),), text, 4, page, style)
    where = f"{shown_path(answer.file)}:{answer.line}"
    within = f" in {visible(answer.symbol)}" if answer.symbol else ""
    others = f", and {counted(answer.places - 1, 'other place')}" if answer.places > 1 else ""
    yield from hanging((("dim", "  tested at "),), f"{where}{within}{others}", 4, page, "dim")
    for control in answer.controls:
        yield from _control(control, page)
    yield from _rest("decided at run time", answer.run_time, page)
    yield from _rest("not followed", answer.unresolved, page)
    for check in answer.checks:
        yield from _check(check, page)


def _headline(answer: GateAnswer) -> tuple[str, str]:
    if answer.status == "dead":
        return "warning", f"dead: it is always {visible(answer.value)}"
    if answer.status == "run time":
        return "note", "decided at run time; no flag was found that selects it"
    if answer.status == "not resolved":
        return "unknown", "not resolved"
    named = [x for x in answer.controls if x.source != "check"] or list(answer.controls)
    return "good", "; ".join(_named(x) for x in named)


def _named(control: GateControl) -> str:
    return ", ".join(filter(None, (visible(control.name), default_of(control))))


def _control(control: GateControl, page: Page) -> Iterator[Line]:
    yield ()
    if control.kind == "constant":
        lead: Line = (("bold", f"  {visible(control.name)}"),)
    else:
        lead = (("bold", f"  {_named(control)}"),)
    source = _SOURCES[control.source]
    yield (*lead, ("dim", f"  ({source})" if source else ""))
    if control.reason:
        yield from hanging((("", "    "),), visible(control.reason), 4, page)
    for hop in control.chain:
        yield from _hop(hop, page)


def _hop(hop: GateHop, page: Page) -> Iterator[Line]:
    lead = (("step", f"    {hop.kind:{_KIND}}"),)
    yield (*lead, ("", f"{shown_path(hop.file)}:{hop.line}"))
    indent = 4 + _KIND
    if hop.kind not in ("known", "check"):
        yield from hanging((("", " " * indent),), visible(hop.text), indent, page, "dim")


def _rest(title: str, parts: tuple[str, ...], page: Page) -> Iterator[Line]:
    if not parts:
        return
    more = f", and {len(parts) - _SHOWN} more" if len(parts) > _SHOWN else ""
    text = "; ".join(visible(x) for x in parts[:_SHOWN]) + more
    yield ()
    yield from hanging((("", f"  {title}: "),), text, 4, page)


def _check(check: GateCheck, page: Page) -> Iterator[Line]:
    place = f"{shown_path(check.file)}:{check.line}"
    yield ()
    yield (("", f"  refused at startup at {place}"),)
    yield from hanging((("", "    if "),), visible(check.condition), 7, page)
    if check.message:
        yield from hanging((("", "    "),), visible(check.message), 4, page, "dim")
