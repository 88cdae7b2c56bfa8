"""The bounded backward slice: from a condition to the nearest settings that decide it.

A step goes to what the value is made of: a property's body, the stores of an attribute, a
keyword, an item of what a function returns, the test that chooses between constants. It never
goes through arguments of a call that does something else with them, nor through similar names.
"""

import ast
from collections.abc import Callable, Sequence
from functools import partial

from pathaudit.gates.attributes import Attributes
from pathaudit.gates.callees import Callees
from pathaudit.gates.declarations import Declarations
from pathaudit.gates.facts import known_anywhere
from pathaudit.gates.readings import Readings
from pathaudit.gates.scopes import (
    Names,
    Scope,
    is_parameter,
    parameter_line,
    tests_around,
)
from pathaudit.gates.traces import Origin, Trace, Traces, after, constant, run_time, unresolved
from pathaudit.gates.traces import controlled as reaches
from pathaudit.gates.writers import Writer, Writers
from pathaudit.index import ClassRef, FunctionOutline, Index, ValueRef
from pathaudit.index.syntax import Assigned, dotted_name

# How many names, attributes and bodies a slice goes through: the first depth at which something
# that a user states is found is the last that is looked at.
DEPTHS = (4, 7, 10, 13, 16, 20)
FURTHER = 6  # for what decides together with something that was found
STEPS = 1500  # of one depth


