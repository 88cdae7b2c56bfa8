"""Who writes an attribute: stores, and keywords of the constructors that set it."""

import ast
import re
from collections.abc import Iterator

from msgspec import Struct

from pathaudit.gates.scopes import Names, Scope
from pathaudit.index import ClassRef, FunctionOutline, ModuleOutline

_MOST_FILES = 60  # an attribute that more files write is no name to follow


class Writer(Struct, frozen=True, eq=False):
    """A value that an attribute gets; ``position`` where it is an item of what is unpacked.

    ``receiver`` is the name of the class that has the attribute if it is known, else the last name
    of the object in the code.
    """

    value: ast.expr
    position: int | None
    scope: Scope
    statement: ast.AST
    kind: str
    receiver: str = ""


class Writers:
    """Finds who writes an attribute of a class, or of any where the class is not known."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._index = names.index
        self._known: dict[tuple[str, ClassRef | None], tuple[Writer, ...]] = {}

    def of(self, attribute: str, cls: ClassRef | None) -> tuple[Writer, ...]:
        key = (attribute, cls)
        if key not in self._known:
            self._known[key] = tuple(self._find(attribute, cls))
        return self._known[key]

    def callers(self, name: str, globs: tuple[str, ...]) -> list[tuple[ast.Call, Scope]]:
        """The calls of something of this name, few of them, with where they stand."""
        found: list[tuple[ast.Call, Scope]] = []
        for file in self._index.modules.holding(globs, f"{name}("):
            for scope in self._functions(file, name, re.compile(rf"\b{re.escape(name)}\(")):
                for node in _nodes(scope):
                    if isinstance(node, ast.Call) and last_name(node.func) == name:
                        found.append((node, scope))
        return found

    def _find(self, attribute: str, cls: ClassRef | None) -> Iterator[Writer]:
        files = self._own_files(cls) or self._files(attribute, cls)
        if len(files) > _MOST_FILES:
            return
        pattern = re.compile(rf"\b{re.escape(attribute)}\b\s*(=|:|,)(?!=)")
        for file in files:
            for scope in self._functions(file, attribute, pattern):
                yield from self._in_function(attribute, cls, scope)

    def _files(self, attribute: str, cls: ClassRef | None) -> tuple[str, ...]:
        """The files that may write an attribute, by how code that is formatted does it."""
        modules = self._index.modules
        globs = self._index.profile.settings.files
        stores = (f".{attribute} =", f".{attribute}:", f".{attribute},")
        found = {file for text in stores for file in modules.holding(globs, text)}
        keyword = set(modules.holding(globs, f"{attribute}="))
        if cls is not None:
            keyword &= {cls.file, *modules.holding(globs, f"{cls.name}(")}
        return tuple(sorted(found | keyword))

    def _own_files(self, cls: ClassRef | None) -> tuple[str, ...]:
        """The files of a model class and its bases: nobody else writes its attributes by name."""
        if cls is None or not self._index.is_model(cls.file):
            return ()
        return tuple(dict.fromkeys(ref.file for ref in self._index.modules.mro(cls)))

    def _functions(self, file: str, word: str, pattern: re.Pattern[str]) -> Iterator[Scope]:
        """The functions with a line that a pattern matches; ``word`` is in each match."""
        outline = self._index.modules.outline(file)
        if outline is None:
            return
        lines = [
            number
            for number, line in enumerate(outline.lines, start=1)
            if word in line and pattern.search(line)
        ]
        for function, cls in functions_of(outline):
            if any(function.first <= line <= function.last for line in lines):
                owner = ClassRef(file, cls) if cls else None
                yield Scope(file, function, owner)

    def _in_function(self, attribute: str, cls: ClassRef | None, scope: Scope) -> Iterator[Writer]:
        for node in _nodes(scope):
            match node:
                case ast.Assign(targets=targets, value=value):
                    for target in targets:
                        yield from self._stored(attribute, cls, scope, node, target, value)
                case ast.AnnAssign(target=target, value=ast.expr() as value):
                    yield from self._stored(attribute, cls, scope, node, target, value)
                case ast.Call(keywords=keywords):
                    for item in keywords:
                        if item.arg == attribute and self._makes(node, cls, scope):
                            made = self._names.class_of(node, scope)
                            name = made.name if made else ""
                            yield Writer(item.value, None, scope, item, "keyword", name)

    def _stored(
        self,
        attribute: str,
        cls: ClassRef | None,
        scope: Scope,
        statement: ast.stmt,
        target: ast.expr,
        value: ast.expr,
    ) -> Iterator[Writer]:
        if isinstance(target, ast.Tuple | ast.List):
            for position, item in enumerate(target.elts):
                if self._is_target(attribute, cls, scope, item):
                    name = self._receiver(item, scope)
                    yield Writer(value, position, scope, statement, "attribute", name)
        elif self._is_target(attribute, cls, scope, target):
            name = self._receiver(target, scope)
            yield Writer(value, None, scope, statement, "attribute", name)

    def _receiver(self, target: ast.expr, scope: Scope) -> str:
        if not isinstance(target, ast.Attribute):
            return ""
        owner = self._names.class_of(target.value, scope)
        return owner.name if owner else last_name(target.value)

    def _is_target(
        self, attribute: str, cls: ClassRef | None, scope: Scope, target: ast.expr
    ) -> bool:
        if not (isinstance(target, ast.Attribute) and target.attr == attribute):
            return False
        if cls is None:
            return True
        owner = self._names.class_of(target.value, scope)
        if owner is None:
            return not (isinstance(target.value, ast.Name) and target.value.id == "self")
        return self._names.related(owner, cls)

    def _makes(self, call: ast.Call, cls: ClassRef | None, scope: Scope) -> bool:
        made = self._names.class_of(call, scope)
        if made is None:
            return False
        return self._names.related(made, cls) if cls is not None else True


def functions_of(outline: ModuleOutline) -> Iterator[tuple[FunctionOutline, str]]:
    """The functions and methods of a module, each with the name of its class if it has one."""
    for function in outline.functions.values():
        yield function, ""
    for name, cls in outline.classes.items():
        for method in cls.methods.values():
            yield method, name


def _nodes(scope: Scope) -> tuple[ast.AST, ...]:
    return scope.function.nodes if scope.function else ()


def last_name(node: ast.expr) -> str:
    """The last name of an expression: of ``self.batch`` it is ``batch``."""
    match node:
        case ast.Name(id):
            return id
        case ast.Attribute(_, attr):
            return attr
    return ""
