"""A function as text, one statement a line: for tests, debugging and documentation."""

from collections.abc import Iterable, Iterator, Sequence
from functools import singledispatch

from pathaudit import ir
from pathaudit.lower.expression_text import render, render_bare, render_parameters

_INDENT = "    "


def dump(function: ir.Function) -> str:
    """The function in Python's own syntax, as far as that has a form for it.

    A pattern that is not a plain value is written ``?``, followed by the names it binds.
    """
    return "\n".join(_function_lines(function))


def _function_lines(function: ir.Function) -> Iterator[str]:
    for decorator in function.decorators:
        yield f"@{decorator}"
    yield f"def {function.name}({render_parameters(function.parameters)}):"
    yield from _body(function.body)


def _body(statements: Sequence[ir.Statement]) -> Iterator[str]:
    if not statements:
        yield f"{_INDENT}pass"
    for statement in statements:
        for line in _lines(statement):
            yield _INDENT + line


def _clause(header: str, statements: Sequence[ir.Statement]) -> Iterator[str]:
    """A part that is left out when it is empty, such as ``else``."""
    if statements:
        yield f"{header}:"
        yield from _body(statements)


def _bare_items(expressions: Iterable[ir.Expression]) -> str:
    return ", ".join(render_bare(expression) for expression in expressions)


@singledispatch
def _lines(statement: ir.Statement) -> Iterator[str]:
    """The lines of a statement, without indentation."""
    raise TypeError(statement)


# ---- statements on one line ---------------------------------------------------------------------


@_lines.register
def _assign(statement: ir.Assign) -> Iterator[str]:
    targets = " = ".join(render_bare(target) for target in statement.targets)
    yield f"{targets} = {render(statement.value)}"


@_lines.register
def _augmented_assign(statement: ir.AugmentedAssign) -> Iterator[str]:
    yield f"{render(statement.target)} {statement.operator}= {render(statement.value)}"


@_lines.register
def _evaluate(statement: ir.Evaluate) -> Iterator[str]:
    yield render(statement.value)


@_lines.register
def _delete(statement: ir.Delete) -> Iterator[str]:
    yield f"del {_bare_items(statement.targets)}"


@_lines.register
def _assertion(statement: ir.Assertion) -> Iterator[str]:
    yield f"assert {render(statement.test)}"


@_lines.register
def _exit(statement: ir.Exit) -> Iterator[str]:
    value = "" if statement.value is None else f" {render(statement.value)}"
    yield statement.kind + value


@_lines.register
def _import(statement: ir.Import) -> Iterator[str]:
    for imported in statement.names:
        source = imported.module if imported.attribute is None else imported.attribute
        bound = "" if source == imported.name else f" as {imported.name}"
        if imported.attribute is None:
            yield f"import {source}{bound}"
        else:
            yield f"from {imported.module} import {source}{bound}"


# ---- statements with a body ---------------------------------------------------------------------


@_lines.register
def _branch(statement: ir.Branch) -> Iterator[str]:
    yield f"if {render(statement.test)}:"
    yield from _body(statement.body)
    match statement.orelse:
        case (ir.Branch() as other,):
            for number, line in enumerate(_branch(other)):
                yield line if number else f"el{line}"
        case orelse:
            yield from _clause("else", orelse)


@_lines.register
def _loop(statement: ir.Loop) -> Iterator[str]:
    if statement.test is not None:
        yield f"while {render(statement.test)}:"
    elif statement.target is not None and statement.iterable is not None:
        yield f"for {render_bare(statement.target)} in {render(statement.iterable)}:"
    yield from _body(statement.body)
    yield from _clause("else", statement.orelse)


@_lines.register
def _with(statement: ir.With) -> Iterator[str]:
    yield f"with {', '.join(map(_context, statement.items))}:"
    yield from _body(statement.body)


def _context(item: ir.Context) -> str:
    target = "" if item.target is None else f" as {render(item.target)}"
    return render(item.manager) + target


@_lines.register
def _try(statement: ir.Try) -> Iterator[str]:
    yield "try:"
    yield from _body(statement.body)
    for handler in statement.handlers:
        yield _handler(handler)
        yield from _body(handler.body)
    yield from _clause("else", statement.orelse)
    if statement.final or not statement.handlers:
        yield "finally:"
        yield from _body(statement.final)


def _handler(handler: ir.Handler) -> str:
    exception = "" if handler.exception is None else f" {render(handler.exception)}"
    name = f" as {handler.name}" if handler.name else ""
    return f"except{exception}{name}:"


@_lines.register
def _match(statement: ir.Match) -> Iterator[str]:
    yield f"match {render(statement.subject)}:"
    for case in statement.cases:
        yield _INDENT + _case(case)
        for line in _body(case.body):
            yield _INDENT + line


def _case(case: ir.Case) -> str:
    unknown = "_" if case.irrefutable else "?"
    pattern = unknown if case.pattern is None else render(case.pattern)
    names = f" as {', '.join(case.names)}" if case.names else ""
    guard = "" if case.guard is None else f" if {render(case.guard)}"
    return f"case {pattern}{names}{guard}:"


@_lines.register
def _define(statement: ir.Define) -> Iterator[str]:
    yield from _function_lines(statement.function)
