"""Arms that are never taken with what their function is given: a literal, layers of one class."""

import ast
from collections.abc import Iterator
from typing import TypeAlias

from msgspec import Struct

from pathaudit.graph.flow import Flow, Known, Origin
from pathaudit.index import ClassType, FunctionRef
from pathaudit.index.types import Scope

Place: TypeAlias = tuple[str, int, str]  # file, line, and "if" or "else"


def never_taken(flow: Flow) -> frozenset[Place]:
    """The arms that cannot be taken with the layers and literals that functions are given."""
    return frozenset(
        place for ref, known in flow.functions.items() for place in _Tests(flow, ref, known).never()
    )


class Arm(Struct, frozen=True, order=True):
    """An outcome of an ``if``, by where it starts and the word that it starts with."""

    line: int
    word: str
    test: str


def arms_around(function: ast.AST, line: int) -> list[Arm]:
    """The arms that a line stands in, the outermost first."""
    found = []
    for node in ast.walk(function):
        match node:
            case ast.If(test, body) if _holds(body, line):
                found.append(Arm(node.lineno, "if", _text(test)))
            case ast.If(test, _, [first, *_] as orelse) if _holds(orelse, line):
                if not _is_elif(orelse):
                    found.append(Arm(first.lineno, "else", _text(test)))
    return sorted(found)


def _text(test: ast.expr) -> str:
    try:
        return ast.unparse(test)
    except RecursionError:
        return "..."


def _holds(body: list[ast.stmt], line: int) -> bool:
    return body[0].lineno <= line <= (body[-1].end_lineno or body[-1].lineno)


def _is_elif(orelse: list[ast.stmt]) -> bool:
    return len(orelse) == 1 and isinstance(orelse[0], ast.If)


class _Tests:
    """Decides the tests of one function, as far as its arguments and layers do."""

    def __init__(self, flow: Flow, ref: FunctionRef, known: Known) -> None:
        self._flow = flow
        self._file = ref.file
        self._names = known.names
        outline = flow.index.modules.function(ref)
        self._scope = Scope(ref.file, function=outline)
        self._nodes = list(outline.nodes) if outline else []
        stored = _stored(self._nodes)
        self._literals = {k: v for k, v in _literals(known).items() if k not in stored}
        self._classes = {
            name
            for name, values in stored.items()
            if all(value is not None and self._is_class_name(value) for value in values)
        }

    def never(self) -> Iterator[Place]:
        for node in self._nodes:
            if isinstance(node, ast.If):
                outcome = self._outcome(node.test)
                if outcome is False:
                    yield self._file, node.lineno, "if"
                elif outcome is True:
                    yield from self._otherwise(node)

    def _otherwise(self, node: ast.If) -> Iterator[Place]:
        match node.orelse:
            case [ast.If() as inner]:
                yield self._file, inner.lineno, "if"
                yield from self._otherwise(inner)
            case [first, *_]:
                yield self._file, first.lineno, "else"

    def _outcome(self, test: ast.expr) -> bool | None:
        negated = False
        while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            test, negated = test.operand, not negated
        outcome = self._decided(test)
        return outcome if outcome is None else outcome is not negated

    def _decided(self, test: ast.expr) -> bool | None:
        match test:
            case ast.Name(name) if name in self._literals:
                return bool(self._literals[name])
            case ast.Compare(left, [operator], [ast.Constant(value)]):
                return self._compared(left, operator, value)
            case ast.Call(
                ast.Name("isinstance"), [ast.Name(name) | ast.Subscript(ast.Name(name)), cls]
            ):
                return self._is_instance(name, cls)
            case _:
                return None

    def _compared(self, left: ast.expr, operator: ast.cmpop, value: object) -> bool | None:
        if isinstance(operator, ast.Eq | ast.Is):
            return self._equals(left, value)
        if isinstance(operator, ast.NotEq | ast.IsNot):
            outcome = self._equals(left, value)
            return None if outcome is None else not outcome
        return None

    def _equals(self, left: ast.expr, value: object) -> bool | None:
        if isinstance(left, ast.Name) and left.id in self._literals:
            known = self._literals[left.id]
            return type(known) is type(value) and known == value
        if (isinstance(left, ast.Name) and left.id in self._classes) or self._is_class_name(left):
            return _agreed(cls.name == value for cls in self._flow.entry.layers)
        return None

    def _is_instance(self, name: str, cls: ast.expr) -> bool | None:
        index = self._flow.index
        types = index.types.evaluate(cls, self._scope)
        match types.items:
            case (ClassType(base),) if self._is_layers(name) and types.complete:
                return _agreed(base in index.modules.mro(x) for x in self._flow.entry.layers)
            case _:
                return None

    def _is_layers(self, name: str) -> bool:
        return self._names.get(name, Origin.NEITHER).is_layers

    def _is_class_name(self, node: ast.expr) -> bool:
        """``layers[0].__class__.__name__`` or ``type(layer).__name__``."""
        match node:
            case ast.Attribute(
                ast.Attribute(value, "__class__") | ast.Call(ast.Name("type"), [value]), "__name__"
            ):
                inner = value.value if isinstance(value, ast.Subscript) else value
                return isinstance(inner, ast.Name) and self._is_layers(inner.id)
            case _:
                return False


def _stored(nodes: list[ast.AST]) -> dict[str, list[ast.expr | None]]:
    """Names that a function stores to, with the values, where they can be told."""
    values = {
        id(target): node.value
        for node in nodes
        if isinstance(node, ast.Assign)
        for target in node.targets
    }
    found: dict[str, list[ast.expr | None]] = {}
    for node in nodes:
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            found.setdefault(node.id, []).append(values.get(id(node)))
    return found


def _literals(known: Known) -> dict[str, object]:
    """Parameters that are the same literal at each call."""
    found: dict[str, object] = {}
    for name, values in known.literals.items():
        value = next(iter(values)) if len(values) == 1 else None
        if value is not None:
            found[name] = value.value
    return found


def _agreed(outcomes: Iterator[bool]) -> bool | None:
    found = set(outcomes)
    return found.pop() if len(found) == 1 else None
