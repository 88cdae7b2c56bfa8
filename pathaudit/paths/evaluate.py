"""Evaluate expressions that hold no event: to values, and branch tests to formulas."""

from msgspec import Struct

from pathaudit import ir
from pathaudit.conditions import Bound, Literal, Test, implied
from pathaudit.index import (
    ClassRef,
    ClassType,
    External,
    FunctionRef,
    FunctionType,
    Index,
    Instance,
    Types,
)
from pathaudit.index.features import FALSE as STORED_FALSE
from pathaudit.index.features import LISTED, TRUE as STORED_TRUE
from pathaudit.index.features import NONE as STORED_NONE
from pathaudit.lower import lower_function, render
from pathaudit.paths.formulas import (
    FALSE,
    TRUE,
    Atom,
    Formula,
    Known,
    conjunction,
    disjunction,
    opposite,
)
from pathaudit.paths.question import Question
from pathaudit.paths.relevance import dotted, last_name
from pathaudit.paths.state import State
from pathaudit.paths.values import (
    NONE,
    Accumulator,
    Callee,
    ClassValue,
    Closure,
    Constant,
    Element,
    Items,
    Keywords,
    Made,
    Member,
    Number,
    Partial,
    Sequence,
    Stack,
    Symbol,
    Truth,
    Value,
    View,
    carries,
    number_text,
    text_of,
)
from pathaudit.ruleset import Placeholder

COPIES = frozenset(("list", "tuple", "set", "sorted", "frozenset", "bool"))
COMPARISONS = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


class Place(Struct, frozen=True, eq=False):
    """Where an expression stands: the file, the receiver and the class that defines the method.

    ``kept`` are names of the function whose value can reach its caller.
    """

    file: str
    receiver: Value | None
    owner: ClassRef | None
    kept: frozenset[str]
    ref: FunctionRef | None = None


