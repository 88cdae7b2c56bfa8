"""Where an expression stands, and what a name or an object is there."""

import ast
import re
from collections.abc import Iterator

from msgspec import Struct

from pathaudit.decisions import GateHop
from pathaudit.index import (
    ClassRef,
    External,
    FunctionOutline,
    FunctionRef,
    Index,
    Instance,
    ModuleRef,
    Symbol,
)
from pathaudit.index.outline import ImportedSymbol
from pathaudit.index.syntax import Definition, dotted_name, first_line
from pathaudit.index.types import Scope as TypeScope

DEPTH = 6  # of questions about the class of an object


class Bound(Struct, frozen=True, eq=False):
    """An argument: an expression where a call stands."""

    value: ast.expr
    scope: "Scope"


class Scope(Struct, frozen=True, eq=False):
    """A function of a file, or the file's top level; what its parameters are bound to."""

    file: str
    function: FunctionOutline | None = None
    cls: ClassRef | None = None
    bound: tuple[tuple[str, Bound], ...] = ()

    @property
    def symbol(self) -> str:
        return self.function.qualname if self.function else ""

    def argument(self, name: str) -> Bound | None:
        return next((value for key, value in self.bound if key == name), None)

    def hop(self, kind: str, node: ast.AST, text: str = "") -> GateHop:
        line = getattr(node, "lineno", 1)
        return GateHop(kind=kind, file=self.file, line=line, text=text or _text(node))


def _text(node: ast.AST) -> str:
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= 160 else f"{text[:157]}..."


class Names:
    """What names and objects are, in a scope."""

    def __init__(self, index: Index) -> None:
        self.index = index
        self._depth = 0

    def symbol(self, node: ast.expr, scope: Scope) -> Symbol | None:
        """What a dotted name means, imports inside the function included."""
        name = dotted_name(node)
        if not name:
            return None
        head, _, rest = name.partition(".")
        for bound, imported in scope.function.imports if scope.function else ():
            if bound == head:
                found = self._imported(scope.file, imported)
                if isinstance(found, ModuleRef) and rest:
                    return self.index.modules.resolve(found.file, rest)
                if isinstance(found, ClassRef) and rest:
                    method = self.index.modules.method(found, rest)
                    return method[0] if method else None
                return None if rest else found
        return self.index.modules.resolve(scope.file, name)

    def _imported(self, file: str, symbol: ImportedSymbol) -> Symbol | None:
        modules = self.index.modules
        module = modules.absolute(file, symbol)
        if module.split(".")[0] != modules.tree.package:
            return External(module)
        names = [module, *([f"{module}.{symbol.attribute}"] if symbol.attribute else [])]
        found = modules.file_of(names[0])
        if found is not None and symbol.attribute:
            member = modules.resolve(found, symbol.attribute)
            if member is not None:
                return member
        found = modules.file_of(names[-1])
        return ModuleRef(found) if found else None

    def class_of(self, node: ast.expr, scope: Scope) -> ClassRef | None:
        """The class of an object, where the code says so or only one can be made there."""
        if self._depth > DEPTH:
            return None
        self._depth += 1
        try:
            return self._class_of(node, scope)
        finally:
            self._depth -= 1

    def _class_of(self, node: ast.expr, scope: Scope) -> ClassRef | None:
        match node:
            case ast.Name("self" | "cls") if scope.cls is not None:
                return scope.cls
            case ast.Name(id):
                return self._class_of_name(id, scope)
            case ast.Call(func):
                return self._class_of_call(func, scope)
            case ast.Attribute(value, attr):
                owner = self.class_of(value, scope)
                return self._class_of_attribute(owner, attr) if owner else None
        return None

    def _class_of_name(self, name: str, scope: Scope) -> ClassRef | None:
        if scope.function is None:
            return None
        annotation = parameter_annotation(scope.function.node, name)
        if annotation is not None:
            return self.annotated(annotation, scope)
        bound = scope.argument(name)
        if bound is not None:
            return self.class_of(bound.value, bound.scope)
        values = scope.function.locals.get(name, [])
        found = {self.class_of(x.value, scope) for x in values if x.position is None}
        return found.pop() if len(found) == 1 else None

    def _class_of_call(self, func: ast.expr, scope: Scope) -> ClassRef | None:
        if isinstance(func, ast.Name) and func.id == "cls":
            return scope.cls
        symbol = self.symbol(func, scope)
        if isinstance(symbol, ClassRef):
            return symbol
        function = self.index.modules.function(symbol) if isinstance(symbol, FunctionRef) else None
        if isinstance(symbol, FunctionRef) and function is not None and function.node.returns:
            return self.annotated(function.node.returns, Scope(symbol.file))
        return None

    def _class_of_attribute(self, owner: ClassRef, name: str) -> ClassRef | None:
        found = self.index.types.attribute(Instance(owner), name).instances()
        if len({x.cls for x in found}) == 1:
            return found[0].cls
        method = self.index.modules.method(owner, name)
        if method is not None and method[1].node.returns and is_property(method[1]):
            return self.annotated(method[1].node.returns, Scope(method[0].file))
        return self._class_of_field(owner, name)

    def _class_of_field(self, owner: ClassRef, name: str) -> ClassRef | None:
        """``name: C = None`` in the body of a class."""
        for ref in self.index.modules.mro(owner):
            outline = self.index.modules.outline(ref.file)
            cls = self.index.modules.class_outline(ref)
            if outline is None or cls is None or name not in cls.fields:
                continue
            pattern = re.compile(rf"\s+{re.escape(name)}\s*:\s*([^=#]+)")
            lines = (pattern.match(line) for line in outline.lines[cls.line :])
            found = next((match for match in lines if match), None)
            if found is not None:
                return self.annotated(ast.Constant(found[1].strip()), Scope(ref.file))
        return None

    def annotated(self, node: ast.expr, scope: Scope) -> ClassRef | None:
        """The class that an annotation names, also as ``Optional[C]``, ``C | None`` or text."""
        match node:
            case ast.Constant(str(text)):
                try:
                    return self.annotated(ast.parse(text, mode="eval").body, scope)
                except (SyntaxError, ValueError, RecursionError):
                    return None
            case ast.Subscript(ast.Name("Optional"), inner):
                return self.annotated(inner, scope)
            case ast.BinOp(left, ast.BitOr(), ast.Constant(None)):
                return self.annotated(left, scope)
            case ast.Name() | ast.Attribute():
                found = self.symbol(node, scope)
                return found if isinstance(found, ClassRef) else None
        return None

    def related(self, one: ClassRef, other: ClassRef) -> bool:
        """Is one of two classes the other, or derived from it?"""
        return one in self.index.modules.mro(other) or other in self.index.modules.mro(one)

    def method_scope(
        self, ref: FunctionRef, cls: ClassRef | None, bound: tuple[tuple[str, Bound], ...] = ()
    ) -> Scope | None:
        """The scope of a function, as a method of a class if it is one."""
        function = self.index.modules.function(ref)
        if function is None:
            return None
        owner = self.index.modules.owner(ref)
        return Scope(ref.file, function, cls or owner, bound)


