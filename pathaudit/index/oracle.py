"""What kind of object an attribute holds, from the constructors that assign it."""

import ast
from collections.abc import Iterable

from pathaudit.index.inference import Inference
from pathaudit.index.outline import AttributeStore, FunctionOutline
from pathaudit.index.resolve import (
    ClassRef,
    FunctionRef,
    Modules,
)
from pathaudit.index.types import UNKNOWN, FunctionType, Instance, Scope, StackType, Types, union
from pathaudit.ruleset import Stacks


class TypeOracle(Inference):
    """Answers ``attribute(instance, name)``; results are kept for the life of the index."""

    def __init__(self, modules: Modules, stacks: Stacks) -> None:
        super().__init__(modules, stacks)
        self._attributes: dict[tuple[Instance, str], Types] = {}
        self._open: set[tuple[Instance, str]] = set()
        self._scopes: dict[tuple[Instance, ClassRef, str], Scope | None] = {}

    def attribute(self, instance: Instance, name: str) -> Types:
        """The types of ``instance.name``: from stores in methods, class attributes, properties."""
        key = (instance, name)
        if key in self._open:
            self._cuts += 1
            return UNKNOWN  # a circular question
        if key not in self._attributes:
            self._open.add(key)
            self._attributes[key] = self._find_attribute(instance, name)
            self._open.discard(key)
        return self._attributes[key]

    def along(self, instances: Iterable[Instance], path: Iterable[str]) -> tuple[Instance, ...]:
        """The possible classes of what ``instances`` hold at an attribute path."""
        found = tuple(instances)
        for name in path:
            found = tuple(x for item in found for x in self.attribute(item, name).instances())
        return found

    def _find_attribute(self, instance: Instance, name: str) -> Types:
        for cls in self._modules.mro(instance.cls):
            outline = self._modules.class_outline(cls)
            if outline is None:
                continue
            stores = [store for store in outline.stores if store.name == name]
            if stores:
                found = union(self._stored(instance, cls, store) for store in stores)
                if found.items or any(store.always for store in stores):
                    return found
                # An arm stores what is not known; the others may keep what a base stores.
                continue
            if name in outline.attributes:
                return self.evaluate(outline.attributes[name], Scope(cls.file))
            method = outline.methods.get(name)
            if method is not None:
                return self._property(instance, cls, method)
        return UNKNOWN

    def _property(self, instance: Instance, cls: ClassRef, method: FunctionOutline) -> Types:
        if any(name.endswith("property") for name in method.decorators):
            scope = Scope(cls.file, instance, cls, method)
            return self.returned(method.returns, scope)
        return Types((FunctionType(FunctionRef(cls.file, method.qualname)),))

    def _stored(self, instance: Instance, cls: ClassRef, store: AttributeStore) -> Types:
        scope = self._method_scope(instance, cls, store.method)
        if scope is None:
            return UNKNOWN
        if store.position is not None:
            return self.item(store.value, store.position, scope)
        value = self.evaluate(store.value, scope)
        appended = self._appended(store, scope)
        if value.stacks() and appended is not None:
            return Types((appended,), value.complete)
        return value

    def _appended(self, store: AttributeStore, scope: Scope) -> StackType | None:
        """A container that starts empty and is filled by ``self.name.append(...)``."""
        if scope.function is None:
            return None
        parts: list[Types] = []
        decoder = False
        for name, loops, value in scope.function.appended:
            if name == store.name:
                parts.append(self.evaluate(value, scope))
                decoder = decoder or any(self.is_count(item.iter, scope) for item in loops)
        return StackType(union(parts), decoder) if parts else None

    def _method_scope(self, instance: Instance, cls: ClassRef, method: str) -> Scope | None:
        key = (instance, cls, method)
        if key in self._scopes:
            return self._scopes[key]
        cuts = self._cuts
        scope = self._make_scope(instance, cls, method)
        if cuts == self._cuts:
            self._scopes[key] = scope
        return scope

    def _make_scope(self, instance: Instance, cls: ClassRef, method: str) -> Scope | None:
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
            call = scope.function.base_init if scope and scope.function else None
            if call is not None and scope is not None:
                return self.bind(cls, call, scope)
        return ()

    def _defines_init(self, ref: ClassRef) -> bool:
        outline = self._modules.class_outline(ref)
        return outline is not None and "__init__" in outline.methods

    def bind(self, cls: ClassRef, call: ast.Call, scope: Scope) -> tuple[tuple[str, Types], ...]:
        """Constructor arguments that hold types, by parameter name."""
        found = self._modules.method(cls, "__init__")
        if found is None:
            return ()
        names = [arg.arg for arg in found[1].node.args.args[1:]]
        pairs = list(zip(names, call.args, strict=False))
        pairs += [(item.arg, item.value) for item in call.keywords if item.arg]
        bound = [(name, self.evaluate(value, scope)) for name, value in pairs]
        return tuple((name, types) for name, types in bound if types.items)
