"""What expressions evaluate to: modules by the path that they are held at, classes, functions.

Branches are not told apart and an order of statements is not kept: a name stands for all that it
is ever assigned. An expression that cannot be followed evaluates to nothing.
"""

import ast
from abc import abstractmethod
from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import partial

from msgspec import Struct

from pathaudit.hooks.names import Names
from pathaudit.hooks.scopes import PASSING
from pathaudit.hooks.values import (
    NOTHING,
    ClassValue,
    Closure,
    Foreign,
    ForeignClass,
    Frame,
    Function,
    Module,
    Several,
    Stack,
    Thing,
    Value,
    Values,
    elements_of,
    members_of,
    picked,
    union,
)
from pathaudit.index import ClassRef, External, Index
from pathaudit.index.syntax import dotted_name, returns

DEPTH = 40
CALLS = 6  # functions that are called to get at one value


class Made(Struct, frozen=True, eq=False):
    """The call that made an object, and where it stands."""

    call: ast.Call
    frame: Frame


class Evaluator(Names):
    """Evaluates expressions in a frame; ``hint`` is the path at which a new object is stored."""

    def __init__(self, index: Index) -> None:
        super().__init__(index)
        self.made: dict[Module, Made] = {}
        self._depth = self._calls = 0
        self._cut = False
        self._returns: dict[ast.AST, tuple[ast.expr, ...]] = {}
        self._known: dict[tuple[ast.expr, Frame, str, int], Values] = {}

    @abstractmethod
    def attribute(self, thing: Thing, name: str) -> Values:
        """What ``thing.name`` can be."""

    @abstractmethod
    def create(self, cls: ClassRef, call: ast.Call, frame: Frame, hint: str) -> Thing:
        """The object that a call of a class makes."""

    @abstractmethod
    def holders(self, hint: str) -> tuple[str, ...]:
        """The classes of the objects that hold what is stored at a path."""

    @abstractmethod
    def called_frame(
        self, function: Function, call: ast.Call, frame: Frame, hint: str = ""
    ) -> Frame | None:
        """The function with its parameters bound to the arguments of a call."""

    @abstractmethod
    def closure_frame(
        self, closure: Closure, call: ast.Call, frame: Frame, hint: str = ""
    ) -> Frame:
        """The inner function with its parameters bound to the arguments of a call."""

    def evaluate(self, node: ast.expr, frame: Frame, hint: str = "") -> Values:
        """The values of an expression; nothing where it cannot be followed.

        What is found is kept, but where the depth cut it short: there for that depth alone.
        """
        keys = ((node, frame, hint, -1), (node, frame, hint, self._calls))
        known = self._known.get(keys[0], self._known.get(keys[1]))
        if known is not None:
            return known
        if self._depth > DEPTH:
            self._cut = True
            return NOTHING
        before, self._cut = self._cut, False
        self._depth += 1
        found = self._evaluate(node, frame, hint) or self._asserted(node, frame)
        self._depth -= 1
        if isinstance(node, ast.Call | ast.Attribute):
            self._known[keys[self._cut]] = found
        self._cut = self._cut or before
        return found

    def _evaluate(self, node: ast.expr, frame: Frame, hint: str) -> Values:  # noqa: C901 - one arm a form
        match node:
            case ast.Name(name):
                return self.name(name, frame, hint)
            case ast.Attribute():
                return self._dotted(node, frame)
            case ast.Call():
                return self._call(node, frame, hint)
            case ast.IfExp(_, body, orelse):
                return union(self.evaluate(part, frame, hint) for part in (body, orelse))
            case ast.BoolOp(_, parts):
                return union(self.evaluate(part, frame, hint) for part in parts)
            case ast.Dict(_, parts):
                return (Several((union(self.evaluate(x, frame, hint) for x in parts),)),)
            case ast.Tuple(items) | ast.List(items):
                return (Several(tuple(self.evaluate(item, frame, hint) for item in items)),)
            case ast.ListComp(element) | ast.GeneratorExp(element) | ast.SetComp(element):
                return (Several((self.evaluate(element, frame, hint),)),)
            case ast.DictComp(_, value):
                return (Several((self.evaluate(value, frame, hint),)),)
            case ast.Subscript(value, index):
                return self._subscript(self.evaluate(value, frame, hint), index)
            case ast.NamedExpr(_, value) | ast.Starred(value) | ast.Await(value):
                return self.evaluate(value, frame, hint)
            case ast.Lambda():
                return (Closure(node, frame),)
            case _:
                return NOTHING

    def _asserted(self, node: ast.expr, frame: Frame) -> Values:
        """An object of the class that an ``assert isinstance`` of the function gives it."""
        if not isinstance(node, ast.Name | ast.Attribute):
            return NOTHING
        asserted = self.bound(frame.node).asserted
        text = self.text(node) if asserted else ""
        classes = union(self.evaluate(item, frame) for item in asserted.get(text, ()))
        return tuple(Thing(f"<{text}>", x.cls) for x in classes if isinstance(x, ClassValue))

    # ---- attributes ----

    def _dotted(self, node: ast.Attribute, frame: Frame) -> Values:
        match node.value:
            case ast.Call(ast.Name("super")):
                return self._inherited(node.attr, frame)
        base = self.evaluate(node.value, frame)
        found = union(self.member(value, node.attr) for value in base)
        if found or base:
            return found
        text = dotted_name(node)
        return self.symbol(self.resolve(text, frame)) if text else NOTHING

    def member(self, value: Value, name: str) -> Values:
        """What an attribute of a value can be."""
        match value:
            case Thing(cls=cls) if name == "__class__":
                return (ClassValue(cls),)
            case Thing():
                return self.attribute(value, name)
            case ClassValue(cls):
                return self._of_class(cls, name)
            case _:
                return NOTHING

    def _of_class(self, cls: ClassRef, name: str) -> Values:
        method = self.index.modules.method(cls, name)
        if method is not None:
            return (Function(method[0]),)
        for item in self.index.modules.mro(cls):
            outline = self.index.modules.class_outline(item)
            if outline is not None and name in outline.attributes:
                return self.evaluate(outline.attributes[name], self.module_frame(item.file))
        return NOTHING

    def _inherited(self, name: str, frame: Frame) -> Values:
        if frame.receiver is None or frame.owner is None:
            return NOTHING
        found = self.index.modules.method(frame.receiver.cls, name, after=frame.owner)
        return (Function(found[0], frame.receiver),) if found is not None else NOTHING

    def _subscript(self, values: Values, index: ast.expr) -> Values:
        if isinstance(index, ast.Slice):
            return values
        constant = index.value if isinstance(index, ast.Constant) else None
        position = constant if isinstance(constant, int) else None
        parts: list[Values] = []
        for value in values:
            match value:
                case Stack(_, elements):
                    parts.append(elements)
                case Several(items):
                    known = position is not None and len(items) > 1
                    parts.append(picked((value,), position) if known else union(items))
                case ClassValue() | ForeignClass() | Function() | Closure():
                    parts.append((value,))
        return union(parts)

    # ---- calls ----

    def _call(self, node: ast.Call, frame: Frame, hint: str) -> Values:
        match node.func:
            case ast.Name("getattr") if len(node.args) > 1:
                return self._got(node, frame)
            case ast.Name("type") if len(node.args) == 1:
                values = self.evaluate(node.args[0], frame)
                return tuple(ClassValue(x.cls) for x in values if isinstance(x, Thing))
            case ast.Name(name) if name in PASSING and node.args:
                return self.evaluate(node.args[0], frame, hint)
            case ast.Attribute(inner, "get") if node.args:
                held = self.evaluate(inner, frame)
                if any(isinstance(value, Several | Stack) for value in held):
                    return elements_of(held)
        text = dotted_name(node.func)
        if text.rsplit(".", 1)[-1] == "partial" and node.args:
            return self.evaluate(node.args[0], frame)
        stack = self._stacked(node, text, frame, hint)
        if stack is not None:
            return (stack,)
        callees = self.evaluate(node.func, frame)
        return union(self._result(value, node, frame, hint) for value in callees)

    def _got(self, node: ast.Call, frame: Frame) -> Values:
        parts = [self.evaluate(default, frame) for default in node.args[2:]]
        for value in self.evaluate(node.args[0], frame):
            parts += [self.member(value, name) for name in self._named(node.args[1], value)]
        return union(parts)

    def _named(self, node: ast.expr, value: Value) -> Iterator[str]:
        """The attribute names that an expression can give: of a text with gaps, all that fit."""
        match node:
            case ast.Constant(str(name)):
                yield name
            case ast.JoinedStr(parts) if isinstance(value, Thing):
                texts = (x.value if isinstance(x, ast.Constant) else "*" for x in parts)
                glob = "".join(map(str, texts))
                for cls in self.index.modules.mro(value.cls) if glob.strip("*") else ():
                    outline = self.index.modules.class_outline(cls)
                    yield from filter(
                        partial(fnmatchcase, pat=glob), outline.methods if outline else ()
                    )

    def _stacked(self, node: ast.Call, text: str, frame: Frame, hint: str) -> Stack | None:
        """The stack that a constructor or a container of modules makes."""
        inside = f"{hint}.*" if hint else ""
        stacks = self.index.profile.stacks
        for maker in stacks.constructors:
            if maker.call == text.rsplit(".", 1)[-1]:
                keywords = {item.arg: item.value for item in node.keywords}
                given = node.args[maker.position : maker.position + 1]
                made = keywords.get(maker.element, given[0] if given else None)
                values = self._made(made, frame, inside) if made is not None else NOTHING
                return Stack(hint, values)
        symbol = self.resolve(text, frame) if text else None
        if not isinstance(symbol, External):
            return None
        called = symbol.name in self.index.profile.hooks.sequences
        if not called and symbol.name not in self.index.profile.hooks.containers:
            return None
        elements = [members_of(self.evaluate(item, frame, inside)) for item in node.args]
        return Stack(hint, union(elements), called)

    def _made(self, node: ast.expr, frame: Frame, hint: str) -> Values:
        """What a layer factory makes: a lambda, a function, a class, a partial."""
        parts: list[Values] = []
        for value in self.evaluate(node, frame):
            call = ast.Call(node, [], [], lineno=node.lineno, end_lineno=node.end_lineno)
            parts.append(self._result(value, call, frame, hint))
        return union(parts)

    def _result(self, value: Value, node: ast.Call, frame: Frame, hint: str) -> Values:
        match value:
            case ClassValue(cls):
                return (self.create(cls, node, frame, hint),)
            case ForeignClass(name):
                path = hint or f"<{frame.file}:{node.lineno}>"
                foreign = Foreign(path, name, self.holders(hint))
                self.made.setdefault(foreign, Made(node, frame))
                return (foreign,)
            case Function() | Closure():
                return self._returned(value, node, frame, hint)
            case _:
                return NOTHING

    def _returned(
        self, value: Function | Closure, node: ast.Call, frame: Frame, hint: str
    ) -> Values:
        if isinstance(value, Function):
            inner = self.called_frame(value, node, frame, hint)
        else:
            inner = self.closure_frame(value, node, frame, hint)
        if inner is None:
            return NOTHING
        if self._calls >= CALLS:
            self._cut = True
            return NOTHING
        self._calls += 1
        found = union(self.evaluate(x, inner, hint) for x in self.results(inner.node))
        self._calls -= 1
        return found

    def results(self, node: ast.AST) -> tuple[ast.expr, ...]:
        """What a function returns, in any place."""
        if isinstance(node, ast.Lambda):
            return (node.body,)
        if node not in self._returns:
            self._returns[node] = tuple(returns(ast.walk(node)))
        return self._returns[node]
