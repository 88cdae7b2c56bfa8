"""Outline one module with ``ast``: imports, classes, methods, and what is stored on ``self``."""

import ast
from collections.abc import Iterator
from functools import cached_property

from msgspec import Struct

from pathaudit import ir
from pathaudit.index.shadows import Shadowed, find_shadowed
from pathaudit.index.syntax import (
    Assigned,
    Definition,
    appended,
    base_init_call,
    defaults,
    first_line,
    local_assignments,
    nodes_in,
    parameters,
    parse,
    parse_definition,
    returns,
)
from pathaudit.sources import split_lines


class ImportedSymbol(Struct, frozen=True):
    """``name = module`` or ``name = module.attribute``; ``level`` counts leading dots."""

    module: str
    attribute: str | None
    level: int


class AttributeStore(Struct, frozen=True):
    """``self.name = value`` in a method; ``position`` where a tuple is unpacked.

    ``always`` unless the statement is inside another, such as an arm.
    """

    name: str
    method: str
    value: ast.expr
    position: int | None
    line: int
    always: bool


class FunctionOutline:
    """A function or method; ``qualname`` is ``Class.method`` or the bare name.

    ``first`` is its first line with its decorators, ``line`` that of the ``def``, ``last`` its
    last. Trees of whole files are most of what an index would hold, and few functions are ever
    asked about: ``node`` parses the function again when it is first asked for.
    """

    def __init__(self, lines: list[str], qualname: str, node: Definition) -> None:
        self.name = node.name
        self.qualname = qualname
        self.first = first_line(node)
        self.line = node.lineno
        self.last = node.end_lineno or node.lineno
        self._lines = lines
        # Kept by whoever lowers the function first: it depends on nothing but the text.
        self.lowered: ir.Function | None = None

    @cached_property
    def node(self) -> Definition:
        """The tree of the function, with the positions that it has in its file."""
        return parse_definition(self._lines, self.first, self.line, self.last)

    @cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        """The function and all that is in it, as ``ast.walk`` has it."""
        return tuple(nodes_in(self.node))

    @cached_property
    def imports(self) -> tuple[tuple[str, ImportedSymbol], ...]:
        """The names that imports anywhere inside the function bind."""
        if not self._mentions("import"):
            return ()
        statements = (x for x in self.nodes if isinstance(x, ast.Import | ast.ImportFrom))
        return tuple(pair for item in statements for pair in imported(item))

    @cached_property
    def attributes(self) -> frozenset[str]:
        """Every attribute name that the function mentions."""
        return frozenset(node.attr for node in self.nodes if isinstance(node, ast.Attribute))

    @cached_property
    def parameters(self) -> frozenset[str]:
        """The names of its parameters, but those of ``*args`` and ``**kwargs``."""
        return frozenset(parameters(self.node))

    @cached_property
    def defaults(self) -> dict[str, ast.expr]:
        """The defaults of its parameters, of those that have one."""
        return defaults(self.node)

    @cached_property
    def locals(self) -> dict[str, list[Assigned]]:
        """What each name is assigned anywhere inside the function."""
        return local_assignments(self.nodes)

    @cached_property
    def returns(self) -> list[ast.expr]:
        """What the function returns, in any place."""
        return returns(self.nodes)

    @cached_property
    def base_init(self) -> ast.Call | None:
        """The call of a base's constructor, in a constructor."""
        return base_init_call(self.nodes)

    @cached_property
    def appended(self) -> tuple[tuple[str, tuple[ast.For, ...], ast.expr], ...]:
        """What is appended to attributes of ``self``: the name, the loops around, the value."""
        return tuple(appended(self.node)) if self._mentions("append") else ()

    def _mentions(self, text: str) -> bool:
        return any(text in line for line in self._lines[self.first - 1 : self.last])

    @property
    def decorators(self) -> tuple[str, ...]:
        return tuple(ast.unparse(item) for item in self.node.decorator_list)


class ClassOutline(Struct, frozen=True, eq=False):
    """A class of a module's top level. Later definitions of a method replace earlier ones.

    ``fields`` are the annotated names of its body, in order; ``shadowed`` what it defines twice.
    """

    name: str
    line: int
    bases: tuple[str, ...]
    methods: dict[str, FunctionOutline]
    attributes: dict[str, ast.expr]
    stores: tuple[AttributeStore, ...]
    fields: tuple[str, ...]
    shadowed: tuple[Shadowed, ...] = ()


class ModuleOutline(Struct, frozen=True, eq=False):
    """What other modules can ask of one file; ``lines`` keep their line ends."""

    file: str
    lines: list[str]
    imports: dict[str, ImportedSymbol]
    stars: tuple[ImportedSymbol, ...]
    classes: dict[str, ClassOutline]
    functions: dict[str, FunctionOutline]
    values: dict[str, tuple[ast.expr, ...]]
    shadowed: tuple[Shadowed, ...] = ()