class Evaluator:
    """Values and formulas of expressions without effects; facts about integers are collected."""

    def __init__(self, index: Index, question: Question) -> None:
        self._index = index
        self._question = question
        self.facts: frozenset[Bound] = frozenset()
        self._known_numbers: set[str] = set()
        self._properties: dict[FunctionRef, ir.Expression | None] = {}
        self._moments = 0
        self.closures: dict[Closure, tuple[ir.Function, Place]] = {}

    # ---- values ----

    def value(self, node: ir.Expression, state: State, place: Place) -> Value:  # noqa: C901
        """The value of an expression; calls in it are taken to have no effect."""
        match node:
            case ir.Name(id):
                return self._name(id, state, place)
            case ir.Constant(constant):
                if isinstance(constant, int) and not isinstance(constant, bool):
                    return Number("", constant)
                return Constant(constant)
            case ir.Attribute(inner, name):
                return self.attribute(self.value(inner, state, place), name, state, place)
            case ir.Subscript(inner, index):
                return self._subscript(self.value(inner, state, place), index, state, place)
            case ir.Binary(operator, left, right):
                return self.binary(
                    operator, self.value(left, state, place), self.value(right, state, place)
                )
            case ir.Unary("-", operand):
                return self.binary("-", Number("", 0), self.value(operand, state, place))
            case ir.Boolean() | ir.Conditional():
                return self._choice(node, state, place)
            case ir.Unary("not", _) | ir.Compare():
                return Truth(self.formula(node, state, place), self._text(node, state, place))
            case ir.Collection(kind, items):
                return self._collection(kind, items, state, place)
            case ir.Call():
                return self._call(node, state, place)
            case ir.Walrus(_, inner) | ir.Starred(inner):
                return self.value(inner, state, place)
            case ir.Lambda():
                return self._lambda(node, place)
            case _:
                return Symbol(self._text(node, state, place))

    def _lambda(self, node: ir.Lambda, place: Place) -> Closure:
        returned = ir.Exit("return", node.body, node.region)
        function = ir.Function("<lambda>", node.parameters, (returned,), node.region)
        return self.close(function, place)

    def close(self, function: ir.Function, place: Place) -> Closure:
        """A nested function as a value; what it sees is looked up when it is handed on."""
        closure = Closure(function.region, place.file)
        self.closures[closure] = (function, place)
        return closure

    def _text(self, node: ir.Expression, state: State, place: Place) -> str:
        """Canonical text with locals replaced by what they hold."""
        return render(_Substitution(self, state, place).apply(node))

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
            case Element(stack, _) if name in self._question.flags:
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
        path = f"{text}.{name}" + (f"#{version}" if version else "")
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
        """``module.function`` through an import, else an unknown attribute."""
        if "." in owner.text or "(" in owner.text or "@" in owner.text:
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

    def _subscript(self, owner: Value, index: ir.Expression, state: State, place: Place) -> Value:
        if isinstance(index, ir.Range):
            return self._slice(owner, index, state, place)
        at = self.value(index, state, place)
        match owner:
            case Stack():
                return Element(owner, self.as_number(at))
            case View(stack, low, _):
                return Element(stack, self.binary("+", low, self.as_number(at)))
            case Items(items):
                if isinstance(at, Number) and not at.base and -len(items) <= at.offset < len(items):
                    return items[at.offset]
                return Symbol(f"{text_of(owner)}[{text_of(at)}]")
            case Made(item):
                return item
            case Keywords():
                return self.looked_up(owner, [at])
            case _:
                text = f"{text_of(owner)}[{text_of(at)}]"
                if self._question.assumed(text) == "positive":
                    return self.number(text)
                return Symbol(text)

    def _slice(self, owner: Value, index: ir.Range, state: State, place: Place) -> Value:
        low = self._bound(index.lower, state, place)
        high = self._bound(index.upper, state, place)
        match owner:
            case _ if index.step is not None and carries(owner):
                return owner
            case Stack():
                return View(owner, low or Number("", 0), high)
            case View(stack, start, end):
                first = self.binary("+", start, low) if low else start
                return View(stack, first, self.binary("+", start, high) if high else end)
            case _ if carries(owner):
                return owner
            case _:
                return Symbol(f"{text_of(owner)}[{self._text(index, state, place)}]")

    def _bound(self, node: ir.Expression | None, state: State, place: Place) -> Value | None:
        if node is None or node == ir.Constant(None):
            return None
        return self.as_number(self.value(node, state, place))

    def number(self, text: str, offset: int = 0) -> Number:
        """An integer expression; what the profile knows about it becomes a fact."""
        if text and text not in self._known_numbers:
            self._known_numbers.add(text)
            self.facts |= frozenset(self._question.bounds_of(text))
        return Number(text, offset)

    def as_number(self, value: Value) -> Value:
        """The value as an index: what is used as one is an integer."""
        return self.number(value.text) if isinstance(value, Symbol) else value

    def binary(self, operator: str, left: Value, right: Value) -> Value:
        """Sums and differences of an integer expression and a constant stay numbers."""
        if isinstance(left, Number) and isinstance(right, Number) and operator in ("+", "-"):
            sign = 1 if operator == "+" else -1
            if not right.base:
                return Number(left.base, left.offset + sign * right.offset)
            if operator == "+" and not left.base:
                return Number(right.base, right.offset + left.offset)
            if left.base == right.base and operator == "-":
                return Number("", left.offset - right.offset)
        if operator == "+" and isinstance(left, Accumulator):
            return left
        if operator == "+" and (carries(left) or carries(right)):
            return Items((left, right))
        if operator == "*" and carries(left):
            return left
        text = f"({text_of(left)} {operator} {text_of(right)})"
        numeric = isinstance(left, Number) and isinstance(right, Number)
        return self.number(text) if numeric and operator in ("+", "-", "*", "//") else Symbol(text)

    def _choice(
        self, node: ir.Boolean | ir.Conditional, state: State, place: Place
    ) -> Value:
        """``a or b``, ``a and b`` and ``a if t else b`` as values."""
        if isinstance(node, ir.Conditional):
            known = self.formula(node.test, state, place)
            if isinstance(known, Known):
                return self.value(node.body if known.value else node.orelse, state, place)
            body = self.value(node.body, state, place)
            orelse = self.value(node.orelse, state, place)
            if body == orelse:
                return body
            present = self._present(body) and self._present(orelse)
            return Symbol(self._text(node, state, place), present=present)
        for operand in node.operands[:-1]:
            known = self.formula(operand, state, place)
            if not isinstance(known, Known):
                break
            if known.value == (node.operator == "or"):
                return self.value(operand, state, place)
        else:
            return self.value(node.operands[-1], state, place)
        return Truth(self.formula(node, state, place), self._text(node, state, place))

    def _present(self, value: Value) -> bool:
        match value:
            case Symbol(_, _, present):
                return present
            case Constant(constant):
                return constant is not None
            case _:
                return True

    def _collection(
        self, kind: str, items: tuple[ir.Expression, ...], state: State, place: Place
    ) -> Value:
        values = tuple(self.value(item, state, place) for item in items)
        if kind == "list" and not values:
            return Accumulator("<list>", kept=True)
        if kind == "tuple" or any(carries(value) for value in values):
            return Items(values)
        return Symbol(f"[{', '.join(text_of(value) for value in values)}]", present=True)

    # ---- calls without effect ----

    def _call(self, node: ir.Call, state: State, place: Place) -> Value:
        function, arguments = node.function, node.arguments
        name = last_name(function)
        values = [self.value(item.value, state, place) for item in arguments]
        if isinstance(function, ir.Name) and function.id not in state.names:
            known = self._builtin(name, values, arguments)
            if known is not None:
                return known
        if name == "getattr" and len(values) >= 2 and isinstance(values[1], Constant):
            found = self.attribute(values[0], str(values[1].value), state, place)
            return found if not isinstance(found, Member) else Symbol(text_of(found))
        if name == "islice" and len(values) >= 2:
            return self._islice(values)
        called = self.value(function, state, place)
        if isinstance(called, Member) and isinstance(called.owner, Keywords):
            return self.looked_up(called.owner, values)
        made = self.made(called, node)
        if made is not None:
            return made
        if name == "partial" and values:
            rest = zip(arguments[1:], values[1:], strict=True)
            return Partial(values[0], tuple((item.keyword or "", value) for item, value in rest))
        rendered = ", ".join(
            f"{item.star}{item.keyword + '=' if item.keyword else ''}{text_of(value)}"
            for item, value in zip(arguments, values, strict=True)
        )
        text = f"{text_of(called)}({rendered})"
        if self._question.assumed(text) == "positive":
            return self.number(text)
        return Symbol(text)

    def looked_up(self, keywords: Keywords, values: list[Value]) -> Value:
        """``kwargs.get("name", default)``."""
        name = values[0].value if values and isinstance(values[0], Constant) else None
        default = values[1] if len(values) > 1 else NONE
        return dict(keywords.items).get(str(name), default)

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

    def _builtin(
        self, name: str, values: list[Value], arguments: tuple[ir.Argument, ...]
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

    def _moment(self, text: str) -> str:
        """The contents of an accumulator, now: no two moments are assumed to be alike."""
        self._moments += 1
        return f"len({text})#{self._moments}"

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

    # ---- tests ----

    def formula(self, node: ir.Expression, state: State, place: Place) -> Formula:
        """An expression as a branch test."""
        match node:
            case ir.Unary("not", operand):
                return opposite(self.formula(operand, state, place))
            case ir.Boolean("and", operands):
                return conjunction([self.formula(item, state, place) for item in operands])
            case ir.Boolean(_, operands):
                return disjunction([self.formula(item, state, place) for item in operands])
            case ir.Compare(operator, left, right):
                return self.compare(
                    operator, self.value(left, state, place), self.value(right, state, place)
                )
            case ir.Conditional(test, body, orelse):
                condition = self.formula(test, state, place)
                taken = conjunction([condition, self.formula(body, state, place)])
                other = conjunction([opposite(condition), self.formula(orelse, state, place)])
                return disjunction([taken, other])
            case _:
                return self.truth(self.value(node, state, place))

    def truth(self, value: Value) -> Formula:
        """Is a value true?"""
        match value:
            case Truth(formula, _):
                return formula
            case Constant(constant):
                return Known(bool(constant))
            case Number("", offset):
                return Known(bool(offset))
            case Number() as number:
                return self.compare("!=", number, Number("", 0))
            case Element() | Closure() | Callee() | ClassValue() | Partial():
                return TRUE
            case Items(items):
                return Known(bool(items))
            case Accumulator(text, _, _, fresh):
                return FALSE if fresh else Atom(Test("true", self._moment(text)))
            case Symbol(text, _, _):
                if self._question.armed.get(text) == LISTED:
                    return TRUE
                assumed = self._question.assumed(text)
                if isinstance(assumed, bool):
                    return Known(assumed)
                return TRUE if assumed == "positive" else Atom(Test("true", text))
            case _:
                return Atom(Test("true", text_of(value)))

    def compare(self, operator: str, left: Value, right: Value) -> Formula:
        """The formula of one comparison."""
        match operator:
            case "is not" | "!=" | "not in":
                positive = {"is not": "is", "!=": "==", "not in": "in"}[operator]
                return opposite(self.compare(positive, left, right))
            case "in":
                return self._contains(left, right)
            case "is" | "==":
                return self._equal(left, right)
            case _:
                return self._ordered(operator, left, right)

    def _contains(self, item: Value, container: Value) -> Formula:
        if isinstance(container, Items):
            return disjunction([self._equal(item, option) for option in container.items])
        text = text_of(container)
        # In the iteration that is judged, the layer is one that was asked for.
        if self._question.armed.get(text) == LISTED and "@" in text_of(item):
            return TRUE
        return Atom(Test("in", text_of(item), text))

    def _equal(self, left: Value, right: Value) -> Formula:
        if left == right:
            return TRUE
        if isinstance(left, Constant) and not isinstance(right, Constant):
            left, right = right, left
        if isinstance(right, Constant):
            return self._equals_constant(left, right)
        if isinstance(left, Number) and isinstance(right, Symbol) and left.base:
            right = self.as_number(right)
        if isinstance(right, Number) and isinstance(left, Symbol) and right.base:
            left = self.as_number(left)
        if isinstance(left, Number) and isinstance(right, Number):
            return conjunction(
                [self._ordered("<=", left, right), self._ordered("<=", right, left)]
            )
        return self._equal_texts(left, right)

    def _equal_texts(self, left: Value, right: Value) -> Formula:
        """Two constants of an enumeration exclude each other; two variables do not."""
        if _is_constant(left):
            left, right = right, left
        if _is_constant(right):
            return Atom(Test("equals", text_of(left), text_of(right)))
        low, high = sorted((text_of(left), text_of(right)))
        return Atom(Test("true", f"{low} == {high}"))

    def _equals_constant(self, left: Value, right: Constant) -> Formula:
        if isinstance(left, Constant):
            return Known(left.value == right.value)
        if right.value is None:
            return self._is_none(left)
        if isinstance(right.value, bool):
            found = self.truth(left)
            return found if right.value else opposite(found)
        return Atom(Test("equals", text_of(left), repr(right.value)))

    def _is_none(self, value: Value) -> Formula:
        match value:
            case Symbol(text, _, present):
                assumed = self._question.assumed(text)
                if present or assumed in (True, "some", "positive"):
                    return FALSE
                return Atom(Test("none", text))
            case Truth(_, text):
                return Atom(Test("none", text))
            case Member(owner, _) if not isinstance(owner, Accumulator):
                return Atom(Test("none", text_of(value)))
            case _:
                return FALSE

    def _ordered(self, operator: str, left: Value, right: Value) -> Formula:
        if operator in (">", ">="):
            return self._ordered(COMPARISONS[operator], right, left)
        strict = operator == "<"
        if isinstance(left, Number) and isinstance(right, Symbol) and left.base:
            right = self.as_number(right)
        if isinstance(right, Number) and isinstance(left, Symbol) and right.base:
            left = self.as_number(left)
        if isinstance(left, Number) and isinstance(right, Number):
            return self._bounded(left, right, 1 if strict else 0)
        bound = self._real_bound(left, right, strict)
        if bound is not None:
            return Atom(bound)
        # One text for a comparison and its opposite, so that they contradict each other.
        if strict:
            return Atom(Test("true", f"{text_of(left)} < {text_of(right)}"))
        return Atom(Test("true", f"{text_of(right)} < {text_of(left)}", positive=False))

    def _bounded(self, left: Number, right: Number, gap: int) -> Formula:
        """``left + gap <= right`` over the integers."""
        difference = left.offset - right.offset + gap
        if left.base == right.base:
            return Known(difference <= 0)
        return Atom(Bound(left.base, right.base, difference))

    def _real_bound(self, left: Value, right: Value, strict: bool) -> Literal | None:
        """Undeclared operands are compared as reals; a number has no base on one side."""
        low, low_offset = _linear(left)
        high, high_offset = _linear(right)
        if low is None or high is None:
            return None
        return Bound(low, high, low_offset - high_offset, strict=strict, integral=False)


def _is_constant(value: Value) -> bool:
    """A number, or a member of a class such as ``Mode.EXTEND``."""
    match value:
        case Number("", _):
            return True
        case Symbol(text, _, _):
            owner, _, name = text.rpartition(".")
            return bool(owner) and owner.split(".")[-1][:1].isupper() and name.isupper()
        case _:
            return False


def _linear(value: Value) -> tuple[str | None, int]:
    match value:
        case Number(base, offset):
            return base, offset
        case Symbol(text, _, _):
            return text, 0
        case _:
            return None, 0


class _Substitution:
    """Replace locals by the text of their values, so that equal text means equal value."""

    def __init__(self, evaluator: Evaluator, state: State, place: Place) -> None:
        self._evaluator = evaluator
        self._state = state
        self._place = place

    def apply(self, node: ir.Expression) -> ir.Expression:
        match node:
            case ir.Name(id):
                known = self._state.names.get(id)
                return ir.Opaque(text_of(known)) if known is not None else node
            case ir.Attribute(value, name) if dotted(node):
                found = self._evaluator.value(node, self._state, self._place)
                return ir.Opaque(text_of(found))
            case ir.Attribute(value, name):
                return ir.Attribute(self.apply(value), name)
            case ir.Subscript(value, index):
                return ir.Subscript(self.apply(value), self.apply(index))
            case ir.Call(function, arguments, region):
                inner = tuple(
                    ir.Argument(self.apply(item.value), item.keyword, item.star)
                    for item in arguments
                )
                return ir.Call(self.apply(function), inner, region)
            case ir.Unary(operator, operand):
                return ir.Unary(operator, self.apply(operand))
            case ir.Binary(operator, left, right):
                return ir.Binary(operator, self.apply(left), self.apply(right))
            case ir.Compare(operator, left, right):
                return ir.Compare(operator, self.apply(left), self.apply(right))
            case ir.Boolean(operator, operands):
                return ir.Boolean(operator, tuple(self.apply(item) for item in operands))
            case ir.Conditional(test, body, orelse):
                return ir.Conditional(self.apply(test), self.apply(body), self.apply(orelse))
            case _:
                return node


__all__ = ["Evaluator", "Place", "number_text"]
