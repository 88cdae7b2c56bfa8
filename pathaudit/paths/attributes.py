"""What names and attributes mean: locals, modules, objects with known classes."""

import re
from abc import abstractmethod

from msgspec import Struct

from pathaudit import ir
from pathaudit.conditions import implied
from pathaudit.index import (
    ClassRef,
    ClassType,
    FunctionRef,
    FunctionType,
    Index,
    Instance,
    Types,
)
from pathaudit.index.features import FALSE as STORED_FALSE
from pathaudit.index.features import LISTED
from pathaudit.index.features import NONE as STORED_NONE
from pathaudit.index.features import TRUE as STORED_TRUE
from pathaudit.lower import lower_function
from pathaudit.paths.comparing import Comparer
from pathaudit.paths.formulas import Atom
from pathaudit.paths.question import Question
from pathaudit.paths.state import State
from pathaudit.paths.values import (
    NONE,
    Accumulator,
    Callee,
    ClassValue,
    Closure,
    Constant,
    Element,
    Keywords,
    Made,
    Member,
    Number,
    Stack,
    Symbol,
    Value,
    View,
    text_of,
)
from pathaudit.ruleset import Placeholder

_DOTTED = re.compile(r"[A-Za-z_][\w.]*")


class Place(Struct, frozen=True, eq=False):
    """Where an expression stands: the file, the receiver and the class that defines the method.

    ``kept`` are names of the function whose value can reach its caller.
    """

    file: str
    receiver: Value | None
    owner: ClassRef | None
    kept: frozenset[str]
    ref: FunctionRef | None = None


