"""Calls: what adds to a collection, hands it to its reader, or is followed with it."""

import ast
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase

import msgspec

from pathaudit.check.carries_expressions import Expressions, Outcome
from pathaudit.check.carries_values import (
    PLAIN,
    UNKNOWN,
    Body,
    Callee,
    Collector,
    Course,
    Exit,
    Flag,
    Held,
    Layers,
    Loss,
    Maker,
    Plain,
    Thing,
    Value,
    collectors_in,
    either,
    ids_in,
    lost,
)
from pathaudit.check.places import region_of
from pathaudit.index import ClassRef, FunctionRef, Index
from pathaudit.index.syntax import dotted_name
from pathaudit.paths import Question

CALL_DEPTH = 6

# Builtins that hand on what they receive, and those that only look at it.
PASSING = frozenset(("enumerate", "zip", "list", "tuple", "reversed", "iter", "islice", "sorted"))
READING = frozenset(("len", "isinstance", "hasattr", "print", "type", "id", "bool", "range", "str"))


class Calls(Expressions):
    """Adds calls."""

    def __init__(
        self,
        index: Index,
        question: Question,
        sinks: Sequence[str],
        switches: Mapping[str, str],
    ) -> None:
        super().__init__(index, question, switches)
        self.sinks = tuple(sinks)
        self.losses: dict[Loss, None] = {}
        self._switching: dict[tuple[FunctionRef, ClassRef], bool] = {}

    @abstractmethod
    def follow(
        self,
        ref: FunctionRef,
        own: Thing | None,
        names: dict[str, Value],
        course: Course,
        depth: int,
    ) -> Iterable[Exit]:
        """The ways in which a function of the tree ends."""

    def call(self, node: ast.Call, course: Course, body: Body) -> list[Outcome]:
        """What a call returns, after what it adds to."""
        nodes = [*node.args, *(item.value for item in node.keywords)]
        found: list[Outcome] = []
        for values, after in self._each(nodes, course, body):
            if self.is_sink(node):
                after = self._delivered(node, values, after, body)
                found.append((UNKNOWN, after))
            else:
                found += self._called(node, values, after, body)
        return found

    def is_sink(self, node: ast.Call) -> bool:
        name = dotted_name(node.func)
        return any(fnmatchcase(name, glob) for glob in self.sinks)

    def _delivered(self, node: ast.Call, values: list[Value], course: Course, body: Body) -> Course:
        """The call that hands what was collected to its readers: what it lacks is lost."""
        owed = self.owed(course, body)
        carried = frozenset[str]().union(*(ids_in(item) for item in values))
        if owed and not owed & carried:
            self.lose(node, owed, "", dotted_name(node.func), body)
        return lost(course, owed | carried)

    def owed(self, course: Course, body: Body) -> frozenset[str]:
        """What was collected here, or handed to here by a callee, and has not been given away."""
        return (course.filled & self.related) - course.gone - body.given

    def lose(
        self, node: ast.expr | ast.stmt, ids: frozenset[str], given: str, sink: str, body: Body
    ) -> None:
        first = min(ids)
        loss = Loss(
            file=body.ref.file,
            region=region_of(self.index, body.ref.file, node),
            ref=body.ref,
            name=self.names.get(first, ""),
            collected=self.places.get(first, ""),
            given=given,
            sink=sink,
        )
        self.losses[loss] = None

    def _called(
        self, node: ast.Call, values: list[Value], course: Course, body: Body
    ) -> list[Outcome]:
        function = node.func
        if isinstance(function, ast.Name) and function.id not in course.names:
            if function.id in READING:
                return [(PLAIN, course)]
            if function.id in PASSING:
                return [(self._passed(node, values, course, body), course)]
        target = self._target(function, course, body)
        match target:
            case Collector(ids):
                moved = frozenset[str]().union(*(ids_in(item) for item in values))
                return [(PLAIN, lost(self.fill(course, ids, node, body), moved - ids))]
            case Layers():
                given = frozenset[str]().union(*(collectors_in(item) for item in values))
                return [(PLAIN, self.fill(course, given, node, body))]
            case Callee(ref, own):
                return self._entered(node, ref, own, values, course, body)
            case Maker():
                return [(self.made(node, course, body), course)]
            case Held() as held:
                return [(held, course)]
            case _:
                return [self._unknown(node, values, course, body)]

    def _passed(self, node: ast.Call, values: list[Value], course: Course, body: Body) -> Value:
        if not values:
            return self.made(node, course, body)
        return either([Held(ids_in(x)) if ids_in(x) else x for x in values])

    def _target(self, node: ast.expr, course: Course, body: Body) -> Value | Callee | Maker | None:
        """What is called: a function, a layer, a collector, a class that collects."""
        match node:
            case ast.Attribute(ast.Call(ast.Name("super")), name):
                return self._method(body.own, name, self.index.modules.owner(body.ref))
            case ast.Attribute(owner, name):
                inner = self.look(owner, course, body)
                if isinstance(inner, Held):
                    collects = name in self.question.collecting
                    return Collector(inner.ids) if collects else inner
                if isinstance(inner, Thing):
                    method = self._method(inner, name, None)
                    if method is not None:
                        return method
        found = self.look(node, course, body)
        if isinstance(found, Thing):
            return self._method(found, self.index.profile.modules.call, None)
        if found not in (UNKNOWN, PLAIN):
            return found
        return self._global(node, body)

    def _method(self, own: Thing | None, name: str, after: ClassRef | None) -> Callee | None:
        found = self.index.modules.method(own.instance.cls, name, after) if own else None
        if found is None or "property" in found[1].decorators:
            return None
        static = "staticmethod" in found[1].decorators
        return Callee(found[0], None if static else own)

    def _global(self, node: ast.expr, body: Body) -> Callee | Maker | None:
        text = dotted_name(node)
        symbol = self.index.modules.resolve(body.ref.file, text) if text else None
        match symbol:
            case FunctionRef():
                cls = self.index.modules.owner(symbol)
                if cls is None:
                    return Callee(symbol, None)
                return Maker() if self._collects(cls) else None
            case ClassRef():
                return Maker() if self._collects(symbol) else None
            case _:
                return None

    def _collects(self, cls: ClassRef) -> bool:
        names = self.index.collecting_methods(cls, self.question.collecting)
        return bool(names & self.question.collecting)

    def _entered(
        self,
        node: ast.Call,
        ref: FunctionRef,
        own: Thing | None,
        values: list[Value],
        course: Course,
        body: Body,
    ) -> list[Outcome]:
        """Follow a callee that may collect, or is given what was."""
        names = self._parameters(node, ref, own, values)
        inner = msgspec.structs.replace(course, facts=_shared(course.facts, own, body, names))
        if body.depth >= CALL_DEPTH or not self._worth(ref, own, names.values()):
            return [self._unknown(node, values, course, body)]
        found = []
        for end in self.follow(ref, own, names, inner, body.depth + 1):
            facts = _shared(end.facts, own, body, names)
            if not any((text, not way) in course.facts for text, way in facts):
                after = Course(course.names, end.filled, end.gone, course.facts | facts)
                found.append((end.value, after))
        return found

    def _worth(self, ref: FunctionRef, own: Thing | None, values: Iterable[Value]) -> bool:
        """Is a callee given what collects, or does it lead to a switch of the feature?"""
        if any(self._brings(item) for item in values if item is not own):
            return True
        if own is None:
            return False
        key = (ref, own.instance.cls)
        if key not in self._switching:
            reached = self.index.closure(own.instance.cls, ref)
            self._switching[key] = any(self.index.attributes_of(x) & self.switches for x in reached)
        return self._switching[key] or self._leads_to_switch(own)

    def _brings(self, value: Value) -> bool:
        if isinstance(value, Thing):
            return self._leads_to_switch(value)
        return bool(collectors_in(value))

    def _leads_to_switch(self, thing: Thing) -> bool:
        """Does the setter write to an object inside the served class, or below it?"""
        prefix = ".".join(("self", *(thing.path or ()), ""))
        return bool(thing.path) and any(text.startswith(prefix) for text in self.question.armed)

    def _parameters(
        self, node: ast.Call, ref: FunctionRef, own: Thing | None, values: list[Value]
    ) -> dict[str, Value]:
        function = self.index.modules.function(ref)
        if function is None:
            return {}
        arguments = function.node.args
        order = [item.arg for item in (*arguments.posonlyargs, *arguments.args)]
        names: dict[str, Value] = {}
        if own is not None and order:
            names[order.pop(0)] = own
        for name, constant in self.index.constant_defaults(ref).items():
            names[name] = Flag(bool(constant), repr(constant), armed=False)
        names.update(zip(order, values[: len(node.args)], strict=False))
        keywords = zip(node.keywords, values[len(node.args) :], strict=True)
        names.update({item.arg: value for item, value in keywords if item.arg})
        return {name: value for name, value in names.items() if not isinstance(value, Plain)}

    def _unknown(self, node: ast.Call, values: list[Value], course: Course, body: Body) -> Outcome:
        """What cannot be followed may add to what it is given, and may return it."""
        held = frozenset[str]().union(*(ids_in(item) for item in values))
        given = held.union(*(collectors_in(item) for item in values))
        after = self.fill(course, given - course.filled, node, body)
        return (Held(held) if held else UNKNOWN, after)


def _shared(
    facts: frozenset[tuple[str, bool]], own: Thing | None, body: Body, names: dict[str, Value]
) -> frozenset[tuple[str, bool]]:
    """The facts that a caller and a callee both understand: of flags that are handed over.

    On the same object they speak of the same attributes.
    """
    flags = {value.text for value in names.values() if isinstance(value, Flag)}
    same = own is not None and own == body.own
    return frozenset(x for x in facts if x[0] in flags or (same and x[0].startswith("self.")))
