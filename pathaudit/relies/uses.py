"""What the lines that a patch adds need of the tree around them."""

import ast
from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

from pathaudit.gates.scopes import Names, Scope
from pathaudit.index import (
    ClassRef,
    External,
    FunctionRef,
    Index,
    ModuleRef,
    Symbol,
    ValueRef,
)
from pathaudit.index.syntax import dotted_name
from pathaudit.relies.code import arguments_of, digest_of, misfit, signature_of, sketch_of
from pathaudit.relies.finding import find_callers, find_siblings, sketch_at
from pathaudit.relies.names import bound_in, callee_of, class_at, defines, is_local
from pathaudit.ruleset.patches import Use

_RECEIVERS = ("self", "cls")


class Added(Struct, frozen=True, eq=False):
    """The lines of a file that a patch adds, and the names that it binds in the module."""

    lines: frozenset[int]
    names: frozenset[str]

    def touches(self, node: ast.AST) -> bool:
        """Does a node stand on one of the lines, as far as it is written there?"""
        first = getattr(node, "lineno", 0)
        last = getattr(node, "end_lineno", None) or first
        return not self.lines.isdisjoint(range(first, last + 1))

    def begins(self, node: ast.AST) -> bool:
        """Does a node begin on one of the lines?"""
        return getattr(node, "lineno", 0) in self.lines


def find_uses(
    index: Index, old: Index, scope: Scope, node: ast.AST, added: Added
) -> tuple[Use, ...]:
    """What the added lines of a function, or of a module outside functions, need.

    What the patch brings itself, compared with the ``old`` tree, is not needed. Nothing is said of
    what cannot be looked up.
    """
    finder = _Finder(index, old, scope, node, added)
    return tuple(dict.fromkeys(finder.find()))


class _Finder:
    def __init__(self, index: Index, old: Index, scope: Scope, node: ast.AST, added: Added) -> None:
        self._index = index
        self._old = old
        self._names = Names(index)
        self._scope = scope
        self._added = added
        self._node = node
        self._bound = bound_in(node) if scope.function is not None else {}

    def find(self) -> Iterator[Use]:
        for node in self._nodes(self._node):
            match node:
                case ast.Call() if self._added.touches(node.func) or self._gives(node):
                    yield from self._call(node)
                case ast.ImportFrom() if self._added.touches(node):
                    yield from self._imports(node)
                case ast.Attribute(ctx=ast.Load()) if self._added.begins(node):
                    yield from self._attribute(node)
                case ast.Name(ctx=ast.Load()) if self._added.begins(node):
                    yield from self._name(node)
                case ast.Assign([ast.Attribute() as target], value) if self._added.touches(node):
                    yield from self._replaces(target, value)

    def _nodes(self, node: ast.AST) -> Iterator[ast.AST]:
        """The nodes inside one; of a module not those of its functions, nor guarded imports."""
        for child in ast.iter_child_nodes(node):
            inner = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef)
            if inner and self._scope.function is None:
                continue
            if isinstance(child, ast.Try) and _forgives(child):
                continue
            if isinstance(child, ast.arg):
                continue
            yield child
            yield from self._nodes(child)

    def _gives(self, node: ast.Call) -> bool:
        """Does an added line give something to a call that was there?"""
        return any(map(self._added.touches, (*node.args, *node.keywords)))

    # ---- names ----

    def _name(self, node: ast.Name) -> Iterator[Use]:
        lines = self._bound.get(node.id)
        if lines is not None:
            if node.id not in _RECEIVERS and any(x not in self._added.lines for x in lines):
                yield Use("local", node.id)
        elif node.id not in self._added.names:
            symbol = self._names.symbol(node, self._scope)
            if _is_here(symbol):
                yield self._named(node.id, symbol)

    def _named(self, code: str, symbol: Symbol | None) -> Use:
        file, name = place_of(symbol)
        return self._kept("name", code, file, name)

    def _kept(self, kind: Literal["name", "import"], code: str, file: str, name: str) -> Use:
        """A use of something by its name, with what it is known by under another."""
        callers = tuple(find_callers(self._old, file, name))
        sketch = sketch_at(self._index, file, name)
        near = find_siblings(self._old, file, name) if sketch.partition(".")[2] else ()
        return Use(kind, code, file, name, sketch=sketch, callers=callers, siblings=near)

    def _imports(self, node: ast.ImportFrom) -> Iterator[Use]:
        for alias in filter(self._added.begins, node.names):
            target = ast.ImportFrom(node.module, [ast.alias(alias.name)], node.level)
            symbol = imported(self._index, self._scope.file, target)
            if _is_here(symbol):
                file, name = place_of(symbol)
                code = ast.unparse(ast.fix_missing_locations(target))
                yield self._kept("import", code, file, name)

    # ---- objects ----

    def _attribute(self, node: ast.Attribute) -> Iterator[Use]:
        cls = class_at(self._names, node.value, self._scope)
        owner = defines(self._index, cls, node.attr) if cls is not None else None
        if cls is not None and owner is not None:
            if not self._is_own(owner, node.attr):
                yield Use("attribute", ast.unparse(node), cls.file, cls.name)
            return
        dotted = dotted_name(node)
        head = dotted.partition(".")[0]
        if dotted and head not in self._added.names and not is_local(node, self._scope):
            symbol = self._names.symbol(node, self._scope)
            if _is_here(symbol):
                yield self._named(dotted, symbol)

    def _is_own(self, owner: ClassRef, name: str) -> bool:
        """Is an attribute defined on added lines alone?"""
        outline = self._index.modules.class_outline(owner)
        if outline is None or owner.file != self._scope.file:
            return False
        lines = [store.line for store in outline.stores if store.name == name]
        lines += [outline.methods[name].line] if name in outline.methods else []
        lines += [x.lineno for key, x in outline.attributes.items() if key == name]
        return bool(lines) and self._added.lines.issuperset(lines)

    def _call(self, node: ast.Call) -> Iterator[Use]:
        callee = callee_of(self._names, node.func, self._scope)
        if callee is None:
            return
        signature, arguments = signature_of(callee.function.node), arguments_of(node)
        fits = not misfit(signature, arguments, bound=callee.bound)
        if fits and not self._is_new(callee.ref, signature):
            yield Use(
                "call",
                ast.unparse(node.func),
                callee.ref.file,
                callee.ref.qualname,
                signature,
                arguments,
            )

    def _is_new(self, ref: FunctionRef, signature: str) -> bool:
        """Does the patch bring a function, or change how it is called?"""
        function = self._old.modules.function(ref)
        return function is None or signature_of(function.node) != signature

    def _replaces(self, target: ast.Attribute, value: ast.expr) -> Iterator[Use]:
        """``Class.method = function``: the method that is replaced, and what takes its place."""
        cls = self._names.symbol(target.value, self._scope)
        if not isinstance(cls, ClassRef):
            return
        found = self._index.modules.method(cls, target.attr)
        new = self._names.symbol(value, self._scope)
        taker = self._index.modules.function(new) if isinstance(new, FunctionRef) else None
        if found is None or taker is None:
            return
        ref, function = found
        yield Use(
            "replaces",
            ast.unparse(target),
            ref.file,
            ref.qualname,
            signature_of(function.node),
            signature_of(taker.node),
            digest_of(function.node),
            sketch_of(function.node),
        )


