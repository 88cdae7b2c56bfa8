"""A call graph as a Mermaid flowchart, for pages that draw it, such as GitHub's."""

import re
from collections.abc import Iterator
from typing import TextIO

from pathaudit.reporters.branches import CUT, Arc, arcs, described, folded, handed, word_of
from pathaudit.reporters.escaping import visible
from pathaudit.reporters.phrases import condition_text
from pathaudit.reporters.terminal import GLUE, cut
from pathaudit.results import GraphNode, GraphView

_COLUMNS = 32
_LINES = 6
# What may be confused with the syntax of Mermaid, HTML or Markdown becomes an entity.
_UNSAFE = re.compile(r"[^A-Za-z0-9 _.,:()\[\]=+*/'!-]")
_SHAPES = {
    "function": ("(", ")"),
    "arm": ("{{", "}}"),
    "run": ("([", "])"),
    "capture": ("([", "])"),
}
_CLASSES = {
    "function": "fill:#dde7f6,stroke:#4a6fa5,color:#111",
    "arm": "fill:#fff8df,stroke:#d8b94a,color:#111",
    "loop": "fill:#f2f2f2,stroke:#667085,color:#111",
    "run": "fill:#fff,stroke:#667085,color:#111",
    "capture": "fill:#e6f4e8,stroke:#2c7a3d,color:#111",
    "handoff": "fill:#fff,stroke:#667085,color:#111",
    "call": "fill:#fff,stroke:#667085,color:#111,stroke-dasharray:4",
    "bypass": "stroke:#c62828,stroke-width:3px",
    "captures": "stroke:#2c7a3d,stroke-width:3px",
    "unknown": "stroke:#8e24aa,stroke-width:3px",
    "other": "stroke-dasharray:4",
}
_MARKED = "stroke:#c62828,stroke-width:3px,color:#c62828"


def render(view: GraphView, out: TextIO) -> None:
    """Write the graph to ``out``: ASCII, and the same bytes for the same graph."""
    out.write("flowchart LR\n")
    for line in _statements(view):
        out.write(f"  {line}\n")


def _statements(view: GraphView) -> Iterator[str]:
    nodes, found = arcs(view)
    names = {node.id: f"n{number}" for number, node in enumerate(nodes)}
    for node in nodes:
        start, end = _SHAPES.get(node.kind, ("[", "]"))
        yield f'{names[node.id]}{start}"{_label(node)}"{end}'
    for arc in found:
        yield f"{names[arc.source]} {_arrow(arc)} {names[arc.target]}"
    yield from _styles(nodes, names)
    marked = [n for n, arc in enumerate(found) if arc.handoff and arc.handoff.mark == "bypass"]
    if marked:
        yield f"linkStyle {','.join(map(str, marked))} {_MARKED}"


def _styles(nodes: tuple[GraphNode, ...], names: dict[str, str]) -> Iterator[str]:
    for name, style in _CLASSES.items():
        members = [names[node.id] for node in nodes if name in (node.kind, _class_of(node.mark))]
        if members:
            yield f"classDef is_{name} {style}"  # some of the bare names are words of Mermaid
            yield f"class {','.join(members)} is_{name}"


def _class_of(mark: str) -> str:
    return mark if mark in _CLASSES or not mark else "other"


def _label(node: GraphNode) -> str:
    lines = described(node)
    if node.mark and node.kind != "arm":
        lines.append(word_of(node.mark))
    if node.kind != "call":
        lines.append(f"{visible(node.file.rpartition('/')[2])}:{node.line}")
    return _text(lines)


def _arrow(arc: Arc) -> str:
    """An arrow; what is handed over is written on it."""
    line = "-.->" if arc.resolution in ("hierarchy", "unknown") else "-->"
    if arc.handoff is None:
        return line
    lines = [f"hands {handed(arc.handoff)} over", word_of(arc.handoff.mark)]
    if arc.handoff.condition:
        lines.append(f"when {condition_text(arc.handoff.condition)}")
    return f'{line}|"{_text(lines)}"|'


def _text(lines: list[str]) -> str:
    parts = [part for line in lines if line for part in _folded(line)]
    return "<br/>".join(_UNSAFE.sub(lambda match: f"#{ord(match[0])};", part) for part in parts)


def _folded(text: str) -> list[str]:
    lines = [cut(line, 2 * _COLUMNS) for line in folded(text.replace(GLUE, " "), _COLUMNS)]
    return lines if len(lines) <= _LINES else [*lines[: _LINES - 1], CUT]
