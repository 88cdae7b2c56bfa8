"""What a runner does with layers of a class: finds a recipe for it by its name, or raises."""

import ast
from collections.abc import Iterable, Iterator

from msgspec import Struct

from pathaudit.check.sites import symbol_of
from pathaudit.index import ClassRef, FunctionOutline, FunctionRef, Index, ValueRef
from pathaudit.index.syntax import dotted_name

CALL_DEPTH = 4


class Refusal(Struct, frozen=True, eq=False):
    """The statement that every layer of a class ends at in a runner."""

    ref: FunctionRef
    node: ast.stmt
    error: str


class Recipe(Struct, frozen=True, eq=False):
    """A function that is given one layer of the class, as a parameter."""

    ref: FunctionRef
    name: str


class Ways(Struct, frozen=True, eq=False):
    """How a block may end for one class: it ``goes`` on, it ``returns``, or it is ``refused``."""

    goes: bool
    returns: bool = False
    refused: tuple[Refusal, ...] = ()


class Runner:
    """Follows one class of layers through the runner that they are handed to.

    ``recipes`` are the functions that layers of the class are given to, ``known`` the names that
    the class's name was compared with, in order.
    """

    def __init__(self, index: Index, cls: ClassRef) -> None:
        self.index = index
        self.cls = cls
        self.recipes: list[Recipe] = []
        self.known: dict[str, None] = {}

    def refusals(self, ref: FunctionRef, name: str, depth: int = 0) -> tuple[Refusal, ...]:
        """Where all layers given to a parameter end; nothing if some may be run."""
        function = self.index.modules.function(ref)
        if function is None or depth > CALL_DEPTH:
            return ()
        body = _Body(self, ref, function, name, depth)
        ways = body.block(function.node.body)
        return () if ways.goes or ways.returns else ways.refused


