"""What a call returned, as far as unpacking it is concerned: a tuple, one tensor, an object.

A tuple is ``Items``. Anything else is a symbol whose text says what it is and which return it came
from: ``<one 3>`` is a single tensor, ``<object Proxy 3>`` an object of a class that cannot be
unpacked, ``<part 3>`` something not known.
"""

import ast
import re

from msgspec import Struct

from pathaudit import ir
from pathaudit.conditions import Bound, PathCondition, Test
from pathaudit.index import ClassRef, FunctionRef, Index, Types
from pathaudit.paths.attributes import Place
from pathaudit.paths.evaluate import Evaluator
from pathaudit.paths.formulas import FALSE, TRUE, Atom, Formula, Known
from pathaudit.paths.question import Question
from pathaudit.paths.state import State
from pathaudit.paths.values import (
    NONE,
    Accumulator,
    Callee,
    ClassValue,
    Constant,
    Items,
    Number,
    Symbol,
    Value,
    text_of,
)
from pathaudit.ruleset import text_pattern

# A list that a setter fills, and that nothing has filled.
EMPTY = "empty"

# Bases that make no difference to whether an object can be unpacked.
PLAIN_BASES = frozenset(("object", "abc.ABC", "ABC"))
UNPACKED_BY = frozenset(("__iter__", "__getitem__"))
RETURNED_DEPTH = 4

# A list's contents at a moment, in canonical text.
_LENGTH = re.compile(r"len\([^)]*\)#\d")

# What stands for "off" or "none" in a constructor.
_OFF: dict[str, Value] = {"False": Constant(False), "None": NONE, "[]": Items(()), "()": Items(())}

_OPAQUE = Types((), complete=False)


class Origin(Struct, frozen=True):
    """The return statement that a value came from, and the function it stands in."""

    file: str
    region: ir.Region
    symbol: str


class Shape(Struct, frozen=True):
    """A value as somebody unpacks it: ``kind`` is one, object, or nothing where not known."""

    kind: str
    name: str = ""
    origin: int = -1


def mark(kind: str, origin: int = -1, name: str = "") -> Symbol:
    """The value of a shape; see ``shape_of``."""
    words = [kind, *([name] if name else []), *([str(origin)] if origin >= 0 else [])]
    return Symbol(f"<{' '.join(words)}>", _OPAQUE, present=True)


def shape_of(value: Value) -> Shape:
    """What is known of a value that is no tuple.

    >>> shape_of(mark("object", 3, "Proxy"))
    Shape(kind='object', name='Proxy', origin=3)
    """
    text = text_of(value) if isinstance(value, Symbol) else ""
    if not (text.startswith("<") and text.endswith(">")):
        return Shape("")
    kind, *rest = text[1:-1].split(" ")
    if kind not in ("one", "object", "part", "pending"):
        return Shape("")
    origin = int(rest.pop()) if rest and rest[-1].isdigit() else -1
    return Shape(kind, rest[0] if rest else "", origin)


