"""The outline of a source tree: what names mean, which classes there are, what is served."""

import ast
from collections.abc import Callable, Iterator
from functools import cached_property

from pathaudit.index.features import Feature, Write, follow_setter
from pathaudit.index.oracle import TypeOracle
from pathaudit.index.outline import AttributeStore, ClassOutline, FunctionOutline, ModuleOutline
from pathaudit.index.reads import Outlines, Reads, Search, compile_globs, folders_of
from pathaudit.index.resolve import (
    ClassRef,
    External,
    FunctionRef,
    ModuleRef,
    Modules,
    Symbol,
    ValueRef,
)
from pathaudit.index.types import (
    ClassType,
    FunctionType,
    Instance,
    StackType,
    Types,
)
from pathaudit.ruleset import Profile
from pathaudit.sources import SourceTree

__all__ = [
    "ClassOutline",
    "ClassRef",
    "ClassType",
    "External",
    "Feature",
    "FunctionOutline",
    "FunctionRef",
    "FunctionType",
    "Index",
    "Instance",
    "ModuleOutline",
    "ModuleRef",
    "Outlines",
    "Reads",
    "Search",
    "StackType",
    "Symbol",
    "Types",
    "ValueRef",
    "Write",
    "build_index",
    "compile_globs",
    "folders_of",
]