def stands_for(index: Index, file: str, module: ast.Module) -> dict[str, ClassRef]:
    """The functions of a file that are put in the place of methods, with the class of each."""
    found = {}
    for node in module.body:
        match node:
            case ast.Assign([ast.Attribute(value)], ast.Name(name)):
                cls = (
                    index.modules.resolve(file, dotted_name(value)) if dotted_name(value) else None
                )
                if isinstance(cls, ClassRef):
                    found[name] = cls
    return found


def _forgives(node: ast.Try) -> bool:
    """Does a ``try`` catch what an import or an attribute that is gone raises?"""
    caught = {ast.unparse(x.type) if x.type else "" for x in node.handlers}
    known = {"", "Exception", "ImportError", "ModuleNotFoundError", "AttributeError"}
    return not known.isdisjoint(caught)


def _is_here(symbol: Symbol | None) -> bool:
    return symbol is not None and not isinstance(symbol, External)


def place_of(symbol: Symbol | None) -> tuple[str, str]:
    """The file that defines something, and its qualified name there."""
    match symbol:
        case ClassRef(file, name) | ValueRef(file, name) | FunctionRef(file, name):
            return file, name
        case ModuleRef(file):
            return file, ""
        case _:
            return "", ""


def imported(index: Index, file: str, node: ast.ImportFrom) -> Symbol | None:
    """What the only name of an import means in a file."""
    modules = index.modules
    module, alias = node.module or "", node.names[0].name
    if node.level:
        parts = file.removesuffix(".py").split("/")
        package = parts[: len(parts) - node.level]
        module = ".".join([*package, *filter(None, [module])])
    module = modules.tree.here(module)
    if module.split(".")[0] != modules.tree.package:
        return External(f"{module}.{alias}")
    home = modules.file_of(module)
    member = modules.resolve(home, alias) if home is not None else None
    inner = modules.file_of(f"{module}.{alias}") if member is None else None
    return member or (ModuleRef(inner) if inner is not None else None)