class _Body:
    """One function of a runner; ``layers`` is the parameter that holds the layers."""

    def __init__(
        self, runner: Runner, ref: FunctionRef, function: FunctionOutline, layers: str, depth: int
    ) -> None:
        self.runner = runner
        self.index = runner.index
        self.ref = ref
        self.function = function
        self.layers = layers
        self.depth = depth

    def block(self, body: Iterable[ast.stmt]) -> Ways:
        returns = False
        refused: tuple[Refusal, ...] = ()
        for statement in body:
            ways = self.statement(statement)
            returns, refused = returns or ways.returns, (*refused, *ways.refused)
            if not ways.goes:
                return Ways(False, returns, refused)
        return Ways(True, returns, refused)

    def statement(self, node: ast.stmt) -> Ways:
        match node:
            case ast.Raise(error):
                return Ways(False, refused=(Refusal(self.ref, node, _name_of(error)),))
            case ast.If(test, body, orelse):
                return self._decided(self.decide(test), body, orelse, self._reached(test))
            case ast.Match(subject, cases):
                return self._matched(subject, cases)
            case ast.With(_, body):
                return self.block(body)
            case ast.Return(value):
                refused = self._reached(value)
                return Ways(False, returns=not refused, refused=refused)
            case ast.Try() | ast.FunctionDef() | ast.ClassDef():
                return Ways(True)
            case ast.For() | ast.While():
                self._reached(node)  # the body may not run: only what it gives layers to counts
                return Ways(True)
            case _:
                refused = self._reached(node)
                return Ways(not refused, refused=refused)

    def _decided(
        self,
        value: bool | None,
        body: list[ast.stmt],
        orelse: list[ast.stmt],
        refused: tuple[Refusal, ...],
    ) -> Ways:
        if refused:
            return Ways(False, refused=refused)
        if value is not None:
            return self.block(body if value else orelse)
        arms = [self.block(body), self.block(orelse)]
        return Ways(
            any(arm.goes for arm in arms),
            any(arm.returns for arm in arms),
            tuple(x for arm in arms for x in arm.refused),
        )

    def _matched(self, subject: ast.expr, cases: list[ast.match_case]) -> Ways:
        if not self._is_name(subject):
            arms = [self.block(case.body) for case in cases]
            return Ways(True, any(arm.returns for arm in arms))
        for case in cases:
            chosen = self._fits(case.pattern) if case.guard is None else None
            if chosen or chosen is None:
                return self.block(case.body) if chosen else Ways(True, returns=True)
        return Ways(True)

    def _fits(self, pattern: ast.pattern) -> bool | None:
        match pattern:
            case ast.MatchValue(ast.Constant(str(name))):
                return self._is_among((name,))
            case ast.MatchOr(patterns):
                found = [self._fits(item) for item in patterns]
                return True if True in found else None if None in found else False
            case ast.MatchAs(None):
                return True
            case _:
                return None

    # ---- what the class is asked ----

    def decide(self, test: ast.expr) -> bool | None:
        """Is a test true for layers of the class? ``None`` if it is about something else."""
        match test:
            case ast.UnaryOp(ast.Not(), operand):
                inner = self.decide(operand)
                return None if inner is None else not inner
            case ast.BoolOp(operator, values):
                found = [self.decide(value) for value in values]
                short = isinstance(operator, ast.Or)
                return short if short in found else None if None in found else not short
            case ast.Compare(left, [operator], [right]):
                return self._compared(left, operator, right)
            case ast.Call(ast.Name("isinstance"), [value, classes]) if self._is_first(value):
                return self._is_one_of(classes)
            case _:
                return None

    def _compared(self, left: ast.expr, operator: ast.cmpop, right: ast.expr) -> bool | None:
        if isinstance(right, ast.Constant) and right.value is None:
            found = self._looked_up(left)
            wanted = isinstance(operator, ast.Is | ast.Eq)
            return None if found is None else found is not wanted
        if not self._is_name(left):
            return None
        names = self._names(right)
        if names is None:
            return None
        found = self._is_among(names)
        return found if isinstance(operator, ast.Eq | ast.In) else not found

    def _is_among(self, names: Iterable[str]) -> bool:
        known = dict.fromkeys(names)
        self.runner.known.update(known)
        return self.runner.cls.name in known

    def _names(self, node: ast.expr) -> list[str] | None:
        """The names in a literal, or in a dictionary, set or tuple of the module."""
        match node:
            case ast.Constant(str(name)):
                return [name]
            case ast.Tuple(items) | ast.List(items) | ast.Set(items):
                return _strings(items)
            case ast.Dict(keys):
                return _strings(keys)
            case ast.Name() | ast.Attribute():
                symbol = symbol_of(self.index, self.ref.file, self.function, dotted_name(node))
                values = self._values(symbol) if isinstance(symbol, ValueRef) else ()
                literal = len(values) == 1 and not isinstance(values[0], ast.Name | ast.Attribute)
                return (self._names(values[0]) or None) if literal else None
            case _:
                return None

    def _values(self, symbol: ValueRef) -> tuple[ast.expr, ...]:
        outline = self.index.modules.outline(symbol.file)
        return outline.values.get(symbol.name, ()) if outline is not None else ()

    def _looked_up(self, node: ast.expr) -> bool | None:
        """Is the class in the registry that a value was looked up in?"""
        for value in self._meanings(node):
            match value:
                case ast.Call(ast.Attribute(registry, "get"), [key]) if self._is_name(key):
                    names = self._names(registry)
                    return self._is_among(names) if names is not None else None
        return None

    def _is_one_of(self, classes: ast.expr) -> bool | None:
        order = self.index.modules.mro(self.runner.cls)
        for node in classes.elts if isinstance(classes, ast.Tuple) else [classes]:
            symbol = symbol_of(self.index, self.ref.file, self.function, dotted_name(node))
            if not isinstance(symbol, ClassRef):
                return None
            self.runner.known[symbol.name] = None
            if symbol in order:
                return True
        return False

    def _meanings(self, node: ast.expr) -> Iterator[ast.expr]:
        """An expression, and what a local that it names was assigned."""
        yield node
        if isinstance(node, ast.Name):
            yield from (x.value for x in self.function.locals.get(node.id, ()))

    def _is_name(self, node: ast.expr) -> bool:
        """``layers[0].__class__.__name__``, ``type(layers[0]).__name__``, or a local for it."""
        return any(
            isinstance(x, ast.Attribute) and x.attr == "__name__" and self._is_class(x.value)
            for x in self._meanings(node)
        )

    def _is_class(self, node: ast.expr) -> bool:
        for value in self._meanings(node):
            match value:
                case ast.Attribute(inner, "__class__") | ast.Call(ast.Name("type"), [inner]):
                    return self._is_first(inner)
        return False

    def _is_first(self, node: ast.expr) -> bool:
        """A layer of those given, at a fixed place; the parameter itself in a recipe."""
        for value in self._meanings(node):
            match value:
                case ast.Subscript(ast.Name(name), ast.Constant(int())) if name == self.layers:
                    return True
        return False

    # ---- where the layers go on to ----

    def _reached(self, node: ast.AST | None) -> tuple[Refusal, ...]:
        """Follow the calls in a node that are given the layers, or one of them at a time."""
        refused: list[Refusal] = []
        for call in ast.walk(node) if node is not None else ():
            if not isinstance(call, ast.Call):
                continue
            name = dotted_name(call.func)
            symbol = symbol_of(self.index, self.ref.file, self.function, name) if name else None
            if isinstance(symbol, FunctionRef):
                for whole, parameter in self._bound(node, call, symbol):
                    if whole:
                        found = self.runner.refusals(symbol, parameter, self.depth + 1)
                        refused += found
                    else:
                        self.runner.recipes.append(Recipe(symbol, parameter))
        return tuple(refused)

    def _bound(
        self, node: ast.AST | None, call: ast.Call, callee: FunctionRef
    ) -> Iterator[tuple[bool, str]]:
        """Parameters of a callee that get all layers, or one of them."""
        function = self.index.modules.function(callee)
        if function is None:
            return
        arguments = function.node.args
        names = [item.arg for item in (*arguments.posonlyargs, *arguments.args)]
        pairs = [*zip(names, call.args, strict=False)]
        pairs += [(x.arg, x.value) for x in call.keywords if x.arg in function.parameters]
        single = _loop_names(node, self.layers)
        for name, value in pairs:
            if isinstance(value, ast.Name) and (value.id == self.layers or value.id in single):
                yield value.id == self.layers, name


def _loop_names(node: ast.AST | None, layers: str) -> frozenset[str]:
    """The names that loops and comprehensions over the layers give one layer at a time."""
    return frozenset(
        item.target.id
        for item in (ast.walk(node) if node is not None else ())
        if isinstance(item, ast.comprehension | ast.For)
        and isinstance(item.target, ast.Name)
        and isinstance(item.iter, ast.Name)
        and item.iter.id == layers
    )


def _strings(nodes: Iterable[ast.expr | None]) -> list[str] | None:
    names = [x.value for x in nodes if isinstance(x, ast.Constant) and isinstance(x.value, str)]
    return names or None


def _name_of(node: ast.expr | None) -> str:
    return dotted_name(node.func if isinstance(node, ast.Call) else node) if node else "an error"
