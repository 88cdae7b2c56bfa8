"""Leave out of a graph what does not answer the question."""

from collections.abc import Callable

import msgspec

from pathaudit.graph.overlay import EXCLUDED, NEVER
from pathaudit.graph.views import leaving, reached
from pathaudit.results import GraphEdge, GraphNode, GraphView

CUT = "..."
LISTED = 3


def prune(view: GraphView, only: str = "layers", depth: int | None = None) -> GraphView:
    """Keep what ``only`` asks for, as far as ``depth`` calls from the entry.

    ``layers`` keeps what leads to a place where layers, or what was made of them, are run, handed
    over or captured; the name of the rule keeps what leads to a place that it judged; ``all``
    keeps everything. Arms that are never taken are left out but for ``all``. Nodes come in the
    order in which a reader meets them.
    """
    if only != "all":
        wanted = _runs_layers(view) if only == "layers" else _is_judged
        view = reached(view, lambda node: node.mark != NEVER)
        view = _leading(view, wanted)
    view = reached(view)
    return view if depth is None else _cut(view, depth)


def _is_judged(node: GraphNode) -> bool:
    return node.mark not in ("", EXCLUDED) and node.kind != "arm"


def _runs_layers(view: GraphView) -> Callable[[GraphNode], bool]:
    """A handoff that calls nothing only reads; if it could not be followed, it has a mark."""
    sources = {edge.source for edge in view.edges}

    def wanted(node: GraphNode) -> bool:
        if node.kind == "handoff":
            return _is_judged(node) or node.id in sources
        return node.kind in ("run", "capture") or _is_judged(node)

    return wanted


def _leading(view: GraphView, wanted: Callable[[GraphNode], bool]) -> GraphView:
    """Keep wanted nodes, what leads to them, and the functions that layers are handed to."""
    sources: dict[str, list[str]] = {}
    for edge in view.edges:
        sources.setdefault(edge.target, []).append(edge.source)
    pending = [node.id for node in view.nodes if wanted(node)]
    kept = set(pending)
    while pending:
        fresh = set(sources.get(pending.pop(), ())) - kept
        kept |= fresh
        pending += fresh
    handing = {node.id for node in view.nodes if node.kind == "handoff"} & kept
    kept |= {edge.target for edge in view.edges if edge.source in handing}
    kept.add(view.nodes[0].id)
    return _with_nodes(view, kept)


def _with_nodes(view: GraphView, kept: set[str]) -> GraphView:
    nodes = tuple(node for node in view.nodes if node.id in kept)
    edges = tuple(x for x in view.edges if x.source in kept and x.target in kept)
    return msgspec.structs.replace(view, nodes=nodes, edges=edges)


# ---- depth ------------------------------------------------------------------------------------


def _cut(view: GraphView, depth: int) -> GraphView:
    """Replace calls of functions that are farther away by a node that names them."""
    nodes = {node.id: node for node in view.nodes}
    targets = leaving(view)
    near = _near(view, nodes, depth)
    cuts, edges = [], []
    for source in near:
        far = dict.fromkeys(x.target for x in targets.get(source, ()) if x.target not in near)
        if far:
            cut = _cut_node(nodes[source], [nodes[target].label for target in far])
            cuts.append(cut)
            edges.append(GraphEdge(source=source, target=cut.id))
    kept = _with_nodes(view, near)
    return reached(
        msgspec.structs.replace(kept, nodes=(*kept.nodes, *cuts), edges=(*kept.edges, *edges))
    )


def _near(view: GraphView, nodes: dict[str, GraphNode], depth: int) -> set[str]:
    """Nodes that at most ``depth`` calls lead to."""
    targets = leaving(view)
    found: set[str] = set()
    level = {view.nodes[0].id}
    for _ in range(depth + 1):
        called: set[str] = set()
        while level:
            found |= level
            fresh = {x.target for node in level for x in targets.get(node, ())} - found
            called |= {target for target in fresh if nodes[target].kind == "function"}
            level = fresh - called
        level = called - found
    return found


def _cut_node(source: GraphNode, names: list[str]) -> GraphNode:
    more = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
    return GraphNode(
        id=f"{source.id}/{CUT}",
        kind="call",
        label=CUT,
        file=source.file,
        line=source.line,
        detail=f"{', '.join(names[:LISTED])}{more}",
    )
