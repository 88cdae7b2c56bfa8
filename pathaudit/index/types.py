"""What kind of object an attribute holds, from the constructors that assign it."""

import ast
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase

from msgspec import Struct

from pathaudit.index.outline import AttributeStore, FunctionOutline, imported
from pathaudit.index.resolve import (
    ClassRef,
    External,
    FunctionRef,
    Modules,
    Symbol,
    ValueRef,
)
from pathaudit.ruleset import StackConstructor, Stacks

EVALUATION_DEPTH = 12


class Instance(Struct, frozen=True, order=True):
    """An object of a class; ``bindings`` are constructor arguments that are classes."""

    cls: ClassRef
    bindings: tuple[tuple[str, "Types"], ...] = ()


class StackType(Struct, frozen=True, order=True):
    """A container of modules. ``decoder`` says that it holds the decoder layers of a model."""

    elements: "Types"
    decoder: bool


class ClassType(Struct, frozen=True, order=True):
    """The class itself, as in ``layer_type=DecoderLayer``."""

    cls: ClassRef


class FunctionType(Struct, frozen=True, order=True):
    ref: FunctionRef


Type = Instance | StackType | ClassType | FunctionType


class Types(Struct, frozen=True, order=True):
    """The possible types of a value; not ``complete`` where something could not be followed."""

    items: tuple[Type, ...] = ()
    complete: bool = True

    def instances(self) -> tuple[Instance, ...]:
        return tuple(item for item in self.items if isinstance(item, Instance))

    def stacks(self) -> tuple[StackType, ...]:
        return tuple(item for item in self.items if isinstance(item, StackType))


NOTHING = Types()
UNKNOWN = Types((), complete=False)


def union(parts: Iterable[Types]) -> Types:
    """All types of all parts; complete only if each part is."""
    items: dict[Type, None] = {}
    complete = True
    for part in parts:
        items.update(dict.fromkeys(part.items))
        complete = complete and part.complete
    return Types(tuple(items), complete)


class Scope(Struct, frozen=True, eq=False):
    """Where an expression is evaluated: a module, and in it a method of a receiver or nothing."""

    file: str
    receiver: Instance | None = None
    owner: ClassRef | None = None
    function: FunctionOutline | None = None
    arguments: tuple[tuple[str, Types], ...] = ()
    names: tuple[tuple[str, Types], ...] = ()


