"""Where a method leads to an event: outside what must surround it, or inside.

Methods of model files are followed call by call. What the framework defines elsewhere is followed
where its file names the event at all; a module there picks one of its forwards at run time, so
that calling it leads to what any of them does.
"""

import ast
from collections.abc import Iterator
from fnmatch import fnmatchcase

from pathaudit.check.covers_calls import Site, With, calls_of
from pathaudit.check.covers_objects import Objects
from pathaudit.check.covers_ways import NOWHERE, Arguments, Hop, Lead, Wanted, joined
from pathaudit.check.places import region_of
from pathaudit.index import (
    ClassRef,
    ClassType,
    FunctionOutline,
    FunctionRef,
    FunctionType,
    Index,
    Instance,
    StackType,
    Types,
)
from pathaudit.index.outline import AttributeStore
from pathaudit.index.syntax import dotted_name
from pathaudit.index.types import Scope

DEPTH = 14


class Leads:
    """Answers for methods of one index; each is worked out once."""

    def __init__(self, index: Index, wanted: Wanted) -> None:
        self.index = index
        self.wanted = wanted
        self._known: dict[tuple[FunctionRef, Instance | None, Arguments], Lead] = {}
        self._naming: dict[str, bool] = {}
        self._methods: dict[tuple[ClassRef, str], tuple[FunctionRef, ...]] = {}
        self._inert: dict[tuple[ClassRef, str], bool] = {}
        self._depth = 0

    def of_call(self, instance: Instance, name: str) -> Lead:
        """Where calling a method of an object leads, or the object itself."""
        return joined(self.of(ref, instance) for ref in self.methods(instance, name))

    def is_bare(self, ref: FunctionRef) -> bool:
        """Does a function that was followed lead to the event with nothing around it?"""
        return any(lead.bare for (known, *_), lead in self._known.items() if known == ref)

    def of(self, ref: FunctionRef, receiver: Instance | None, arguments: Arguments = ()) -> Lead:
        """Where a function leads, ``receiver`` being its object; ``arguments`` are by name."""
        key = (ref, receiver, arguments)
        if key not in self._known:
            self._known[key] = NOWHERE  # answers recursion
            if self._depth < DEPTH and self.is_followed(ref.file):
                self._depth += 1
                self._known[key] = self._find(ref, receiver, arguments)
                self._depth -= 1
        return self._known[key]

    def _find(self, ref: FunctionRef, receiver: Instance | None, arguments: Arguments) -> Lead:
        function = self.index.modules.function(ref)
        if function is None:
            return NOWHERE
        owner = self.index.modules.owner(ref)
        scope = Scope(ref.file, receiver, owner, function, arguments)
        surrounded = any(
            name in text for text in function.decorators for name in self.wanted.around
        )
        return joined(_Walk(self, ref, function, scope).leads(inside=surrounded))

    def methods(self, instance: Instance, name: str) -> tuple[FunctionRef, ...]:
        """The followed methods that a name stands for; for a framework's module, its forwards."""
        key = (instance.cls, name)
        if key not in self._methods:
            refs = dict.fromkeys(self._find_methods(instance.cls, name))
            self._methods[key] = tuple(ref for ref in refs if self.is_followed(ref.file))
        return self._methods[key]

    def _find_methods(self, owner: ClassRef, name: str) -> Iterator[FunctionRef]:
        modules = self.index.modules
        found = modules.method(owner, name)
        if found is not None:
            yield found[0]
        if name != self.index.profile.modules.call or self.index.is_model(owner.file):
            return
        for cls in modules.mro(owner) if self.is_followed(owner.file) else ():
            outline = modules.class_outline(cls)
            for method in outline.methods if outline else ():
                if any(fnmatchcase(method, glob) for glob in self.index.profile.modules.runs):
                    yield FunctionRef(cls.file, f"{cls.name}.{method}")

    def is_inert(self, owner: ClassRef, name: str) -> bool:
        """Does an attribute hold only what is not followed? To see that needs no types."""
        key = (owner, name)
        if key not in self._inert:
            stores = [
                (cls.file, store.value)
                for cls in self.index.modules.mro(owner)
                for store in self._stores(cls)
                if store.name == name
            ]
            found = [self._made_by(file, value) for file, value in stores]
            self._inert[key] = bool(found) and all(
                cls is not None and not self.is_followed(cls.file) for cls in found
            )
        return self._inert[key]

    def _stores(self, cls: ClassRef) -> tuple[AttributeStore, ...]:
        outline = self.index.modules.class_outline(cls)
        return outline.stores if outline is not None else ()

    def _made_by(self, file: str, value: ast.expr) -> ClassRef | None:
        """The class whose constructor a value is a call of."""
        name = dotted_name(value.func) if isinstance(value, ast.Call) else ""
        symbol = self.index.modules.resolve(file, name) if name else None
        return symbol if isinstance(symbol, ClassRef) else None

    def is_followed(self, file: str) -> bool:
        """Is a file one of the models, or does it name the event?"""
        if file not in self._naming:
            self._naming[file] = self.index.is_model(file) or self._names_event(file)
        return self._naming[file]

    def _names_event(self, file: str) -> bool:
        if self.index.modules.outline(file) is None:
            return False
        text = self.index.tree.read(file)
        return any(name.encode() in text for name in self.wanted.events)


