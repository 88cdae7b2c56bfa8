"""The answer in a sentence or two, and what to change."""

from msgspec import Struct

from pathaudit.live.variants import IMPOSSIBLE, POSSIBLE, REFUSES, UNKNOWN
from pathaudit.results import Report, Verdict
from pathaudit.results.live import Variant
from pathaudit.ruleset.serving import Control

NO_START = "startup"


class Answered(Struct, frozen=True, eq=False):
    """What was found out; ``basis`` says what it rests on, if that is not what was asked."""

    variants: tuple[Variant, ...]
    requested: tuple[int, ...] | None
    basis: str
    report: Report | None


def answer_of(found: Answered) -> str:
    """The sentences that a person reads first, and perhaps only."""
    stopped = next((x for x in found.variants if x.name == NO_START), None)
    if stopped is not None:
        return f"The server does not start: {stopped.reason}."
    refused = next((x for x in found.variants if x.reason.startswith(REFUSES)), None)
    if refused is not None:
        return f"{refused.reason[:1].upper()}{refused.reason[1:]}."
    said = [found.basis, *_captures(found), *_control(found)]
    return " ".join(filter(None, said))


def _captures(found: Answered) -> list[str]:
    """What is lost, what may be, and what is captured on the path that runs."""
    if not found.requested:
        return []
    losing = [x for x in found.variants if x.lost and x.state == POSSIBLE]
    unsure = [x for x in found.variants if x.state == UNKNOWN and x.condition and x.selects]
    said = [*map(_loss, losing), *map(_doubt, unsure)]
    plain = next((x for x in found.variants if x.name == "forward"), None)
    captured = plain.captured if plain is not None and plain.captured else ()
    if not said:
        listed = _list(found.requested)
        return [f"All requested layers ({listed}) are captured on every path that can run."]
    if captured:
        verb = "is" if len(captured) == 1 else "are"
        ends = all(x.condition == "always" for x in (*losing, *unsure))
        who = "What else was asked for" if ends else "Without it,"
        rest = f"({_list(captured)}) is" if ends else f"{_list(captured)} {verb}"
        said.append(f"{who} {rest} captured on the path that runs.")
    return said


def _list(layers: tuple[int, ...]) -> str:
    return ", ".join(map(str, layers))


def _layers(layers: tuple[int, ...]) -> str:
    one = len(layers) == 1
    return f"layer {layers[0]} is" if one else f"layers {_list(layers)} are"


def _loss(item: Variant) -> str:
    place = "" if item.condition == "always" else f" when {item.title} runs, which it can"
    return f"Requested {_layers(item.lost)} lost{place} ({item.reason})."


def _doubt(item: Variant) -> str:
    lost = f"; if it does, requested {_layers(item.lost)} lost" if item.lost else ""
    return f"Not known whether {item.title} can run ({item.reason}){lost}."


def _control(found: Answered) -> list[str]:
    """The first of the variants that arguments select, if nothing was said of it yet."""
    selected = (x for x in found.variants if x.selects and x.name != "forward")
    first = next((x for x in selected if x.condition != "always"), None)
    if first is None or (found.requested and first.condition and first.state != IMPOSSIBLE):
        return []
    title = first.title[:1].upper() + first.title[1:]
    can = {POSSIBLE: "can run", IMPOSSIBLE: "cannot run"}.get(first.state)
    if can is None:
        return [f"Not known whether {first.title} can run: {first.reason}."]
    return [f"{title} {can} ({first.reason})."]


def advice_of(found: Answered, controls: tuple[tuple[Control, Variant], ...]) -> tuple[str, ...]:
    """What to change, so that nothing that was asked for is lost."""
    advice: list[str] = []
    for item in found.variants:
        if not item.lost or item.state == IMPOSSIBLE:
            continue
        control = next((x for x, y in controls if y.name == item.name), None)
        if item.name == "pp_not_last_rank":
            control = None
        flags = [name for need in control.needs for name in need.fields[:1]] if control else []
        for name in flags:
            flag = "--" + name.replace("_", "-")
            advice.append(f"start without {flag} while these layers are asked for")
        if item.name == "pp_not_last_rank":
            advice.append("start with one pipeline stage, or ask for layers of the last one")
        elif item.title in ("first layer", "after the last layer", "no such layer"):
            advice.append(f"ask the draft for other layers than {_list(item.lost)}")
        advice += [fix for fix in _fixes(found, item) if fix]
    return tuple(dict.fromkeys(advice))


def _fixes(found: Answered, item: Variant) -> list[str]:
    findings = found.report.findings if found.report is not None else ()
    return [
        f"or, in the code: {' '.join(x.fix.split())}"
        for x in findings
        if f"{x.file}:{x.line}" == item.place and x.verdict is Verdict.VIOLATED
    ]
