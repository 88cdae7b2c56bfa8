"""What code names in a tree: callees with how they are called, and attributes of objects."""

import ast
import re
from collections.abc import Iterable, Iterator
from itertools import takewhile

from msgspec import Struct

from pathaudit.gates.scopes import Names, Scope, type_scope
from pathaudit.index import ClassRef, External, FunctionOutline, FunctionRef, Index
from pathaudit.index.syntax import dotted_name

# Bases that bring no attributes of their own that a patch could have meant.
_PLAIN = ("abc.", "builtins.", "enum.", "typing.", "dataclasses.", "object", "msgspec.Struct")
_DYNAMIC = ("__getattr__", "__getattribute__")


class Callee(Struct, frozen=True, eq=False):
    """A function that a call runs; ``bound``, its first parameter is given by the object."""

    ref: FunctionRef
    function: FunctionOutline
    bound: bool


def scope_of(index: Index, file: str, symbol: str) -> Scope:
    """The scope of a function of a file, or of its top level."""
    ref = FunctionRef(file, symbol)
    function = index.modules.function(ref) if symbol else None
    cls = index.modules.owner(ref) if symbol else None
    known = cls if cls is not None and index.modules.class_outline(cls) is not None else None
    return Scope(file, function, known)


def callee_of(names: Names, func: ast.expr, scope: Scope) -> Callee | None:
    """The function that a call of an expression runs, where the code tells which one it is."""
    modules = names.index.modules
    match func:
        case ast.Attribute(ast.Call(ast.Name("super"), []), method) if scope.cls is not None:
            found = modules.method(scope.cls, method, after=scope.cls)
            return _bound(names.index, found)
        case ast.Attribute(value, method):
            cls = class_at(names, value, scope)
            found = modules.method(cls, method) if cls is not None else None
            if found is not None:
                return _bound(names.index, found)
    cls = class_at(names, func, scope)
    if cls is not None:
        return _bound(names.index, _entered(names.index, cls))
    symbol = None if is_local(func, scope) else names.symbol(func, scope)
    return of_symbol(names.index, symbol)


def of_symbol(index: Index, symbol: object) -> Callee | None:
    """What a call of a function, method or class by its name runs."""
    match symbol:
        case FunctionRef():
            function = index.modules.function(symbol)
            if function is None:
                return None
            return Callee(symbol, function, index.is_class_method(symbol))
        case ClassRef():
            return _bound(index, index.modules.method(symbol, "__init__"))
        case _:
            return None


def _entered(index: Index, cls: ClassRef) -> tuple[FunctionRef, FunctionOutline] | None:
    """What calling an object runs: of a module, its forward."""
    own = index.modules.method(cls, "__call__")
    return own or index.modules.method(cls, index.profile.modules.call)


def _bound(index: Index, found: tuple[FunctionRef, FunctionOutline] | None) -> Callee | None:
    if found is None:
        return None
    return Callee(found[0], found[1], not index.is_static(found[0]))


def class_at(names: Names, node: ast.expr, scope: Scope) -> ClassRef | None:
    """The class of what an expression gives, if the code tells, or all types of it are of one."""
    found = names.class_of(node, scope)
    if found is not None or (isinstance(node, ast.Name) and scope.function is None):
        return found
    types = names.index.types.evaluate(node, type_scope(scope))
    classes = {item.cls for item in types.instances()}
    return classes.pop() if types.complete and len(classes) == 1 == len(types.items) else None


def is_local(node: ast.expr, scope: Scope) -> bool:
    """Does a dotted name begin with one that the function binds, other than by an import?"""
    head = dotted_name(node).partition(".")[0]
    if scope.function is None or any(name == head for name, _ in scope.function.imports):
        return False
    return head in bound_in(scope.function.node)


def bound_in(node: ast.AST) -> dict[str, list[int]]:
    """The names that a node binds at any depth, with the lines where."""
    found: dict[str, list[int]] = {}
    for name, line in _bindings(node):
        found.setdefault(name, []).append(line)
    return found


