"""A call graph as a tree for people at a terminal."""

from collections import Counter
from collections.abc import Iterator
from typing import TextIO

from msgspec import Struct
from rich.cells import cell_len

from pathaudit.reporters.branches import CUT, Branch, branches, sentence, shown_mark, word_of
from pathaudit.reporters.escaping import visible
from pathaudit.reporters.phrases import counted, layers_run, shown_path, source_name, when
from pathaudit.reporters.terminal import GLUE, Line, wrap, write_glued
from pathaudit.results import GraphNode, GraphView

_NARROWEST = 40
_ROOM = 24  # columns that a text gets, however deep it stands, if there are three times as many
_LINES = 6  # lines of one text
_PLACE = 9  # columns of a line number with spaces in front
_STYLES = {"bypass": "error", "captures": "good", "unknown": "unknown"}
_RESOLUTIONS = {
    "hierarchy": "one of several that may be called",
    "unknown": "reached by calls that could not be followed",
}


class _Guides(Struct, frozen=True):
    """What is drawn in front of a node, and of what is below it."""

    fork: str
    end: str
    through: str
    remark: str
    blank: str = "   "


_FINE = _Guides("├─ ", "└─ ", "│  ", "│ ")
_ASCII = _Guides("|- ", "`- ", "|  ", "| ")


def render(view: GraphView, out: TextIO, *, width: int = 80, color: bool = False) -> None:
    """Write the graph to ``out`` in ``width`` columns, and below it what is in it by number.

    A function that is reached twice is written once and referred to the second time.
    """
    encoding = out.encoding or "utf-8"
    guides = _FINE if _can_write("├└│─", encoding) else _ASCII
    write_glued(_lines(view, guides, max(width, _NARROWEST)), out, color)


def _can_write(text: str, encoding: str) -> bool:
    return text.encode(encoding, "replace").decode(encoding) == text


def _lines(view: GraphView, guides: _Guides, width: int) -> Iterator[Line]:
    files: list[str] = []
    for branch in branches(view):
        del files[len(branch.last) :]
        yield from _Entry(branch, guides, width, files[-1] if files else "").lines()
        files.append(branch.body.file)
    if len(view.nodes) == 1:
        yield (("", f"{guides.end}runs no layers, as far as its calls could be followed"),)
    yield ()
    yield from _summary(view, width)


class _Entry:
    """One node: its text with the mark and the place on the right, and remarks below it."""

    def __init__(self, branch: Branch, guides: _Guides, width: int, file: str) -> None:
        self._branch = branch
        self._node = branch.node
        self._width = width
        self._least = min(_ROOM, width // 3)
        self._file = file  # the one that line numbers are of, where the node stands
        last = branch.last
        above = "".join(guides.blank if end else guides.through for end in last[:-1])
        first = above + ((guides.end if last[-1] else guides.fork) if last else "")
        below = above + ((guides.blank if last[-1] else guides.through) if last else "")
        self._first = self._near(first)
        self._more = self._near(below + ("  " if branch.leaf else guides.remark))

    def _near(self, guides: str) -> str:
        """As many guides as leave room for a text, those nearest to it."""
        room = self._width - self._least - 2 * _PLACE - 1
        return guides if len(guides) <= room else CUT + guides[len(guides) - room + len(CUT) :]

    def lines(self) -> Iterator[Line]:
        text = sentence(self._branch) + " (above)" * self._branch.again
        mark = f"  {self._mark()}" * bool(self._mark())
        place = self._place(cell_len(self._first + text + mark))
        first = self._width - cell_len(self._first + mark + place)
        first = max(first, min(self._least, cell_len(text)))
        room = max(self._width - cell_len(self._more), first)
        for number, part in enumerate(_shortened(wrap(text, room, room - first))):
            gap = " " * (first - cell_len(part))
            right = (("", gap), (self._mark_style(), mark), ("dim", place))
            start = self._more if number else self._first
            yield ("dim", start), (self._style(), part), *(() if number else right)
        for remark in self._remarks(placed="/" in place):
            for part in _shortened(wrap(remark, room)):
                yield ("dim", self._more), ("dim", part)

    def _mark(self) -> str:
        return shown_mark(self._node, self._branch.holder)

    def _mark_style(self) -> str:
        return _STYLES.get(self._node.mark, "dim")

    def _style(self) -> str:
        if self._node.kind == "function":
            return "bold"
        return "step" if self._node.kind == "arm" else ""

    def _place(self, used: int) -> str:
        """The line number; the file too if it is another one, as long as there is room."""
        if self._node.label == CUT:
            return ""
        if self._node.file == self._file:
            return f":{self._node.line}".rjust(_PLACE)
        place = f"  {_where(self._node)}"
        return place if used + cell_len(place) <= self._width else ""

    def _remarks(self, *, placed: bool) -> Iterator[str]:
        node, body = self._node, self._branch.body
        if self._branch.again:
            return
        if node.file != self._file and not placed and node.label != CUT:
            yield f"in {_where(node)}"
        yield from filter(None, (_ran(node),))
        if node.condition and node.mark != "captures":
            yield when(node.condition)
        yield from filter(None, (visible(node.proof),))
        if self._mark() == "excluded":
            yield "where the rule's assumptions do not lead"
        yield from filter(None, (_RESOLUTIONS.get(self._branch.resolution, ""),))
        if body.file != node.file:
            yield f"in {_where(body)}"


def _where(node: GraphNode) -> str:
    return f"{shown_path(node.file)}:{node.line}"


def _ran(node: GraphNode) -> str:
    """Which layers run, unless the text says it, and where the event happens."""
    layers = layers_run(node) if node.kind != "handoff" else ""
    places = (visible(place).removeprefix(visible(node.file)) for place in node.evidence)
    seen = f"captured at {', '.join(places)}" if node.evidence else ""
    return ", ".join(filter(None, (layers, seen)))


def _shortened(lines: list[str]) -> list[str]:
    return lines if len(lines) <= _LINES else [*lines[: _LINES - 1], CUT]


def _summary(view: GraphView, width: int) -> Iterator[Line]:
    """What the graph is of, what the rule says of it, and how far calls could be followed."""
    places = Counter(node.mark for node in view.nodes if node.kind in ("loop", "handoff", "run"))
    marks = [f"{word_of(mark)}{GLUE}{places[mark]}" for mark in sorted(places) if mark]
    unknown = view.resolutions.get("unknown", 0)
    total = counted(sum(view.resolutions.values()), "call").replace(" ", GLUE)
    text = (
        f"{visible(view.entry)} in {source_name(view.source)}; "
        f"{visible(view.rule)}: {', '.join(marks) or 'nothing to judge'}; "
        f"{unknown}{GLUE}of{GLUE}{total} could not be looked up"
    )
    for number, line in enumerate(wrap(text, width - 2, -2)):
        yield (("", "  " * bool(number) + line),)
