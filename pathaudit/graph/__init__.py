"""The call graph of the forward branches of one served class, with what a rule says of them."""

import networkx as nx

from pathaudit.audit import audit_work
from pathaudit.callgraph import CallGraph
from pathaudit.errors import UsageError
from pathaudit.graph.arms import never_taken
from pathaudit.graph.entry import Entry, find_entry
from pathaudit.graph.overlay import lay_verdicts, mark_never, name_callees
from pathaudit.graph.pruning import prune
from pathaudit.graph.reading import follow_layers
from pathaudit.graph.runs import add_runs, drop_readers
from pathaudit.hints import did_you_mean
from pathaudit.index import FunctionRef, Index
from pathaudit.paths import ask
from pathaudit.results import GraphEdge, GraphView, Report, Source
from pathaudit.ruleset import CoversRule, Ruleset
from pathaudit.sources import SourceTree
from pathaudit.work import Work

__all__ = ["graph", "prune"]

LAYERS, ALL = "layers", "all"


def graph(
    tree: SourceTree,
    rules: Ruleset,
    entry: str,
    *,
    only: str = LAYERS,
    depth: int | None = None,
) -> GraphView:
    """The graph of ``entry``, a served class or ``Class.method``.

    ``only`` is ``layers``, ``all`` or a rule about layers, whose verdicts are shown then; otherwise
    those of the first such rule are. ``depth`` bounds the calls that are followed. Raises
    ``UsageError`` for an entry or a rule that does not exist.
    """
    rule = _rule(rules, only)
    name, _, method = entry.partition(".")
    work = Work(tree, rules.profile)
    report = audit_work(work, Ruleset(rules.profile, (rule,), rules.directory), entry=name)
    found = find_entry(work, name, method)
    return prune(_draw(work.index, rule, report, found), only, depth)


def _rule(rules: Ruleset, only: str) -> CoversRule:
    covering = (rule for rule in rules.rules if isinstance(rule, CoversRule))
    known = {rule.id: rule for rule in covering if rule.subject != "drafts"}
    if only in (LAYERS, ALL):
        return next(iter(known.values()))
    if only not in known:
        names = [LAYERS, ALL, *known]
        hint = did_you_mean(only, names, f"known are: {', '.join(names)}")
        raise UsageError(f"there is no rule {only!r} to show only that", hint=hint)
    return known[only]


def _draw(index: Index, rule: CoversRule, report: Report, entry: Entry) -> GraphView:
    """Everything that the entry leads to, with verdicts laid over it."""
    question = ask(index.profile, rule.require, rule.assume, entry.writes, entry.stacks)
    builder = CallGraph(index, question)
    root = _build(builder, entry)
    view = name_callees(_view(builder, root, entry.name, rule, report.source))
    flow = follow_layers(index, entry, _naming(index, view, entry.stacks))
    view = add_runs(drop_readers(view, index, entry.layers), flow)
    view = lay_verdicts(view, report, question.collecting)
    return mark_never(view, never_taken(flow))


def _view(builder: CallGraph, root: str, name: str, rule: CoversRule, source: Source) -> GraphView:
    """What was built as data, nodes in depth-first order."""
    nodes = list(nx.dfs_preorder_nodes(builder.graph, root))
    return GraphView(
        entry=name,
        source=source,
        rule=rule.id,
        nodes=tuple(builder.graph.nodes[node]["data"] for node in nodes),
        edges=tuple(data["data"] for _, _, data in builder.graph.out_edges(nodes, data=True)),
        resolutions=dict(sorted(builder.resolutions.items())),
    )


def _build(builder: CallGraph, entry: Entry) -> str:
    """Add an entry, and what runs its layers even if no call that can be followed leads there."""
    root = builder.add_entry(entry.instance, entry.method)
    runs = any(data["data"].kind == "run" for _, data in builder.graph.nodes(data=True))
    for instance, method in entry.within if entry.judged or not runs else ():
        node = builder.add_entry(instance, method)
        if node not in nx.descendants(builder.graph, root) | {root}:
            edge = GraphEdge(source=root, target=node, resolution="unknown")
            builder.graph.add_edge(root, node, data=edge)
    return root


def _naming(index: Index, view: GraphView, stacks: frozenset[str]) -> tuple[FunctionRef, ...]:
    """The functions that name the layers of an object."""
    refs = {FunctionRef(node.file, node.label) for node in view.nodes if node.kind == "function"}
    return tuple(ref for ref in sorted(refs) if index.attributes_of(ref) & stacks)
