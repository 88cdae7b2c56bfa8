"""The settings that a user can state, read from where the tree declares them."""

import ast
from collections.abc import Iterator
from functools import cached_property

from msgspec import Struct
from msgspec.structs import replace

from pathaudit.index import Index
from pathaudit.index.syntax import dotted_name, parse
from pathaudit.ruleset import SettingClass


class Declared(Struct, frozen=True):
    """A setting: a field, its flags if it has some, and the code of its default.

    ``path`` is the namespace it is read from, empty where there is one record of all settings.
    ``flag_file`` and ``flag_line`` are where the flag is made.
    """

    field: str
    file: str
    line: int
    path: str = ""
    default: str | None = None
    flags: tuple[str, ...] = ()
    flag_file: str = ""
    flag_line: int = 0
    flag_text: str = ""
    path_line: int = 0
    variable: bool = False

    @property
    def name(self) -> str:
        """The flag that is spelled as the field if there is one, else the first, else the field."""
        spelled = "--" + self.field.replace("_", "-")
        if spelled in self.flags:
            return spelled
        return self.flags[0] if self.flags else self.field


class Declarations:
    """Finds settings and environment variables by name; the files are read when first asked."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._settings = index.profile.settings

    def find(self, field: str, path: str | None = None) -> Declared | None:
        """The setting that a field of a namespace is, or of any if there is only one."""
        found = self._fields.get(field, ())
        inside = [x for x in found if path and _within(x.path, path)]
        if inside or len(found) == 1:
            return (inside or found)[0]
        return next((x for x in found if x.flags), found[0] if found else None)

    def is_class(self, file: str, name: str) -> bool:
        """Is a class one whose fields are settings?"""
        return (file, name) in self._classes

    def is_namespace(self, name: str) -> bool:
        """Is it the first part of a namespace that settings are declared in?"""
        return name in self._namespaces

    @cached_property
    def _namespaces(self) -> frozenset[str]:
        return frozenset(
            x.path.split(".")[0] for found in self._fields.values() for x in found if x.path
        )

    def variable(self, name: str) -> Declared | None:
        """An environment variable that is declared."""
        return self._variables.get(name)

    def with_flag(self, flag: str) -> Declared | None:
        """The setting that a flag such as ``--pp-size`` is for."""
        every = (x for found in self._fields.values() for x in found)
        return next((x for x in every if flag in x.flags), None)

    @cached_property
    def _read(self) -> tuple[tuple[SettingClass, str, ast.Module], ...]:
        return tuple(
            (group, file, module)
            for group in self._settings.classes
            for file in self._index.modules.holding(group.files, group.class_name or group.path)
            if (module := self._module(file)) is not None
        )

    @cached_property
    def _classes(self) -> dict[tuple[str, str], ast.ClassDef]:
        return {
            (file, node.name): node
            for group, file, module in self._read
            for node in module.body
            if isinstance(node, ast.ClassDef) and _belongs(group, node)
        }

    @cached_property
    def _fields(self) -> dict[str, tuple[Declared, ...]]:
        added = [x for _, file, module in self._read for x in _added_flags(file, module)]
        found: dict[str, tuple[Declared, ...]] = {}
        for group, file, _ in self._read:
            for (owner, _), node in self._classes.items():
                if owner == file:
                    for item in self._declared(group, file, node, added):
                        found[item.field] = (*found.get(item.field, ()), item)
        return found

    def _declared(
        self, group: SettingClass, file: str, node: ast.ClassDef, added: "list[_Added]"
    ) -> Iterator[Declared]:
        path, line = _path_of(group, node)
        for item in node.body:
            if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name):
                found = self._field(file, path, item, item.target.id, added)
                yield replace(found, path_line=line)

    def _field(
        self, file: str, path: str, item: ast.AnnAssign, name: str, added: "list[_Added]"
    ) -> Declared:
        default = ast.unparse(item.value) if item.value is not None else None
        path = path or self._marked(item.annotation)
        base = Declared(name, file, item.lineno, path, default)
        flags = self._annotated(name, item.annotation)
        if flags:
            derives = self._derives
            where, line, text = derives or (file, item.lineno, flags[0])
            return Declared(name, file, item.lineno, path, default, flags, where, line, text)
        spelled = {"--" + name.replace("_", "-"), "--" + name}
        for found in added:
            if found.target == name or (not found.target and spelled.intersection(found.flags)):
                return Declared(
                    name,
                    file,
                    item.lineno,
                    path,
                    default,
                    found.flags,
                    found.file,
                    found.line,
                    found.flags[0],
                )
        return base

    @cached_property
    def _derives(self) -> tuple[str, int, str] | None:
        anchor = self._settings.derives
        found = self._index.modules.find(anchor.files, anchor.text) if anchor else None
        return (*found, "the flag is made of the field's name") if found else None

    def _annotated(self, name: str, annotation: ast.expr) -> tuple[str, ...]:
        """The flags of a field ``name: A[type, "help"]`` or ``A[type, Arg(...)]``."""
        match annotation:
            case ast.Subscript(ast.Name(id), ast.Tuple([_, *described])):
                if id != self._settings.annotation:
                    return ()
            case _:
                return ()
        own = "--" + name.replace("_", "-")
        aliases: list[str] = []
        for call in described:
            if isinstance(call, ast.Call) and dotted_name(call.func) == self._settings.argument:
                given = {x.arg: x.value for x in call.keywords}
                if isinstance(no_cli := given.get("no_cli"), ast.Constant) and no_cli.value:
                    return ()
                if isinstance(named := given.get("cli_name"), ast.Constant):
                    own = str(named.value)
                aliases += _texts(given.get("aliases"))
        return (own, *aliases)

    def _marked(self, annotation: ast.expr) -> str:
        """The namespace that a call of ``marker`` in an annotation names."""
        for node in ast.walk(annotation) if self._settings.marker else ():
            match node:
                case ast.Call(ast.Name(id), [ast.Constant(str(path))]):
                    if id == self._settings.marker:
                        return path
        return ""

    @cached_property
    def _variables(self) -> dict[str, Declared]:
        environment = self._settings.environment
        found = {}
        for file in environment.files:
            module = self._module(file)
            for node in module.body if module else ():
                if isinstance(node, ast.ClassDef) and node.name == environment.class_name:
                    for item in _variables_in(file, node):
                        found[item.field] = item
        return found

    def _module(self, file: str) -> ast.Module | None:
        outline = self._index.modules.outline(file)
        return parse("".join(outline.lines)) if outline else None


class _Added(Struct, frozen=True):
    """A call of ``add_argument``; ``target`` is the field it says it is for."""

    flags: tuple[str, ...]
    target: str
    file: str
    line: int


def _added_flags(file: str, module: ast.Module) -> Iterator[_Added]:
    for node in ast.walk(module):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            continue
        flags = [x for x in node.args if isinstance(x, ast.Constant) and isinstance(x.value, str)]
        if node.func.attr == "add_argument" and flags and str(flags[0].value).startswith("--"):
            target = next((x.value for x in node.keywords if x.arg == "dest"), None)
            named = str(target.value) if isinstance(target, ast.Constant) else ""
            yield _Added(tuple(str(x.value) for x in flags), named, file, flags[0].lineno)


def _belongs(group: SettingClass, node: ast.ClassDef) -> bool:
    if group.class_name:
        return node.name == group.class_name
    return bool(_path_of(group, node)[0])


def _path_of(group: SettingClass, node: ast.ClassDef) -> tuple[str, int]:
    for item in node.body:
        match item:
            case ast.Assign([ast.Name(id)], ast.Constant(str(value))) if id == group.path:
                return value, item.lineno
    return "", 0


def _within(declared: str, read: str) -> bool:
    return declared == read or declared.startswith(f"{read}.") or read.startswith(f"{declared}.")


def _texts(node: ast.expr | None) -> list[str]:
    items = node.elts if isinstance(node, ast.List | ast.Tuple) else []
    return [str(x.value) for x in items if isinstance(x, ast.Constant)]


def _variables_in(file: str, node: ast.ClassDef) -> Iterator[Declared]:
    for item in node.body:
        match item:
            case ast.Assign([ast.Name(id)], ast.Call(_, arguments)):
                default = ast.unparse(arguments[0]) if arguments else None
                yield Declared(id, file, item.lineno, default=default, variable=True)
