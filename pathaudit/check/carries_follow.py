"""Follows collections through the statements of a method and of what it calls."""

import ast
from collections.abc import Iterable, Mapping, Sequence

import msgspec
from msgspec import Struct

from pathaudit.check.carries_calls import Calls
from pathaudit.check.carries_tests import forget_facts
from pathaudit.check.carries_values import (
    PLAIN,
    UNKNOWN,
    Body,
    Course,
    Exit,
    Flag,
    Held,
    Parts,
    Plain,
    Thing,
    Value,
    bound,
    collectors_in,
    ids_in,
    lost,
    spread,
)
from pathaudit.index import FunctionRef, Index
from pathaudit.paths import Question

COURSES = 96
FUNCTIONS = 400

# What a model returned, where nothing is known of it but that it is unpacked.
RESULT = Plain(known=False)


class TooMany(Exception):  # noqa: N818 - no error: the answer is "unknown"
    """There are more ways through a function than are followed."""

    def __init__(self, ref: FunctionRef, line: int) -> None:
        super().__init__(f"more than {COURSES} courses")
        self.file = ref.file
        self.line = line


class _Ends(Struct):
    """Where the courses of a function, and of its innermost loop, have ended."""

    exits: dict[tuple[Exit, int], tuple[Exit, ast.Return]]
    looped: list[list[Course]]


