"""Which calls freeze or configure, which lead to such calls, and what these call."""

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from fnmatch import fnmatchcase
from functools import lru_cache

from msgspec import Struct

from pathaudit import ir
from pathaudit.check.precedes_names import receiver_of
from pathaudit.check.precedes_slices import holds_call, holds_event, sliced
from pathaudit.check.precedes_state import Event, Frame, Place, State
from pathaudit.check.precedes_tests import marked, object_path, placed
from pathaudit.conditions import Literal, Test
from pathaudit.index import ClassRef, FunctionOutline, FunctionRef, Index, Instance, Symbol
from pathaudit.lower import LoweringError, lower_function, render
from pathaudit.paths.walking import dotted, last_name
from pathaudit.ruleset import PrecedesRule

# How far functions are looked for that lead to an event by the names they call.
ROUNDS = 6

# An object that may be of more classes is not followed.
CLASSES = 4


_Predicate = Callable[[str], bool]
_LOOP = re.compile(r"\b(for|while)\b")
_CALL = re.compile(r"(?<!def )\b([A-Za-z_]\w*)\s*\(")


class Callee(Struct, frozen=True):
    """A function of the tree that a call runs; ``receiver`` is its object, if it has one.

    Where the object may be of several classes, ``when`` says that it is of this one. A constructor
    has a new object (``made``).
    """

    ref: FunctionRef
    receiver: ir.Expression | None
    when: Literal | None = None
    made: bool = False


