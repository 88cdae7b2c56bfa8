"""The call graph of forward branches: functions, and inside each the arms, loops and handoffs.

The graph is static: every arm of the source is in it, feasible or not. What the executor found
out about a place is laid over it by line.
"""

import builtins
from collections import Counter

import networkx as nx
from msgspec import Struct

from pathaudit import ir
from pathaudit.callgraph.telling import (
    is_layer_method,
    is_layers,
    layers_text,
    loop_label,
    names_in,
    receiver_note,
    stack_of,
)
from pathaudit.index import External, FunctionRef, Index, Instance, Types
from pathaudit.lower import LoweringError, lower_function, render
from pathaudit.paths.attributes import Place
from pathaudit.paths.evaluate import Evaluator
from pathaudit.paths.question import Question
from pathaudit.paths.state import State
from pathaudit.paths.values import (
    Accumulator,
    Callee,
    ClassValue,
    Closure,
    Element,
    Member,
    Symbol,
    Value,
    carries,
    plain,
    text_of,
)
from pathaudit.paths.walking import bindings, children, own_expressions
from pathaudit.results import GraphEdge, GraphNode

MAXIMUM_DEPTH = 12


class Resolution(Struct, frozen=True):
    """What a call site calls: functions of the tree, and how surely."""

    kind: str
    targets: tuple[tuple[FunctionRef, Instance | None], ...] = ()


class _Site(Struct, frozen=True, eq=False):
    """Where the walk stands: the node to hang things on, and the function it belongs to."""

    node: str
    place: Place
    depth: int
    handed: bool


