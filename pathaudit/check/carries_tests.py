"""Which way a test goes while a feature is on: what the setter stored, what was collected."""

import ast
import re
from collections.abc import Iterable, Mapping

import msgspec
from msgspec import Struct

from pathaudit.check.carries_values import (
    UNKNOWN,
    Body,
    Course,
    Flag,
    Held,
    Layers,
    Parts,
    Plain,
    Thing,
    Value,
)
from pathaudit.index import ClassRef, FunctionRef, Index
from pathaudit.index.features import FALSE, LISTED, NONE, TRUE
from pathaudit.index.syntax import dotted_name
from pathaudit.paths import Question

STORED = {TRUE: True, LISTED: True, FALSE: False, NONE: False}
PROPERTY_DEPTH = 3


class _Named(Struct, frozen=True, eq=False):
    """What an expression names: a switch of the feature, locals, attributes of locals.

    It keeps the node, whose identity is the key under which it is kept.
    """

    node: ast.AST
    switch: bool
    names: tuple[str, ...]
    members: tuple[tuple[str, str], ...]


class Tests:
    """Decides tests from the stores of a feature, assumptions, and what is in a collection."""

    def __init__(self, index: Index, question: Question, switches: Mapping[str, str]) -> None:
        """``switches`` are what a setter would store under a name, whatever the object."""
        self.index = index
        self.question = question
        self.switches = frozenset(switches).union(
            (text.rpartition(".")[2] for text in question.armed),
            (name for name, kind in question.flags.items() if kind == TRUE),
        )
        self._anywhere = switches
        self._properties = 0
        self._names: dict[int, _Named] = {}
        self._armed: dict[tuple[ClassRef, str], FunctionRef | None] = {}

    def decide(self, node: ast.expr, course: Course, body: Body) -> list[tuple[bool, Course]]:
        """The ways that a test can go; what is not known is taken both ways and remembered."""
        match node:
            case ast.UnaryOp(ast.Not(), operand):
                return [(not way, after) for way, after in self.decide(operand, course, body)]
            case ast.BoolOp(operator, operands):
                return self._in_turn(isinstance(operator, ast.And), operands, course, body)
            case ast.Compare(_, [ast.NotEq() | ast.IsNot() | ast.NotIn()], _):
                return [(not way, x) for way, x in self._leaf(_positive(node), course, body)]
            case _:
                return self._leaf(node, course, body)

    def _in_turn(
        self, conjunction: bool, operands: list[ast.expr], course: Course, body: Body
    ) -> list[tuple[bool, Course]]:
        going, found = [course], []
        for operand in operands:
            ways = [item for before in going for item in self.decide(operand, before, body)]
            going = [after for way, after in ways if way is conjunction]
            found += [(way, after) for way, after in ways if way is not conjunction]
        return [*found, *((conjunction, after) for after in going)]

    def _leaf(self, node: ast.expr, course: Course, body: Body) -> list[tuple[bool, Course]]:
        flag = self.flag(node, course, body)
        if flag.known is not None:
            return [(flag.known, course)]
        return [
            (way, msgspec.structs.replace(course, facts=course.facts | {(flag.text, way)}))
            for way in (True, False)
            if (flag.text, not way) not in course.facts
        ]

    def flag(self, node: ast.expr, course: Course, body: Body) -> Flag:
        """What is known of one test."""
        text = ast.unparse(node)
        known = self._known(node, text, course, body)
        armed = self.mentions(node, course)
        value = course.names.get(node.id) if isinstance(node, ast.Name) else None
        return Flag(known, value.text if isinstance(value, Flag) else text, armed)

    def _known(self, node: ast.expr, text: str, course: Course, body: Body) -> bool | None:
        match node:
            case ast.Constant(value):
                return bool(value)
            case ast.Name() | ast.Attribute():
                return self._truth(node, text, course, body)
            case ast.Call(ast.Name("len" | "bool"), [inner]):
                return self._truth(inner, ast.unparse(inner), course, body)
            case ast.Call(ast.Name("getattr"), [owner, ast.Constant(str(name)), *_]):
                return self._known(ast.Attribute(owner, name, ast.Load()), text, course, body)
            case ast.Call(ast.Name("isinstance"), [ast.Name(name), ast.Name("tuple")]):
                return True if isinstance(course.names.get(name), Parts) else None
            case ast.Compare(left, [operator], [right]):
                return self._compared(operator, left, right, course, body)
            case _:
                return _assumed_truth(self.question.assumed(text))

    def _truth(self, node: ast.expr, text: str, course: Course, body: Body) -> bool | None:
        """Is a value true, or not empty?"""
        match self.look(node, course, body):
            case Held(ids):
                return bool(ids & course.filled)
            case Flag(known, _, _):
                return known
            case Thing() | Layers():
                return True
            case Parts(items):
                return bool(items)
        return _assumed_truth(self.question.assumed(text))

    def look(self, node: ast.expr, course: Course, body: Body) -> Value:
        """The value of a name or attribute, without effects."""
        match node:
            case ast.Name(id):
                return course.names.get(id, UNKNOWN)
            case ast.Attribute(owner, name):
                return self._attribute(self.look(owner, course, body), name, node)
            case ast.Subscript(owner, at):
                return part_of(self.look(owner, course, body), at)
            case ast.Starred(owner):
                return _whole(self.look(owner, course, body))
            case _:
                return UNKNOWN

    def _attribute(self, owner: Value, name: str, node: ast.Attribute) -> Value:
        match owner:
            case Layers():
                return owner
            case Held():
                return UNKNOWN if name in ("shape", "dtype", "device") else owner
            case Thing(path, _):
                kind = self._stored(path, name)
                if kind:
                    text = "None" if kind == NONE else ast.unparse(node)
                    return Flag(STORED.get(kind), text, armed=True)
                return self._member(owner, name, node)
            case _:
                return UNKNOWN

    def _stored(self, path: tuple[str, ...] | None, name: str) -> str:
        """The kind of value that the setter stored at an attribute, if it did."""
        found = self._anywhere.get(name, "")
        if path is None:
            return found
        return self.question.armed.get(".".join(("self", *path, name)), found)

    def _member(self, owner: Thing, name: str, node: ast.Attribute) -> Value:
        answer = self._property(owner, name, ast.unparse(node))
        if answer is not None:
            return answer
        types = self.index.types.attribute(owner.instance, name)
        if types.stacks():
            return Layers()
        path = None if owner.path is None else (*owner.path, name)
        found = types.instances()
        return Thing(path, found[0]) if found else UNKNOWN

    def _property(self, owner: Thing, name: str, text: str) -> Value | None:
        """A property that is one test: ``return self.model.capturing``."""
        key = (owner.instance.cls, name)
        if key not in self._armed:
            self._armed[key] = self._armed_property(*key)
        ref = self._armed[key]
        function = self.index.modules.function(ref) if ref is not None else None
        if ref is None or function is None or self._properties >= PROPERTY_DEPTH:
            return None
        last = function.node.body[-1]
        if not isinstance(last, ast.Return) or last.value is None:
            return None
        inner = Body(ref, function.node, owner, frozenset(), judged=False, depth=0)
        self._properties += 1
        ways = {w for w, _ in self.decide(last.value, Course({"self": owner}), inner)}
        self._properties -= 1
        return Flag(ways.pop() if len(ways) == 1 else None, text, armed=True)

    def _armed_property(self, cls: ClassRef, name: str) -> FunctionRef | None:
        """The property of a class by this name, if it reads a switch."""
        found = self.index.modules.method(cls, name)
        if found is None or "property" not in found[1].decorators:
            return None
        return found[0] if found[1].attributes & self.switches else None

    def _compared(
        self, operator: ast.cmpop, left: ast.expr, right: ast.expr, course: Course, body: Body
    ) -> bool | None:
        match operator, right:
            case ast.Is() | ast.Eq(), ast.Constant(None):
                return self._is_none(left, course, body)
            case ast.Eq(), ast.Constant(0):
                return _opposite(self._filled(left, course, body))
            case ast.Lt(), ast.Constant(1):
                return _opposite(self._filled(left, course, body))
            case ast.Gt(), ast.Constant(0):
                return self._filled(left, course, body)
            case ast.GtE(), ast.Constant(1):
                return self._filled(left, course, body)
            case _:
                return None

    def _filled(self, node: ast.expr, course: Course, body: Body) -> bool | None:
        """Is a number known to be positive: the length of something, or assumed to be?"""
        if isinstance(node, ast.Call) and dotted_name(node.func) == "len" and node.args:
            return self._truth(node.args[0], ast.unparse(node.args[0]), course, body)
        return True if self.question.assumed(ast.unparse(node)) == "positive" else None

    def _is_none(self, node: ast.expr, course: Course, body: Body) -> bool | None:
        match self.look(node, course, body):
            case Held() | Thing() | Layers() | Parts():
                return False
            case Flag(known, text, _) if known is not None:
                return text == "None"
        assumed = self.question.assumed(ast.unparse(node))
        return False if assumed in (True, "some", "positive") else None

    def mentions(self, node: ast.AST, course: Course) -> bool:
        """Is an expression about the feature: does it name a switch?"""
        named = self._named(node)
        if named.switch:
            return True
        for name in named.names:
            value = course.names.get(name)
            if isinstance(value, Flag) and value.armed:
                return True
        for owner, attribute in named.members:
            thing = course.names.get(owner)
            if isinstance(thing, Thing) and self._is_armed_property(thing, attribute):
                return True
        return False

    def decides(self, test: ast.expr, course: Course, body: Body) -> bool:
        """Does a test ask if the feature is on: is a switch that the setter sets a part of it?"""
        parts = test.values if isinstance(test, ast.BoolOp) else [test]
        flags = [self.flag(part, course, body) for part in parts if self.mentions(part, course)]
        return any(flag.known is True for flag in flags)

    def _named(self, node: ast.AST) -> _Named:
        found = self._names.get(id(node))
        if found is None:
            found = self._names[id(node)] = _names_in(node, self.switches)
        return found

    def _is_armed_property(self, thing: Thing, name: str) -> bool:
        found = self._property(thing, name, name)
        return isinstance(found, Flag) and found.armed