class Slice:
    """Slices over one tree; ``nearest`` is the verb."""

    def __init__(self, index: Index, declarations: Declarations) -> None:
        self.index = index
        self.names = Names(index)
        self.writers = Writers(self.names)
        self.readings = Readings(self.names, declarations)
        self._declarations = declarations
        self.callees = Callees(self)
        self._attributes = Attributes(self)
        self._settings = index.profile.settings
        self._steps = 0
        self._depth = DEPTHS[-1]
        self._further = 0
        self._cut = False
        self.home: frozenset[str] = frozenset()
        self._open: list[tuple[object, ...]] = []

    def nearest(self, node: ast.expr, scope: Scope) -> Traces:
        """Where a value comes from, no deeper than to the nearest settings."""
        found: Traces = ()
        classes = self.index.modules.mro(scope.cls) if scope.cls else ()
        self.home = frozenset({scope.file, *(ref.file for ref in classes)})
        for depth in DEPTHS:
            self._steps, self._depth, self._cut = 0, depth, False
            found = self.trace(node, scope)
            if reaches(found) or not self._cut:
                break
        return found

    def trace(self, node: ast.expr, scope: Scope) -> Traces:
        """Where the value of an expression comes from, as far as the budgets go."""
        self._steps += 1
        if self._steps > STEPS or len(self._open) > self._depth + self._further:
            self._cut = self._cut or self._steps <= STEPS
            return unresolved(ast.unparse(node))
        read = self.read(node, scope) or (self._known(node, scope) if self._open else ())
        return read or self._expression(node, scope)

    def _known(self, node: ast.expr, scope: Scope) -> Traces:
        """What is known of a value on the way, where the profile says it holds anywhere."""
        if not isinstance(node, ast.Call | ast.Attribute):
            return ()
        fact = known_anywhere(self.index, node)
        found = []
        for field in fact.predicate.controls if fact is not None else ():
            declared = self._declarations.find(field)
            if fact is not None and declared is not None:
                origin = Origin("setting", field, declared.default, declared)
                found.append(Trace(origin, (scope.hop("read", node), fact.hop)))
        return tuple(found)

    def read(self, node: ast.expr, scope: Scope) -> Traces:
        """The one trace of an expression that reads what a user states."""
        origin = self.readings.of(node, scope)
        if origin is None:
            return ()
        getter = self.readings.getter_of(node, scope)
        return (Trace(origin, (scope.hop("read", node), *([getter] if getter else []))),)

    def each(self, parts: Sequence[Callable[[], Traces]]) -> Traces:
        """Parts that decide together: each is followed to its own nearest settings.

        Where one of them leads to a setting and another was cut off, that one gets further.
        """
        found = [self.part(part) for part in parts]
        if any(reaches(traces) for traces, _ in found) and self._further == 0:
            self._further = FURTHER
            pairs = zip(parts, found, strict=True)
            found = [
                self.part(part) if cut and not reaches(traces) else (traces, cut)
                for part, (traces, cut) in pairs
            ]
            self._further = 0
        return tuple(x for traces, _ in found for x in traces)

    def part(self, part: Callable[[], Traces]) -> tuple[Traces, bool]:
        """The traces of a part, and whether something of it was cut off for its depth."""
        before, self._cut = self._cut, False
        traces = part()
        cut, self._cut = self._cut, before or self._cut
        return traces, cut

    def cut(self) -> None:
        """Note that something was cut off, which an answer that is kept says."""
        self._cut = True

    @property
    def left(self) -> int:
        """How many more names, attributes and bodies may be gone through."""
        return self._depth + self._further - len(self._open)

    def once(self, key: tuple[object, ...]) -> bool:
        """Enter something that must not be entered again before it is left."""
        if key in self._open:
            return False
        self._open.append(key)
        return True

    def leave(self) -> None:
        self._open.pop()

    def _expression(self, node: ast.expr, scope: Scope) -> Traces:  # noqa: C901 - one arm a form
        match node:
            case ast.Constant(value):
                return constant(value)
            case ast.UnaryOp(_, operand):
                return self.trace(operand, scope)
            case ast.BoolOp(_, values):
                return self.each([partial(self.trace, value, scope) for value in values])
            case ast.Compare(ast.Attribute(value, attr) as left, [ast.Is() | ast.IsNot()], _):
                return self._attributes.follow(left, value, attr, scope, presence=True)
            case ast.Compare(left, _, comparators):
                return tuple(x for value in (left, *comparators) for x in self.trace(value, scope))
            case ast.BinOp(left, _, right):
                return self._computed((left, right), node, scope)
            case ast.IfExp(test, body, orelse):
                return self._choice(test, (body, orelse), scope)
            case ast.NamedExpr(_, value) | ast.Starred(value):
                return self.trace(value, scope)
            case ast.Name(id):
                return self.name(id, node, scope)
            case ast.Attribute(value, attr):
                return self._attributes.follow(node, value, attr, scope)
            case ast.Call():
                return self.callees.call(node, scope)
            case ast.Subscript(value):
                origin = self.readings.of(value, scope)
                return self.trace(value, scope) if origin else run_time(ast.unparse(node))
            case ast.List([]) | ast.Tuple([]) | ast.Dict([]) | ast.Set([]):
                return constant(ast.unparse(node))
            case ast.List(items) | ast.Tuple(items) | ast.Set(items):
                return tuple(x for item in items for x in self.trace(item, scope))
        return run_time(ast.unparse(node))

    def _computed(self, parts: tuple[ast.expr, ...], node: ast.expr, scope: Scope) -> Traces:
        """A number that is computed is a setting's only where it is read on the spot."""
        read = [(x, self.readings.of(x, scope)) for x in parts]
        found = tuple(Trace(origin, (scope.hop("read", x),)) for x, origin in read if origin)
        return found or run_time(ast.unparse(node))

    def _choice(self, test: ast.expr, values: tuple[ast.expr, ...], scope: Scope) -> Traces:
        """A conditional expression is decided by its test first, then by what it chooses from."""
        tested = after((scope.hop("test", test),), self.trace(test, scope))
        if reaches(tested):
            return tested
        return (*tested, *(x for value in values for x in self.trace(value, scope)))

    # ---- names ----

    def name(self, name: str, node: ast.expr, scope: Scope) -> Traces:
        """What a name is: a local, a parameter, or a variable of the module."""
        function = scope.function
        if function is None:
            return self._module_name(name, node, scope)
        key = ("name", scope.file, function.qualname, name)
        if not self.once(key):
            return ()
        try:
            if _is_global(name, function):
                return self._module_name(name, node, scope)
            assigned = function.locals.get(name, [])
            if assigned:
                others = run_time(name) if _bindings(function, name) > len(assigned) else ()
                return (*self._locals(assigned, scope), *self._given(name, scope), *others)
            if is_parameter(function.node, name):
                return self._given(name, scope)
            if _bindings(function, name):
                return run_time(name)
            return self._module_name(name, node, scope)
        finally:
            self.leave()

    def _locals(self, assigned: list[Assigned], scope: Scope) -> Traces:
        found: list[Trace] = []
        for item in assigned:
            hop = scope.hop("assignment", item.value)
            found += after((hop,), self.stored(item.value, item.position, item.value, scope))
        return tuple(found)

    def stored(
        self, value: ast.expr, position: int | None, statement: ast.AST, scope: Scope
    ) -> Traces:
        """What is stored: the item of a tuple, and where it is constant, the tests around it."""
        found = self._item(value, position, scope)
        if all(x.origin.kind == "constant" for x in found):
            return (*found, *self.tests(statement, scope))
        return found

    def tests(self, inner: ast.AST, scope: Scope) -> Traces:
        if scope.function is None:
            return ()
        tests = tests_around(scope.function.node, inner)
        return self.each([partial(self.tested, test, scope) for test in tests])

    def tested(self, test: ast.expr, scope: Scope) -> Traces:
        """What decides a test."""
        return after((scope.hop("test", test),), self.trace(test, scope))

    def _item(self, value: ast.expr, position: int | None, scope: Scope) -> Traces:
        if position is None:
            return self.trace(value, scope)
        if isinstance(value, ast.Tuple) and position < len(value.elts):
            return self.trace(value.elts[position], scope)
        if isinstance(value, ast.Call):
            return self.callees.call(value, scope, position)
        return run_time(ast.unparse(value))

    def _given(self, name: str, scope: Scope) -> Traces:
        """What a parameter is given: by the call that led here, else by all calls there are."""
        function = scope.function
        if function is None or not is_parameter(function.node, name):
            return ()
        hop = scope.hop("parameter", parameter_line(function.node, name), name)
        bound = scope.argument(name)
        if bound is not None:
            return after((hop,), self.trace(bound.value, bound.scope))
        if name in ("self", "cls"):
            return run_time(name)
        return after((hop,), self.callees.arguments(name, scope) or run_time(name))

    def _module_name(self, name: str, node: ast.expr, scope: Scope) -> Traces:
        symbol = self.names.symbol(ast.Name(name), scope)
        if isinstance(symbol, ValueRef):
            return self.variable(symbol)
        if symbol is None and isinstance(node, ast.Name):
            return unresolved(name)
        return constant(name)

    def variable(self, ref: ValueRef) -> Traces:
        """A variable of a module: its values there, and what functions set it to."""
        if not self.once(("global", ref)):
            return ()
        try:
            outline = self.index.modules.outline(ref.file)
            top = Scope(ref.file)
            found: list[Trace] = []
            for value in outline.values.get(ref.name, ()) if outline else ():
                found += after((top.hop("global", value),), self.trace(value, top))
            for writer in self._global_stores(ref):
                value = writer.value
                hops = (writer.scope.hop("global", writer.statement),)
                found += after(hops, self._item(value, writer.position, writer.scope))
            return tuple(found)
        finally:
            self.leave()

    def _global_stores(self, ref: ValueRef) -> list[Writer]:
        outline = self.index.modules.outline(ref.file)
        found = []
        for function in outline.functions.values() if outline else ():
            lines = outline.lines[function.first - 1 : function.last] if outline else []
            if not any("global" in line and ref.name in line for line in lines):
                continue
            if _is_global(ref.name, function):
                scope = Scope(ref.file, function)
                for item in function.locals.get(ref.name, ()):
                    found.append(Writer(item.value, item.position, scope, item.value, "global"))
        return found

    # ---- methods ----

    def owners(self, name: str) -> list[tuple[ClassRef, FunctionOutline]]:
        """The class that defines a method of this name, where only one does."""
        found = []
        modules = self.index.modules
        for file in modules.holding(self.index.profile.settings.files, f"def {name}(self"):
            outline = modules.outline(file)
            for cls in outline.classes.values() if outline else ():
                if name in cls.methods:
                    found.append((ClassRef(file, cls.name), cls.methods[name]))
        return found if len(found) == 1 else []


def _bindings(function: FunctionOutline, name: str) -> int:
    """How often a function binds or changes a name: assignments, loops, ``append`` and the like."""
    return sum(
        (isinstance(x, ast.Name) and x.id == name and isinstance(x.ctx, ast.Store))
        or (isinstance(x, ast.Call) and _changes(x, name))
        for x in function.nodes
    )


def _is_global(name: str, function: FunctionOutline) -> bool:
    return any(isinstance(x, ast.Global) and name in x.names for x in function.nodes)


def _changes(call: ast.Call, name: str) -> bool:
    """``name.append(...)``: the value may be another one afterwards."""
    func = call.func
    return isinstance(func, ast.Attribute) and dotted_name(func.value) == name
