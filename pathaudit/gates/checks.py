"""Startup checks: which combinations of settings the framework refuses."""

import ast
from collections.abc import Iterator

from msgspec import Struct

from pathaudit.decisions import GateCheck
from pathaudit.gates.declarations import Declarations, Declared
from pathaudit.gates.scopes import tests_around
from pathaudit.gates.writers import functions_of
from pathaudit.index import FunctionOutline, Index


class Check(Struct, frozen=True):
    """A check: ``fields`` are the settings it reads, ``switched`` those that must be on for it.

    ``plain`` if it reads nothing else, so that it applies whatever the model is.
    """

    told: GateCheck
    fields: frozenset[str]
    switched: frozenset[str]
    plain: bool


class Checks:
    """Finds the checks that speak of a setting."""

    def __init__(self, index: Index, declarations: Declarations) -> None:
        self._index = index
        self._declarations = declarations
        self._known: dict[str, tuple[Check, ...]] = {}

    def of(self, field: str) -> tuple[Check, ...]:
        """The checks whose tests read a field, in order."""
        if field not in self._known:
            globs = self._index.profile.settings.checks
            files = self._index.modules.holding(globs, field)
            found = (x for file in files for x in self._in_file(file, field))
            self._known[field] = tuple(x for x in found if field in x.fields)
        return self._known[field]

    def _in_file(self, file: str, field: str) -> Iterator[Check]:
        outline = self._index.modules.outline(file)
        for function, _ in functions_of(outline) if outline else ():
            lines = outline.lines[function.first - 1 : function.last] if outline else []
            if any(f".{field}" in line for line in lines):
                yield from self._in_function(file, function)

    def _in_function(self, file: str, function: FunctionOutline) -> Iterator[Check]:
        for node in function.nodes:
            match node:
                case ast.Raise(exc=raised) if raised is not None:
                    tests = list(tests_around(function.node, node))
                    yield from self._check(file, node, tests, None, _message(raised))
                case ast.Assert(test, message):
                    tests = list(tests_around(function.node, node))
                    yield from self._check(file, node, tests, test, _message(message))

    def _check(
        self,
        file: str,
        node: ast.stmt,
        tests: list[ast.expr],
        asserted: ast.expr | None,
        message: str,
    ) -> Iterator[Check]:
        every = [*tests, *([asserted] if asserted is not None else [])]
        read = [x for test in every for x in self._fields(test)]
        if not read:
            return
        parts = [_grouped(x) for x in tests]
        if asserted is not None:
            parts.append(f"not ({ast.unparse(asserted)})")
        told = GateCheck(
            file=file,
            line=node.lineno,
            condition=" and ".join(parts),
            message=message,
            names=tuple(dict.fromkeys(x.name for x in read)),
        )
        switched = frozenset(x for test in tests for x in self._switched(test))
        plain = all(any(self._fields(x)) for test in every for x in _conjuncts(test))
        yield Check(told, frozenset(x.field for x in read), switched, plain)

    def _fields(self, test: ast.expr) -> Iterator[Declared]:
        for node in ast.walk(test):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                found = self._declarations.find(node.attr)
                if found is not None:
                    yield found

    def _switched(self, test: ast.expr) -> Iterator[str]:
        """The settings that must be on for a test to be true."""
        match test:
            case ast.BoolOp(ast.And(), values):
                for value in values:
                    yield from self._switched(value)
            case ast.Attribute(ast.Name(), attr):
                yield attr


def _conjuncts(test: ast.expr) -> list[ast.expr]:
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        return [x for value in test.values for x in _conjuncts(value)]
    return [test]


def _grouped(test: ast.expr) -> str:
    text = ast.unparse(test)
    loose = isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or)
    return f"({text})" if loose else text


def _message(node: ast.expr | None) -> str:
    """The first text of what is raised."""
    for inner in ast.walk(node) if node is not None else ():
        if isinstance(inner, ast.JoinedStr):
            return " ".join("".join(_part(x) for x in inner.values).split())
        if isinstance(inner, ast.Constant) and isinstance(inner.value, str):
            return " ".join(inner.value.split())
    return ""


def _part(node: ast.expr) -> str:
    """A part of an f-string: its text, or the code of what is put there."""
    if isinstance(node, ast.FormattedValue):
        return f"{{{ast.unparse(node.value)}}}"
    return str(node.value) if isinstance(node, ast.Constant) else ""
