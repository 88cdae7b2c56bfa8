"""What is laid over the static graph: the verdicts of a rule, and arms that are never taken."""

from collections.abc import Mapping

import msgspec
from msgspec import Struct

from pathaudit.graph.arms import Place
from pathaudit.graph.views import descendants, functions_of
from pathaudit.results import Finding, GraphNode, GraphView, Reach, Report, Site, Verdict

NEVER = "never"
EXCLUDED = "excluded"
JUDGED = ("loop", "handoff", "run")
HOLDING = ("loop", "arm")
# The worst thing that is said of a place is what people see.
ORDER = ("captures", "dormant", "gated", "blocked", "unknown", "bypass")


class _Said(Struct, frozen=True):
    """What the rule says of one place."""

    mark: str
    layers: str
    condition: str = ""
    evidence: tuple[str, ...] = ()
    proof: str = ""


def lay_verdicts(view: GraphView, report: Report, verbs: frozenset[str]) -> GraphView:
    """Mark what was judged, what was not although its function was, and the arms around it.

    A call of a method in ``verbs`` captures; below a handoff, only one that a verdict rests on.
    Others become plain calls.
    """
    said = _said(report, view.rule)
    nodes = (_judged(node, said) for node in view.nodes)
    view = msgspec.structs.replace(view, nodes=tuple(nodes))
    view = _tell_captures(view, said, verbs)
    if not any(gap.kind == "budget" for gap in report.gaps):
        view = _mark_excluded(view)
    return _mark_holders(view)


def _tell_captures(
    view: GraphView, said: Mapping[tuple[str, int], _Said], verbs: frozenset[str]
) -> GraphView:
    evidence = {place for item in said.values() for place in item.evidence}
    below = descendants(view, (node.id for node in view.nodes if node.kind == "handoff"))

    def captures(node: GraphNode) -> bool:
        verb = node.label.rpartition(".")[2] in verbs and node.id not in below
        return verb or f"{node.file}:{node.line}" in evidence

    nodes = (
        msgspec.structs.replace(node, kind="call")
        if node.kind == "capture" and not captures(node)
        else node
        for node in view.nodes
    )
    return msgspec.structs.replace(view, nodes=tuple(nodes))


def _said(report: Report, rule: str) -> dict[tuple[str, int], _Said]:
    said = [
        ((site.file, site.line), _of_site(site))
        for entry in report.entries
        if entry.rule == rule
        for site in entry.sites
        if site.verdict is not Verdict.VIOLATED  # a finding says more of it
    ]
    said += [((x.file, x.line), _of_finding(x)) for x in report.findings if x.rule == rule]
    return dict(sorted(said, key=lambda item: ORDER.index(item[1].mark)))


def _of_site(site: Site) -> _Said:
    mark = "captures" if site.verdict is Verdict.HOLDS else "unknown"
    return _Said(mark, site.layers, site.condition, site.evidence)


def _of_finding(finding: Finding) -> _Said:
    mark = "unknown" if finding.verdict is Verdict.UNKNOWN else "bypass"
    if finding.reach is not Reach.REACHABLE:
        mark = finding.reach.value
    return _Said(
        mark,
        finding.layers,
        finding.condition,
        proof=next((path.proof for path in finding.paths), ""),
    )


def _judged(node: GraphNode, said: Mapping[tuple[str, int], _Said]) -> GraphNode:
    found = said.get((node.file, node.line)) if node.kind in JUDGED else None
    if found is None:
        return msgspec.structs.replace(node, mark="")
    return msgspec.structs.replace(
        node,
        mark=found.mark,
        layers=found.layers,
        condition=found.condition,
        evidence=found.evidence,
        proof=found.proof,
    )


def _mark_excluded(view: GraphView) -> GraphView:
    """Mark runs in a judged function that were not judged: its assumptions do not lead there."""
    judged = {node.id for node in view.nodes if node.mark}
    sources = {edge.source for edge in view.edges}
    inside = _inside(view)
    found: set[str] = set()
    pending = list(functions_of(view, judged))
    while pending:
        fresh = [node for node in inside.get(pending.pop(), ()) if node.id not in judged]
        found |= {x.id for x in fresh if x.kind == "run" or _hands_on(x, sources)}
        pending += [node.id for node in fresh]
    nodes = (
        msgspec.structs.replace(node, mark=EXCLUDED) if node.id in found else node
        for node in view.nodes
    )
    return msgspec.structs.replace(view, nodes=tuple(nodes))


def _hands_on(node: GraphNode, sources: set[str]) -> bool:
    return node.kind == "handoff" and node.id in sources


def _mark_holders(view: GraphView) -> GraphView:
    """An arm or a loop gets the mark that all which is judged in it has."""
    inside = _inside(view)

    def held(node: GraphNode) -> set[str]:
        found = {node.mark} - {""}
        pending = [node]
        while pending:
            inner = inside.get(pending.pop().id, ())
            found |= {item.mark for item in inner if item.mark}
            pending += inner
        return found

    nodes = []
    for node in view.nodes:
        found = held(node) if node.kind in HOLDING and not node.mark else set()
        mark = found.pop() if len(found) == 1 else node.mark
        nodes.append(msgspec.structs.replace(node, mark=mark))
    return msgspec.structs.replace(view, nodes=tuple(nodes))


def _inside(view: GraphView) -> dict[str, list[GraphNode]]:
    """What stands in each node; calls lead out of it."""
    nodes = {node.id: node for node in view.nodes}
    found: dict[str, list[GraphNode]] = {}
    for edge in view.edges:
        if nodes[edge.target].kind != "function":
            found.setdefault(edge.source, []).append(nodes[edge.target])
    return found


def mark_never(view: GraphView, never: frozenset[Place]) -> GraphView:
    """Mark the arms that are never taken."""
    nodes = (
        msgspec.structs.replace(node, mark=NEVER)
        if node.kind == "arm" and (node.file, node.line, node.label.split(" ")[0]) in never
        else node
        for node in view.nodes
    )
    return msgspec.structs.replace(view, nodes=tuple(nodes))


def name_callees(view: GraphView) -> GraphView:
    """Reduce the label of a handoff to its callee, and tell one layer from more.

    The range in it is that of the last assignment in the source, whatever the path.
    """
    nodes = (_named(node) if node.kind == "handoff" else node for node in view.nodes)
    return msgspec.structs.replace(view, nodes=tuple(nodes))


def _named(node: GraphNode) -> GraphNode:
    start = _last_bracket(node.label)
    given = node.label[start + 1 : -1]
    index = given.rpartition("[")[2] if given.endswith("]") else ":"
    detail = "layers" if ":" in index else "a layer"
    return msgspec.structs.replace(node, label=node.label[:start], detail=detail)


def _last_bracket(text: str) -> int:
    """Where the bracket opens that the last one closes."""
    depth = 0
    for position in range(len(text) - 1, 0, -1):
        depth += (text[position] == ")") - (text[position] == "(")
        if depth == 0:
            return position
    return len(text)
