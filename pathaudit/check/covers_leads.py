"""Where a method leads to an event: outside what must surround it, or inside.

Methods of model files are followed call by call. What the framework defines elsewhere is followed
where its file names the event at all; a module there picks one of its forwards at run time, so
that calling it leads to what any of them does.
"""

import ast
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase

from msgspec import Struct

from pathaudit import ir
from pathaudit.check.places import region_of
from pathaudit.index import (
    ClassType,
    FunctionRef,
    FunctionType,
    Index,
    Instance,
    StackType,
    Types,
)
from pathaudit.index.syntax import Definition
from pathaudit.index.types import Scope, union
from pathaudit.paths.question import names_of_event
from pathaudit.ruleset import CoversRule, Profile

DEPTH = 14


class Hop(Struct, frozen=True):
    """One call on the way to an event, in the function ``ref``."""

    ref: FunctionRef
    region: ir.Region


Chain = tuple[Hop, ...]
Arguments = tuple[tuple[str, Types], ...]


class Lead(Struct, frozen=True):
    """The ways of a method to an event that nothing surrounds; ``inside`` is where one is.

    Of a method that is not asked about itself only one way is kept. ``sure`` unless every way
    leads through an object that is of one of several classes, of which others do not lead there.
    """

    bare: tuple[Chain, ...] = ()
    inside: str = ""
    sure: bool = False


NOWHERE = Lead()


class Wanted(Struct, frozen=True):
    """The names of the calls that are the event, and of those that make what surrounds it."""

    events: frozenset[str]
    around: frozenset[str]

    def more_around(self, names: frozenset[str]) -> "Wanted":
        return Wanted(self.events, self.around | names)


def wanted_of(profile: Profile, rule: CoversRule) -> Wanted:
    """What a rule asks of what leads to its trigger."""
    return Wanted(names_of_event(profile, rule.trigger), names_of_event(profile, rule.require))


class Leads:
    """Answers for methods of one index; each is worked out once."""

    def __init__(self, index: Index, wanted: Wanted) -> None:
        self.index = index
        self.wanted = wanted
        self._known: dict[tuple[FunctionRef, Instance | None, Arguments], Lead] = {}
        self._naming: dict[str, bool] = {}
        self._depth = 0

    def of_call(self, instance: Instance, name: str) -> Lead:
        """Where calling a method of an object leads, or the object itself."""
        refs = tuple(self.methods(instance, name))
        return _joined(self.of(ref, instance) for ref in refs)

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
        walk = _Walk(self, ref, scope)
        surrounded = any(
            name in text for text in function.decorators for name in self.wanted.around
        )
        return _joined(walk.block(function.node.body, inside=surrounded))

    def methods(self, instance: Instance, name: str) -> Iterator[FunctionRef]:
        """The method of a name; of a module of the framework, whichever forward it picks."""
        modules = self.index.modules
        found = modules.method(instance.cls, name)
        if found is not None:
            yield found[0]
        if name != self.index.profile.modules.call or self.index.is_model(instance.cls.file):
            return
        for cls in modules.mro(instance.cls):
            outline = modules.class_outline(cls)
            for method in outline.methods if outline else ():
                if any(fnmatchcase(method, glob) for glob in self.index.profile.modules.runs):
                    yield FunctionRef(cls.file, f"{cls.name}.{method}")

    def is_followed(self, file: str) -> bool:
        """Is a file one of the models, or does it name the event?"""
        if file not in self._naming:
            outline = self.index.modules.outline(file)
            lines = outline.lines if outline is not None else []
            self._naming[file] = self.index.is_model(file) or any(
                name in line for line in lines for name in self.wanted.events
            )
        return self._naming[file]