def outline_module(file: str, text: str) -> ModuleOutline:
    """Outline the module ``text`` of ``file``.

    Raises ``SyntaxError``, ``ValueError`` or ``RecursionError`` as ``ast.parse`` does, and
    ``MemoryError`` for input that is nested too deeply for CPython's parser.
    """
    module = parse(text)
    outline = ModuleOutline(file, split_lines(text), {}, (), {}, {}, {})
    stars: list[ImportedSymbol] = []
    for statement in _top_level(module.body):
        _record(outline, statement, stars)
    return ModuleOutline(
        file,
        outline.lines,
        outline.imports,
        tuple(stars),
        outline.classes,
        outline.functions,
        outline.values,
        find_shadowed(module.body),
    )


def _top_level(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements of the module's scope, also those under ``if``, ``try`` and ``with``."""
    for statement in body:
        yield statement
        for name in ("body", "orelse", "finalbody"):
            if not isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                yield from _top_level(getattr(statement, name, []))
        for handler in getattr(statement, "handlers", []):
            yield from _top_level(handler.body)


def _record(outline: ModuleOutline, statement: ast.stmt, stars: list[ImportedSymbol]) -> None:
    lines = outline.lines
    match statement:
        case ast.Import() | ast.ImportFrom():
            for name, symbol in imported(statement):
                if name == "*":
                    stars.append(symbol)
                else:
                    outline.imports[name] = symbol
        case ast.ClassDef():
            outline.classes[statement.name] = _outline_class(lines, statement)
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            outline.functions[statement.name] = FunctionOutline(lines, statement.name, statement)
        case ast.Assign() | ast.AnnAssign() | ast.AugAssign():
            for name, value in _assigned(statement):
                outline.values[name] = (*outline.values.get(name, ()), value)


def imported(node: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, ImportedSymbol]]:
    """The names that an import binds; ``*`` for a star import."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            if alias.asname:
                yield alias.asname, ImportedSymbol(alias.name, None, 0)
            else:
                root = alias.name.split(".")[0]
                yield root, ImportedSymbol(root, None, 0)
        return
    for alias in node.names:
        attribute = None if alias.name == "*" else alias.name
        yield alias.asname or alias.name, ImportedSymbol(node.module or "", attribute, node.level)


def _assigned(node: ast.Assign | ast.AnnAssign | ast.AugAssign) -> Iterator[tuple[str, ast.expr]]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    if node.value is None:
        return
    for target in targets:
        if isinstance(target, ast.Name):
            yield target.id, node.value


def _outline_class(lines: list[str], node: ast.ClassDef) -> ClassOutline:
    methods: dict[str, FunctionOutline] = {}
    attributes: dict[str, ast.expr] = {}
    stores: list[AttributeStore] = []
    for statement in _top_level(node.body):
        match statement:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                if _replaces(statement):
                    qualname = f"{node.name}.{statement.name}"
                    methods[statement.name] = FunctionOutline(lines, qualname, statement)
                stores.extend(_self_stores(statement))
            case ast.Assign() | ast.AnnAssign():
                attributes.update(_assigned(statement))
    bases = tuple(ast.unparse(base) for base in node.bases)
    fields = tuple(
        item.target.id
        for item in node.body
        if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name)
    )
    return ClassOutline(
        node.name,
        node.lineno,
        bases,
        methods,
        attributes,
        tuple(stores),
        fields,
        find_shadowed(node.body),
    )


def _replaces(node: Definition) -> bool:
    """A property's setter or deleter, or an overload, is not the method of that name."""
    for decorator in node.decorator_list:
        if isinstance(decorator, ast.Attribute) and decorator.attr in ("setter", "deleter"):
            return False
        if ast.unparse(decorator).endswith("overload"):
            return False
    return True


def _self_stores(node: Definition) -> Iterator[AttributeStore]:
    receiver = node.args.args[0].arg if node.args.args else ""
    for statement in _statements(node):
        if not isinstance(statement, (ast.Assign, ast.AnnAssign)) or statement.value is None:
            continue
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        for target in targets:
            for name, position in _stored_names(target, receiver):
                yield AttributeStore(
                    name,
                    node.name,
                    statement.value,
                    position,
                    statement.lineno,
                    any(statement is own for own in node.body),
                )


def _statements(node: ast.AST) -> Iterator[ast.stmt]:
    """The statements inside a node at any depth; expressions are not entered, which is faster."""
    for name in ("body", "orelse", "handlers", "finalbody", "cases"):
        for inner in getattr(node, name, ()):
            if isinstance(inner, ast.stmt):
                yield inner
            yield from _statements(inner)


def _stored_names(target: ast.expr, receiver: str) -> Iterator[tuple[str, int | None]]:
    if isinstance(target, (ast.Tuple, ast.List)):
        for position, item in enumerate(target.elts):
            for name, _ in _stored_names(item, receiver):
                yield name, position
    elif (
        isinstance(target, ast.Attribute)
        and isinstance(target.value, ast.Name)
        and target.value.id == receiver
    ):
        yield target.attr, None
