"""What names mean in a function: parameters, assignments, what loops give, what is imported."""

import ast
from abc import ABC, abstractmethod

from pathaudit.hooks.scopes import PASSING, Bound, bound_in
from pathaudit.hooks.values import (
    NOTHING,
    ClassValue,
    Closure,
    Constant,
    ForeignClass,
    Frame,
    Function,
    Several,
    Stack,
    Values,
    elements_of,
    picked,
    union,
)
from pathaudit.index import ClassRef, External, FunctionRef, Index, Symbol, ValueRef
from pathaudit.index.syntax import Assigned


class Names(ABC):
    """Looks names up; what they are assigned is evaluated by a subclass."""

    def __init__(self, index: Index) -> None:
        self.index = index
        self._bound: dict[ast.AST, Bound] = {}
        self._names: dict[tuple[Frame, str, str], Values] = {}
        self._texts: dict[ast.AST, str] = {}

    @abstractmethod
    def evaluate(self, node: ast.expr, frame: Frame, hint: str = "") -> Values:
        """The values of an expression; nothing where it cannot be followed."""

    def text(self, node: ast.AST) -> str:
        """The code of an expression, written once."""
        if node not in self._texts:
            self._texts[node] = ast.unparse(node)
        return self._texts[node]

    def bound(self, node: ast.AST) -> Bound:
        """What a function binds beside its assignments."""
        if node not in self._bound:
            self._bound[node] = bound_in(node)
        return self._bound[node]

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
                parts.append(picked(values, looped.position))
            if name in bound.inner:
                parts.append((Closure(bound.inner[name], frame),))
            return union(parts)
        if frame.outer is not None:
            return self.name(name, frame.outer, hint)
        return self.symbol(self.resolve(name, frame), hint)

    def _assigned(self, assigned: Assigned, frame: Frame, hint: str) -> Values:
        if assigned.position is None:
            return self.evaluate(assigned.value, frame, hint)
        return self.item(assigned.value, assigned.position, frame, hint)

    def item(self, node: ast.expr, position: int, frame: Frame, hint: str = "") -> Values:
        """One item of a value that is unpacked; what makes a stack makes it first."""
        values = self.evaluate(node, frame, hint)
        if position == 0 and any(isinstance(value, Stack) for value in values):
            return tuple(value for value in values if isinstance(value, Stack))
        return picked(tuple(x for x in values if isinstance(x, Several)), position)

    def elements(self, node: ast.expr, frame: Frame) -> Values:
        """What a loop over an expression takes, one at a time."""
        match node:
            case ast.Call(ast.Name("enumerate"), [inner, *_]):
                return (Several((NOTHING, self.elements(inner, frame))),)
            case ast.Call(ast.Name("zip"), parts):
                return (Several(tuple(self.elements(part, frame) for part in parts)),)
            case ast.Call(ast.Attribute(inner, "items"), []):
                return (Several((NOTHING, elements_of(self.evaluate(inner, frame)))),)
            case ast.Call(ast.Attribute(inner, "values" | "children" | "modules"), []):
                return elements_of(self.evaluate(inner, frame))
            case ast.Call(ast.Name(name), [inner, *_]) if name in PASSING:
                return self.elements(inner, frame)
            case _:
                return elements_of(self.evaluate(node, frame))

    def resolve(self, name: str, frame: Frame) -> Symbol | None:
        head, _, rest = name.partition(".")
        modules = self.index.modules
        for bound, symbol in frame.imports:
            if bound == head and symbol.attribute:
                module = modules.absolute(frame.file, symbol)
                file = modules.file_of(module)
                whole = f"{symbol.attribute}.{rest}" if rest else symbol.attribute
                return modules.resolve(file, whole) if file else External(f"{module}.{whole}")
        return modules.resolve(frame.file, name)

    def symbol(self, symbol: Symbol | None, hint: str = "") -> Values:
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