def _bindings(node: ast.AST) -> Iterator[tuple[str, int]]:
    for item in ast.walk(node):
        match item:
            case ast.Name(name, ast.Store() | ast.Del()) | ast.arg(name):
                yield name, item.lineno
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)):
                yield name, item.lineno
            case ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
                yield name, item.lineno
            case ast.alias(name, alias):
                yield alias or name.partition(".")[0], item.lineno
            case ast.FunctionDef(name) | ast.AsyncFunctionDef(name) | ast.ClassDef(name):
                if item is not node:
                    yield name, item.lineno


# ---- attributes -------------------------------------------------------------------------------


def defines(index: Index, cls: ClassRef, name: str) -> ClassRef | None:
    """The class of a hierarchy that has an attribute: a method, a value, a field or a store."""
    for ref in index.modules.mro(cls):
        outline = index.modules.class_outline(ref)
        if outline is None:
            continue
        stored = any(store.name == name for store in outline.stores)
        if stored or name in outline.methods or name in outline.attributes:
            return ref
        if name in outline.fields or _binds_otherwise(outline.methods.values(), name):
            return ref
    return None


def _binds_otherwise(methods: Iterable[FunctionOutline], name: str) -> bool:
    """``self.name += 1``, ``with ... as self.name`` and the like."""
    return any(
        isinstance(node, ast.Attribute) and node.attr == name and isinstance(node.ctx, ast.Store)
        for function in methods
        if name in function.attributes
        for node in function.nodes
    )


def may_have(index: Index, cls: ClassRef, name: str) -> bool:
    """May a class have an attribute that none of its hierarchy in the tree defines?"""
    if index.modules.has_unknown_base(cls) or any(
        _is_made(index, x) for x in index.modules.mro(cls)
    ):
        return True
    if any(index.modules.method(cls, method) for method in _DYNAMIC):
        return True
    order = index.modules.mro(cls)
    bases = [base for item in order for base in index.modules.bases(item)]
    strange = (x.name for x in bases if isinstance(x, External) and not _is_plain(index, x.name))
    return any(strange) or _set_outside(index, cls, name)


def makes_names(index: Index, file: str) -> bool:
    """May a module have names that none of its statements binds: made at run time, or starred?"""
    outline = index.modules.outline(file)
    if outline is None:
        return True
    if "__getattr__" in outline.functions or any("globals()" in x for x in outline.lines):
        return True
    modules = (index.modules.absolute(file, star) for star in outline.stars)
    return any(module.partition(".")[0] != index.tree.package for module in modules)


def _is_made(index: Index, cls: ClassRef) -> bool:
    """May a decorator, a metaclass or what takes its name give a class attributes?"""
    outline = index.modules.outline(cls.file)
    known = index.modules.class_outline(cls)
    if outline is None or known is None or cls.name in outline.values:
        return True
    above = takewhile(str.strip, reversed(outline.lines[: known.line - 1]))
    decorators = (line.strip() for line in above if line.startswith("@"))
    strange = any("dataclass" not in line for line in decorators)
    return strange or "metaclass=" in outline.lines[known.line - 1]


def _is_plain(index: Index, name: str) -> bool:
    return name in index.profile.modules.bases or name.startswith(_PLAIN)


def _set_outside(index: Index, cls: ClassRef, name: str) -> bool:
    """Does code beside a class set an attribute of that name on anything but ``self``?"""
    folder = cls.file.rpartition("/")[0]
    sets = re.compile(rf"(?<!\bself)\.{name}\s*(:[^=]+)?=(?!=)|setattr\(.*[\"']{name}[\"']")
    for file in index.modules.holding((f"/{folder}/**/*.py",), name):
        outline = index.modules.outline(file)
        if outline is not None and any(sets.search(line) for line in outline.lines):
            return True
    return False


def attributes_of(index: Index, cls: ClassRef) -> frozenset[str]:
    """All names that a hierarchy defines."""
    found: set[str] = set()
    for ref in index.modules.mro(cls):
        outline = index.modules.class_outline(ref)
        if outline is not None:
            found |= {*outline.methods, *outline.attributes, *outline.fields}
            found |= {store.name for store in outline.stores}
    return frozenset(found)


def calls_in(node: ast.AST) -> Iterator[tuple[frozenset[str], ast.expr]]:
    """The calls inside a node: their keywords, and what is called."""
    for call in ast.walk(node):
        if isinstance(call, ast.Call):
            yield frozenset(x.arg for x in call.keywords if x.arg), call.func
