"""Expressions that read what a user states: a setting, an environment variable, a config key."""

import ast

from pathaudit.decisions import GateHop
from pathaudit.gates.declarations import Declarations
from pathaudit.gates.scopes import Names, Scope
from pathaudit.gates.traces import Origin
from pathaudit.index import FunctionRef
from pathaudit.index.syntax import dotted_name


class Readings:
    """Recognises readings by what the profile says of how code reads settings."""

    def __init__(self, names: Names, declarations: Declarations) -> None:
        self._names = names
        self._declarations = declarations
        self._profile = names.index.profile
        self._settings = names.index.profile.settings

    def of(self, node: ast.expr, scope: Scope) -> Origin | None:
        """What an expression reads, ``None`` where it is no reading."""
        match node:
            case ast.Attribute(value, attr):
                return self._attribute(value, attr, scope)
            case ast.Call(ast.Name("getattr"), [value, named, *rest]):
                name = _text_of(named, scope)
                default = ast.unparse(rest[0]) if rest else None
                return self._attribute(value, name, scope, default) if name else None
            case ast.Call(ast.Attribute(value, "get"), [ast.Constant(str(name)), *rest]) if (
                self.is_config(value)
            ):
                return self._key(name, ast.unparse(rest[0]) if rest else None)
            case ast.Call(ast.Attribute(value, "get" | "is_set"), []):
                return self._variable(value)
            case ast.Call(func, [ast.Constant(str(name)), *rest]) if (
                dotted_name(func) in self._settings.environment.functions
            ):
                default = ast.unparse(rest[0]) if rest else None
                return Origin("environment", name, default, self._declarations.variable(name))
            case ast.Subscript(value, ast.Constant(str(name))):
                return self._key(name) if self.is_config(value) else None
        return None

    def _attribute(
        self, value: ast.expr, attr: str, scope: Scope, default: str | None = None
    ) -> Origin | None:
        path = self.record_of(value, scope)
        if path is not None:
            declared = self._declarations.find(attr, path)
            if declared is not None:
                return Origin("setting", attr, declared.default, declared)
            return None
        variable = self._variable(ast.Attribute(value, attr))
        if variable is not None:
            return variable
        names = self._settings.model.names
        if self.is_config(value) and attr not in names:
            return self._key(attr, default)
        return None

    def _key(self, name: str, default: str | None = None) -> Origin:
        return Origin("config", name, default)

    def _variable(self, node: ast.expr) -> Origin | None:
        match node:
            case ast.Attribute(ast.Name(owner), name):
                if owner == self._settings.environment.variable:
                    declared = self._declarations.variable(name)
                    default = declared.default if declared else None
                    return Origin("environment", name, default, declared)
        return None

    def getter_of(self, node: ast.expr, scope: Scope) -> GateHop | None:
        """Where a getter gets the record that an expression reads from."""
        match node:
            case ast.Attribute(ast.Call(func, []), _) if self._getter(dotted_name(func)) == "":
                symbol = self._names.symbol(func, scope)
                if isinstance(symbol, FunctionRef):
                    inner = self._names.method_scope(symbol, None)
                    body = inner.function.node.body if inner and inner.function else []
                    return inner.hop("return", body[-1]) if inner and body else None
        return None

    def is_config(self, node: ast.expr) -> bool:
        """Is an expression the model's configuration, by the names it goes by?"""
        last = dotted_name(node).rpartition(".")[2]
        return last in self._settings.model.names

    def record_of(self, node: ast.expr, scope: Scope, depth: int = 0) -> str | None:
        """The namespace of settings that an object is: ``""`` is all of them, ``None`` none."""
        if depth > 3:
            return None
        match node:
            case ast.Name("self") if scope.cls is not None:
                inside = self._declarations.is_class(scope.cls.file, scope.cls.name)
                return "" if inside else None
            case ast.Name(id) | ast.Attribute(_, id) if id in self._settings.records:
                return ""
            case ast.Name(id) if scope.function is not None:
                found = scope.function.locals.get(id, ())
                values = [x.value for x in found if x.position is None]
                if len(values) == 1:
                    return self.record_of(values[0], scope, depth + 1)
                bound = scope.argument(id)
                return self.record_of(bound.value, bound.scope, depth + 1) if bound else None
            case ast.Attribute(value, attr):
                outer = self.record_of(value, scope, depth + 1)
                return f"{outer}.{attr}" if outer else None
            case ast.Call(func, []):
                return self._getter(dotted_name(func).rpartition(".")[2])
        return None

    def _getter(self, name: str) -> str | None:
        if name in self._settings.getters:
            return ""
        prefix = self._settings.namespaces
        space = name.removeprefix(prefix) if prefix and name.startswith(prefix) else ""
        return space if space and self._declarations.is_namespace(space) else None


def _text_of(node: ast.expr, scope: Scope) -> str:
    """A name that is written out, here or where a parameter is given it."""
    match node:
        case ast.Constant(str(text)):
            return text
        case ast.Name(id):
            bound = scope.argument(id)
            return _text_of(bound.value, bound.scope) if bound else ""
    return ""
