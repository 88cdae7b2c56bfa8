"""Which calls run layers: no method that only reads, but also what was made of layers."""

from fnmatch import fnmatchcase

import msgspec

from pathaudit.graph.arms import Arm, arms_around
from pathaudit.graph.flow import Flow, Given, Origin
from pathaudit.graph.views import leaving
from pathaudit.index import ClassRef, FunctionRef, Index
from pathaudit.results import GraphEdge, GraphNode, GraphView


def drop_readers(view: GraphView, index: Index, layers: frozenset[ClassRef]) -> GraphView:
    """Tell calls that run a layer from those of its parts and other methods: plain calls."""

    def runs(name: str) -> bool:
        modules = index.profile.modules
        if any(fnmatchcase(name, glob) for glob in modules.runs):
            return True
        holders = [cls for cls in layers if _has(index, cls, name)]
        entered = (index.entered(x, name) & index.entered(x, modules.call) for x in holders)
        return any(entered) or not holders

    def kind(node: GraphNode) -> str:
        owner, _, name = node.label.removesuffix("(...)").rpartition(".")
        return node.kind if node.kind != "run" or not owner or runs(name) else "call"

    nodes = tuple(msgspec.structs.replace(node, kind=kind(node)) for node in view.nodes)
    return msgspec.structs.replace(view, nodes=nodes)


def _has(index: Index, cls: ClassRef, name: str) -> bool:
    return name in index.attributes_stored(cls) or index.modules.method(cls, name) is not None


def add_runs(view: GraphView, flow: Flow) -> GraphView:
    """Add calls that hand over layers, and those that lead to where what was made of them runs.

    Only what is not there yet is added.
    """
    return _Runs(view, flow).add()


class _Runs:
    def __init__(self, view: GraphView, flow: Flow) -> None:
        self._view = view
        self._flow = flow
        self._nodes = {node.id: node for node in view.nodes}
        self._edges = leaving(view)
        self._ids: dict[FunctionRef, list[str]] = {}
        self._fresh: set[str] = set()
        for node in view.nodes:
            if node.kind == "function":
                self._ids.setdefault(FunctionRef(node.file, node.label), []).append(node.id)

    def add(self) -> GraphView:
        leading = self._leading()
        for ref, known in self._flow.functions.items():
            for target, given in sorted(known.calls.items(), key=lambda item: item[1].line):
                if given.origin.is_layers or target in leading:
                    for source in self._nodes_of(ref):
                        self._link(source, ref, target, given)
            for line, text in sorted(known.runs.items()):
                for source in self._nodes_of(ref):
                    self._run(source, ref, line, text)
        edges = tuple(edge for node in self._nodes for edge in self._edges.get(node, ()))
        return msgspec.structs.replace(self._view, nodes=tuple(self._nodes.values()), edges=edges)

    def _leading(self) -> set[FunctionRef]:
        """Functions that run something made of layers, and those that call them."""
        functions = self._flow.functions
        found = {ref for ref, known in functions.items() if known.runs}
        while True:
            more = {ref for ref, known in functions.items() if found & known.calls.keys()}
            if more <= found:
                return found
            found |= more

    def _nodes_of(self, ref: FunctionRef) -> list[str]:
        if ref not in self._ids:
            outline = self._flow.index.modules.function(ref)
            line = outline.line if outline else 1
            node = f"{ref.file}:{ref.qualname}:"
            self._add(node, "function", ref.qualname, ref.file, line)
            self._ids[ref] = [node]
            self._fresh.add(node)
        return self._ids[ref]

    def _add(
        self, node: str, kind: str, label: str, file: str, line: int, detail: str = ""
    ) -> None:
        self._nodes[node] = GraphNode(
            id=node, kind=kind, label=label, file=file, line=line, detail=detail
        )

    def _run(self, source: str, ref: FunctionRef, line: int, text: str) -> None:
        inside = (x for name, x in self._nodes.items() if name.startswith(f"{source}/"))
        if not any(node.kind == "run" and node.line == line for node in inside):
            holder = self._holder(source, ref, line)
            node = f"{holder}/run:{line}:{text}"
            self._add(node, "run", f"{text}(...)", ref.file, line, "made of the layers")
            self._join(GraphEdge(source=holder, target=node), line)

    def _link(self, source: str, ref: FunctionRef, target: FunctionRef, given: Given) -> None:
        known = [x.target for name in self._inside(source) for x in self._edges.get(name, ())]
        for node in self._nodes_of(target):
            if node in known:
                continue
            holder = self._holder(source, ref, given.line)
            if given.origin.is_layers:
                handoff = f"{holder}/handoff:{given.line}:{given.text}"
                several = "layers" if given.origin is Origin.LAYERS else "a layer"
                self._add(handoff, "handoff", given.text, ref.file, given.line, several)
                self._join(GraphEdge(source=holder, target=handoff), given.line)
                holder = handoff
            edge = GraphEdge(source=holder, target=node, resolution="exact", line=given.line)
            self._join(edge, given.line)

    def _inside(self, source: str) -> list[str]:
        return [name for name in self._nodes if name == source or name.startswith(f"{source}/")]

    def _holder(self, source: str, ref: FunctionRef, line: int) -> str:
        """The innermost arm of a function that a line stands in, or the function.

        Arms of a function that the graph did not have are added.
        """
        outline = self._flow.index.modules.function(ref)
        holder = source
        for arm in arms_around(outline.node, line) if outline else []:
            known = (self._nodes[name] for name in self._inside(source))
            found = next((node.id for node in known if _is_arm(node, arm)), "")
            if not found and source in self._fresh:
                found = self._add_arm(holder, arm, ref.file)
            holder = found or holder
        return holder

    def _add_arm(self, holder: str, arm: Arm, file: str) -> str:
        node = f"{holder}/arm:{arm.line}:{arm.word}"
        label = f"if {arm.test}" if arm.word == "if" else "else"
        detail = f"not ({arm.test})" if arm.word == "else" else ""
        self._add(node, "arm", label, file, arm.line, detail)
        self._join(GraphEdge(source=holder, target=node), arm.line)
        return node

    def _join(self, edge: GraphEdge, line: int) -> None:
        """Put an edge where the line of its call belongs."""
        siblings = self._edges.setdefault(edge.source, [])
        after = (
            position
            for position, other in enumerate(siblings)
            if (other.line or self._nodes[other.target].line) > line
        )
        siblings.insert(next(after, len(siblings)), edge)


def _is_arm(node: GraphNode, arm: Arm) -> bool:
    return node.kind == "arm" and (node.line, node.label.split(" ")[0]) == (arm.line, arm.word)
