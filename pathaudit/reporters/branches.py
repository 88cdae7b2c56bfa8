"""A call graph as people read it: what comes below what, in words, and each function once."""

import re
from collections.abc import Iterator

from msgspec import Struct

from pathaudit.reporters.escaping import visible
from pathaudit.reporters.phrases import layers_run
from pathaudit.results import GraphEdge, GraphNode, GraphView

CUT = "..."
_MARKS = {"bypass": "BYPASS"}  # the others are their own word


class Branch(Struct, frozen=True):
    """A node in its place. ``body`` has the nodes below: of a handoff, the function that it calls.

    ``resolution`` is that of the call that leads there. ``last`` tells of the node and of each
    that it stands below whether it is the last of its siblings. ``follows`` where an ``else``
    stands right after its ``if``, ``again`` where a function was met before, and ``leaf`` where
    nothing is below. ``holder`` is the mark of what it stands in.
    """

    node: GraphNode
    body: GraphNode
    resolution: str
    last: tuple[bool, ...]
    follows: bool
    again: bool
    leaf: bool
    holder: str


class _Pending(Struct, frozen=True):
    """A node that is reached by ``edge``, before what is below it is known."""

    edge: GraphEdge
    last: tuple[bool, ...] = ()
    follows: bool = False
    holder: str = ""


def branches(view: GraphView) -> Iterator[Branch]:
    """Yield what a graph holds from its entry down, depth first."""
    nodes = {node.id: node for node in view.nodes}
    below = leaving(view)
    met: set[str] = set()
    pending = [_Pending(GraphEdge(source="", target=view.nodes[0].id))]
    while pending:
        item = pending.pop()
        node = nodes[item.edge.target]
        body = _body(node, below, nodes)
        inner = below.get(body.id, []) if body.id not in met else []
        yield Branch(
            node,
            body,
            item.edge.resolution,
            item.last,
            item.follows,
            body.id in met and body.kind == "function",
            not inner,
            item.holder,
        )
        met.add(body.id)
        pending += reversed(list(_siblings(inner, item.last, nodes)))


def _siblings(
    edges: list[GraphEdge], last: tuple[bool, ...], nodes: dict[str, GraphNode]
) -> Iterator[_Pending]:
    previous = None
    for position, edge in enumerate(edges, start=1):
        node = nodes[edge.target]
        follows = is_else_of(node, previous)
        yield _Pending(edge, (*last, position == len(edges)), follows, nodes[edge.source].mark)
        previous = node


def is_else_of(node: GraphNode, previous: GraphNode | None) -> bool:
    """Is an arm the ``else`` of the arm before it?"""
    if node.kind != "arm" or previous is None or previous.kind != "arm":
        return False
    return node.detail == f"not ({previous.label.removeprefix('if ')})"


def _body(
    node: GraphNode, below: dict[str, list[GraphEdge]], nodes: dict[str, GraphNode]
) -> GraphNode:
    inner = below.get(node.id, [])
    if node.kind == "handoff" and len(inner) == 1 and nodes[inner[0].target].kind == "function":
        return nodes[inner[0].target]
    return node


class Arc(Struct, frozen=True):
    """``target`` stands in ``source`` or is called there, by ``handoff`` with layers."""

    source: str
    target: str
    resolution: str
    handoff: GraphNode | None = None


def arcs(view: GraphView) -> tuple[tuple[GraphNode, ...], tuple[Arc, ...]]:
    """A graph as a picture shows it: a handoff to one function is no node, but an arc to it."""
    nodes = {node.id: node for node in view.nodes}
    below = leaving(view)
    bodies = {node.id: _body(node, below, nodes) for node in view.nodes}
    drawn = tuple(node for node in view.nodes if bodies[node.id] is node)
    found = []
    for node in drawn:
        for edge in below.get(node.id, ()):
            target, body = nodes[edge.target], bodies[edge.target]
            through = None if body is target else target
            resolution = below[target.id][0].resolution if through else edge.resolution
            found.append(Arc(node.id, body.id, resolution, through))
    return drawn, tuple(found)


def leaving(view: GraphView) -> dict[str, list[GraphEdge]]:
    """The edges that leave each node, in order."""
    found: dict[str, list[GraphEdge]] = {}
    for edge in view.edges:
        found.setdefault(edge.source, []).append(edge)
    return found


# ---- words ------------------------------------------------------------------------------------


def sentence(branch: Branch) -> str:
    """What a node is, in words."""
    node = branch.node
    label = visible(node.label)
    match node.kind:
        case "function":
            return f"{label} {visible(node.detail)}".rstrip()
        case "arm":
            return condition(node, follows=branch.follows)
        case "run":
            return f"runs {label}" + f", {visible(node.detail)}" * bool(node.detail)
        case "capture":
            return f"{label}(...)"
        case "handoff":
            return f"hands {handed(node)} to {label}"
        case "loop":
            return label
        case _:
            return f"{label} calls {visible(node.detail)}" if label == CUT else f"calls {label}"


def condition(node: GraphNode, *, follows: bool = False) -> str:
    """When an arm is taken; that of an ``else`` that does not follow its ``if`` in full."""
    if node.label != "else" or follows or not node.detail:
        return visible(node.label)
    negated = re.sub(r"^not \((not )?([\w.]+(?:\(\))?)\)$", _negated, node.detail)
    return f"if {visible(negated)}"


def _negated(match: re.Match[str]) -> str:
    return match[2] if match[1] else f"not {match[2]}"


def handed(node: GraphNode) -> str:
    """What a handoff hands over."""
    return layers_run(node) or visible(node.detail)


def word_of(mark: str) -> str:
    """The word for what the rule says of a place."""
    return _MARKS.get(mark, mark)


def shown_mark(node: GraphNode, holder: str) -> str:
    """What the rule says, said once: of the places in an arm, or else of the arm around them.

    ``holder`` is the mark of what the node stands in.
    """
    if node.mark == "excluded":
        return "" if holder == node.mark else word_of(node.mark)
    return word_of(node.mark) if node.kind != "arm" or node.mark == "never" else ""


def described(node: GraphNode, *, follows: bool = False) -> list[str]:
    """What a picture says of a node, in lines that may be folded."""
    label = visible(node.label)
    match node.kind:
        case "function":
            return [label, visible(node.detail)] if node.detail else [label]
        case "arm":
            return [condition(node, follows=follows)]
        case "loop":
            return [label, *filter(None, [layers_run(node)])]
        case "run":
            return [f"runs {label}", *filter(None, [visible(node.detail)])]
        case "capture":
            return [f"{label}(...)"]
        case "handoff":
            return [f"hands {handed(node)} to", label]
        case _:
            return [label, visible(node.detail)] if label == CUT else [label]


def folded(text: str, columns: int) -> list[str]:
    """Break a text into lines of about ``columns``: at spaces, else after a dot or underscore."""
    lines = [""]
    for word in text.split(" "):
        pieces = [word] if len(word) <= columns else re.findall(r"[^._(,]*[._(,]*", word)
        for number, piece in enumerate(filter(None, pieces)):
            space = " " if lines[-1] and not number else ""
            if lines[-1] and len(lines[-1] + space + piece) > columns:
                lines.append(piece)
            else:
                lines[-1] += space + piece
    return lines
