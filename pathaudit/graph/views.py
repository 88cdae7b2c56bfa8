"""Walks over a graph view."""

from collections.abc import Callable, Iterable

import msgspec

from pathaudit.results import GraphEdge, GraphNode, GraphView


def leaving(view: GraphView) -> dict[str, list[GraphEdge]]:
    """The edges that leave each node, in order."""
    found: dict[str, list[GraphEdge]] = {}
    for edge in view.edges:
        found.setdefault(edge.source, []).append(edge)
    return found


def descendants(view: GraphView, nodes: Iterable[str]) -> frozenset[str]:
    """Everything that nodes lead to, without them."""
    targets = leaving(view)
    found: set[str] = set()
    pending = list(nodes)
    while pending:
        fresh = {edge.target for edge in targets.get(pending.pop(), ())} - found
        found |= fresh
        pending += fresh
    return frozenset(found)


def functions_of(view: GraphView, nodes: Iterable[str]) -> frozenset[str]:
    """The function nodes in which nodes stand."""
    kinds = {node.id: node.kind for node in view.nodes}
    holders = {x.target: x.source for x in view.edges if kinds[x.target] != "function"}
    found = set()
    for node in nodes:
        while node in holders:
            node = holders[node]
        found.add(node)
    return frozenset(found)


def reached(view: GraphView, passable: Callable[[GraphNode], bool] = lambda _: True) -> GraphView:
    """Keep what the first node reaches through passable nodes, in depth-first order."""
    nodes = {node.id: node for node in view.nodes}
    targets = leaving(view)
    kept: dict[str, GraphNode] = {}
    pending = [view.nodes[0].id]
    while pending:
        node = pending.pop()
        if node not in kept and node in nodes and passable(nodes[node]):
            kept[node] = nodes[node]
            pending += [edge.target for edge in reversed(targets.get(node, []))]
    edges = (edge for node in kept for edge in targets.get(node, ()) if edge.target in kept)
    return msgspec.structs.replace(view, nodes=tuple(kept.values()), edges=tuple(edges))