class _Walk:
    """Goes through one function; ``inside`` says whether the code at hand is surrounded."""

    def __init__(self, leads: Leads, ref: FunctionRef, scope: Scope) -> None:
        self._leads = leads
        self._index = leads.index
        self._wanted = leads.wanted
        self._ref = ref
        self._scope = scope
        body = scope.function.node if scope.function else None
        nodes = list(ast.walk(body)) if body is not None else []
        self._nested = {x.name: x for x in nodes if isinstance(x, Definition) and x is not body}
        self._made = _names_made(nodes, self._wanted.around)
        self._scope = _with_targets(self._index, scope, nodes)
        self._entered: set[str] = set()

    def block(self, body: list[ast.stmt], *, inside: bool) -> Iterator[Lead]:
        for statement in body:
            yield from self._node(statement, inside=inside)

    def _node(self, node: ast.AST, *, inside: bool) -> Iterator[Lead]:
        if isinstance(node, Definition | ast.Lambda | ast.ClassDef):
            return  # what it does, it does where it is called
        if isinstance(node, ast.With | ast.AsyncWith):
            for item in node.items:
                yield from self._node(item.context_expr, inside=inside)
            surrounded = inside or self._surrounds(node)
            yield from self.block(node.body, inside=surrounded)
            return
        for child in ast.iter_child_nodes(node):
            yield from self._node(child, inside=inside)
        if isinstance(node, ast.Call):
            yield self._called(node, inside=inside)

    def _surrounds(self, node: ast.With | ast.AsyncWith) -> bool:
        if any(self._makes(item.context_expr) for item in node.items):
            return True
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
            if isinstance(node, ast.Name) and node.id in self._made:
                return True
            if isinstance(node, ast.Call):
                for ref, _ in self._callees(node):
                    function = self._index.modules.function(ref)
                    if function is not None and function.attributes & self._wanted.around:
                        return True
        return False

    def _called(self, node: ast.Call, *, inside: bool) -> Lead:
        lead = self._leading(node, inside=inside)
        place = f"{self._ref.file}:{node.lineno}"
        if not lead.bare:
            return lead
        if inside:
            return Lead(inside=place)
        hop = Hop(self._ref, region_of(self._index, self._ref.file, node))
        return Lead(((hop, *lead.bare[0]),), lead.inside, lead.sure)

    def _leading(self, node: ast.Call, *, inside: bool) -> Lead:
        name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        if name in self._wanted.events:
            return Lead(((),), sure=True)
        if isinstance(node.func, ast.Name) and node.func.id in self._nested:
            return _joined(self._nested_call(self._nested[node.func.id], inside=inside))
        groups: dict[Instance | None, list[Lead]] = {}
        for ref, receiver in self._callees(node):
            arguments = self._handed(ref, node) if receiver is None else ()
            groups.setdefault(receiver, []).append(self._leads.of(ref, receiver, arguments))
        each = [_joined(group) for group in groups.values()]
        found = _joined(each)
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
            (name, self._index.types.evaluate(value, self._scope))
            for name, value in pairs
            if isinstance(value, ast.Name | ast.Attribute)
        ]
        return tuple((name, types) for name, types in found if types.instances())

    def _nested_call(self, function: Definition, *, inside: bool) -> Iterator[Lead]:
        """A function inside this one is gone through where it is called."""
        if function.name not in self._entered:
            self._entered.add(function.name)
            for lead in self.block(function.body, inside=inside):
                yield Lead(tuple(chain[1:] for chain in lead.bare), lead.inside, lead.sure)
            self._entered.discard(function.name)

    def _callees(self, node: ast.Call) -> Iterator[tuple[FunctionRef, Instance | None]]:
        function = node.func
        match function:
            case ast.Attribute(ast.Call(ast.Name("super")), name):
                yield from self._inherited(name)
            case ast.Attribute(owner, name):
                yield from self._members(owner, name, function)
            case _:
                yield from self._of_types(self._index.types.evaluate(function, self._scope))

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
        types = self._index.types.evaluate(owner, self._scope)
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
            yield from self._of_types(self._index.types.evaluate(function, self._scope))

    def _member(
        self, instance: Instance, name: str
    ) -> Iterator[tuple[FunctionRef, Instance | None]]:
        refs = tuple(self._leads.methods(instance, name))
        if refs:
            yield from ((ref, instance) for ref in refs)
        else:
            yield from self._of_types(self._index.types.attribute(instance, name))

    def _of_types(self, types: Types) -> Iterator[tuple[FunctionRef, Instance | None]]:
        """Calling a module calls its forward."""
        for item in types.items:
            if isinstance(item, Instance):
                call = self._index.profile.modules.call
                yield from ((ref, item) for ref in self._leads.methods(item, call))
            elif isinstance(item, FunctionType):
                yield item.ref, None


def _joined(leads: Iterable[Lead]) -> Lead:
    """The ways of several calls in turn."""
    bare: dict[Chain, None] = {}
    inside, sure = "", False
    for lead in leads:
        bare.update(dict.fromkeys(lead.bare))
        inside = inside or lead.inside
        sure = sure or lead.sure
    return Lead(tuple(bare), inside, sure)


def _names_made(nodes: list[ast.AST], around: frozenset[str]) -> frozenset[str]:
    """The names that are given what must surround the event, in some arm at least."""
    found = set()
    for node in nodes:
        if isinstance(node, ast.Assign) and any(
            isinstance(part, ast.Attribute) and part.attr in around for part in ast.walk(node.value)
        ):
            found.update(x.id for x in node.targets if isinstance(x, ast.Name))
    return frozenset(found)


def _with_targets(index: Index, scope: Scope, nodes: list[ast.AST]) -> Scope:
    """The scope with what the targets of loops over layers hold."""
    names: list[tuple[str, Types]] = []
    for node in nodes:
        if isinstance(node, ast.For | ast.comprehension):
            names += _target(index, scope, node.target, node.iter)
    if not names:
        return scope
    return Scope(
        scope.file, scope.receiver, scope.owner, scope.function, scope.arguments, tuple(names)
    )


def _target(
    index: Index, scope: Scope, target: ast.expr, iterable: ast.expr
) -> Iterator[tuple[str, Types]]:
    match target, iterable:
        case ast.Tuple([_, inner]), ast.Call(ast.Name("enumerate"), [value, *_]):
            yield from _target(index, scope, inner, value)
        case ast.Name(name), _:
            types = index.types.evaluate(iterable, scope)
            stacks = types.stacks()
            held = union(stack.elements for stack in stacks) if stacks else types
            if held.instances():
                yield name, held
