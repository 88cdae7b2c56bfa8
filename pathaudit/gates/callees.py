"""Steps of a slice through calls: what is returned, and what a parameter is given."""

import ast
from functools import partial
from typing import TYPE_CHECKING

from pathaudit.gates.scopes import Bound, Scope, tests_around
from pathaudit.gates.traces import Trace, Traces, after, constant, controlled, run_time, unresolved
from pathaudit.index import ClassRef, External, FunctionRef

if TYPE_CHECKING:
    from pathaudit.gates.slicing import Slice

# Calls whose result says nothing but what their argument does.
_TRANSPARENT = ("bool", "int", "str", "float", "list", "tuple", "set", "any", "all", "len", "not_")
_TEXT_METHODS = ("lower", "upper", "strip", "startswith", "endswith", "split")
_CALLERS = 6
# A method of such a name may be that of a container: a class that has one tells nothing.
_BUILT_IN = frozenset(name for kind in (dict, list, set, str) for name in dir(kind))


class Callees:
    """Follows calls for one slice."""

    def __init__(self, slice_: "Slice") -> None:
        self._slice = slice_
        self._names = slice_.names

    def call(self, node: ast.Call, scope: Scope, position: int | None = None) -> Traces:
        """What a call returns, or an item of it."""
        func = node.func
        if isinstance(func, ast.Name) and func.id in _TRANSPARENT and len(node.args) == 1:
            return self._slice.trace(node.args[0], scope)
        symbol = self._names.symbol(func, scope)
        match symbol:
            case FunctionRef():
                owner = self._slice.index.modules.owner(symbol)
                if owner is not None and self._converts(symbol, node):
                    return self._converted(node, scope)
                return self._function(symbol, owner, node, scope, position)
            case ClassRef():
                return (
                    self._converted(node, scope)
                    if len(node.args) == 1
                    else constant(ast.unparse(node))
                )
            case External():
                return run_time(ast.unparse(node))
        if isinstance(func, ast.Attribute):
            return self._method(func, node, scope, position)
        bound = scope.argument(func.id) if isinstance(func, ast.Name) else None
        given = self._names.symbol(bound.value, bound.scope) if bound is not None else None
        if isinstance(given, FunctionRef):
            return self._function(given, None, node, scope, position)
        return unresolved(ast.unparse(node))

    def _converts(self, ref: FunctionRef, node: ast.Call) -> bool:
        """``Kind.from_text(x)``: a class method or static method of one argument."""
        index = self._slice.index
        return len(node.args) == 1 and (index.is_class_method(ref) or index.is_static(ref))

    def _converted(self, node: ast.Call, scope: Scope) -> Traces:
        return self._slice.trace(node.args[0], scope)

    def _method(
        self, func: ast.Attribute, node: ast.Call, scope: Scope, position: int | None
    ) -> Traces:
        if func.attr in _TEXT_METHODS:
            return self._slice.trace(func.value, scope)
        index = self._slice.index
        if self._slice.readings.record_of(func.value, scope) is not None:
            return self._of_record(func, node, scope)
        asked = self._predicate(func.value, node, scope)
        if asked:
            return asked
        cls = self._names.class_of(func.value, scope)
        if cls is not None:
            found = index.modules.method(cls, func.attr)
            if found is not None:
                return self._function(found[0], cls, node, scope, position, func.value)
            return unresolved(ast.unparse(node))
        if func.attr in _BUILT_IN:
            return run_time(ast.unparse(node))
        for owner, _ in self._slice.owners(func.attr):
            return self._function(
                FunctionRef(owner.file, f"{owner.name}.{func.attr}"),
                owner,
                node,
                scope,
                position,
                func.value,
            )
        return run_time(ast.unparse(node))

    def _predicate(self, value: ast.expr, node: ast.Call, scope: Scope) -> Traces:
        """``kind.is_some()``: a question about a value that a setting was turned into."""
        if node.args or node.keywords or (isinstance(value, ast.Name) and value.id == "self"):
            return ()
        found = self._slice.trace(value, scope)
        return found if controlled(found) else ()

    def _of_record(self, func: ast.Attribute, node: ast.Call, scope: Scope) -> Traces:
        """A method of the settings themselves, if only one class of them has it."""
        for owner, _ in self._slice.owners(func.attr):
            ref = FunctionRef(owner.file, f"{owner.name}.{func.attr}")
            return self._function(ref, owner, node, scope, None)
        return unresolved(ast.unparse(node))

    def _function(
        self,
        ref: FunctionRef,
        cls: ClassRef | None,
        node: ast.Call,
        scope: Scope,
        position: int | None,
        receiver: ast.expr | None = None,
    ) -> Traces:
        function = self._slice.index.modules.function(ref)
        if function is None:
            return unresolved(ast.unparse(node))
        names = [x.arg for x in (*function.node.args.posonlyargs, *function.node.args.args)]
        bound: list[tuple[str, Bound]] = []
        if cls is not None and names and names[0] in ("self", "cls"):
            if receiver is not None and names[0] == "self":
                bound.append(("self", Bound(receiver, scope)))
            names = names[1:]
        bound += [(x, Bound(y, scope)) for x, y in zip(names, node.args, strict=False)]
        bound += [(x.arg, Bound(x.value, scope)) for x in node.keywords if x.arg]
        return self.body(ref, cls, tuple(bound), "return", position)

    def body(
        self,
        ref: FunctionRef,
        cls: ClassRef | None,
        bound: tuple[tuple[str, Bound], ...],
        kind: str,
        position: int | None = None,
    ) -> Traces:
        """What a function returns; where that is constant, the tests that choose it."""
        inner = self._names.method_scope(ref, cls, bound)
        if inner is None or inner.function is None or not self._slice.once(("body", ref)):
            return ()
        try:
            returns = _returns(inner.function.node)
            parts = [partial(self._returned, x, inner, kind, position) for x in returns]
            return self._slice.each(parts) or run_time(f"{ref.qualname}()")
        finally:
            self._slice.leave()

    def _returned(
        self, statement: ast.Return, inner: Scope, kind: str, position: int | None
    ) -> Traces:
        value = statement.value
        if value is None:
            return ()
        if position is not None:
            items = value.elts if isinstance(value, ast.Tuple) else []
            if position >= len(items):
                return run_time(ast.unparse(value))
            value = items[position]
        found = after((inner.hop(kind, statement),), self._slice.trace(value, inner))
        if any(x.origin.kind != "constant" for x in found):
            return found
        if inner.function is None:
            return found
        tests = tests_around(inner.function.node, statement)
        parts = [partial(self._slice.tested, test, inner) for test in tests]
        head = inner.hop("function", inner.function.node, f"def {inner.function.name}")
        return (*found, *after((head,), self._slice.each(parts)))

    # ---- who calls ----

    def arguments(self, name: str, scope: Scope) -> Traces:
        """What the calls of a function, or of a class, give one of its parameters."""
        function = scope.function
        if function is None:
            return ()
        if scope.cls is not None and function.name != "__init__":
            return ()
        called = scope.cls.name if scope.cls is not None else function.name
        if not self._slice.once(("argument", scope.file, called, name)):
            return ()
        try:
            return self._from_calls(called, name, scope)
        finally:
            self._slice.leave()

    def _from_calls(self, called: str, name: str, scope: Scope) -> Traces:
        calls = self._slice.writers.callers(called, self._slice.index.profile.settings.files)
        calls = [(call, where) for call, where in calls if self._is_of(call, where, scope)]
        if len(calls) > _CALLERS:
            return run_time(name)
        found: list[Trace] = []
        for call, where in calls:
            value = _argument(call, name, scope)
            if value is not None:
                found += after((where.hop("argument", call.func),), self._slice.trace(value, where))
        return tuple(found)

    def _is_of(self, call: ast.Call, where: Scope, scope: Scope) -> bool:
        """Is it this function that is called, as far as can be told?"""
        symbol = self._names.symbol(call.func, where)
        function = scope.function
        if symbol is None or function is None:
            return isinstance(call.func, ast.Attribute)
        if isinstance(symbol, FunctionRef):
            return symbol == FunctionRef(scope.file, function.qualname)
        return isinstance(symbol, ClassRef) and symbol == scope.cls

    def reached(self, scope: Scope) -> Traces:
        """The tests around the calls of a function: when is it run at all?"""
        function = scope.function
        if function is None or not self._slice.once(("reached", scope.file, function.qualname)):
            return ()
        try:
            globs = self._slice.index.profile.settings.files
            calls = self._slice.writers.callers(function.name, globs)
            found: list[Trace] = []
            for call, where in calls[:_CALLERS]:
                if where.function is not None and self._is_of(call, where, scope):
                    for test in tests_around(where.function.node, call):
                        hops = (where.hop("call", call), where.hop("test", test))
                        found += after(hops, self._slice.trace(test, where))
            return tuple(found)
        finally:
            self._slice.leave()


def _argument(call: ast.Call, name: str, scope: Scope) -> ast.expr | None:
    for item in call.keywords:
        if item.arg == name:
            return item.value
    if scope.function is None:
        return None
    given = scope.function.node.args
    names = [x.arg for x in (*given.posonlyargs, *given.args)]
    if names and names[0] in ("self", "cls"):
        names = names[1:]
    position = names.index(name) if name in names else len(call.args)
    return call.args[position] if position < len(call.args) else None


def _returns(node: ast.AST) -> list[ast.Return]:
    found: list[ast.Return] = []
    pending = list(ast.iter_child_nodes(node))
    while pending:
        item = pending.pop(0)
        if isinstance(item, ast.Return):
            found.append(item)
        elif not isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            pending.extend(ast.iter_child_nodes(item))
    return found