class Index:
    """Answers questions about one tree; everything is found when first asked for.

    Types that depend on each other are answered in the order in which they are asked, so that
    what must not depend on what was asked before takes an index of its own over the same outlines.
    """

    def __init__(self, outlines: Outlines, profile: Profile) -> None:
        self.tree = outlines.tree
        self.profile = profile
        self.modules = Modules(outlines)
        self.types = TypeOracle(self.modules, profile.stacks)
        self._features: dict[ClassRef, tuple[Feature, ...]] = {}
        self._closures: dict[tuple[ClassRef, FunctionRef], tuple[FunctionRef, ...]] = {}
        self._entered: dict[tuple[ClassRef, str], frozenset[str]] = {}
        self._stored: dict[tuple[ClassRef, str], frozenset[str]] = {}
        self._collecting: dict[tuple[ClassRef, frozenset[str]], frozenset[str]] = {}

    @cached_property
    def model_files(self) -> tuple[str, ...]:
        """Files under the profile's model globs, in order."""
        return tuple(filter(self.is_model, self.tree.paths))

    def is_model(self, file: str) -> bool:
        """Is a file under the profile's model globs?"""
        return compile_globs(self.profile.models).match_file(file)

    def served(self, file: str) -> tuple[ClassRef, ...]:
        """The classes that a model file lists as served, drafts included, by file and name."""
        return tuple(sorted(set(self._served(file))))

    def _served(self, file: str) -> Iterator[ClassRef]:
        outline = self.modules.outline(file)
        values = outline.values.get(self.profile.entries.variable, ()) if outline else ()
        for value in values:
            for node in ast.walk(value):
                if isinstance(node, ast.Name):
                    symbol = self.modules.resolve(file, node.id)
                    if isinstance(symbol, ClassRef):
                        yield symbol

    def is_draft(self, cls: ClassRef) -> bool:
        return self.profile.is_draft(cls.name, cls.file)

    def features(self, entry: ClassRef) -> tuple[Feature, ...]:
        """One feature for each arming setter that a served class defines or inherits."""
        if entry not in self._features:
            setters = sorted(
                {
                    name
                    for cls in self.modules.mro(entry)
                    for name in self._method_names(cls)
                    if self.profile.is_setter(name)
                }
            )
            found = (follow_setter(self.modules, self.types, entry, name) for name in setters)
            self._features[entry] = tuple(x for x in found if x.writes or x.lost)
        return self._features[entry]

    def _method_names(self, cls: ClassRef) -> tuple[str, ...]:
        outline = self.modules.class_outline(cls)
        return tuple(outline.methods) if outline else ()

    # ---- what methods do, by name ----

    def attributes_of(self, ref: FunctionRef) -> frozenset[str]:
        """Every attribute name that a function mentions."""
        function = self.modules.function(ref)
        return function.attributes if function else frozenset()

    def closure(self, cls: ClassRef, ref: FunctionRef) -> tuple[FunctionRef, ...]:
        """The methods of an object that a method may lead to, itself and ``super()`` included."""
        key = (cls, ref)
        if key not in self._closures:
            found = {ref: None}
            pending = [ref]
            while pending:
                method = pending.pop()
                owner = self.modules.owner(method)
                for name in sorted(self.attributes_of(method)):
                    for after in (None, owner):
                        inner = self.modules.method(cls, name, after=after)
                        if inner is not None and inner[0] not in found:
                            found[inner[0]] = None
                            pending.append(inner[0])
            self._closures[key] = tuple(found)
        return self._closures[key]

    def entered(self, cls: ClassRef, method: str) -> frozenset[str]:
        """The sub-modules that a method calls on its object, also through its other methods."""
        return self._closure(cls, method, self._entered, _called_on_receiver)

    def stored_by(self, cls: ClassRef, method: str) -> frozenset[str]:
        """The attributes that a method stores on its object, also through its other methods."""
        return self._closure(cls, method, self._stored, _stored_on_receiver)

    def _closure(
        self,
        cls: ClassRef,
        method: str,
        known: dict[tuple[ClassRef, str], frozenset[str]],
        names: Callable[[ast.AST], frozenset[str]],
    ) -> frozenset[str]:
        key = (cls, method)
        if key not in known:
            known[key] = frozenset()  # answers recursion
            found = self.modules.method(cls, method)
            if found is not None:
                own = names(found[1].node)
                called = _called_on_receiver(found[1].node)
                methods = {name for name in called if self.modules.method(cls, name)}
                inner = (self._closure(cls, name, known, names) for name in sorted(methods))
                known[key] = (own - methods).union(*inner)
        return known[key]

    def collecting_methods(self, cls: ClassRef, verbs: frozenset[str]) -> frozenset[str]:
        """The methods that add to an object: of these names, or calling one on what it owns."""
        key = (cls, verbs)
        if key not in self._collecting:
            names = {name for ref in self.modules.mro(cls) for name in self._method_names(ref)}
            self._collecting[key] = frozenset(
                name for name in names if name in verbs or self._adds(cls, name, verbs)
            )
        return self._collecting[key]

    def _adds(self, cls: ClassRef, name: str, verbs: frozenset[str]) -> bool:
        found = self.modules.method(cls, name)
        if found is None or name == "__init__":
            return False
        return any(
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in verbs
            and ast.unparse(node.func.value).split(".")[0] == "self"
            for node in found[1].nodes
        )

    def field_names(self, cls: ClassRef) -> tuple[str, ...]:
        """The annotated attributes of a class in order: the parameters of a dataclass."""
        names: dict[str, None] = {}
        for ref in reversed(self.modules.mro(cls)):
            outline = self.modules.class_outline(ref)
            names.update(dict.fromkeys(outline.fields if outline else ()))
        return tuple(names)

    def is_static(self, ref: FunctionRef) -> bool:
        function = self.modules.function(ref)
        return function is not None and "staticmethod" in function.decorators

    def is_class_method(self, ref: FunctionRef) -> bool:
        function = self.modules.function(ref)
        return function is not None and "classmethod" in function.decorators

    def constant_defaults(self, ref: FunctionRef) -> dict[str, bool | int | float | str | None]:
        """Parameters whose default is a literal."""
        function = self.modules.function(ref)
        if function is None:
            return {}
        arguments = function.node.args
        positional = [*arguments.posonlyargs, *arguments.args]
        pairs = [
            *zip(reversed(positional), reversed(arguments.defaults), strict=False),
            *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True),
        ]
        return {
            item.arg: default.value
            for item, default in pairs
            if isinstance(default, ast.Constant)
            and (default.value is None or isinstance(default.value, bool | int | float | str))
        }

    def stacks_of(self, instance: Instance) -> frozenset[str]:
        """The attributes of an object that hold decoder layers."""
        names = {
            store.name
            for cls in self.modules.mro(instance.cls)
            for store in self._stores(cls)
            if isinstance(store.value, ast.Call) and store.position in (None, 0)
        }
        return frozenset(
            name
            for name in names
            if any(stack.decoder for stack in self.types.attribute(instance, name).stacks())
        )

    def attributes_stored(self, cls: ClassRef) -> frozenset[str]:
        """The attributes that a class or a base of it stores a new object to."""
        return frozenset(
            store.name
            for ref in self.modules.mro(cls)
            for store in self._stores(ref)
            if isinstance(store.value, ast.Call)
        )

    def _stores(self, cls: ClassRef) -> tuple[AttributeStore, ...]:
        outline = self.modules.class_outline(cls)
        return outline.stores if outline else ()

    def at(self, entry: ClassRef, path: tuple[str, ...]) -> tuple[Instance, ...]:
        """The possible classes of the object that ``entry`` holds at an attribute path."""
        return self.types.along([Instance(entry)], path)


def _called_on_receiver(node: ast.AST) -> frozenset[str]:
    """``name`` of every ``self.name(...)`` and ``self.name.method(...)``."""
    found = set()
    for call in ast.walk(node):
        if isinstance(call, ast.Call):
            target: ast.expr = call.func
            while isinstance(target, ast.Attribute):
                if isinstance(target.value, ast.Name) and target.value.id == "self":
                    found.add(target.attr)
                target = target.value
    return frozenset(found)


def _stored_on_receiver(node: ast.AST) -> frozenset[str]:
    return frozenset(
        target.attr
        for target in ast.walk(node)
        if isinstance(target, ast.Attribute)
        and isinstance(target.ctx, ast.Store)
        and isinstance(target.value, ast.Name)
        and target.value.id == "self"
    )


def build_index(tree: SourceTree, profile: Profile) -> Index:
    """The index of a tree; nothing is read before the first question."""
    return Index(Outlines(tree), profile)