class Follower(Calls):
    """Executes functions; what is collected and then left behind is in ``losses``."""

    def __init__(
        self,
        index: Index,
        question: Question,
        sinks: Sequence[str],
        switches: Mapping[str, str],
    ) -> None:
        super().__init__(index, question, sinks, switches)
        self._active: list[FunctionRef] = []
        self._sinking: dict[FunctionRef, bool] = {}
        self._followed: dict[object, tuple[Exit, ...]] = {}
        self._ends: list[_Ends] = []

    def follow(
        self,
        ref: FunctionRef,
        own: Thing | None,
        names: dict[str, Value],
        course: Course,
        depth: int,
    ) -> Iterable[Exit]:
        """The ways in which a function ends; one that is being followed already is not entered."""
        given = frozenset[str]().union(*(collectors_in(item) for item in names.values()))
        key = (ref, own, frozenset(names.items()), course.filled & given, course.facts)
        function = self.index.modules.function(ref)
        if function is None or ref in self._active or len(self._followed) > FUNCTIONS:
            return (Exit(UNKNOWN, course.filled, course.gone),)
        if key not in self._followed:
            body = Body(ref, function.node, own, given, self._judges(ref, own, depth), depth)
            self._followed[key] = self._run(
                body, Course(names, course.filled & given, facts=course.facts)
            )
        return [
            Exit(x.value, course.filled | x.filled, course.gone | x.gone, x.facts)
            for x in self._followed[key]
        ]

    def has_sinks(self, ref: FunctionRef) -> bool:
        """Does a function hand to the readers itself what was collected?"""
        if ref not in self._sinking:
            function = self.index.modules.function(ref)
            nodes = function.nodes if function is not None else ()
            calls = (x for x in nodes if isinstance(x, ast.Call))
            self._sinking[ref] = any(self.is_sink(x) for x in calls)
        return self._sinking[ref]

    def _judges(self, ref: FunctionRef, own: Thing | None, depth: int) -> bool:
        """Are the returns of a function judged? Where it calls a reader itself, that call is.

        What a served class returns matters where the class has a reader at all.
        """
        if self.has_sinks(ref):
            return False
        return depth > 0 or own is None or self.reads(own, ref)

    def reads(self, own: Thing, ref: FunctionRef) -> bool:
        """Does an object have a reader of what is collected?"""
        return any(self.has_sinks(x) for x in self.index.closure(own.instance.cls, ref))

    def _run(self, body: Body, start: Course) -> tuple[Exit, ...]:
        self._active.append(body.ref)
        self._ends.append(_Ends({}, []))
        outside = self.around, self.asked
        self.around = self.asked = 0
        left = self.block(body.node.body, [start], body)
        self.around, self.asked = outside
        ends = self._ends.pop()
        self._active.pop()
        found = {exit_ for exit_, _ in ends.exits.values()}
        found |= {self._exit(PLAIN, course, body) for course in left}
        return tuple(sorted(found, key=repr))

    def _exit(self, value: Value, course: Course, body: Body) -> Exit:
        """What callers see: what they gave, and what they get."""
        seen = body.given | ids_in(value)
        return Exit(_shown(value), course.filled & seen, course.gone & seen, course.facts)

    # ---- statements ----

    def block(self, statements: list[ast.stmt], courses: list[Course], body: Body) -> list[Course]:
        """Execute statements; courses that end are kept elsewhere."""
        for statement in statements:
            courses = [x for course in courses for x in self.statement(statement, course, body)]
            courses = _merged(courses)
            if len(courses) > COURSES:
                raise TooMany(body.ref, statement.lineno)
        return courses

    def statement(self, node: ast.stmt, course: Course, body: Body) -> list[Course]:  # noqa: C901 - one arm a form
        """The courses after one statement."""
        match node:
            case ast.Assign(targets, value):
                return self._assigned(targets, value, course, body)
            case ast.AnnAssign(target, _, value) if value is not None:
                return self._assigned([target], value, course, body)
            case ast.AugAssign(target, _, value):
                return self._augmented(node, target, value, course, body)
            case ast.Expr(value):
                return [self._discarded(node, x, y) for x, y in self.value(value, course, body)]
            case ast.If(test, first, second):
                return self._branched(test, first, second, course, body)
            case ast.For(target, iterable, inner, orelse) | ast.AsyncFor(
                target, iterable, inner, orelse
            ):
                ways = [spread(y, target, x) for x, y in self.value(iterable, course, body)]
                return self.block(orelse, self._looped(inner, ways, body), body)
            case ast.While(_, inner, orelse):
                return self.block(orelse, self._looped(inner, [course], body), body)
            case ast.With(items, inner) | ast.AsyncWith(items, inner):
                return self.block(inner, self._managed(items, course, body), body)
            case ast.Try(inner, handlers, orelse, final):
                return self._tried(inner, handlers, orelse, final, course, body)
            case ast.Match(_, cases):
                arms = [x for case in cases for x in self.block(case.body, [course], body)]
                return [*arms, course]
            case ast.Return(value):
                return self._returned(node, value, course, body)
            case ast.Raise():
                return []
            case ast.Break() | ast.Continue():
                # Outside a loop it parses, and ends nothing.
                for courses in self._ends[-1].looped[-1:]:
                    courses.append(course)
                return []
            case ast.Assert(test):
                return [after for way, after in self.decide(test, course, body) if way]
            case ast.FunctionDef(name):
                return [bound(course, name, self.closure(node, course))]
            case _:
                return [course]

    def _branched(
        self,
        test: ast.expr,
        first: list[ast.stmt],
        second: list[ast.stmt],
        course: Course,
        body: Body,
    ) -> list[Course]:
        armed = self.mentions(test, course)
        asked = armed and self.decides(test, course, body)
        found = []
        for way, after in self.decide(test, course, body):
            self.around += armed and way
            self.asked += asked and way
            found += self.block(first if way else second, [after], body)
            self.around -= armed and way
            self.asked -= asked and way
        return found

    def _looped(self, inner: list[ast.stmt], courses: list[Course], body: Body) -> list[Course]:
        """Once around is enough: what is collected in any iteration is collected."""
        self._ends[-1].looped.append([])
        ends = self.block(inner, courses, body)
        return _merged([*ends, *self._ends[-1].looped.pop()])

    def _managed(self, items: list[ast.withitem], course: Course, body: Body) -> list[Course]:
        courses = [course]
        for item in items:
            found = [x for y in courses for x in self.value(item.context_expr, y, body)]
            target = item.optional_vars
            courses = [spread(y, target, x) if target else y for x, y in found]
        return courses

    def _tried(
        self,
        inner: list[ast.stmt],
        handlers: list[ast.ExceptHandler],
        orelse: list[ast.stmt],
        final: list[ast.stmt],
        course: Course,
        body: Body,
    ) -> list[Course]:
        ends = self.block([*inner, *orelse], [course], body)
        ends += [x for item in handlers for x in self.block(item.body, [course], body)]
        return self.block(final, _merged(ends), body)

    def _returned(
        self, node: ast.Return, value: ast.expr | None, course: Course, body: Body
    ) -> list[Course]:
        outcomes = self.value(value, course, body) if value is not None else [(PLAIN, course)]
        for found, after in outcomes:
            owed = self.owed(after, body) - ids_in(found)
            if owed and body.judged:
                self.lose(node, owed, ast.unparse(value) if value else "None", "", body)
            end = self._exit(found, after, body)
            self._ends[-1].exits[end, node.lineno] = (end, node)
        return []

    def _discarded(self, node: ast.Expr, value: Value, course: Course) -> Course:
        """A collection that an unknown call was given, and whose result nobody takes, is gone."""
        return lost(course, ids_in(value)) if isinstance(node.value, ast.Call) else course

    # ---- assignments ----

    def _assigned(
        self, targets: list[ast.expr], value: ast.expr, course: Course, body: Body
    ) -> list[Course]:
        found = []
        for held, after in self.value(value, course, body):
            if isinstance(held, Plain) and isinstance(value, ast.Name) and self.asked:
                held = RESULT
            for target in targets:
                after = self._store(target, held, after, body)
            found.append(after)
        return found

    def _store(self, target: ast.expr, value: Value, course: Course, body: Body) -> Course:
        match target:
            case ast.Name(id):
                for name in ids_in(value):
                    self.names.setdefault(name, id)
                if isinstance(value, Flag) and value.known is None:
                    value = Flag(None, f"{id} at {target.lineno}", value.armed)
                facts = forget_facts(course, (id,))
                return bound(msgspec.structs.replace(course, facts=facts), id, value)
            case ast.Tuple(items) | ast.List(items):
                parts = self._parts(items, value, body)
                for item, part in zip(items, parts, strict=True):
                    inner = item.value if isinstance(item, ast.Starred) else item
                    course = self._store(inner, part, course, body)
                if any(ids_in(part) and isinstance(value, Plain) for part in parts):
                    course = self.fill(course, ids_in(parts[-1]), target, body)
                return course
            case _:
                return lost(course, ids_in(value))

    def _parts(self, items: list[ast.expr], value: Value, body: Body) -> list[Value]:
        """The parts of what is unpacked.

        A model returns what it collected last. A name of which nothing is known is taken to hold
        such a result where the feature being on is why it is unpacked.
        """
        match value:
            case Parts(parts) if len(parts) == len(items):
                return list(parts)
            case Held() | Parts():
                held = Held(ids_in(value)) if ids_in(value) else UNKNOWN
                return [held] * len(items)
            case Plain() if value is RESULT and len(items) > 1:
                name = f"{body.ref.file}:{items[-1].lineno}:{items[-1].col_offset}"
                self.related.add(name)
                return [*([UNKNOWN] * (len(items) - 1)), Held(frozenset((name,)))]
            case _:
                return [value if isinstance(value, Plain) else UNKNOWN] * len(items)

    def _augmented(
        self, node: ast.AugAssign, target: ast.expr, value: ast.expr, course: Course, body: Body
    ) -> list[Course]:
        found = []
        for held, after in self.value(value, course, body):
            into = self.look(target, after, body)
            if isinstance(into, Held):
                after = lost(self.fill(after, into.ids, node, body), ids_in(held) - into.ids)
            elif ids_in(held) and isinstance(target, ast.Name):
                after = bound(after, target.id, held)
            else:
                after = lost(after, ids_in(held))
            found.append(after)
        return found


def _merged(courses: list[Course]) -> list[Course]:
    """Courses that agree on the collections are one; it knows what all of them know."""
    if len(courses) < 2:
        return courses
    found: dict[object, Course] = {}
    for course in courses:
        weighty = frozenset((x, y) for x, y in course.names.items() if _weighs(y))
        key = (weighty, course.filled, course.gone)
        known = found.get(key)
        found[key] = course if known is None else _joined(known, course)
    return list(found.values())


def _joined(left: Course, right: Course) -> Course:
    if left.names != right.names:
        both = left.names.items() & right.names.items()
        left = msgspec.structs.replace(left, names=dict(both))
    return msgspec.structs.replace(left, facts=left.facts & right.facts)


def _weighs(value: Value) -> bool:
    """Does it matter for collections what a name holds?"""
    return bool(collectors_in(value)) or (isinstance(value, Flag) and value.armed)


def _shown(value: Value) -> Value:
    """What callers need to know of a returned value."""
    if isinstance(value, Parts):
        return Parts(tuple(_shown(item) for item in value.items))
    return value if _weighs(value) or isinstance(value, Thing) else UNKNOWN