class Scene:
    """The functions of some files, and the calls in them that matter to a rule."""

    def __init__(self, index: Index, rule: PrecedesRule, files: tuple[str, ...]) -> None:
        self.index = index
        self.rule = rule
        self._files = frozenset(files)
        self._lowered: dict[FunctionRef, ir.Function | None] = {}
        self._called: dict[FunctionRef, frozenset[str]] = {}
        self._eventful: dict[int, bool] = {}
        self._mattering: dict[str, bool] = {}
        self._functions = dict(_functions(index, files))
        self._freezing = self._leading(self.freezes)
        self._configuring = self._leading(lambda name: self.configures(name) is not None)

    # ---- names ----

    def freezes(self, name: str) -> bool:
        return _matches(name, self.rule.freeze)

    def is_freeze(self, node: ir.Expression) -> bool:
        return isinstance(node, ir.Call) and self.freezes(last_name(node.function))

    def configures(self, name: str) -> int | None:
        """The number of the entry under ``configure`` that a call of this name fits."""
        entries = enumerate(self.rule.configure)
        return next((number for number, x in entries if _matches(name, x.calls)), None)

    def matters(self, name: str) -> bool:
        """Is a call of this name an event, or may it lead to one?"""
        if name not in self._mattering:
            known = name in self._freezing or name in self._configuring
            event = self.freezes(name) or self.configures(name) is not None
            self._mattering[name] = known or event
        return self._mattering[name]

    def roots(self) -> Iterator[FunctionRef]:
        """The functions that may both freeze and configure, in order.

        What makes a single call of interest, and that once, adds nothing to what it calls.
        """
        for ref in sorted(self._functions):
            names = self._names(ref)
            freezing = any(self.freezes(x) or x in self._freezing for x in names)
            configuring = any(
                self.configures(x) is not None or x in self._configuring for x in names
            )
            if freezing and configuring and self._adds(ref):
                yield ref

    def _adds(self, ref: FunctionRef) -> bool:
        text = self._text(ref)
        calls = [name for name in _CALL.findall(text) if self.matters(name)]
        return len(calls) > 1 or _LOOP.search(text) is not None

    def leads(self, ref: FunctionRef) -> bool:
        """Does a function hold an event, or call one that may?"""
        return any(self.matters(name) for name in self._names(ref))

    def _leading(self, is_event: _Predicate) -> frozenset[str]:
        """The names of functions that lead to an event, by the names that they call."""
        found: set[str] = set()
        for _ in range(ROUNDS):
            more = {
                _called_as(ref)
                for ref in self._functions
                if any(is_event(name) or name in found for name in self._names(ref))
            }
            if more <= found:
                break
            found |= more
        return frozenset(found)

    def _names(self, ref: FunctionRef) -> frozenset[str]:
        """The names in front of a parenthesis: all that is called, and what comments call."""
        if ref not in self._called:
            self._called[ref] = frozenset(_CALL.findall(self._text(ref)))
        return self._called[ref]

    def _text(self, ref: FunctionRef) -> str:
        function = self._functions.get(ref)
        outline = self.index.modules.outline(ref.file) if function else None
        return (
            "".join(outline.lines[function.line - 1 : function.last])
            if outline and function
            else ""
        )

    # ---- calls ----

    def event(self, node: ir.Call, state: State, frame: Frame) -> Event:
        """The call as an event; its object is the receiver, or else the first argument."""
        given = [placed(item.value, state.names) for item in node.arguments]
        paths = [object_path(item) for item in (receiver_of(node, state), *given[:1])]
        objects = [x for x in paths if x and self._is_object(x.split(".")[0], frame.ref)]
        texts = (
            f"{item.star}{item.keyword or ''}={render(value)}"
            for item, value in zip(node.arguments, given, strict=True)
        )
        place = Place(frame.ref.file, node.region, frame.ref.qualname)
        name = last_name(node.function)
        return Event(name, tuple(objects[:1]), ", ".join(texts), place, frame.chain)

    def holds_event(self, statement: ir.Statement) -> bool:
        """Does a call that matters stand in a statement, at any depth?"""
        # What was lowered lives as long as this, so that a statement is known by its address.
        key = id(statement)
        if key not in self._eventful:
            self._eventful[key] = holds_event((statement,), self.matters)
        return self._eventful[key]

    def holds_call(self, node: ir.Expression) -> bool:
        key = id(node)
        if key not in self._eventful:
            self._eventful[key] = holds_call(node, self.matters)
        return self._eventful[key]

    def lowered(self, ref: FunctionRef) -> ir.Function | None:
        """What decides on events in a function; ``None`` where it cannot be lowered."""
        if ref not in self._lowered:
            outline = self.index.modules.outline(ref.file)
            function = self._functions.get(ref)
            self._lowered[ref] = None
            if outline is not None and function is not None:
                with suppress(LoweringError):
                    whole = lower_function(outline.lines, function.node)
                    self._lowered[ref] = sliced(whole, self.matters)
        return self._lowered[ref]

    def callees(
        self, node: ir.Call, inside: FunctionRef, root: ClassRef | None, receiver: str
    ) -> tuple[Callee, ...]:
        """The functions that a call may run; those of other files hold no event.

        ``inside`` is the function that calls, ``root`` the class that ``self`` of the function
        under audit has, ``receiver`` the path of the object whose method is called.
        """
        found = tuple(self._resolved(node, inside, root, receiver))
        return found if len(found) <= CLASSES else ()

    def _resolved(
        self, node: ir.Call, inside: FunctionRef, root: ClassRef | None, receiver: str
    ) -> Iterator[Callee]:
        modules = self.index.modules
        name = last_name(node.function)
        owner = modules.owner(inside)
        match node.function:
            case ir.Attribute(ir.Call(ir.Name("super"), _, _)) if owner is not None:
                method = modules.method(owner, name, after=owner)
                if method is not None:
                    yield Callee(method[0], ir.Name("self"))
            case ir.Attribute(value, _) if receiver.split(".")[0] == "self" and root is not None:
                yield from self._methods(name, value, root, receiver)
            case _:
                yield from self._function(self._named(node.function, inside), node)

    def _methods(
        self, name: str, value: ir.Expression, root: ClassRef, receiver: str
    ) -> Iterator[Callee]:
        """The method of that name in each class that an object may have."""
        held = self.index.types.along([Instance(root)], receiver.split(".")[1:])
        classes = dict.fromkeys(item.cls for item in held)
        methods = {cls: self.index.modules.method(cls, name) for cls in classes}
        refs = {method[0] for method in methods.values() if method is not None}
        if len(refs) == 1:
            yield Callee(refs.pop(), value)
            return
        for cls, method in methods.items():
            if method is not None:
                yield Callee(method[0], value, Test("equals", f"type({receiver})", cls.name))

    def _function(self, symbol: Symbol | None, node: ir.Call) -> Iterator[Callee]:
        """What is called by its own name: a function, or a class."""
        if isinstance(symbol, FunctionRef):
            yield Callee(symbol, None)
        if isinstance(symbol, ClassRef):
            method = self.index.modules.method(symbol, "__init__")
            if method is not None:
                yield Callee(method[0], marked(symbol.name, node.region.line), made=True)

    def _named(self, node: ir.Expression, inside: FunctionRef) -> Symbol | None:
        """What a name means, imported here or at the top."""
        text = dotted(node)
        modules = self.index.modules
        head, _, rest = text.partition(".")
        for bound, symbol in self._functions[inside].imports if text else ():
            file = modules.file_of(modules.absolute(inside.file, symbol))
            if bound == head and symbol.attribute and file:
                name = f"{symbol.attribute}.{rest}" if rest else symbol.attribute
                return modules.resolve(file, name)
        return modules.resolve(inside.file, text) if text else None

    def _is_object(self, name: str, inside: FunctionRef) -> bool:
        """Is a name that of an object, not of a module, class or function?"""
        return self.index.modules.resolve(inside.file, name) is None

    def stored_by(self, callee: Callee | None, root: ClassRef | None) -> frozenset[str]:
        """The paths that a method of the object under audit stores to."""
        if callee is None or root is None or callee.receiver != ir.Name("self"):
            return frozenset()
        name = callee.ref.qualname.rpartition(".")[2]
        return frozenset(f"self.{x}" for x in self.index.stored_by(root, name))


def _functions(
    index: Index, files: tuple[str, ...]
) -> Iterator[tuple[FunctionRef, FunctionOutline]]:
    for file in files:
        outline = index.modules.outline(file)
        if outline is None:
            continue
        for function in outline.functions.values():
            yield FunctionRef(file, function.qualname), function
        for cls in outline.classes.values():
            for function in cls.methods.values():
                yield FunctionRef(file, function.qualname), function


def _called_as(ref: FunctionRef) -> str:
    """The name by which a function is called: a constructor by that of its class."""
    owner, _, name = ref.qualname.rpartition(".")
    return owner if name == "__init__" else name


@lru_cache(maxsize=4096)
def _matches(name: str, globs: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, glob) for glob in globs)
