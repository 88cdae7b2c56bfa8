"""Many versions, one row each, and the story of one class, for people at a terminal."""

from collections.abc import Iterator, Sequence
from typing import TextIO

from pathaudit.reporters.escaping import visible
from pathaudit.reporters.phrases import counted, listed
from pathaudit.reporters.terminal import GLUE, Line, Page, cut, hanging, padded, paint
from pathaudit.results import Source
from pathaudit.results.versions import Bisection, History, Moment, RuleCount, State, Trace, Turn

_NARROWEST = 40
_LABEL = 32
_STYLES = {State.BROKEN: "error", State.UNKNOWN: "unknown", State.HOLDS: "good"}
_SAID = {
    State.BROKEN: "broken",
    State.LATENT: "latent: none that fails a scan",
    State.UNKNOWN: "unknown",
    State.HOLDS: "holds",
    State.UNJUDGED: "not judged",
    State.ABSENT: "not there",
}


def render(history: History, out: TextIO, *, width: int = 80, color: bool = False) -> None:
    """Write the table, or the story of a class if there is one, to ``out``."""
    page = Page({}, max(width, _NARROWEST), verbose=False)
    encoding = out.encoding or "utf-8"
    lines = _story(history.trace, page) if history.trace else _table(history, page)
    for line in lines:
        text = "".join(paint(style, text) if color else text for style, text in line)
        out.write(text.encode(encoding, "backslashreplace").decode(encoding).rstrip() + "\n")


# ---- the table ----------------------------------------------------------------------------------


def _table(history: History, page: Page) -> Iterator[Line]:
    names = [visible(rule) for rule in history.rules]
    labels = names_of([row.source for row in history.rows])
    cells = [[cell_of(count) for count in row.counts] for row in history.rows]
    rests = [[str(row.entries), str(row.gaps)] for row in history.rows]
    wide = max(map(len, labels), default=0) + sum(len(x) + 2 for x in names) + 18 <= page.width
    heads = names if wide else [str(number) for number in range(1, len(names) + 1)]
    yield from _aligned(
        ["version", *heads, "entries", "gaps"],
        [[label, *row, *rest] for label, row, rest in zip(labels, cells, rests, strict=True)],
    )
    yield ()
    if not wide:
        for number, name in enumerate(names, start=1):
            yield (("", f"  {number:>2}  {name}"),)
        yield ()
    yield from hanging((), _LEGEND, 2, page)


_LEGEND = (
    "Findings that fail a scan; behind + those that do not, as their paths cannot run or they are "
    "too mild; behind ? those that could not be decided."
)


def cell_of(count: RuleCount) -> str:
    """Findings in a few characters: ``5+14?2``."""
    others = f"+{count.others}" if count.others else ""
    unknown = f"?{count.unknown}" if count.unknown else ""
    return f"{count.failing}{others}{unknown}"


def names_of(sources: Sequence[Source]) -> list[str]:
    """Short names that tell versions apart: their versions, unless these are not known."""
    versions = [source.version for source in sources]
    if None in versions or len(set(versions)) < len(versions):
        return [cut(visible(source.label), _LABEL) for source in sources]
    return [cut(visible(version or ""), _LABEL) for version in versions]


def _aligned(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[Line]:
    """Columns of text: the first to the left, numbers to the right."""
    sizes = [max(len(row[x]) for row in (head, *rows)) for x in range(len(head))]
    for style, row in (("bold", head), *(("", row) for row in rows)):
        first = padded(row[0], sizes[0])
        rest = (text.rjust(size) for text, size in zip(row[1:], sizes[1:], strict=True))
        yield ((style, "  ".join((first, *rest))),)


# ---- the story ----------------------------------------------------------------------------------


def _story(trace: Trace, page: Page) -> Iterator[Line]:
    labels = names_of([moment.source for moment in trace.moments])
    size = max(map(len, labels), default=0)
    yield (("bold", f"{visible(trace.rule)} of {visible(trace.entry)}:"),)
    for label, moment in zip(labels, trace.moments, strict=True):
        style = _STYLES.get(moment.state, "")
        text = "  ".join(filter(None, (_SAID[moment.state], listed(moment.places))))
        lead = (("", f"  {padded(label, size)}  "),)
        yield from hanging(lead, text, size + 6, page, style)
    yield ()
    named = dict(zip((id(x) for x in trace.moments), labels, strict=True))
    for turn in trace.turns:
        yield from _turn(turn, trace, named, page)
    yield from hanging((), _ending(trace, labels), 2, page)
    if any(moment.state is State.UNJUDGED for moment in trace.moments):
        yield from hanging((), _UNJUDGED, 2, page)


_UNJUDGED = (
    "Not judged: the class is there, but the rule does not look at it, as where nothing switches "
    "the feature on."
)


def _turn(turn: Turn, trace: Trace, named: dict[int, str], page: Page) -> Iterator[Line]:
    before, after = _label(turn.before, trace, named), _label(turn.after, trace, named)
    states = f"{turn.before.state} -> {turn.after.state}"
    change = turn.change if turn.change != "changed" else f"changed ({states})"
    style = {"broke": "error", "fixed": "good"}.get(turn.change, "bold")
    yield from hanging(((style, change), ("", " ")), f"after {before}, in {after}", 2, page)
    if turn.bisection is not None:
        yield from _bisection(turn.bisection, page)


def _label(moment: Moment, trace: Trace, named: dict[int, str]) -> str:
    return next(named[id(x)] for x in trace.moments if x == moment)


def _bisection(found: Bisection, page: Page) -> Iterator[Line]:
    looked = f"{found.judged} of {counted(found.commits, 'commit')} judged"
    if len(found.first) > 1:
        text = f"by one of {len(found.first)} commits, which cannot be told apart ({looked}):"
    else:
        text = f"by this commit ({looked}):"
    yield from hanging((("", "  "),), text, 4, page)
    for commit in found.first[:10]:
        text = f"{visible(commit.id)[:12]} {visible(commit.date)} ".replace(" ", GLUE)
        yield from hanging((("", "    "),), f"{text}{visible(commit.subject)}", 6, page)


def _ending(trace: Trace, labels: Sequence[str]) -> str:
    """What is true in the end, and since when."""
    last = trace.moments[-1].state
    since = len(trace.moments) - 1
    while since and trace.moments[since - 1].state is last:
        since -= 1
    said = _SAID[last].partition(":")[0]
    if not since:
        return f"{said} in all of {counted(len(labels), 'version')}"
    if since == len(labels) - 1:
        return f"{said} in {labels[-1]}, the last"
    return f"{said} from {labels[since]} to {labels[-1]}"