def parameter_annotation(node: Definition, name: str) -> ast.expr | None:
    return next((x.annotation for x in _parameters(node) if x.arg == name), None)


def is_parameter(node: Definition, name: str) -> bool:
    return any(x.arg == name for x in _parameters(node))


def _parameters(node: Definition) -> Iterator[ast.arg]:
    given = node.args
    yield from (*given.posonlyargs, *given.args, *given.kwonlyargs)
    yield from (x for x in (given.vararg, given.kwarg) if x is not None)


def parameter_line(node: Definition, name: str) -> ast.AST:
    return next((x for x in _parameters(node) if x.arg == name), node)


def is_property(function: FunctionOutline) -> bool:
    return any(name.split("(")[0].endswith("property") for name in function.decorators)


def tests_around(node: ast.AST, inner: ast.AST) -> tuple[ast.expr, ...]:
    """The tests of the branches of a function that a statement or expression stands in."""
    found = _around(node, inner)
    return tuple(reversed(found)) if found is not None else ()


def _around(node: ast.AST, inner: ast.AST) -> list[ast.expr] | None:
    if node is inner:
        return []
    for child in ast.iter_child_nodes(node):
        found = _around(child, inner) if _may_hold(child, inner) else None
        if found is None:
            continue
        if isinstance(node, ast.If | ast.IfExp | ast.While) and child is not node.test:
            found.append(_outcome(node, child))
        return found
    return None


def _may_hold(node: ast.AST, inner: ast.AST) -> bool:
    """Can a node be inside another, by their lines, as far as they have some?"""
    if not isinstance(inner, ast.stmt | ast.expr) or not isinstance(node, ast.stmt | ast.expr):
        return True
    first = first_line(node) if isinstance(node, ast.stmt) else node.lineno
    return first <= inner.lineno <= (node.end_lineno or inner.lineno)


def _outcome(node: ast.If | ast.IfExp | ast.While, child: ast.AST) -> ast.expr:
    """The test of a branch as it must come out for one of its parts to run."""
    others = node.orelse if isinstance(node.orelse, list) else [node.orelse]
    if any(child is x for x in others):
        return ast.copy_location(ast.UnaryOp(ast.Not(), node.test), node.test)
    return node.test


def type_scope(scope: Scope) -> TypeScope:
    """The same scope for questions about types."""
    receiver = Instance(scope.cls) if scope.cls else None
    return TypeScope(scope.file, receiver, scope.cls, scope.function)
