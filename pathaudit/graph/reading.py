"""Below a handoff layers turn into other things: who gets those, and who calls them?

A list ``[layer.op_attention, layer.op_mlp]`` is made of a layer, and so is a list of such lists
or an object that keeps one. Names and attributes are followed without regard to order, so a
function may be said to get what it does not; nothing is judged by it.
"""

import ast
from collections.abc import Iterator

from pathaudit.graph.arguments import (
    Argument,
    chain,
    last_name,
    named,
    parameters,
    receiver_of,
    values,
    written,
)
from pathaudit.graph.entry import Entry
from pathaudit.graph.flow import Flow, Given, Known, Literal, Origin
from pathaudit.index import ClassRef, ClassType, FunctionRef, FunctionType, Index, Instance
from pathaudit.index.types import Scope

MAXIMUM_ROUNDS = 20
MAXIMUM_DEPTH = 60
# Builtins and friends whose result holds what they are given, and methods of containers that do.
PASSING = frozenset(
    {"deque", "dict", "enumerate", "filter", "iter", "list", "map", "next", "partial", "reversed"}
    | {"set", "sorted", "tuple", "zip"}
)
CONTAINED = frozenset({"copy", "get", "items", "pop", "popleft", "values"})
ADDING = frozenset({"add", "append", "appendleft", "extend", "insert"})


def follow_layers(index: Index, entry: Entry, roots: tuple[FunctionRef, ...]) -> Flow:
    """Read functions from ``roots`` on until nothing new is found out.

    What calls the roots is not read, so they may be given anything else.
    """
    flow = Flow(index, entry)
    for ref in roots:
        known = flow.known(ref)
        if known is not None:
            known.literals |= {name: {None} for name in parameters(index, ref)}
    for _ in range(MAXIMUM_ROUNDS):
        flow.changed = False
        for ref in list(flow.functions):
            _Reading(flow, ref).read()
        if not flow.changed:
            break
    return flow


