"""The types of expressions: names, calls of constructors and factories, containers of modules."""

import ast
from abc import ABC, abstractmethod
from collections.abc import Sequence
from fnmatch import fnmatchcase

from pathaudit.index.outline import FunctionOutline
from pathaudit.index.resolve import (
    ClassRef,
    External,
    FunctionRef,
    Modules,
    Symbol,
    ValueRef,
)
from pathaudit.index.syntax import (
    Assigned,
    dotted_name,
    local_assignments,
    returns,
)
from pathaudit.index.types import (
    NOTHING,
    UNKNOWN,
    ClassType,
    FunctionType,
    Instance,
    Scope,
    StackType,
    Type,
    Types,
    union,
    with_names,
)
from pathaudit.ruleset import StackConstructor, Stacks

EVALUATION_DEPTH = 12


class Inference(ABC):
    """Evaluates expressions to types; recursion is bounded."""

    def __init__(self, modules: Modules, stacks: Stacks) -> None:
        self._modules = modules
        self._stacks = stacks
        self._depth = 0
        # How often something was not followed because it was too deep, or is being asked for:
        # what was found without that is the answer wherever it is asked again.
        self._cuts = 0
        self._named: dict[tuple[Scope, str], Types | None] = {}
        self._given_back: dict[FunctionRef, Types] = {}

    @abstractmethod
    def attribute(self, instance: Instance, name: str) -> Types:
        """The types of ``instance.name``."""

    @abstractmethod
    def bind(self, cls: ClassRef, call: ast.Call, scope: Scope) -> tuple[tuple[str, Types], ...]:
        """Constructor arguments that hold types, by parameter name."""

    def evaluate(self, node: ast.expr, scope: Scope) -> Types:
        """The types of an expression; ``UNKNOWN`` where it cannot be followed."""
        if self._depth > EVALUATION_DEPTH:
            self._cuts += 1
            return UNKNOWN
        self._depth += 1
        try:
            return self._evaluate(node, scope)
        finally:
            self._depth -= 1

    def _evaluate(self, node: ast.expr, scope: Scope) -> Types:  # noqa: C901 - one arm a form
        match node:
            case ast.Name(id):
                return self._name(id, scope)
            case ast.Attribute():
                return self._dotted(node, scope)
            case ast.Call():
                return self._call(node, scope)
            case ast.IfExp(_, body, orelse):
                return union([self.evaluate(body, scope), self.evaluate(orelse, scope)])
            case ast.BoolOp(operator, values):
                return self._boolean(operator, [self.evaluate(value, scope) for value in values])
            case ast.Constant(None):
                return NOTHING
            case ast.Dict(_, values):
                return union(self.evaluate(value, scope) for value in values)
            case ast.List(items) | ast.Tuple(items):
                return union(self.evaluate(item, scope) for item in items)
            case ast.Subscript(value):
                return self._element(self.evaluate(value, scope))
            case ast.ListComp(element) | ast.GeneratorExp(element):
                return self.evaluate(element, scope)
            case ast.NamedExpr(_, value) | ast.Starred(value):
                return self.evaluate(value, scope)
            case _:
                return UNKNOWN

    def _boolean(self, operator: ast.boolop, parts: list[Types]) -> Types:
        """``given or Default`` is ``given`` where that is surely a class, which is true."""
        first = parts[0]
        classes = first.items and all(isinstance(item, ClassType) for item in first.items)
        if isinstance(operator, ast.Or) and first.complete and classes:
            return first
        return union(parts)

    def _element(self, types: Types) -> Types:
        stacks = types.stacks()
        return union(stack.elements for stack in stacks) if stacks else types

    def _name(self, name: str, scope: Scope) -> Types:
        for known, types in scope.names:
            if known == name:
                return types
        if scope.function is not None:
            if name == "self" and scope.receiver is not None:
                return Types((scope.receiver,))
            found = self._local(name, scope, scope.function)
            if found is not None:
                return found
        return self._symbol(self._resolve(name, scope))

    def _local(self, name: str, scope: Scope, function: FunctionOutline) -> Types | None:
        key = (scope, name)
        if key in self._named:
            return self._named[key]
        cuts = self._cuts
        found = self._find_local(name, scope, function)
        if cuts == self._cuts:
            self._named[key] = found
        return found

    def _find_local(self, name: str, scope: Scope, function: FunctionOutline) -> Types | None:
        """A parameter or local variable: its argument or default, and all it is assigned."""
        parts = []
        bound = dict(scope.arguments).get(name)
        default = function.defaults.get(name)
        if bound is not None:
            parts.append(bound)
        elif default is not None:
            parts.append(self.evaluate(default, Scope(scope.file)))
        elif name in function.parameters:
            parts.append(UNKNOWN)
        # In `x = x or Default` the inner name is what came in.
        inner = with_names(scope, ((name, union(parts)),))
        values = function.locals.get(name, [])
        parts += [self._assigned(value, inner) for value in values]
        return union(parts) if parts else None

    def _assigned(self, assigned: Assigned, scope: Scope) -> Types:
        if assigned.position is None:
            return self.evaluate(assigned.value, scope)
        return self.item(assigned.value, assigned.position, scope)

    def _resolve(self, name: str, scope: Scope) -> Symbol | None:
        head = name.split(".")[0]
        for bound, symbol in scope.function.imports if scope.function is not None else ():
            if bound == head and symbol.attribute:
                module = self._modules.absolute(scope.file, symbol)
                file = self._modules.file_of(module)
                if file is None:
                    return External(f"{module}.{symbol.attribute}")
                return self._modules.resolve(file, symbol.attribute)
        return self._modules.resolve(scope.file, name)

    def _symbol(self, symbol: Symbol | None) -> Types:
        match symbol:
            case ClassRef():
                return Types((ClassType(symbol),))
            case FunctionRef():
                return Types((FunctionType(symbol),))
            case ValueRef(file, name):
                outline = self._modules.outline(file)
                values = outline.values.get(name, ()) if outline else ()
                return union(self.evaluate(value, Scope(file)) for value in values)
            case _:
                return UNKNOWN

    def _dotted(self, node: ast.Attribute, scope: Scope) -> Types:
        base = self.evaluate(node.value, scope)
        found = [self.attribute(item, node.attr) for item in base.instances()]
        if found:
            return union(found)
        text = dotted_name(node)
        return self._symbol(self._modules.resolve(scope.file, text)) if text else UNKNOWN

    def _call(self, node: ast.Call, scope: Scope) -> Types:
        text = dotted_name(node.func)
        constructor = self._constructor(text)
        if constructor is not None:
            return self._constructed(constructor, node, scope)
        if text and self._is_container(text, scope):
            return self._container(node, scope)
        if text and text.rsplit(".", 1)[-1] == "partial" and node.args:
            return self.evaluate(node.args[0], scope)
        parts = [self._result(item, node, scope) for item in self.evaluate(node.func, scope).items]
        return union(parts) if parts else UNKNOWN

    def _result(self, item: Type, node: ast.Call, scope: Scope) -> Types:
        match item:
            case ClassType(cls):
                return Types((Instance(cls, self.bind(cls, node, scope)),))
            case FunctionType(ref):
                return self._returned_by(ref)
            case _:
                return UNKNOWN

    def _returned_by(self, ref: FunctionRef) -> Types:
        if ref in self._given_back:
            return self._given_back[ref]
        function = self._modules.function(ref)
        if function is None:
            return UNKNOWN
        cuts = self._cuts
        found = self.returned(function.returns, Scope(ref.file, function=function))
        if cuts == self._cuts:
            self._given_back[ref] = found
        return found

    def returned(self, values: Sequence[ast.expr], scope: Scope) -> Types:
        return union(self.evaluate(value, scope) for value in values) if values else UNKNOWN

    def _constructor(self, text: str) -> StackConstructor | None:
        name = text.rsplit(".", 1)[-1]
        return next((item for item in self._stacks.constructors if item.call == name), None)

    def _constructed(self, constructor: StackConstructor, node: ast.Call, scope: Scope) -> Types:
        keywords = {item.arg: item.value for item in node.keywords}
        maker = keywords.get(constructor.element)
        if maker is None and len(node.args) > constructor.position:
            maker = node.args[constructor.position]
        elements = self._made(maker, scope) if maker is not None else UNKNOWN
        return Types((StackType(elements, decoder=True),))

    def _made(self, maker: ast.expr, scope: Scope) -> Types:
        """What a layer factory makes: a lambda, a local function, a class, a partial."""
        if isinstance(maker, ast.Lambda):
            return self.evaluate(maker.body, scope)
        if isinstance(maker, ast.Name) and scope.function is not None:
            for statement in scope.function.nodes:
                if isinstance(statement, ast.FunctionDef) and statement.name == maker.id:
                    inner = local_assignments(ast.walk(statement))
                    names = tuple(
                        (name, union(self._assigned(value, scope) for value in values))
                        for name, values in inner.items()
                    )
                    return self.returned(returns(ast.walk(statement)), with_names(scope, names))
        made = [
            Types((Instance(item.cls),)) if isinstance(item, ClassType) else UNKNOWN
            for item in self.evaluate(maker, scope).items
        ]
        return union(made) if made else UNKNOWN

    def _is_container(self, text: str, scope: Scope) -> bool:
        symbol = self._modules.resolve(scope.file, text)
        return isinstance(symbol, External) and symbol.name in self._stacks.containers

    def _container(self, node: ast.Call, scope: Scope) -> Types:
        if not node.args:
            return Types((StackType(NOTHING, decoder=False),))
        items = node.args[0]
        decoder = isinstance(items, (ast.ListComp, ast.GeneratorExp)) and any(
            self.is_count(clause.iter, scope) for clause in items.generators
        )
        return Types((StackType(self._element(self.evaluate(items, scope)), decoder),))

    def is_count(self, iterable: ast.expr, scope: Scope) -> bool:
        """Does a loop run over all decoder layers? ``range(config.num_hidden_layers)``."""
        if not (isinstance(iterable, ast.Call) and dotted_name(iterable.func) == "range"):
            return False
        texts = [ast.unparse(argument) for argument in iterable.args]
        for argument in iterable.args:
            if isinstance(argument, ast.Name) and scope.function is not None:
                values = scope.function.locals.get(argument.id, [])
                texts += [ast.unparse(item.value) for item in values if item.position is None]
        return any(fnmatchcase(text, glob) for text in texts for glob in self._stacks.counts)

    def item(self, node: ast.expr, position: int, scope: Scope) -> Types:
        """The types of one item of a value that is unpacked."""
        if self._depth > EVALUATION_DEPTH:
            self._cuts += 1
            return UNKNOWN
        self._depth += 1
        try:
            return self._unpacked(node, position, scope)
        finally:
            self._depth -= 1

    def _unpacked(self, node: ast.expr, position: int, scope: Scope) -> Types:
        match node:
            case ast.Tuple(items) | ast.List(items) if position < len(items):
                return self.evaluate(items[position], scope)
            case ast.IfExp(_, body, orelse):
                return union(self.item(part, position, scope) for part in (body, orelse))
            case ast.Name(id) if scope.function is not None:
                values = scope.function.locals.get(id, [])
                return union(
                    self.item(value.value, position, scope)
                    for value in values
                    if value.position is None
                )
            case ast.Call(ast.Name("tuple" | "list"), [inner]):
                return self.evaluate(inner, scope)
            case ast.Call():
                return self._unpacked_call(node, position, scope)
            case _:
                return UNKNOWN

    def _unpacked_call(self, node: ast.Call, position: int, scope: Scope) -> Types:
        constructor = self._constructor(dotted_name(node.func))
        if constructor is not None:
            return self._constructed(constructor, node, scope) if position == 0 else UNKNOWN
        parts = []
        for item in self.evaluate(node.func, scope).items:
            function = self._modules.function(item.ref) if isinstance(item, FunctionType) else None
            if function is None or not isinstance(item, FunctionType):
                parts.append(UNKNOWN)
                continue
            inner = Scope(item.ref.file, function=function)
            parts += [self.item(value, position, inner) for value in function.returns]
        return union(parts) if parts else UNKNOWN