class _Walk:
    """Goes through the calls of one function."""

    def __init__(
        self, leads: Leads, ref: FunctionRef, function: FunctionOutline, scope: Scope
    ) -> None:
        self._leads = leads
        self._index = leads.index
        self._wanted = leads.wanted
        self._ref = ref
        self._scope = scope
        self._calls = calls_of(function)
        self._objects = Objects(self._index, scope, self._calls.bound)
        self._around: dict[int, bool] = {}
        self._entered: set[str] = set()

    def leads(self, *, inside: bool) -> Iterator[Lead]:
        """Where each call leads; ``inside`` where all of them are surrounded."""
        yield from self._of_sites(self._calls.sites, inside=inside)

    def _of_sites(self, sites: tuple[Site, ...], *, inside: bool) -> Iterator[Lead]:
        for site in sites:
            found = self._leading(site.call, inside=inside)
            if found.bare or found.inside:
                surrounded = inside or any(self._surrounds(item) for item in site.around)
                yield self._told(site.call, found, inside=surrounded)

    def _surrounds(self, node: With) -> bool:
        if id(node) not in self._around:
            self._around[id(node)] = any(
                self._makes(item.context_expr) for item in node.items
            ) or self._enters(node)
        return self._around[id(node)]

    def _enters(self, node: With) -> bool:
        """Does its body enter, by a call, what must surround the event?"""
        return any(
            isinstance(call, ast.Call)
            and isinstance(call.func, ast.Attribute)
            and call.func.attr == "enter_context"
            and any(self._makes(argument) for argument in call.args)
            for statement in node.body
            for call in ast.walk(statement)
        )

    def _makes(self, manager: ast.expr) -> bool:
        """Can a manager be what must surround the event? A helper that names it can."""
        for node in ast.walk(manager):
            if isinstance(node, ast.Attribute) and node.attr in self._wanted.around:
                return True
            if isinstance(node, ast.Name) and self._is_made(node.id):
                return True
            if isinstance(node, ast.Call):
                if isinstance(node.func, ast.Name) and node.func.id in self._wanted.around:
                    return True
                for ref, _ in self._callees(node):
                    function = self._index.modules.function(ref)
                    if function is not None and function.attributes & self._wanted.around:
                        return True
        return False

    def _is_made(self, name: str) -> bool:
        """Is a name given what must surround the event, in some arm at least?"""
        return any(
            isinstance(part, ast.Attribute) and part.attr in self._wanted.around
            for value in self._calls.bound.get(name, ())
            for part in ast.walk(value)
        )

    def _told(self, node: ast.Call, lead: Lead, *, inside: bool) -> Lead:
        if not lead.bare:
            return lead
        if inside:
            return Lead(inside=f"{self._ref.file}:{node.lineno}")
        hop = Hop(self._ref, region_of(self._index, self._ref.file, node))
        return Lead(((hop, *lead.bare[0]),), lead.inside, lead.sure)

    def _leading(self, node: ast.Call, *, inside: bool) -> Lead:
        name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        if name in self._wanted.events:
            return Lead(((),), sure=True)
        if isinstance(node.func, ast.Name) and node.func.id in self._calls.nested:
            return joined(self._nested_call(node.func.id, inside=inside))
        groups: dict[Instance | None, list[Lead]] = {}
        for ref, receiver in self._callees(node):
            arguments = self._handed(ref, node) if receiver is None else ()
            groups.setdefault(receiver, []).append(self._leads.of(ref, receiver, arguments))
        each = [joined(group) for group in groups.values()]
        found = joined(each)
        return Lead(found.bare, found.inside, bool(each) and all(lead.sure for lead in each))

    def _handed(self, ref: FunctionRef, node: ast.Call) -> Arguments:
        """The objects of the models that a function is given, by the names it gives them."""
        function = self._index.modules.function(ref)
        if function is None or not self._leads.is_followed(ref.file):
            return ()
        names = [item.arg for item in function.node.args.args]
        pairs = [*zip(names, node.args, strict=False)]
        pairs += [(item.arg, item.value) for item in node.keywords if item.arg]
        found = [
            (name, self._objects.of(value))
            for name, value in pairs
            if isinstance(value, ast.Name | ast.Attribute)
        ]
        return tuple((name, types) for name, types in found if types.instances())

    def _nested_call(self, name: str, *, inside: bool) -> Iterator[Lead]:
        """A function inside this one is gone through where it is called."""
        if name not in self._entered:
            self._entered.add(name)
            for lead in self._of_sites(self._calls.nested[name], inside=inside):
                yield Lead(tuple(chain[1:] for chain in lead.bare), lead.inside, lead.sure)
            self._entered.discard(name)

    def _callees(self, node: ast.Call) -> Iterator[tuple[FunctionRef, Instance | None]]:
        function = node.func
        match function:
            case ast.Attribute(ast.Call(ast.Name("super")), name):
                yield from self._inherited(name)
            case ast.Attribute(owner, name):
                yield from self._members(owner, name, function)
            case _:
                yield from self._of_types(self._objects.of(function))

    def _inherited(self, name: str) -> Iterator[tuple[FunctionRef, Instance | None]]:
        receiver = self._scope.receiver
        if receiver is not None:
            found = self._index.modules.method(receiver.cls, name, after=self._scope.owner)
            if found is not None:
                yield found[0], receiver

    def _members(
        self, owner: ast.expr, name: str, function: ast.expr
    ) -> Iterator[tuple[FunctionRef, Instance | None]]:
        """``owner.name(...)``: a method of the owner, or a module that it holds."""
        types = self._objects.of(owner)
        known = False
        for item in types.items:
            match item:
                case Instance():
                    known = True
                    yield from self._member(item, name)
                case ClassType(cls):
                    found = self._index.modules.method(cls, name)
                    known = True
                    if found is not None:
                        yield found[0], self._scope.receiver
                case StackType():
                    known = True
        if not known:
            yield from self._of_types(self._objects.of(function))

    def _member(
        self, instance: Instance, name: str
    ) -> Iterator[tuple[FunctionRef, Instance | None]]:
        refs = self._leads.methods(instance, name)
        yield from ((ref, instance) for ref in refs)
        if not refs and not self._leads.is_inert(instance.cls, name):
            yield from self._of_types(self._index.types.attribute(instance, name))

    def _of_types(self, types: Types) -> Iterator[tuple[FunctionRef, Instance | None]]:
        """Calling a module calls its forward."""
        for item in types.items:
            if isinstance(item, Instance):
                call = self._index.profile.modules.call
                yield from ((ref, item) for ref in self._leads.methods(item, call))
            elif isinstance(item, FunctionType):
                yield item.ref, None
