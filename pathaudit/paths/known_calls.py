"""Calls whose value is known without following them: builtins, new collectors, ``kwargs.get``."""

from pathaudit import ir
from pathaudit.conditions import Bound, Test
from pathaudit.index import (
    ClassRef,
    Instance,
)
from pathaudit.lower import render
from pathaudit.paths.attributes import AttributeReader
from pathaudit.paths.formulas import FALSE, TRUE, Atom, Formula
from pathaudit.paths.values import (
    NONE,
    Accumulator,
    Callee,
    ClassValue,
    Constant,
    Element,
    Items,
    Keywords,
    Number,
    Sequence,
    Stack,
    Symbol,
    Truth,
    Value,
    View,
    carries,
    text_of,
)

COPIES = frozenset(("list", "tuple", "set", "sorted", "frozenset", "bool"))


class CallReader(AttributeReader):
    """Adds calls without effect."""

    def made(self, called: Value, node: ir.Call) -> Accumulator | None:
        """A new object of a class that collects, also from an alternative constructor."""
        match called:
            case ClassValue(cls):
                owner: ClassRef | None = cls
            case Callee(ref, _) if self._index.is_class_method(ref):
                owner = self._index.modules.owner(ref)
            case _:
                return None
        if owner is None or not self.is_collector(owner):
            return None
        return Accumulator(f"<{owner.name} {node.region.line}>", kept=True, cls=owner)

    def is_collector(self, cls: ClassRef) -> bool:
        """Has the class a method that collects into the object?"""
        return bool(self._index.collecting_methods(cls, self._question.collecting))

    def looked_up(self, keywords: Keywords, values: list[Value]) -> Value:
        """``kwargs.get("name", default)``."""
        name = values[0].value if values and isinstance(values[0], Constant) else None
        default = values[1] if len(values) > 1 else NONE
        return dict(keywords.items).get(str(name), default)

    def _builtin(  # noqa: C901 - one arm a form
        self,
        name: str,
        values: list[Value],
        arguments: tuple[ir.Argument, ...],
    ) -> Value | None:
        match name, values:
            case "list", []:
                return Accumulator("<list>", kept=True)
            case "len", [value]:
                return self._length(value)
            case "range", [high]:
                return Sequence("range", Number("", 0), self.as_number(high))
            case "range", [low, high]:
                return Sequence("range", self.as_number(low), self.as_number(high))
            case "enumerate", [inner, *rest]:
                return self._enumerate(inner, rest[0] if rest else None)
            case "zip", _ if any(carries(value) for value in values):
                return Sequence("zip", parts=tuple(values))
            case "reversed" | "iter" | "list" | "tuple" | "sorted", [inner] if carries(
                inner
            ) or isinstance(inner, Sequence):
                return inner
            case name, [Symbol() as inner] if name in COPIES and name != "bool":
                return inner
            case "int", [Number() as inner]:
                return inner
            case "bool", [inner]:
                return Truth(self.truth(inner), text_of(inner))
            case _:
                return self._boolean_call(name, values, arguments)

    def _boolean_call(
        self, name: str, values: list[Value], arguments: tuple[ir.Argument, ...]
    ) -> Value | None:
        if name == "isinstance" and len(values) == 2:
            classes = render(arguments[1].value)
            return Truth(
                self._instance_of(values[0], values[1], classes),
                f"isinstance({text_of(values[0])}, {classes})",
            )
        return None

    def _instance_of(self, value: Value, wanted: Value, classes: str) -> Formula:
        options = wanted.items if isinstance(wanted, Items) else (wanted,)
        known = value.stack.type.elements if isinstance(value, Element) else None
        if known is not None and known.complete and known.items:
            answers = {self._is_subclass(item, options) for item in known.instances()}
            if len(answers) == 1 and None not in answers:
                return TRUE if answers.pop() else FALSE
        return Atom(Test("isinstance", text_of(value), classes))

    def _is_subclass(self, instance: Instance, options: tuple[Value, ...]) -> bool | None:
        order = self._index.modules.mro(instance.cls)
        found = [isinstance(item, ClassValue) and item.cls in order for item in options]
        if any(found):
            return True
        surely = all(isinstance(item, ClassValue) for item in options)
        return False if surely and not self._index.modules.has_unknown_base(instance.cls) else None

    def _length(self, value: Value) -> Value:
        if isinstance(value, Items):
            return Number("", len(value.items))
        if isinstance(value, Accumulator):
            return Number("", 0) if value.fresh else self.number(self._moment(text_of(value)))
        text = f"len({text_of(value)})"
        if isinstance(value, Symbol) and value.text in self._question.armed and value.present:
            self.facts |= {Bound("", text, 1)}
        return self.number(text)

    def _enumerate(self, inner: Value, start: Value | None) -> Value | None:
        match inner:
            case Stack():
                view = View(inner, Number("", 0), None)
                return Sequence("enumerate", view=view, start=start)
            case View():
                return Sequence("enumerate", view=inner, start=start)
            case Sequence(kind) if kind != "range":
                return Sequence("zip", parts=(Symbol("index"), inner))
            case _:
                return None

    def _islice(self, values: list[Value]) -> Value:
        stack, *bounds = values
        low, high = (Number("", 0), bounds[0]) if len(bounds) == 1 else (bounds[0], bounds[1])
        match stack:
            case Stack():
                return View(stack, self.as_number(low), self.as_number(high))
            case View(inner, start, _):
                first = self.binary("+", start, self.as_number(low))
                return View(inner, first, self.binary("+", start, self.as_number(high)))
            case _:
                return Symbol(f"islice({', '.join(text_of(value) for value in values)})")
