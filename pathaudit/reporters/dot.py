"""A call graph as DOT, for Graphviz: one picture, read from left to right.

A function is a box, and what stands in it are its lines: arms, loops, runs of layers. An arrow
leads from the line of a call to the function that is called.
"""

import html
from collections.abc import Iterator
from typing import TextIO

from msgspec import Struct

from pathaudit.reporters.branches import CUT, described, folded, is_else_of, leaving, shown_mark
from pathaudit.reporters.escaping import visible
from pathaudit.reporters.phrases import condition_text, source_name
from pathaudit.reporters.terminal import GLUE, cut
from pathaudit.results import GraphEdge, GraphNode, GraphView

_COLUMNS = 32  # of a line
_LINES = 4
_LONGEST = 14_000  # Graphviz refuses a label of more than 16384 bytes
_INDENT = 3
_HEAD = """\
digraph pathaudit {
  graph [rankdir=LR, nodesep=0.25, ranksep=0.4, pad=0.2, fontname="Helvetica", fontsize=12,
         labelloc=t, labeljust=l, bgcolor=white];
  node [shape=plain, fontname="Helvetica", fontsize=10];
  edge [arrowsize=0.7, color="#667085"];
"""
_TABLE = '<TABLE BORDER="1" CELLBORDER="0" CELLSPACING="0" CELLPADDING="4" COLOR="{}">'
_FILLS = {"bypass": "#fdecea", "captures": "#e6f4e8", "unknown": "#f6e9f8"}
_FONTS = {"bypass": "#c62828", "captures": "#2c7a3d", "unknown": "#8e24aa"}
_NOT_TAKEN = ("excluded", "never", "blocked", "gated", "dormant")
_HEADER = "#dde7f6"
_ARM = "#fff8df"
_DIM = "#667085"
_END = '<BR ALIGN="LEFT"/>'


class _Line(Struct, frozen=True):
    """Something in a function, and how deep it stands there; ``mark`` is the word shown of it."""

    node: GraphNode
    depth: int = -1
    follows: bool = False
    mark: str = ""


def render(view: GraphView, out: TextIO) -> None:
    """Write the graph to ``out``: ASCII, and the same bytes for the same graph."""
    title = f"{visible(view.entry)} in {source_name(view.source)}; {visible(view.rule)}"
    out.write(_HEAD)
    out.write(f"  label=<<B>{_text(title)}</B>>;\n")
    for statement in _statements(view):
        out.write(f"  {statement};\n")
    out.write("}\n")


def _statements(view: GraphView) -> Iterator[str]:
    nodes = {node.id: node for node in view.nodes}
    below = leaving(view)
    ports: dict[str, str] = {}
    functions = [node for node in view.nodes if node.kind == "function"]
    for number, function in enumerate(functions):
        ports[function.id] = f"n{number}:p0"
        lines = list(_lines(function, below, nodes))
        rows = list(_rows(function, lines))
        for position, line in enumerate(lines, start=1):
            ports[line.node.id] = f"n{number}:p{min(position, len(rows) - 1)}"
        color = _FONTS["bypass"] if any(x.node.mark == "bypass" for x in lines) else _DIM
        yield f"n{number} [label=<{_TABLE.format(color)}{''.join(rows)}</TABLE>>]"
    for edge in view.edges:
        if nodes[edge.target].kind == "function":
            style = "".join(f" [{item}]" for item in _arrow(nodes[edge.source], edge))
            yield f"{ports[edge.source]}:e -> {ports[edge.target]}:w{style}"


def _lines(
    function: GraphNode, below: dict[str, list[GraphEdge]], nodes: dict[str, GraphNode]
) -> Iterator[_Line]:
    """What stands in a function, in its order."""
    pending = [_Line(function)]
    while pending:
        line = pending.pop()
        if line.depth >= 0:
            yield line
        inner = [nodes[edge.target] for edge in below.get(line.node.id, ())]
        inner = [node for node in inner if node.kind != "function"]
        pending += [
            _Line(node, line.depth + 1, is_else_of(node, before), shown_mark(node, line.node.mark))
            for before, node in reversed(list(zip((None, *inner), inner, strict=False)))
        ]


def _arrow(source: GraphNode, edge: GraphEdge) -> Iterator[str]:
    if source.mark == "bypass" and source.kind != "arm":
        yield f'color="{_FONTS["bypass"]}", penwidth=2.5'
    elif edge.resolution in ("hierarchy", "unknown") or source.mark in _NOT_TAKEN:
        yield "style=dashed"


# ---- boxes ------------------------------------------------------------------------------------


def _rows(function: GraphNode, lines: list[_Line]) -> Iterator[str]:
    """A function as rows of a table: its name, and what stands in it as far as there is room."""
    said = described(function)
    name = "".join(f"<B>{_text(part)}</B>{_END}" for part in _shown(said[0]))
    notes = "".join(_text(part) + _END for note in said[1:] for part in _shown(note))
    head = _row(0, f"{name}{notes}{_place(function)}{_END}", _HEADER)
    size = len(head)
    yield head
    for number, line in enumerate(lines, start=1):
        row = _row(number, _cell(line), _fill(line.node))
        size += len(row)
        if size > _LONGEST:
            yield _row(number, f"{CUT} {len(lines) - number + 1} more{_END}", "white")
            return
        yield row


def _row(number: int, content: str, fill: str) -> str:
    return f'<TR><TD PORT="p{number}" ALIGN="LEFT" BGCOLOR="{fill}">{content}</TD></TR>'


def _cell(line: _Line) -> str:
    node, margin = line.node, "&#160;" * (_INDENT * line.depth)
    said = described(node, follows=line.follows)
    parts = [part for text in said for part in _shown(text)]
    texts = [f"<I>{_text(part)}</I>" if node.kind == "arm" else _text(part) for part in parts]
    if line.mark:
        texts[-1] += f"  <B>{_colored(line.mark, node.mark)}</B>"
    if node.condition and node.mark != "captures":
        when = f"when {condition_text(node.condition)}"
        texts += [_small(part) for part in _shown(when)]
    texts[0] += f"  {_small(f':{node.line}')}"
    return "".join(f"{margin}{text}{_END}" for text in texts)


def _fill(node: GraphNode) -> str:
    if node.kind == "arm":
        return _FILLS.get(node.mark, _ARM) if node.mark == "bypass" else _ARM
    return _FILLS["captures"] if node.kind == "capture" else _FILLS.get(node.mark, "white")


def _place(node: GraphNode) -> str:
    return _small(f"{node.file.rpartition('/')[2]}:{node.line}")


def _shown(text: str) -> list[str]:
    lines = [cut(line, 2 * _COLUMNS) for line in folded(text.replace(GLUE, " "), _COLUMNS)]
    return lines if len(lines) <= _LINES else [*lines[: _LINES - 1], CUT]


def _colored(text: str, mark: str) -> str:
    return f'<FONT COLOR="{_FONTS.get(mark, _DIM)}">{_text(visible(text))}</FONT>'


def _small(text: str) -> str:
    return f'<FONT POINT-SIZE="8" COLOR="{_DIM}">{_text(visible(text))}</FONT>'


def _text(text: str) -> str:
    """Text inside a label that Graphviz reads like HTML."""
    escaped = html.escape(text.replace(GLUE, " "))
    return escaped.encode("ascii", "xmlcharrefreplace").decode("ascii")