class ShapeEvaluator(Evaluator):
    """Values that keep their shape, and objects that all parts of a process share.

    ``collected`` is ``None`` while no feature is on: switches are off, and what lists hold is not
    known. With a feature on it says whether what layers were asked for has been collected: then no
    list is empty, else each is.
    """

    def __init__(self, index: Index, question: Question, *, collected: bool | None) -> None:
        super().__init__(index, question)
        self._collected = collected
        pipeline = question.profile.pipeline
        self._proxy = pipeline.proxy if pipeline is not None else ""
        self._initials: dict[tuple[ClassRef, str], Value | None] = {}
        self._returned: dict[FunctionRef, ClassRef | None] = {}

    def attribute(self, owner: Value, name: str, state: State, place: Place) -> Value:
        return self._shared(super().attribute(owner, name, state, place))

    def _call(self, node: ir.Call, state: State, place: Place) -> Value:
        found = super()._call(node, state, place)
        if not isinstance(found, Symbol):
            return found
        return self.made_by(self.value(node.function, state, place)) or self._shared(found)

    def _shared(self, value: Value) -> Value:
        """The name of a shared object, whichever way it was asked for."""
        if not isinstance(value, Symbol) or not value.text or value.text.startswith("<"):
            return value
        for name, patterns in self._question.profile.shared.items():
            if any(text_pattern(pattern).fullmatch(value.text) for pattern in patterns):
                return Symbol(name, None, present=True)
        return value

    def _armed(self, path: str) -> Value:
        return Items(()) if self._question.armed[path] == EMPTY else super()._armed(path)

    def _typed(self, owner: Symbol, path: str, types: Types, name: str, state: State) -> Value:
        instances = types.instances()
        if self._collected is None and len(instances) == 1:
            initial = self._initial(instances[0].cls, name)
            if initial is not None:
                return initial
        return super()._typed(owner, path, types, name, state)

    def _initial(self, cls: ClassRef, name: str) -> Value | None:
        """What a constructor stores in an attribute that nothing but setters changes."""
        key = (cls, name)
        if key not in self._initials:
            outlines = [
                self._index.modules.class_outline(ref) for ref in self._index.modules.mro(cls)
            ]
            stores = [x for item in outlines if item for x in item.stores if x.name == name]
            methods = {x.method for x in stores if not self._index.profile.is_setter(x.method)}
            values = {ast.unparse(x.value) for x in stores if x.method == "__init__"}
            lone = len(values) == 1 and methods == {"__init__"}
            self._initials[key] = _OFF.get(values.pop()) if lone else None
        return self._initials[key]

    def hangs_on_list(self, condition: PathCondition) -> bool:
        """Does a condition ask whether a list is empty, though that is not known?"""
        literals = (literal for part in condition.alternatives for literal in part.literals)
        return self._collected is None and any(_LENGTH.search(str(x)) for x in literals)

    # ---- objects ----

    def made_by(self, function: Value) -> Symbol | None:
        """The object that a call makes or returns, where it surely is one of a known class."""
        if text_of(function) == self._proxy:
            return mark("object", name=self._proxy)
        cls: ClassRef | None = None
        if isinstance(function, ClassValue):
            cls = function.cls
        elif isinstance(function, Callee):
            cls = self._class_returned(function.ref, RETURNED_DEPTH)
        return mark("object", name=cls.name) if cls is not None and self._is_whole(cls) else None

    def _is_whole(self, cls: ClassRef) -> bool:
        """Has a class no way to be unpacked, as far as all its bases are known?"""
        if cls.name == self._proxy:
            return True
        modules = self._index.modules
        for ref in modules.mro(cls):
            outline = modules.class_outline(ref)
            if outline is None or UNPACKED_BY & outline.methods.keys():
                return False
            for name in outline.bases:
                found = modules.resolve(ref.file, name)
                if name not in PLAIN_BASES and not isinstance(found, ClassRef):
                    return False
        return True

    def _class_returned(self, ref: FunctionRef, depth: int) -> ClassRef | None:
        """The class whose objects a function returns on every path, if it is one class."""
        if ref not in self._returned:
            self._returned[ref] = None  # answers recursion
            function = self._index.modules.function(ref)
            if function is not None and depth:
                self._returned[ref] = self._one_class(ref, function.node, depth)
        return self._returned[ref]

    def _one_class(self, ref: FunctionRef, node: ast.AST, depth: int) -> ClassRef | None:
        values = [item.value for item in ast.walk(node) if isinstance(item, ast.Return)]
        found: set[ClassRef | None] = set()
        for value in values:
            name = ast.unparse(value.func) if isinstance(value, ast.Call) else ""
            match self._index.modules.resolve(ref.file, name) if name else None:
                case ClassRef() as cls:
                    found.add(cls)
                case FunctionRef() as inner:
                    found.add(self._class_returned(inner, depth - 1))
                case _:
                    return None
        return found.pop() if len(found) == 1 else None

    # ---- tests ----

    def truth(self, value: Value) -> Formula:
        if isinstance(value, Accumulator):
            known = self._collected
            return (
                Known(known)
                if known is not None
                else Atom(Test("true", self._moment(text_of(value))))
            )
        if shape_of(value).kind == "object":
            return TRUE
        return super().truth(value)

    def _length(self, value: Value) -> Value:
        if isinstance(value, Accumulator) and self._collected is False:
            return Number("", 0)
        if isinstance(value, Accumulator):
            text = self._moment(text_of(value))
            self.facts |= {Bound("", text, 1)} if self._collected else frozenset()
            return self.number(text)
        return super()._length(value)

    def _instance_of(self, value: Value, wanted: Value, classes: str) -> Formula:
        """``isinstance(returned, tuple)`` and of a class are decided by the shape."""
        names = set(classes.strip("()").replace(" ", "").rstrip(",").split(","))
        shape = shape_of(value)
        sequences = {"tuple", "list"}
        if isinstance(value, Items):
            return TRUE if "tuple" in names else FALSE
        if shape.kind in ("one", "object") and names <= sequences:
            return FALSE
        if shape.kind == "object" and shape.name in {name.split(".")[-1] for name in names}:
            return TRUE
        if shape.kind == "one" and names & {"torch.Tensor", "Tensor"}:
            return TRUE
        return super()._instance_of(value, wanted, classes)