class AttributeReader(Comparer):
    """Adds names and attributes."""

    def __init__(self, index: Index, question: Question) -> None:
        super().__init__(index, question)
        self._properties: dict[FunctionRef, ir.Expression | None] = {}
        self.closures: dict[Closure, tuple[ir.Function, Place]] = {}

    @abstractmethod
    def value(self, node: ir.Expression, state: State, place: Place) -> Value:
        """The value of an expression."""

    def _name(self, name: str, state: State, place: Place) -> Value:
        known = state.names.get(name)
        if known is not None:
            return known
        outline = self._index.modules.outline(place.file)
        if outline is None or name in ("self", "super"):
            return Symbol(name)
        return self._global(name, place.file)

    def _global(self, name: str, file: str) -> Value:
        match self._index.modules.resolve(file, name):
            case ClassRef() as cls:
                return ClassValue(cls)
            case FunctionRef() as ref:
                return Callee(ref)
            case _:
                return self._module_constant(name, file)

    def _module_constant(self, name: str, file: str) -> Value:
        """A module variable that is assigned one literal is that literal."""
        outline = self._index.modules.outline(file)
        values = outline.values.get(name, ()) if outline else ()
        constant = getattr(values[0], "value", None) if len(values) == 1 else None
        if isinstance(constant, bool | str):
            return Constant(constant)
        return Symbol(name)

    def attribute(self, owner: Value, name: str, state: State, place: Place) -> Value:
        """The value of ``owner.name``."""
        match owner:
            case Symbol(text, types, _):
                return self._object_attribute(owner, text, types, name, state, place)
            case Member(Element() as element, "__class__") if name == "__name__":
                return self._class_name(element, owner, state)
            case Element() if name in self._question.flags:
                if self._question.flags[name] == STORED_TRUE and "@" in text_of(owner):
                    return Constant(True)
                return Symbol(f"{text_of(owner)}.{name}")
            case (
                Stack()
                | View()
                | Element()
                | Accumulator()
                | Member()
                | Closure()
                | Made()
                | Keywords()
            ):
                return Member(owner, name)
            case ClassValue(cls):
                found = self._index.modules.method(cls, name)
                return Callee(found[0]) if found else Symbol(f"{cls.name}.{name}")
            case _:
                return Symbol(f"{text_of(owner)}.{name}")

    def _object_attribute(
        self, owner: Symbol, text: str, types: Types | None, name: str, state: State, place: Place
    ) -> Value:
        version = state.version(name)
        path = f"{text}.{name}" + (f"~{version}" if version else "")
        for stored, value in state.stores:
            if stored == f"{text}.{name}":
                return value
        if path in self._question.armed:
            return self._armed(path)
        if self._question.is_integer(path):
            return self.number(path)
        if types is None:
            return self._from_module(owner, path, name, place)
        return self._typed(owner, path, types, name, state)

    def _from_module(self, owner: Symbol, path: str, name: str, place: Place) -> Value:
        """``package.module.function`` through an import, else an unknown attribute."""
        if not _DOTTED.fullmatch(owner.text):
            return Symbol(path)
        match self._index.modules.resolve(place.file, f"{owner.text}.{name}"):
            case ClassRef() as cls:
                return ClassValue(cls)
            case FunctionRef() as ref:
                return Callee(ref)
            case _:
                return Symbol(path)

    def _typed(self, owner: Symbol, path: str, types: Types, name: str, state: State) -> Value:
        instances = types.instances()
        for instance in instances:
            found = self._index.modules.method(instance.cls, name)
            if found is not None:
                shown = self._property(found[0], owner, state)
                return shown if shown is not None else Callee(found[0], owner)
        parts = [self._index.types.attribute(item, name) for item in instances]
        stacks = [stack for part in parts for stack in part.stacks() if stack.decoder]
        if stacks:
            return Stack(path, stacks[0])
        items = tuple(dict.fromkeys(item for part in parts for item in part.items))
        held = [item for item in items if isinstance(item, Instance)]
        if not held and len(items) == 1 and isinstance(items[0], ClassType):
            return ClassValue(items[0].cls)
        if not held and len(items) == 1 and isinstance(items[0], FunctionType):
            return Callee(items[0].ref)
        complete = bool(parts) and all(part.complete for part in parts)
        return Symbol(path, Types(tuple(held), complete) if held else None, present=False)

    def _property(self, ref: FunctionRef, owner: Symbol, state: State) -> Value | None:
        """A property whose body is one ``return`` is what it returns."""
        if ref not in self._properties:
            self._properties[ref] = self._property_body(ref)
        body = self._properties[ref]
        function = self._index.modules.function(ref)
        if function is None or not any(d.endswith("property") for d in function.decorators):
            return None
        if body is None:
            return Symbol(f"{owner.text}.{function.name}")
        inner = State(names={"self": owner}, versions=state.versions, stores=state.stores)
        place = Place(ref.file, owner, self._index.modules.owner(ref), frozenset())
        return self.value(body, inner, place)

    def _property_body(self, ref: FunctionRef) -> ir.Expression | None:
        function = self._index.modules.function(ref)
        outline = self._index.modules.outline(ref.file)
        if function is None or outline is None or len(function.node.body) > 2:
            return None
        body = lower_function(outline.lines, function.node).body
        if len(body) == 1 and isinstance(body[0], ir.Exit) and body[0].value is not None:
            return body[0].value
        return None

    def _armed(self, path: str) -> Value:
        match self._question.armed[path]:
            case kind if kind == STORED_TRUE:
                return Constant(True)
            case kind if kind == STORED_FALSE:
                return Constant(False)
            case kind if kind == STORED_NONE:
                return NONE
            case kind:
                return Symbol(path, None, present=kind == LISTED)

    def _class_name(self, element: Element, owner: Value, state: State) -> Value:
        types = element.stack.type.elements
        names = {instance.cls.name for instance in types.instances()}
        placeholder = self._question.profile.stacks.placeholder
        if placeholder is not None and self._is_foreign(element, placeholder, state):
            return Constant(placeholder.class_name)
        if types.complete and len(names) == 1:
            return Constant(names.pop())
        return Symbol(f"{text_of(owner)}.__name__")

    def _is_foreign(self, element: Element, placeholder: Placeholder, state: State) -> bool:
        """Does the layer surely belong to another pipeline stage?"""
        if not isinstance(element.index, Number):
            return False
        owner = element.stack.text.rpartition(".")[0]
        first = self.number(f"{owner}.{placeholder.first}")
        below = self._bounded(element.index, first, 1)
        if not isinstance(below, Atom):
            return False
        return all(
            implied(below.literal, part.literals, self.facts)
            for part in state.condition.alternatives
        )

    def close(self, function: ir.Function, place: Place) -> Closure:
        """A nested function as a value; what it sees is looked up when it is handed on."""
        closure = Closure(function.region, place.file)
        self.closures[closure] = (function, place)
        return closure
