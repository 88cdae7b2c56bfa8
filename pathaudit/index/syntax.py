"""Questions about the syntax of functions that need no types."""

import ast
import warnings
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

Definition = ast.FunctionDef | ast.AsyncFunctionDef


def parse(text: str) -> ast.Module:
    """Parse a module, without the compiler's remarks on the audited code; raises as ast does."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text)


def parse_definition(lines: Sequence[str], first: int, line: int, last: int) -> Definition:
    """Parse one function of a file that parses: ``def`` stands at ``line``, decorators before.

    Positions are those in the file, whose ``lines`` keep their ends.
    """
    taken = "".join(lines[first - 1 : last])
    indented = taken[:1] in (" ", "\t")
    above = "\n" * (first - 1 - indented) + ("class _:\n" if indented else "")
    try:
        found = _definition_at(parse(above + taken), line)
    except SyntaxError:
        found = None  # a form feed in the margin, or a backslash at the end
    found = found or _definition_at(parse("".join(lines)), line)
    if found is None:
        raise AssertionError(f"no function is defined in line {line}")
    return found


def _definition_at(module: ast.Module, line: int) -> Definition | None:
    pending: list[ast.stmt] = list(module.body)
    for statement in pending:
        if isinstance(statement, Definition) and statement.lineno == line:
            return statement
        for name in ("body", "orelse", "finalbody", "handlers"):
            if not isinstance(statement, Definition):
                pending.extend(getattr(statement, name, ()))
    return None


def nodes_in(node: ast.AST) -> list[ast.AST]:
    """A node and all that is in it, in the order of ``ast.walk``, which is slower."""
    found = [node]
    for item in found:
        for name in item._fields:
            value = getattr(item, name, None)
            if isinstance(value, list):
                found.extend(part for part in value if isinstance(part, ast.AST))
            elif isinstance(value, ast.AST):
                found.append(value)
    return found


def dotted_name(node: ast.expr) -> str:
    match node:
        case ast.Name(id):
            return id
        case ast.Attribute(value, attr):
            base = dotted_name(value)
            return f"{base}.{attr}" if base else ""
        case _:
            return ""


def returns(nodes: Iterable[ast.AST]) -> list[ast.expr]:
    return [
        statement.value
        for statement in nodes
        if isinstance(statement, ast.Return) and statement.value is not None
    ]


class Assigned(Struct, frozen=True, eq=False):
    """What a name is assigned: a value, or the item at ``position`` of one that is unpacked."""

    value: ast.expr
    position: int | None = None


def local_assignments(nodes: Iterable[ast.AST]) -> dict[str, list[Assigned]]:
    """What each name is assigned by some nodes, in order."""
    found: dict[str, list[Assigned]] = {}
    for statement in nodes:
        if isinstance(statement, (ast.Assign, ast.AnnAssign)) and statement.value is not None:
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            for target in targets:
                for name, position in _bound_names(target):
                    found.setdefault(name, []).append(Assigned(statement.value, position))
    return found


def _bound_names(target: ast.expr) -> Iterator[tuple[str, int | None]]:
    if isinstance(target, ast.Name):
        yield target.id, None
    elif isinstance(target, ast.Tuple):
        for position, item in enumerate(target.elts):
            if isinstance(item, ast.Name):
                yield item.id, position


def parameters(node: Definition) -> set[str]:
    arguments = node.args
    return {item.arg for item in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}


def defaults(node: Definition) -> dict[str, ast.expr]:
    arguments = node.args
    positional = [*arguments.posonlyargs, *arguments.args]
    with_default = positional[len(positional) - len(arguments.defaults) :]
    pairs = [
        *zip(with_default, arguments.defaults, strict=True),
        *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True),
    ]
    return {item.arg: default for item, default in pairs if default is not None}


def base_init_call(nodes: Iterable[ast.AST]) -> ast.Call | None:
    """``super().__init__(...)`` or ``Base.__init__(self, ...)`` in a constructor."""
    for call in nodes:
        if (
            isinstance(call, ast.Call)
            and isinstance(call.func, ast.Attribute)
            and call.func.attr == "__init__"
        ):
            return call
    return None


def calls_with_loops(
    node: ast.AST, loops: tuple[ast.For, ...]
) -> Iterator[tuple[tuple[ast.For, ...], ast.Call]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Call):
            yield loops, child
        inner = (*loops, child) if isinstance(child, ast.For) else loops
        yield from calls_with_loops(child, inner)


def appended(node: ast.AST) -> Iterator[tuple[str, tuple[ast.For, ...], ast.expr]]:
    """``self.<name>.append(<value>)``: the name, the loops around it, and the value."""
    for loops, call in calls_with_loops(node, ()):
        match call:
            case ast.Call(
                ast.Attribute(ast.Attribute(ast.Name("self"), name), "append"), [value, *_]
            ):
                yield name, loops, value


def first_line(statement: ast.stmt) -> int:
    """The line where a statement begins, with the decorators of a function or class."""
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(item.lineno for item in decorators)])


def header_lines(statement: ast.stmt) -> range:
    """The lines of a statement; of one with a body, those before the body begins."""
    body: list[ast.stmt] = getattr(statement, "body", [])
    last = first_line(body[0]) - 1 if body else statement.end_lineno
    return range(statement.lineno, max(statement.lineno, last or 0) + 1)