class TypeOracle:
    """Answers ``attribute(instance, name)``; results are kept for the life of the index."""

    def __init__(self, modules: Modules, stacks: Stacks) -> None:
        self._modules = modules
        self._stacks = stacks
        self._attributes: dict[tuple[Instance, str], Types] = {}
        self._locals: dict[int, dict[str, list[ast.expr]]] = {}
        self._depth = 0

    # ---- attributes ----

    def attribute(self, instance: Instance, name: str) -> Types:
        """The types of ``instance.name``: from stores in methods, class attributes, properties."""
        key = (instance, name)
        if key not in self._attributes:
            self._attributes[key] = UNKNOWN  # answers a circular question
            self._attributes[key] = self._find_attribute(instance, name)
        return self._attributes[key]

    def _find_attribute(self, instance: Instance, name: str) -> Types:
        for cls in self._modules.mro(instance.cls):
            outline = self._modules.class_outline(cls)
            if outline is None:
                continue
            stores = [store for store in outline.stores if store.name == name]
            if stores:
                return union(self._stored(instance, cls, store) for store in stores)
            if name in outline.attributes:
                return self.evaluate(outline.attributes[name], Scope(cls.file))
            method = outline.methods.get(name)
            if method is not None:
                return self._property(instance, cls, method)
        return UNKNOWN

    def _property(self, instance: Instance, cls: ClassRef, method: FunctionOutline) -> Types:
        if any(name.endswith("property") for name in method.decorators):
            scope = Scope(cls.file, instance, cls, method)
            return self._returned(method.node, scope)
        return Types((FunctionType(FunctionRef(cls.file, method.qualname)),))

    def _stored(self, instance: Instance, cls: ClassRef, store: AttributeStore) -> Types:
        scope = self._method_scope(instance, cls, store.method)
        if scope is None:
            return UNKNOWN
        if store.position is not None:
            return self._item(store.value, store.position, scope)
        value = self.evaluate(store.value, scope)
        appended = self._appended(store, scope)
        if value.stacks() and appended is not None:
            return Types((appended,), value.complete)
        return value

    def _item(self, node: ast.expr, position: int, scope: Scope) -> Types:
        """The types of one item of a value that is unpacked."""
        if self._depth > EVALUATION_DEPTH:
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
                return union(self._item(part, position, scope) for part in (body, orelse))
            case ast.Name(id) if scope.function is not None:
                values = _local_assignments(scope.function.node).get(id, [])
                return union(self._item(value, position, scope) for value in values)
            case ast.Call(ast.Name("tuple" | "list"), [inner]):
                return self.evaluate(inner, scope)
            case ast.Call():
                return self._unpacked_call(node, position, scope)
            case _:
                return UNKNOWN

    def _unpacked_call(self, node: ast.Call, position: int, scope: Scope) -> Types:
        constructor = self._constructor(_dotted_name(node.func))
        if constructor is not None:
            return self._constructed(constructor, node, scope) if position == 0 else UNKNOWN
        parts = []
        for item in self.evaluate(node.func, scope).items:
            function = self._modules.function(item.ref) if isinstance(item, FunctionType) else None
            if function is None or not isinstance(item, FunctionType):
                parts.append(UNKNOWN)
                continue
            inner = Scope(item.ref.file, function=function)
            parts += [self._item(value, position, inner) for value in _returns(function.node)]
        return union(parts) if parts else UNKNOWN

    def _appended(self, store: AttributeStore, scope: Scope) -> StackType | None:
        """A container that starts empty and is filled by ``self.name.append(...)``."""
        if scope.function is None:
            return None
        parts: list[Types] = []
        decoder = False
        for loop, call in _calls_with_loops(scope.function.node, ()):
            function = call.func
            if (
                isinstance(function, ast.Attribute)
                and function.attr == "append"
                and ast.unparse(function.value) == f"self.{store.name}"
                and call.args
            ):
                parts.append(self.evaluate(call.args[0], scope))
                decoder = decoder or any(self._is_count(item.iter, scope) for item in loop)
        return StackType(union(parts), decoder) if parts else None

    def _method_scope(self, instance: Instance, cls: ClassRef, method: str) -> Scope | None:
        outline = self._modules.class_outline(cls)
        function = outline.methods.get(method) if outline else None
        if function is None:
            return None
        arguments = self._constructor_arguments(instance, cls) if method == "__init__" else ()
        return Scope(cls.file, instance, cls, function, arguments)

    def _constructor_arguments(
        self, instance: Instance, cls: ClassRef
    ) -> tuple[tuple[str, Types], ...]:
        """What ``cls.__init__`` is called with when ``instance`` is made, classes only."""
        order = self._modules.mro(instance.cls)
        first = next((ref for ref in order if self._defines_init(ref)), None)
        if cls == first:
            return instance.bindings
        for ref in order[: order.index(cls)][::-1] if cls in order else ():
            scope = self._method_scope(instance, ref, "__init__")
            call = _base_init_call(scope.function.node) if scope and scope.function else None
            if call is not None and scope is not None:
                return self._bind(cls, call, scope)
        return ()

    def _defines_init(self, ref: ClassRef) -> bool:
        outline = self._modules.class_outline(ref)
        return outline is not None and "__init__" in outline.methods

    def _bind(self, cls: ClassRef, call: ast.Call, scope: Scope) -> tuple[tuple[str, Types], ...]:
        """Constructor arguments that hold types, by parameter name."""
        found = self._modules.method(cls, "__init__")
        if found is None:
            return ()
        names = [arg.arg for arg in found[1].node.args.args[1:]]
        pairs = list(zip(names, call.args, strict=False))
        pairs += [(item.arg, item.value) for item in call.keywords if item.arg]
        bound = [(name, self.evaluate(value, scope)) for name, value in pairs]
        return tuple((name, types) for name, types in bound if types.items)

    # ---- expressions ----

    def evaluate(self, node: ast.expr, scope: Scope) -> Types:
        """The types of an expression; ``UNKNOWN`` where it cannot be followed."""
        if self._depth > EVALUATION_DEPTH:
            return UNKNOWN
        self._depth += 1
        try:
            return self._evaluate(node, scope)
        finally:
            self._depth -= 1

    def _evaluate(self, node: ast.expr, scope: Scope) -> Types:
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
        return self._symbol(self._resolve(name, scope), scope)

    def _local(self, name: str, scope: Scope, function: FunctionOutline) -> Types | None:
        """A parameter or local variable: its argument or default, and all it is assigned."""
        parts = []
        bound = dict(scope.arguments).get(name)
        default = _default_of(function.node, name)
        if bound is not None:
            parts.append(bound)
        elif default is not None:
            parts.append(self.evaluate(default, Scope(scope.file)))
        elif name in _parameters(function.node):
            parts.append(UNKNOWN)
        # In `x = x or Default` the inner name is what came in.
        inner = _with_names(scope, ((name, union(parts)),))
        if id(function.node) not in self._locals:
            self._locals[id(function.node)] = _local_assignments(function.node)
        values = self._locals[id(function.node)].get(name, [])
        parts += [self.evaluate(value, inner) for value in values]
        return union(parts) if parts else None

    def _resolve(self, name: str, scope: Scope) -> Symbol | None:
        if scope.function is not None:
            for statement in ast.walk(scope.function.node):
                if isinstance(statement, (ast.Import, ast.ImportFrom)):
                    for bound, symbol in imported(statement):
                        if bound == name.split(".")[0] and symbol.attribute:
                            module = self._modules.absolute(scope.file, symbol)
                            file = self._modules.file_of(module)
                            return (
                                self._modules.resolve(file, symbol.attribute)
                                if file
                                else External(f"{module}.{symbol.attribute}")
                            )
        return self._modules.resolve(scope.file, name)

    def _symbol(self, symbol: Symbol | None, scope: Scope) -> Types:
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
        text = _dotted_name(node)
        return self._symbol(self._modules.resolve(scope.file, text), scope) if text else UNKNOWN

    # ---- calls ----

    def _call(self, node: ast.Call, scope: Scope) -> Types:
        text = _dotted_name(node.func)
        constructor = self._constructor(text)
        if constructor is not None:
            return self._constructed(constructor, node, scope)
        if text and self._is_container(text, scope):
            return self._container(node, scope)
        if text and text.rsplit(".", 1)[-1] == "partial" and node.args:
            return self.evaluate(node.args[0], scope)
        parts = [
            self._result(item, node, scope) for item in self.evaluate(node.func, scope).items
        ]
        return union(parts) if parts else UNKNOWN

    def _result(self, item: Type, node: ast.Call, scope: Scope) -> Types:
        match item:
            case ClassType(cls):
                return Types((Instance(cls, self._bind(cls, node, scope)),))
            case FunctionType(ref):
                function = self._modules.function(ref)
                if function is None:
                    return UNKNOWN
                return self._returned(function.node, Scope(ref.file, function=function))
            case _:
                return UNKNOWN

    def _returned(self, node: ast.FunctionDef | ast.AsyncFunctionDef, scope: Scope) -> Types:
        returns = _returns(node)
        return union(self.evaluate(value, scope) for value in returns) if returns else UNKNOWN

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
            for statement in ast.walk(scope.function.node):
                if isinstance(statement, ast.FunctionDef) and statement.name == maker.id:
                    inner = _local_assignments(statement)
                    names = tuple(
                        (name, union(self.evaluate(value, scope) for value in values))
                        for name, values in inner.items()
                    )
                    return self._returned(statement, _with_names(scope, names))
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
            self._is_count(clause.iter, scope) for clause in items.generators
        )
        return Types((StackType(self._element(self.evaluate(items, scope)), decoder),))

    def _is_count(self, iterable: ast.expr, scope: Scope) -> bool:
        """Does a loop run over all decoder layers? ``range(config.num_hidden_layers)``."""
        if not (isinstance(iterable, ast.Call) and _dotted_name(iterable.func) == "range"):
            return False
        texts = [ast.unparse(argument) for argument in iterable.args]
        for argument in iterable.args:
            if isinstance(argument, ast.Name) and scope.function is not None:
                values = _local_assignments(scope.function.node).get(argument.id, [])
                texts += [ast.unparse(value) for value in values]
        return any(fnmatchcase(text, glob) for text in texts for glob in self._stacks.counts)


