"""The objects of a served class: made by constructors, held at paths, shared by arguments."""

import ast
from collections.abc import Iterator
from fnmatch import fnmatchcase

from pathaudit.hooks.evaluate import Evaluator, Made
from pathaudit.hooks.scopes import defaults_of, keyword_parameters, parameters_of
from pathaudit.hooks.values import (
    NOTHING,
    Closure,
    Foreign,
    Frame,
    Function,
    Module,
    Stack,
    Thing,
    Value,
    Values,
    leads_on,
    union,
)
from pathaudit.index import ClassRef, External, FunctionRef, Index
from pathaudit.index.outline import AttributeStore, FunctionOutline
from pathaudit.index.syntax import local_assignments

INIT = "__init__"
HELD_DEPTH = 14


class Objects(Evaluator):
    """Answers ``attribute(thing, name)``; the objects of one served class are made once each."""

    def __init__(self, index: Index) -> None:
        super().__init__(index)
        self._created: dict[tuple[ast.Call, Frame, ClassRef], Thing] = {}
        self.dull: dict[ast.expr, bool] = {}  # expressions that use no module
        self._called: dict[tuple[object, ...], Frame] = {}
        self._storing: list[Thing] = []
        self._attributes: dict[tuple[Thing, str], Values] = {}
        self._frames: dict[tuple[Thing, FunctionRef], Frame] = {}

    # ---- what an object holds ----

    def attribute(self, thing: Thing, name: str) -> Values:
        """What is stored at an attribute, in the class, or what a property returns."""
        key = (thing, name)
        if key not in self._attributes:
            self._attributes[key] = NOTHING  # answers a circular question
            self._attributes[key] = self._find_attribute(thing, name)
        return self._attributes[key]

    def _find_attribute(self, thing: Thing, name: str) -> Values:
        for cls in self.index.modules.mro(thing.cls):
            outline = self.index.modules.class_outline(cls)
            if outline is None:
                continue
            stores = [store for store in outline.stores if store.name == name]
            if stores:
                self._storing.append(thing)
                found = union(self._stored(thing, cls, store) for store in stores)
                self._storing.pop()
                if found or any(store.always for store in stores):
                    return found
                continue
            if name in outline.attributes:
                return self.evaluate(outline.attributes[name], self.module_frame(cls.file))
            method = outline.methods.get(name)
            if method is not None:
                return self._method(thing, cls, method)
        return NOTHING

    def _method(self, thing: Thing, cls: ClassRef, method: FunctionOutline) -> Values:
        ref = FunctionRef(cls.file, method.qualname)
        if any(name.endswith("property") for name in method.decorators):
            frame = self.method_frame(thing, cls, ref, method)
            return union(self.evaluate(value, frame) for value in method.returns)
        return (Function(ref, None if self.index.is_static(ref) else thing),)

    def _stored(self, thing: Thing, cls: ClassRef, store: AttributeStore) -> Values:
        outline = self.index.modules.class_outline(cls)
        method = outline.methods.get(store.method) if outline else None
        if method is None:
            return NOTHING
        frame = self.method_frame(thing, cls, FunctionRef(cls.file, method.qualname), method)
        hint = f"{thing.path}.{store.name}" if thing.path else store.name
        if store.position is not None:
            return self.item(store.value, store.position, frame, hint)
        found = self.evaluate(store.value, frame, hint)
        appended = [x for name, _, x in method.appended if name == store.name]
        if appended and all(isinstance(value, Stack) or not leads_on(value) for value in found):
            return (Stack(hint, union(self.evaluate(x, frame, f"{hint}.*") for x in appended)),)
        return found

    # ---- frames ----

    def method_frame(
        self, thing: Thing, cls: ClassRef, ref: FunctionRef, method: FunctionOutline
    ) -> Frame:
        """A method of an object whose arguments are not known, but for those of a constructor."""
        key = (thing, ref)
        if key not in self._frames:
            names = dict.fromkeys((*parameters_of(method.node), *keyword_parameters(method.node)))
            given: dict[str, Values] = dict.fromkeys(names, NOTHING)
            self._frames[key] = frame = self._frame(ref, method, cls, thing, given)
            if method.name == INIT:
                given.update(self._constructed(thing, cls, method))
            first = next(iter(names), None)
            if first is not None:
                given[first] = (thing,)
            return frame
        return self._frames[key]

    def _frame(
        self,
        ref: FunctionRef,
        function: FunctionOutline,
        owner: ClassRef | None,
        receiver: Thing | None,
        names: dict[str, Values],
    ) -> Frame:
        return Frame(
            ref.file, function.node, function.locals, function.imports, ref, owner, receiver, names
        )

    def _constructed(
        self, thing: Thing, cls: ClassRef, method: FunctionOutline
    ) -> dict[str, Values]:
        """What a constructor is given, by the call of the class or of ``super().__init__``."""
        order = self.index.modules.mro(thing.cls)
        defining = [ref for ref in order if self._init_of(ref) is not None]
        if not defining or cls == defining[0]:
            made = self.made.get(thing)
            if made is None:
                # Whoever makes a served class gives it nothing but data.
                made = Made(ast.Call(ast.Name(thing.cls.name), [], []), self.module_frame(cls.file))
            return self.bind(method.node, made.call, made.frame, 1)
        for derived in reversed(order[: order.index(cls)] if cls in order else ()):
            found = self._init_of(derived)
            call = found.base_init if found is not None else None
            if found is not None and call is not None:
                ref = FunctionRef(derived.file, found.qualname)
                frame = self.method_frame(thing, derived, ref, found)
                explicit = not isinstance(call.func, ast.Attribute) or not (
                    isinstance(call.func.value, ast.Call)
                )
                return self.bind(method.node, call, frame, 0 if explicit else 1)
        return {}

    def _init_of(self, cls: ClassRef) -> FunctionOutline | None:
        outline = self.index.modules.class_outline(cls)
        return outline.methods.get(INIT) if outline else None

    def bind(self, node: ast.AST, call: ast.Call, frame: Frame, skipped: int) -> dict[str, Values]:
        """The parameters of a function by the arguments of a call, and by their defaults.

        ``skipped`` parameters stand before those that arguments are given to.
        """
        positional = parameters_of(node)[skipped:]
        names = {*positional, *keyword_parameters(node)}
        pairs = [*zip(positional, call.args, strict=False)]
        pairs += [(item.arg, item.value) for item in call.keywords if item.arg in names]
        found = {name: self._given(value, frame) for name, value in pairs if name}
        if all(item.arg for item in call.keywords) and not _is_spread(call):
            outside = self.module_frame(frame.file)
            defaults = defaults_of(node).items()
            found |= {x: self._given(value, outside) for x, value in defaults if x not in found}
        return {name: found.get(name, NOTHING) for name in (*positional, *keyword_parameters(node))}

    def _given(self, value: ast.expr, frame: Frame) -> Values:
        constant = self.constant(value, frame)
        return (constant,) if constant is not None else self.evaluate(value, frame)

    def called_frame(
        self, function: Function, call: ast.Call, frame: Frame, hint: str = ""
    ) -> Frame | None:
        """A function with its parameters bound to the arguments of a call."""
        outline = self.index.modules.function(function.ref)
        if outline is None:
            return None
        owner = self.index.modules.owner(function.ref)
        receiver = function.receiver
        # A class method gets the class; a method that is called on its class, the object.
        first = owner is not None and not self.index.is_static(function.ref)
        explicit = first and receiver is None and not self.index.is_class_method(function.ref)
        names = self.bind(outline.node, call, frame, 1 if first and not explicit else 0)
        if explicit:
            things = names.get(next(iter(parameters_of(outline.node)), ""), NOTHING)
            receiver = next((x for x in things if isinstance(x, Thing)), None)
        elif first:
            name = next(iter(parameters_of(outline.node)), "")
            names[name] = (receiver,) if receiver is not None else NOTHING
        key = (function.ref, receiver, tuple(names.items()), hint, self.holders(hint))
        if key not in self._called:
            self._called[key] = self._frame(function.ref, outline, owner, receiver, names)
        return self._called[key]

    def closure_frame(
        self, closure: Closure, call: ast.Call, frame: Frame, hint: str = ""
    ) -> Frame:
        """An inner function with its parameters bound to the arguments of a call."""
        node = closure.node
        names = self.bind(node, call, frame, 0)
        key = (node, closure.frame, tuple(names.items()), hint, self.holders(hint))
        if key not in self._called:
            self._called[key] = self._closed(closure, names)
        return self._called[key]

    def _closed(self, closure: Closure, names: dict[str, Values]) -> Frame:
        node = closure.node
        assigned = {} if isinstance(node, ast.Lambda) else local_assignments(ast.walk(node))
        outer = closure.frame
        return Frame(
            outer.file,
            node,
            assigned,
            outer.imports,
            outer.ref,
            outer.owner,
            outer.receiver,
            names,
            outer,
        )

    # ---- objects ----

    def create(self, cls: ClassRef, call: ast.Call, frame: Frame, hint: str) -> Thing:
        """The object that a call of a class makes; the same call makes it once."""
        key = (call, frame, cls)
        if key not in self._created:
            path = hint or f"<{frame.file}:{call.lineno}>"
            thing = self._created[key] = Thing(path, cls, self.holders(hint))
            self.made.setdefault(thing, Made(call, frame))
        return self._created[key]

    def holders(self, hint: str) -> tuple[str, ...]:
        """The classes of the objects that hold what is stored at a path."""
        if not hint or not self._storing:
            return ()
        thing = self._storing[-1]
        return (*thing.within, thing.cls.name)

    def held(self, root: Thing) -> Iterator[Module]:
        """The modules that an object holds at any depth, each once, in order of their stores."""
        seen: set[Value] = set()
        pending: list[tuple[Module, tuple[ClassRef, ...]]] = [(root, ())]
        while pending:
            module, above = pending.pop()
            if module in seen:
                continue
            seen.add(module)
            yield module
            if isinstance(module, Thing) and module.cls not in above and len(above) < HELD_DEPTH:
                inner = [(x, (*above, module.cls)) for x in self._modules_of(module)]
                pending += reversed(inner)

    def _modules_of(self, thing: Thing) -> Iterator[Module]:
        names: dict[str, None] = {}
        for cls in reversed(self.index.modules.mro(thing.cls)):
            outline = self.index.modules.class_outline(cls)
            names.update(dict.fromkeys(store.name for store in outline.stores) if outline else {})
        for name in names:
            own = f"{thing.path}.{name}" if thing.path else name
            for value in self.attribute(thing, name):
                found = (x for x in self._own(value, own) if self.is_module(x))
                yield from (x for x in found if not self._is_placeholder(x))

    def _is_placeholder(self, module: Module) -> bool:
        """Does a module only stand for one of another pipeline stage?"""
        placeholder = self.index.profile.stacks.placeholder
        name = placeholder.class_name if placeholder is not None else ""
        return isinstance(module, Thing) and module.cls.name == name

    def _own(self, value: Value, path: str) -> Iterator[Module]:
        match value:
            case Thing() | Foreign() if value.path in (path, f"{path}.*"):
                yield value
            case Stack(_, elements):
                for element in elements:
                    yield from self._own(element, path)

    def is_module(self, value: Module) -> bool:
        """Is an object a module: something that hooks can be registered on?"""
        return isinstance(value, Foreign) or self.is_module_class(value.cls)

    def is_module_class(self, cls: ClassRef) -> bool:
        """Does a class derive from one of modules?"""
        globs = self.index.profile.hooks.bases
        bases = [x for item in self.index.modules.mro(cls) for x in self.index.modules.bases(item)]
        outside = [x.name for x in bases if isinstance(x, External)]
        return any(fnmatchcase(name, glob) for name in outside for glob in globs)


def _is_spread(call: ast.Call) -> bool:
    return any(isinstance(item, ast.Starred) for item in call.args)