class CallGraph:
    """Builds the graph of one entry as a ``networkx.DiGraph``; nodes carry a ``GraphNode``."""

    def __init__(self, index: Index, question: Question, depth: int = MAXIMUM_DEPTH) -> None:
        self.graph: nx.DiGraph[str] = nx.DiGraph()
        # Call sites by resolution; ``carrying`` are those that hand on layers or an accumulator.
        self.resolutions: Counter[str] = Counter()
        self.carrying: Counter[str] = Counter()
        self._index = index
        self._evaluator = Evaluator(index, question)
        self._question = question
        self._depth = min(depth, MAXIMUM_DEPTH)

    def add_entry(self, instance: Instance, ref: FunctionRef) -> str:
        """Add a method and everything it leads to; returns its node."""
        receiver = Symbol("self", Types((instance,)), present=True)
        return self._function(ref, receiver, (), 0, handed=False)

    # ---- functions ----

    def _function(
        self,
        ref: FunctionRef,
        receiver: Value | None,
        given: tuple[tuple[str, Value], ...],
        depth: int,
        *,
        handed: bool,
    ) -> str:
        types = (
            receiver.types.instances() if isinstance(receiver, Symbol) and receiver.types else ()
        )
        owner = "|".join(item.cls.name for item in types)
        node = f"{ref.file}:{ref.qualname}:{owner}"
        if node in self.graph:
            return node
        outline = self._index.modules.outline(ref.file)
        found = self._index.modules.function(ref)
        line = found.line if found else 1
        self._add(node, "function", ref.qualname, ref.file, line, receiver_note(ref, owner))
        if outline is None or found is None or depth > self._depth:
            return node
        try:
            function = lower_function(outline.lines, found.node)
        except LoweringError:
            return node
        place = Place(ref.file, receiver, self._index.modules.owner(ref), frozenset(), ref)
        names: dict[str, Value] = {item.name: Symbol(item.name) for item in function.parameters}
        names.update(given)
        if receiver is not None and function.parameters:
            names[function.parameters[0].name] = receiver
        self._body(function.body, State(names=names), _Site(node, place, depth, handed))
        return node

    def _add(
        self, node: str, kind: str, label: str, file: str, line: int, detail: str = ""
    ) -> None:
        data = GraphNode(id=node, kind=kind, label=label, file=file, line=line, detail=detail)
        self.graph.add_node(node, data=data)

    def _inside(
        self, site: _Site, kind: str, label: str, region: ir.Region, detail: str = ""
    ) -> _Site:
        """Add something that stands inside the current node."""
        node = f"{site.node}/{kind}:{region.line}:{region.column}:{label}"
        if node not in self.graph:
            self._add(node, kind, label, site.place.file, region.line, detail)
            self.graph.add_edge(site.node, node, data=GraphEdge(source=site.node, target=node))
        return _Site(node, site.place, site.depth, site.handed)

    # ---- statements ----

    def _body(self, body: tuple[ir.Statement, ...], state: State, site: _Site) -> State:
        for statement in body:
            state = self._statement(statement, state, site)
        return state

    def _statement(self, statement: ir.Statement, state: State, site: _Site) -> State:
        for expression in own_expressions(statement):
            self._expression(expression, state, site)
        match statement:
            case ir.Branch(test, body, orelse, region):
                return self._arms(test, body, orelse, region, state, site)
            case ir.Loop():
                return self._loop(statement, state, site)
            case ir.With(_, body, _):
                return self._body(body, state, site)
            case ir.Try(body, handlers, orelse, final, _):
                for block in (body, *(item.body for item in handlers), orelse, final):
                    state = self._body(block, state, site)
                return state
            case ir.Match(_, cases, _):
                for case in cases:
                    state = self._body(case.body, state, site)
                return state
            case ir.Define(function, _):
                closure = self._evaluator.close(function, site.place)
                return state.bind(function.name, closure)
            case _:
                return self._bound(statement, state, site)

    def _bound(self, statement: ir.Statement, state: State, site: _Site) -> State:
        """Names get the value of their last assignment; branches are not told apart."""
        for name, value in bindings(statement):
            found = self._evaluator.value(value, state, site.place)
            if isinstance(found, Accumulator) and found.text.startswith("<"):
                found = Accumulator(name, kept=True, cls=found.cls)
            state = state.bind(name, found)
        return state

    def _arms(
        self,
        test: ir.Expression,
        body: tuple[ir.Statement, ...],
        orelse: tuple[ir.Statement, ...],
        region: ir.Region,
        state: State,
        site: _Site,
    ) -> State:
        text = render(test)
        state = self._body(body, state, self._inside(site, "arm", f"if {text}", region))
        if orelse:
            # An `elif` stands beside the `if`, not inside an arm of it.
            if not (isinstance(orelse[0], ir.Branch) and len(orelse) == 1):
                site = self._inside(site, "arm", "else", orelse[0].region, f"not ({text})")
            state = self._body(orelse, state, site)
        return state

    def _loop(self, statement: ir.Loop, state: State, site: _Site) -> State:
        value: Value | None = None
        if statement.iterable is not None:
            value = self._evaluator.value(statement.iterable, state, site.place)
        layers = "" if value is None else layers_text(value)
        label = loop_label(statement)
        inner = self._inside(site, "loop", label, statement.region, layers)
        if statement.target is not None:
            state = self._bind_target(statement.target, value, state)
        return self._body(statement.body, state, inner)

    def _bind_target(self, target: ir.Expression, value: Value | None, state: State) -> State:
        names = [item.id for item in names_in(target)]
        for name in names:
            state = state.bind(name, Symbol(name))
        stack = stack_of(value)
        if stack is not None and names:
            state = state.bind(names[-1], Element(stack, Symbol(names[0])))
        return state

    # ---- calls ----

    def _expression(self, node: ir.Expression, state: State, site: _Site) -> None:
        if isinstance(node, ir.Lambda):
            return
        if isinstance(node, ir.Comprehension):
            for clause in node.clauses:
                self._expression(clause.iterable, state, site)
                value = self._evaluator.value(clause.iterable, state, site.place)
                state = self._bind_target(clause.target, value, state)
            self._expression(node.element, state, site)
            return
        for child in children(node):
            self._expression(child, state, site)
        if isinstance(node, ir.Call):
            self._call(node, state, site)

    def _call(self, node: ir.Call, state: State, site: _Site) -> None:
        function = self._callee(node.function, state, site)
        given = [self._evaluator.value(item.value, state, site.place) for item in node.arguments]
        found = self._resolve(function, node, site)
        self.resolutions[found.kind] += 1
        self.carrying[found.kind] += any(carries(value) for value in given)
        if isinstance(function, Member) and isinstance(function.owner, Accumulator):
            self._inside(site, "capture", render(node.function), node.region)
            return
        layers = [value for value in given if is_layers(value)]
        if isinstance(function, Element) or is_layer_method(function):
            site = self._inside(site, "run", f"{render(node.function)}(...)", node.region)
        elif layers:
            note = plain(text_of(layers[0]))
            site = self._inside(site, "handoff", f"{render(node.function)}({note})", node.region)
        elif not (self._leads(found, given) or site.handed):
            return
        self._follow(node, found, given, site, handed=bool(layers) or site.handed)

    def _callee(self, node: ir.Expression, state: State, site: _Site) -> Value:
        match node:
            case ir.Attribute(ir.Call(ir.Name("super"), _, _), name):
                receiver = site.place.receiver
                types = receiver.types if isinstance(receiver, Symbol) else None
                for item in types.instances() if types else ():
                    method = self._index.modules.method(item.cls, name, after=site.place.owner)
                    if method is not None:
                        return Callee(method[0], receiver)
                return Symbol(f"super().{name}")
            case _:
                return self._evaluator.value(node, state, site.place)

    def _resolve(self, function: Value, node: ir.Call, site: _Site) -> Resolution:
        """What a value calls when it is called."""
        match function:
            case Callee(ref, receiver):
                return Resolution("exact", ((ref, _instance(receiver)),))
            case ClassValue(cls):
                method = self._index.modules.method(cls, "__init__")
                return Resolution("exact", ((method[0], Instance(cls)),) if method else ())
            case Element(stack, _):
                return self._modules_called(stack.type.elements, "")
            case Member(Element(stack, _), name):
                return self._modules_called(stack.type.elements, name)
            case Symbol(_, types, _) if types is not None:
                return self._modules_called(types, "")
            case Closure() | Member():
                return Resolution("exact")
            case _:
                return Resolution(self._outside(node, site))

    def _modules_called(self, types: Types, name: str) -> Resolution:
        """Calling a module calls its ``forward``."""
        targets = []
        for item in types.instances():
            method = self._index.modules.method(item.cls, name or self._index.profile.modules.call)
            if method is not None:
                targets.append((method[0], item))
        if not targets:
            return Resolution("external" if types.items else "unknown")
        kind = "exact" if len(targets) == 1 and types.complete else "hierarchy"
        return Resolution(kind, tuple(targets))

    def _outside(self, node: ir.Call, site: _Site) -> str:
        """Is an unresolved callee surely outside the tree? A builtin, or another package."""
        name = node.function
        while isinstance(name, ir.Attribute | ir.Subscript | ir.Call):
            name = name.function if isinstance(name, ir.Call) else name.value
        if not isinstance(name, ir.Name):
            return "unknown"
        symbol = self._index.modules.resolve(site.place.file, name.id)
        if isinstance(symbol, External) or (symbol is None and hasattr(builtins, name.id)):
            return "external"
        return "unknown"

    def _leads(self, found: Resolution, given: list[Value]) -> bool:
        """May a callee run layers: it gets something followed, or its object owns a stack?"""
        if any(carries(value) for value in given):
            return True
        for ref, instance in found.targets:
            if instance is None:
                continue
            methods = self._index.closure(instance.cls, ref)
            if any(self._index.attributes_of(item) & self._question.stacks for item in methods):
                return True
        return False

    def _follow(
        self, node: ir.Call, found: Resolution, given: list[Value], site: _Site, *, handed: bool
    ) -> None:
        for ref, instance in found.targets:
            receiver = None
            if instance is not None and not self._index.is_static(ref):
                receiver = Symbol(f"<{instance.cls.name}>", Types((instance,)), present=True)
            bound = self._bound_parameters(ref, receiver, node, given)
            target = self._function(ref, receiver, bound, site.depth + 1, handed=handed)
            edge = GraphEdge(
                source=site.node, target=target, resolution=found.kind, line=node.region.line
            )
            self.graph.add_edge(site.node, target, data=edge)

    def _bound_parameters(
        self, ref: FunctionRef, receiver: Value | None, node: ir.Call, given: list[Value]
    ) -> tuple[tuple[str, Value], ...]:
        function = self._index.modules.function(ref)
        if function is None:
            return ()
        names = [item.arg for item in function.node.args.args]
        if names and (receiver is not None or self._index.is_class_method(ref)):
            names = names[1:]
        pairs = list(zip(node.arguments, given, strict=True))
        plain_values = [value for item, value in pairs if item.keyword is None and not item.star]
        bound = dict(zip(names, plain_values, strict=False))
        bound.update({item.keyword: value for item, value in pairs if item.keyword})
        return tuple(bound.items())


def _instance(receiver: Value | None) -> Instance | None:
    types = receiver.types if isinstance(receiver, Symbol) else None
    return next(iter(types.instances()), None) if types is not None else None