def _with_names(scope: Scope, names: tuple[tuple[str, Types], ...]) -> Scope:
    return Scope(
        scope.file,
        scope.receiver,
        scope.owner,
        scope.function,
        scope.arguments,
        (*names, *scope.names),
    )


# ---- syntax -----------------------------------------------------------------------------------


def _dotted_name(node: ast.expr) -> str:
    match node:
        case ast.Name(id):
            return id
        case ast.Attribute(value, attr):
            base = _dotted_name(value)
            return f"{base}.{attr}" if base else ""
        case _:
            return ""


def _returns(node: ast.AST) -> list[ast.expr]:
    return [
        statement.value
        for statement in ast.walk(node)
        if isinstance(statement, ast.Return) and statement.value is not None
    ]


def _local_assignments(node: ast.AST) -> dict[str, list[ast.expr]]:
    found: dict[str, list[ast.expr]] = {}
    for statement in ast.walk(node):
        if isinstance(statement, (ast.Assign, ast.AnnAssign)) and statement.value is not None:
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            for target in targets:
                if isinstance(target, ast.Name):
                    found.setdefault(target.id, []).append(statement.value)
    return found


def _parameters(node: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    arguments = node.args
    return {item.arg for item in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}


def _default_of(node: ast.FunctionDef | ast.AsyncFunctionDef, name: str) -> ast.expr | None:
    arguments = node.args
    positional = [*arguments.posonlyargs, *arguments.args]
    with_default = positional[len(positional) - len(arguments.defaults) :]
    for item, default in zip(with_default, arguments.defaults, strict=True):
        if item.arg == name:
            return default
    for item, keyword in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        if item.arg == name:
            return keyword
    return None


def _base_init_call(node: ast.AST) -> ast.Call | None:
    """``super().__init__(...)`` or ``Base.__init__(self, ...)`` in a constructor."""
    for call in ast.walk(node):
        if (
            isinstance(call, ast.Call)
            and isinstance(call.func, ast.Attribute)
            and call.func.attr == "__init__"
        ):
            return call
    return None


def _calls_with_loops(
    node: ast.AST, loops: tuple[ast.For, ...]
) -> Iterator[tuple[tuple[ast.For, ...], ast.Call]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Call):
            yield loops, child
        inner = (*loops, child) if isinstance(child, ast.For) else loops
        yield from _calls_with_loops(child, inner)
