"""What expressions evaluate to: modules by the path that they are held at, classes, functions.

Branches are not told apart and an order of statements is not kept: a name stands for all that it
is ever assigned. An expression that cannot be followed evaluates to nothing.
"""

import ast
from abc import ABC, abstractmethod
from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import partial

from msgspec import Struct

from pathaudit.hooks.scopes import PASSING, Bound, bound_in
from pathaudit.hooks.values import (
    NOTHING,
    ClassValue,
    Closure,
    Constant,
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
    union,
)
from pathaudit.index import ClassRef, External, FunctionRef, Index, Symbol, ValueRef
from pathaudit.index.syntax import Assigned, dotted_name, returns

DEPTH = 40
CALLS = 6  # functions that are called to get at one value


class Made(Struct, frozen=True, eq=False):
    """The call that made an object, and where it stands."""

    call: ast.Call
    frame: Frame


class Evaluator(ABC):
    """Evaluates expressions in a frame; ``hint`` is the path at which a new object is stored."""

    def __init__(self, index: Index) -> None:
        self.index = index
        self.made: dict[Module, Made] = {}
        self._bound: dict[ast.AST, Bound] = {}
        self._names: dict[tuple[Frame, str, str], Values] = {}
        self._depth = self._calls = 0

    @abstractmethod
    def attribute(self, thing: Thing, name: str) -> Values:
        """What ``thing.name`` can be."""

    @abstractmethod
    def create(self, cls: ClassRef, call: ast.Call, frame: Frame, hint: str) -> Thing:
        """The object that a call of a class makes."""

    @abstractmethod
    def called_frame(self, function: Function, call: ast.Call, frame: Frame) -> Frame | None:
        """The function with its parameters bound to the arguments of a call."""

    @abstractmethod
    def closure_frame(self, closure: Closure, call: ast.Call | None, frame: Frame) -> Frame:
        """The inner function with its parameters bound to the arguments of a call."""

    def bound(self, node: ast.AST) -> Bound:
        """What a function binds beside its assignments."""
        if node not in self._bound:
            self._bound[node] = bound_in(node)
        return self._bound[node]

    def evaluate(self, node: ast.expr, frame: Frame, hint: str = "") -> Values:
        """The values of an expression; nothing where it cannot be followed."""
        if self._depth > DEPTH:
            return NOTHING
        self._depth += 1
        try:
            found = self._evaluate(node, frame, hint)
            return found or self._asserted(node, frame)
        finally:
            self._depth -= 1

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
                return self._subscript(self.evaluate(value, frame, hint), index, hint)
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
        text = ast.unparse(node) if asserted else ""
        classes = union(self.evaluate(item, frame) for item in asserted.get(text, ()))
        return tuple(Thing(f"<{text}>", x.cls) for x in classes if isinstance(x, ClassValue))

    def constant(self, node: ast.expr, frame: Frame) -> Constant | None:
        """The value of a literal, or of a parameter that is given one and never assigned."""
        match node:
            case ast.Constant(value) if value is None or isinstance(value, bool | int | str):
                return Constant(value)
            case ast.Name(name) if name not in frame.locals:
                match frame.names.get(name, NOTHING):
                    case (Constant() as found,):
                        return found
        return None

    # ---- names ----

    def name(self, name: str, frame: Frame, hint: str = "") -> Values:
        """The values of a name in a function, in one around it, or in the module."""
        key = (frame, name, hint)
        if key not in self._names:
            self._names[key] = NOTHING  # answers a circular question
            self._names[key] = self._find_name(name, frame, hint)
        return self._names[key]

    def _find_name(self, name: str, frame: Frame, hint: str) -> Values:
        bound = self.bound(frame.node)
        known = name in frame.names or name in frame.locals
        if known or name in bound.loops or name in bound.inner:
            parts = [frame.names.get(name, NOTHING)]
            parts += [self._assigned(item, frame, hint) for item in frame.locals.get(name, ())]
            for looped in bound.loops.get(name, ()):
                values = self.elements(looped.iterable, frame)
                parts.append(_picked(values, looped.position))
            if name in bound.inner:
                parts.append((Closure(bound.inner[name], frame),))
            return union(parts)
        if frame.outer is not None:
            return self.name(name, frame.outer, hint)
        return self._symbol(self._resolve(name, frame), hint)

    def _assigned(self, assigned: Assigned, frame: Frame, hint: str) -> Values:
        if assigned.position is None:
            return self.evaluate(assigned.value, frame, hint)
        return self.item(assigned.value, assigned.position, frame, hint)

    def item(self, node: ast.expr, position: int, frame: Frame, hint: str = "") -> Values:
        """One item of a value that is unpacked; what makes a stack makes it first."""
        values = self.evaluate(node, frame, hint)
        if position == 0 and any(isinstance(value, Stack) for value in values):
            return tuple(value for value in values if isinstance(value, Stack))
        return _picked(tuple(x for x in values if isinstance(x, Several)), position)

    def elements(self, node: ast.expr, frame: Frame) -> Values:
        """What a loop over an expression takes, one at a time."""
        match node:
            case ast.Call(ast.Name("enumerate"), [inner, *_]):
                return (Several((NOTHING, self.elements(inner, frame))),)
            case ast.Call(ast.Name("zip"), parts):
                return (Several(tuple(self.elements(part, frame) for part in parts)),)
            case ast.Call(ast.Attribute(inner, "items"), []):
                return (Several((NOTHING, _elements(self.evaluate(inner, frame)))),)
            case ast.Call(ast.Attribute(inner, "values" | "children" | "modules"), []):
                return _elements(self.evaluate(inner, frame))
            case ast.Call(ast.Name(name), [inner, *_]) if name in PASSING:
                return self.elements(inner, frame)
            case _:
                return _elements(self.evaluate(node, frame))

    def _resolve(self, name: str, frame: Frame) -> Symbol | None:
        head, _, rest = name.partition(".")
        modules = self.index.modules
        for bound, symbol in frame.imports:
            if bound == head and symbol.attribute:
                module = modules.absolute(frame.file, symbol)
                file = modules.file_of(module)
                whole = f"{symbol.attribute}.{rest}" if rest else symbol.attribute
                return modules.resolve(file, whole) if file else External(f"{module}.{whole}")
        return modules.resolve(frame.file, name)

    def _symbol(self, symbol: Symbol | None, hint: str = "") -> Values:
        match symbol:
            case ClassRef():
                return (ClassValue(symbol),)
            case FunctionRef():
                return (Function(symbol),)
            case External(name) if self._is_module_class(name):
                return (ForeignClass(name),)
            case ValueRef(file, name):
                outline = self.index.modules.outline(file)
                values = outline.values.get(name, ()) if outline else ()
                frame = self.module_frame(file)
                return union(self.evaluate(value, frame, hint) for value in values)
            case _:
                return NOTHING

    def module_frame(self, file: str) -> Frame:
        """Where expressions of a module's top level are evaluated."""
        return Frame(file, ast.Module([], []), {})

    def _is_module_class(self, name: str) -> bool:
        """Is this a class of modules outside of the tree, such as ``torch.nn.Linear``?"""
        package, _, last = name.rpartition(".")
        homes = {base.rpartition(".")[0] for base in self.index.profile.modules.bases}
        made = (*self.index.profile.modules.bases, *self.index.profile.stacks.containers)
        plain = name in made or last in self.index.profile.hooks.plain
        return package in homes and last[:1].isupper() and not plain

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
        return self._symbol(self._resolve(text, frame)) if text else NOTHING

    def member(self, value: Value, name: str) -> Values:
        """What an attribute of a value can be."""
        match value:
            case Thing(_, cls) if name == "__class__":
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

    def _subscript(self, values: Values, index: ast.expr, hint: str) -> Values:
        if isinstance(index, ast.Slice):
            return values
        position = index.value if isinstance(index, ast.Constant) else None
        parts: list[Values] = []
        for value in values:
            match value:
                case Stack(_, elements):
                    parts.append(elements)
                case Several(items):
                    known = isinstance(position, int) and len(items) > 1
                    parts.append(_picked((value,), position) if known else union(items))
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
                    return _elements(held)
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
                    yield from filter(partial(fnmatchcase, pat=glob), outline.methods if outline else ())

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
        symbol = self._resolve(text, frame) if text else None
        if not isinstance(symbol, External):
            return None
        called = symbol.name in self.index.profile.hooks.sequences
        if not called and symbol.name not in self.index.profile.hooks.containers:
            return None
        elements = [_members(self.evaluate(item, frame, inside)) for item in node.args]
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
                foreign = Foreign(hint or f"<{frame.file}:{node.lineno}>", name)
                self.made.setdefault(foreign, Made(node, frame))
                return (foreign,)
            case Function() | Closure():
                return self._returned(value, node, frame, hint)
            case _:
                return NOTHING

    def _returned(
        self, value: Function | Closure, node: ast.Call, frame: Frame, hint: str
    ) -> Values:
        if self._calls >= CALLS:
            return NOTHING
        self._calls += 1
        try:
            if isinstance(value, Function):
                inner = self.called_frame(value, node, frame)
            else:
                inner = self.closure_frame(value, node, frame)
            if inner is None:
                return NOTHING
            if isinstance(inner.node, ast.Lambda):
                return self.evaluate(inner.node.body, inner, hint)
            return union(self.evaluate(x, inner, hint) for x in returns(ast.walk(inner.node)))
        finally:
            self._calls -= 1


def _picked(values: Values, position: int | None) -> Values:
    """One item of each value that is unpacked, or the values themselves."""
    if position is None:
        return values
    several = (value.items for value in values if isinstance(value, Several))
    return union(items[position] for items in several if -len(items) <= position < len(items))


def _elements(values: Values) -> Values:
    """What values hold, one at a time."""
    parts: list[Values] = []
    for value in values:
        match value:
            case Stack(_, elements):
                parts.append(elements)
            case Several(items):
                parts.append(union(items))
            case ClassValue() | ForeignClass() | Function():
                parts.append((value,))
    return union(parts)


def _members(values: Values) -> Values:
    """The modules that a container is made of: given one by one, or in a list."""
    single = tuple(value for value in values if isinstance(value, Thing | Foreign))
    return union((single, _elements(values)))