def _names_in(node: ast.AST, switches: frozenset[str]) -> _Named:
    names, members, switch = set(), set(), False
    for part in ast.walk(node):
        match part:
            case ast.Attribute(_, name) | ast.Constant(str(name)) if name in switches:
                switch = True
            case ast.Attribute(ast.Name(owner), name):
                members.add((owner, name))
            case ast.Name(name):
                names.add(name)
    return _Named(node, switch, tuple(sorted(names)), tuple(sorted(members)))


def forget_facts(course: Course, names: Iterable[str]) -> frozenset[tuple[str, bool]]:
    """The facts of a course that do not speak of ``names``, which are assigned."""
    gone = [re.compile(rf"(?<![\w.]){re.escape(name)}(?!\w)") for name in names]
    return frozenset(x for x in course.facts if not any(item.search(x[0]) for item in gone))


def part_of(value: Value, at: ast.expr) -> Value:
    """``value[at]``: one part of a tuple, or what any part may hold."""
    match value, at:
        case Parts(items), ast.Constant(int(number)) if number < len(items):
            return items[number]
        case _:
            return _whole(value)


def _whole(value: Value) -> Value:
    match value:
        case Held() | Layers():
            return value
        case Parts(items):
            held = frozenset[str]().union(*(x.ids for x in items if isinstance(x, Held)))
            return Held(held) if held else UNKNOWN
        case _:
            return value if isinstance(value, Plain) else UNKNOWN


def _positive(node: ast.Compare) -> ast.Compare:
    opposite = {ast.NotEq: ast.Eq, ast.IsNot: ast.Is, ast.NotIn: ast.In}
    return ast.Compare(node.left, [opposite[type(node.ops[0])]()], node.comparators)


def _opposite(known: bool | None) -> bool | None:
    return None if known is None else not known


def _assumed_truth(assumed: bool | str | None) -> bool | None:
    if isinstance(assumed, bool):
        return assumed
    return True if assumed == "positive" else None