class _Reading:
    """One pass over a function with what is known so far."""

    def __init__(self, flow: Flow, ref: FunctionRef) -> None:
        self._flow = flow
        self._index = flow.index
        self._known = flow.functions[ref]
        outline = flow.index.modules.function(ref)
        owner = flow.index.modules.owner(ref)
        receiver = Instance(owner) if owner else None
        self._scope = Scope(ref.file, receiver, owner, outline)
        self._node = outline.node if outline else None
        self._names = self._known.names | self._known.given
        # A name that is bound after it was looked up asks for another pass.
        self._origins: dict[int, Origin] = {}
        self._depth = 0

    def read(self) -> None:
        for node in ast.walk(self._node) if self._node else ():
            self._statement(node)
            if isinstance(node, ast.Call):
                self._call(node)
        if self._names != self._known.names:
            self._known.names = self._names
            self._flow.changed = True

    # ---- what names hold ----

    def _statement(self, node: ast.AST) -> None:
        match node:
            case ast.Assign(targets, value):
                for target in targets:
                    self._bind(target, value)
            case ast.AnnAssign(target, value=ast.expr() as value) | ast.AugAssign(
                target, value=value
            ):
                self._bind(target, value)
            case ast.NamedExpr(target, value):
                self._bind(target, value)
            case ast.For(target, value) | ast.comprehension(target, value):
                self._bind_item(target, value)
            case ast.withitem(value, ast.expr() as target):
                self._bind(target, value)
            case ast.Return(ast.expr() as value) | ast.Yield(ast.expr() as value):
                self._returned(value)
            case ast.YieldFrom(value):
                self._returned(value)

    def _bind(self, target: ast.expr, value: ast.expr) -> None:
        match target, value:
            case ast.Tuple(targets), ast.Tuple(parts) if len(targets) == len(parts):
                for inner, part in zip(targets, parts, strict=True):
                    self._bind(inner, part)
            case _:
                self._hold(target, self.origin(value))

    def _bind_item(self, target: ast.expr, value: ast.expr) -> None:
        match target, value:
            case ast.Tuple([_, inner]), ast.Call(ast.Name("enumerate")):
                self._hold(inner, self.origin(value).item)
            case _:
                self._hold(target, self.origin(value).item)

    def _hold(self, target: ast.expr, origin: Origin) -> None:
        match target:
            case ast.Name(name):
                self._names[name] = max(origin, self._names.get(name, origin))
            case ast.Attribute(_, name) if origin:
                self._flow.keep(name)
            case ast.Tuple(items) | ast.List(items):
                for item in items:
                    self._hold(item, origin)
            case ast.Starred(inner) | ast.Subscript(inner):
                if origin:
                    self._hold(inner, origin)

    def _returned(self, value: ast.expr) -> None:
        origin = self.origin(value)
        if origin > self._known.returns:
            self._known.returns = origin
            self._flow.changed = True

    # ---- what expressions are ----

    def origin(self, node: ast.expr) -> Origin:
        """What an expression is, as far as the names in it are known."""
        if id(node) not in self._origins:
            if self._depth > MAXIMUM_DEPTH:
                return Origin.NEITHER
            self._depth += 1
            self._origins[id(node)] = self._find_origin(node)
            self._depth -= 1
        return self._origins[id(node)]

    def _find_origin(self, node: ast.expr) -> Origin:
        match node:
            case ast.Name(name):
                return self._names.get(name, Origin.NEITHER)
            case ast.Attribute():
                return self._attribute(node)
            case ast.Call():
                return self._result(node)
            case ast.IfExp(_, body, orelse):
                return max(self.origin(body), self.origin(orelse))
            case ast.Compare() | ast.Lambda() | ast.JoinedStr():
                return Origin.NEITHER
            case ast.Subscript(value, index):
                origin = self.origin(value)
                return origin if isinstance(index, ast.Slice) else origin.item
            case ast.ListComp(element) | ast.SetComp(element) | ast.GeneratorExp(element):
                return self.origin(element).listed
            case _:
                parts = (x for x in ast.iter_child_nodes(node) if isinstance(x, ast.expr))
                origin = max(map(self.origin, parts), default=Origin.NEITHER)
                return origin.listed if isinstance(node, ast.List | ast.Tuple | ast.Set) else origin

    def _attribute(self, node: ast.Attribute) -> Origin:
        if node.attr in self._flow.entry.stacks:
            return Origin.LAYERS
        names, base = chain(node)
        if self.origin(base).is_layers:
            return Origin.MADE if self._flow.is_method(names) else Origin.NEITHER
        kept = node.attr in self._flow.fields and self.origin(node.value)
        return Origin.MADE if kept else Origin.NEITHER

    def _result(self, node: ast.Call) -> Origin:
        given = max((self.origin(item) for _, item in values(node)), default=Origin.NEITHER)
        name = last_name(node.func)
        if name in PASSING:
            return given
        if isinstance(node.func, ast.Attribute) and name in CONTAINED:
            return self.origin(node.func.value)
        results = [Origin.NEITHER]
        for target in self._targets(node) if given or self._on_made(node) else ():
            known = self._flow.functions.get(target) if isinstance(target, FunctionRef) else None
            results.append(known.returns if known else Origin.NEITHER)
            if isinstance(target, ClassRef) and given:
                results.append(Origin.MADE)
        return max(results)

    # ---- what calls do ----

    def _call(self, node: ast.Call) -> None:
        given = [Argument(name, item, self.origin(item)) for name, item in values(node)]
        origin = max((item.origin for item in given), default=Origin.NEITHER)
        if origin and isinstance(node.func, ast.Attribute) and node.func.attr in ADDING:
            self._hold(node.func.value, origin)
        if self._runs(node.func):
            self._known.runs.setdefault(node.lineno, written(node.func))
        if origin or self._on_made(node):
            for target in self._targets(node):
                self._give(target, node, given)
        elif last_name(node.func) in self._flow.names:
            for target in self._targets(node):
                if isinstance(target, FunctionRef) and target in self._flow.functions:
                    self._note_literals(target, given)

    def _runs(self, function: ast.expr) -> bool:
        """Is something called that was made of layers? Calls of layers themselves are known."""
        if isinstance(function, ast.Attribute) and self.origin(chain(function)[1]).is_layers:
            return False
        return self.origin(function) is Origin.MADE

    def _on_made(self, node: ast.Call) -> bool:
        return isinstance(node.func, ast.Attribute) and self.origin(node.func.value) is Origin.MADE

    def _targets(self, node: ast.Call) -> Iterator[FunctionRef | ClassRef]:
        found = self._index.types.evaluate(node.func, self._scope).items
        for item in found:
            if isinstance(item, FunctionType):
                yield item.ref
            elif isinstance(item, ClassType):
                yield item.cls
        if not found and isinstance(node.func, ast.Attribute):
            yield from self._methods(node.func)

    def _methods(self, node: ast.Attribute) -> Iterator[FunctionRef]:
        """A method that is looked up on its class, which the function itself may have imported."""
        for item in self._index.types.evaluate(node.value, self._scope).items:
            if isinstance(item, ClassType):
                method = self._index.modules.method(item.cls, node.attr)
                if method is not None:
                    yield method[0]

    def _give(self, target: FunctionRef | ClassRef, node: ast.Call, given: list[Argument]) -> None:
        """Hand arguments to a function, or to what makes an object of a class."""
        if isinstance(target, FunctionRef):
            self._give_function(target, node, given)
            return
        method = self._index.modules.method(target, "__init__")
        if method is not None:
            self._give_function(method[0], node, given)
            return
        for name, item in named(list(self._index.field_names(target)), given):
            if item.origin:
                self._flow.keep(name)

    def _give_function(self, target: FunctionRef, node: ast.Call, given: list[Argument]) -> None:
        known = self._flow.known(target)
        if known is None:
            return
        origin = max((item.origin for item in given), default=Origin.NEITHER)
        first = self._known.calls.get(target)
        if first is None or origin > first.origin:
            self._known.calls[target] = Given(node.lineno, written(node.func), origin)
        receiver = receiver_of(self._index, target)
        if receiver:
            self._pass(known, receiver, Origin.MADE)
        for name, item in named(parameters(self._index, target), given):
            self._pass(known, name, item.origin)
        self._note_literals(target, given)

    def _pass(self, known: Known, name: str, origin: Origin) -> None:
        if origin > known.given.get(name, Origin.NEITHER):
            known.given[name] = origin
            self._flow.changed = True

    def _note_literals(self, target: FunctionRef, given: list[Argument]) -> None:
        """Remember literal arguments: a test of one has the same outcome at each call."""
        names = parameters(self._index, target)
        found: dict[str, Literal | None] = dict.fromkeys(names)
        if not any(item.is_open for item in given):
            defaults = self._index.constant_defaults(target)
            found |= {
                name: Literal(type(value).__name__, value)
                for name, value in defaults.items()
                if name in found
            }
        found |= {name: item.literal for name, item in named(names, given)}
        known = self._flow.functions[target].literals
        for name, literal in found.items():
            known.setdefault(name, set()).add(literal)
