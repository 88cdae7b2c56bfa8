"""Where collections are in expressions: what is made, chosen, put into tuples and closures."""

import ast
from abc import abstractmethod
from collections.abc import Iterable, Mapping

import msgspec

from pathaudit.check.carries_tests import Tests, part_of
from pathaudit.check.carries_values import (
    UNKNOWN,
    Body,
    Collector,
    Course,
    Flag,
    Held,
    Parts,
    Plain,
    Value,
    bound,
    collectors_in,
    either,
    ids_in,
    lost,
    spread,
)
from pathaudit.index import Index
from pathaudit.paths import Question

Outcome = tuple[Value, Course]


class Expressions(Tests):
    """Evaluates expressions; one that calls may have several outcomes."""

    def __init__(self, index: Index, question: Question, switches: Mapping[str, str]) -> None:
        super().__init__(index, question, switches)
        # The names under which collections are known.
        self.names: dict[str, str] = {}
        # How many of the tests around speak of the feature, and how many ask if it is on.
        self.around = 0
        self.asked = 0
        # The collections that the feature is about, and where they were first added to.
        self.related: set[str] = set()
        self.places: dict[str, str] = {}

    @abstractmethod
    def call(self, node: ast.Call, course: Course, body: Body) -> list[Outcome]:
        """What a call returns, after what it adds to."""

    def value(self, node: ast.expr, course: Course, body: Body) -> list[Outcome]:  # noqa: C901 - one arm a form
        """The values that an expression can have, and the course after each."""
        match node:
            case ast.Constant(constant):
                return [(Flag(bool(constant), repr(constant), armed=False), course)]
            case ast.Name() | ast.Attribute():
                return [(self._bound(node, course, body), course)]
            case ast.List([]):
                return [(self.made(node, course, body), course)]
            case ast.Tuple(items) | ast.List(items):
                return [(Parts(tuple(x)), after) for x, after in self._each(items, course, body)]
            case ast.IfExp(test, first, second):
                return self._chosen(test, first, second, course, body)
            case ast.Call():
                return self.call(node, course, body)
            case ast.Subscript(owner, at):
                return [(part_of(x, at), after) for x, after in self.value(owner, course, body)]
            case ast.Compare() | ast.UnaryOp(ast.Not()):
                return [(self._tested(node, course, body), course)]
            case ast.BoolOp(_, operands):
                return self._boolean(node, operands, course, body)
            case ast.Lambda():
                return [(self.closure(node, course), course)]
            case ast.NamedExpr(ast.Name(id), inner):
                return [(x, bound(y, id, x)) for x, y in self.value(inner, course, body)]
            case ast.ListComp(element, clauses) | ast.GeneratorExp(element, clauses):
                return self._comprehended(element, clauses, course, body)
            case ast.Yield(inner) | ast.YieldFrom(inner) if inner is not None:
                return [(UNKNOWN, lost(y, ids_in(x))) for x, y in self.value(inner, course, body)]
            case _:
                parts = [x for x in ast.iter_child_nodes(node) if isinstance(x, ast.expr)]
                return [(either(x), after) for x, after in self._each(parts, course, body)]

    def _each(
        self, nodes: Iterable[ast.expr], course: Course, body: Body
    ) -> list[tuple[list[Value], Course]]:
        found: list[tuple[list[Value], Course]] = [([], course)]
        for node in nodes:
            found = [
                ([*values, value], after)
                for values, before in found
                for value, after in self.value(node, before, body)
            ]
        return found

    def _bound(self, node: ast.expr, course: Course, body: Body) -> Value:
        """A name, or an attribute: a method of a collection that adds to it is a collector."""
        if isinstance(node, ast.Attribute):
            owner = self.look(node.value, course, body)
            if isinstance(owner, Held) and node.attr in self.question.collecting:
                return Collector(owner.ids)
        found = self.look(node, course, body)
        plain = isinstance(found, Plain) and isinstance(node, ast.Attribute)
        if plain and self.mentions(node, course):
            return Flag(None, ast.unparse(node), armed=True)
        return found

    def _boolean(
        self, node: ast.BoolOp, operands: list[ast.expr], course: Course, body: Body
    ) -> list[Outcome]:
        held = [self.look(item, course, body) for item in operands]
        if any(ids_in(item) for item in held):
            return [(either(held), course)]
        return [(self._tested(node, course, body), course)]

    def _tested(self, node: ast.expr, course: Course, body: Body) -> Flag:
        ways = {way for way, _ in self.decide(node, course, body)}
        known = ways.pop() if len(ways) == 1 else None
        return Flag(known, ast.unparse(node), self.mentions(node, course))

    def _chosen(
        self, test: ast.expr, first: ast.expr, second: ast.expr, course: Course, body: Body
    ) -> list[Outcome]:
        """A collection that a test about the feature chooses is about the feature."""
        armed = self.mentions(test, course)
        found = []
        for way, after in self.decide(test, course, body):
            for value, end in self.value(first if way else second, after, body):
                if armed:
                    self.related |= collectors_in(value)
                found.append((value, end))
        return found

    def _comprehended(
        self, element: ast.expr, clauses: list[ast.comprehension], course: Course, body: Body
    ) -> list[Outcome]:
        found = []
        for values, after in self._each([x.iter for x in clauses], course, body):
            inner = after
            for clause, value in zip(clauses, values, strict=True):
                inner = spread(inner, clause.target, value)
            held = [value for value, _ in self.value(element, inner, body)]
            found.append((either([*values, *held]), after))
        return found

    def closure(self, node: ast.AST, course: Course) -> Value:
        """A nested function: a collector where it adds to a collection of the function around."""
        owners = [
            course.names.get(part.value.id, UNKNOWN)
            for part in ast.walk(node)
            if isinstance(part, ast.Attribute)
            and part.attr in self.question.collecting
            and isinstance(part.value, ast.Name)
        ]
        held = (x.ids for x in owners if isinstance(x, Held))
        ids = frozenset[str]().union(*held)
        if self.mentions(node, course):
            self.related |= ids
        return Collector(ids) if ids else UNKNOWN

    def made(self, node: ast.expr, course: Course, body: Body) -> Value:
        """A new collection, named by where it is made."""
        name = f"{body.ref.file}:{node.lineno}:{node.col_offset}"
        if self.around or self.mentions(node, course):
            self.related.add(name)
        return Held(frozenset((name,)))

    def fill(
        self, course: Course, ids: frozenset[str], node: ast.expr | ast.stmt, body: Body
    ) -> Course:
        if not ids:
            return course
        if self.around:
            self.related |= ids
        for name in ids:
            self.places.setdefault(name, f"{body.ref.file}:{node.lineno}")
        return msgspec.structs.replace(course, filled=course.filled | ids)
