"""What calls do to modules: run them, run a part of them, hand them on."""

import ast
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase

from pathaudit.check.invokes_calls import CALL, runs_a_part
from pathaudit.hooks.events import CALLED, FORWARD, FUSED, HANDED, METHOD, RECIPE
from pathaudit.hooks.objects import INIT
from pathaudit.hooks.recipes import Ran, operations_text, run_recipe
from pathaudit.hooks.values import (
    ClassValue,
    Closure,
    Foreign,
    Function,
    Module,
    Stack,
    Thing,
    Value,
    Values,
    layers_in,
)
from pathaudit.hooks.walk import Here, Walk
from pathaudit.index import ClassRef

# Builtins that look at what they are given.
_LOOKING = frozenset(
    ("hasattr", "getattr", "isinstance", "issubclass", "type", "id", "len", "print", "str", "repr",
     "setattr", "bool", "callable", "vars", "dir", "any", "all", "iter", "list", "tuple", "zip",
     "enumerate", "range", "super")
)  # fmt: skip


class Walker(Walk):
    """Follows calls, and notes how they run modules."""

    def call(self, node: ast.Call, here: Here) -> None:
        """Follow a call, and what its arguments call."""
        looks = isinstance(node.func, ast.Name) and node.func.id in _LOOKING
        inner = Here(here.frame, here.guards, here.loops, here.looks or looks)
        self.expressions([*node.args, *(item.value for item in node.keywords)], inner)
        if not isinstance(node.func, ast.Name):
            self.expression(node.func, here)
        if looks:
            return
        callees = self.objects.evaluate(node.func, here.frame)
        layers = self._layers(node, callees, here)
        if layers is None:
            return
        known = [self._callee(value, node, here, layers) for value in callees]
        if not any(known) and not self._foreign_forward(node, here, layers):
            self._handed(node, here)

    def _callee(self, value: Value, node: ast.Call, here: Here, layers: str) -> bool:
        """Follow one of the values that a call may call; is it known what that does?"""
        match value:
            case Thing() | Foreign():
                self._module_called(value, node, here, layers)
            case Stack(_, elements, True):
                for element in elements:
                    if isinstance(element, Thing | Foreign):
                        self._module_called(element, node, here, layers)
            case Function():
                self._function_called(value, node, here, layers)
            case ClassValue(cls):
                self._constructed(cls, node, here)
            case Closure():
                self.enter(self.objects.closure_frame(value, node, here.frame))
            case _:
                return False
        return True

    def _module_called(self, module: Module, node: ast.Call, here: Here, layers: str) -> None:
        self.emit(module, CALLED, node, here, layers)
        if isinstance(module, Thing):
            own = self.index.modules.method(module.cls, CALL)
            call = self.index.profile.modules.call
            found = own or self.index.modules.method(module.cls, call)
            if found is not None:
                self._enter(Function(found[0], module), node, here, runs=True)

    def _foreign_forward(self, node: ast.Call, here: Here, layers: str) -> bool:
        """The forward of a module whose class is outside of the tree."""
        if not isinstance(node.func, ast.Attribute):
            return False
        base = self.objects.evaluate(node.func.value, here.frame)
        found = [value for value in base if isinstance(value, Foreign)]
        if node.func.attr != self.index.profile.modules.call or not found:
            return False
        for value in found:
            self.emit(value, FORWARD, node, here, layers)
        return True

    def _enter(self, function: Function, node: ast.Call, here: Here, *, runs: bool = False) -> None:
        frame = self.objects.called_frame(function, node, here.frame)
        if frame is not None:
            self.enter(frame, running=function.receiver if runs else None)

    def _function_called(self, function: Function, node: ast.Call, here: Here, layers: str) -> None:
        thing = function.receiver
        if thing is None and self._picked_recipes(function, node, here, layers):
            return
        how = self.how(thing, function) if thing is not None else ""
        if thing is not None and how and not self.runs_now(thing, whole=how == FORWARD):
            self.emit(thing, how, node, here, layers)
        self._enter(function, node, here, runs=bool(how))

    def how(self, thing: Thing, function: Function) -> str:
        """How a method of a module runs the module; nothing if it does not."""
        name = function.ref.qualname.rpartition(".")[2]
        modules = self.index.profile.modules
        if name == modules.call:
            return FORWARD
        runs = any(fnmatchcase(name, glob) for glob in modules.runs)
        return METHOD if runs or runs_a_part(self.index, thing.cls, name) else ""

    # ---- layers ----

    def _layers(self, node: ast.Call, callees: Values, here: Here) -> str | None:
        """The layers that a call runs; ``None`` if it runs none on this variant."""
        receiver, ref = here.frame.receiver, here.frame.ref
        if receiver is None or ref is None or not self._runs_layers(node, callees, here):
            return ""
        known = [x for x in self.sites.get(receiver.cls, ()) if x.places]
        if not known:
            return ""
        found = [x.at(ref.file, (node.lineno, *reversed(here.loops))) for x in known]
        ranges = [x for x in found if x is not None]
        return ranges[0] if ranges else "" if any(x.cut for x in known) else None

    def _runs_layers(self, node: ast.Call, callees: Values, here: Here) -> bool:
        """Does a call run an element of a stack of its object, or hand on such a stack?"""
        receiver = here.frame.receiver
        prefix = f"{receiver.path}." if receiver is not None and receiver.path else ""
        names = self.stacks.get(receiver.cls, ()) if receiver is not None else ()
        stacks = {f"{prefix}{name}" for name in names}
        for value in callees:
            thing = value
            if isinstance(value, Function) and value.receiver is not None:
                thing = value.receiver if self.how(value.receiver, value) else value
            if isinstance(thing, Thing) and thing.path.removesuffix(".*") in stacks:
                return thing.path.endswith(".*")
        return any(path in stacks for path in self._stacks_given(node, here))

    def _stacks_given(self, node: ast.Call, here: Here) -> Iterator[str]:
        """The paths of the stacks that a call is given, or layers of, in a list."""
        for value in (*node.args, *(item.value for item in node.keywords)):
            if isinstance(value, ast.Name | ast.Attribute | ast.Subscript | ast.ListComp):
                for found in self.objects.evaluate(value, here.frame):
                    yield from (x.path.removesuffix(".*") for x in layers_in(found))

    def _picked_recipes(self, function: Function, node: ast.Call, here: Here, layers: str) -> bool:
        """Follow the recipes by which a function runs the layers that it is given."""
        if not any(True for _ in self._stacks_given(node, here)):
            return False
        frame = self.objects.called_frame(function, node, here.frame)
        if frame is None:
            return False
        ran: list[Ran] = []
        for name, values in frame.names.items():
            for layer in dict.fromkeys(x for value in values for x in layers_in(value)):
                found = run_recipe(self.objects, function.ref, name, layer)
                ran += [found] if found is not None else []
        self._run(ran, node, here, layers)
        return bool(ran)

    def _run(self, ran: Iterable[Ran], node: ast.Call, here: Here, layers: str) -> None:
        for item in ran:
            for event in item.events:
                self.note(event, node, here, layers)
            for method in item.methods:
                self._kept(method, runs=True)

    # ---- what is not called ----

    def listed(self, items: list[ast.expr], here: Here) -> None:
        """Methods of modules in a list: something runs them later."""
        found: dict[Thing, list[ast.Attribute]] = {}
        for item in items:
            if isinstance(item, ast.Attribute):
                for value in self.objects.evaluate(item, here.frame):
                    if isinstance(value, Function) and value.receiver is not None:
                        found.setdefault(value.receiver, []).append(item)
                        self._kept(value)
        for thing, nodes in found.items():
            first, last = nodes[0], nodes[-1]
            whole = ast.copy_location(ast.Name(operations_text(nodes)), first)
            whole.end_lineno = last.end_lineno
            self.emit(thing, RECIPE, whole, here)

    def read(self, node: ast.Attribute, here: Here) -> None:
        """A weight of another module is read, to compute with it."""
        if here.looks or not isinstance(node.ctx, ast.Load):
            return
        if self.is_weight(node.attr):
            for value in self.objects.evaluate(node.value, here.frame):
                if isinstance(value, Thing | Foreign) and not self.runs_now(value):
                    self.emit(value, FUSED, node, here)

    def _handed(self, node: ast.Call, here: Here) -> None:
        """Modules are given to what cannot be followed, or to what they hold themselves."""
        name = self.objects.text(node.func)
        if any(fnmatchcase(name, glob) for glob in self.hooks.looks):
            return
        own = self._owners(node.func, here)
        for value in self._arguments(node, here):
            if isinstance(value, Function):
                self._kept(value)
            if isinstance(value, Thing | Foreign) and not self.runs_now(value):
                self.emit(value, FUSED if value in own else HANDED, node, here)
        match node.func:
            case ast.Call(ast.Name("getattr"), [ast.Name("self"), *_]) if here.frame.receiver:
                self.lost.setdefault(here.frame.receiver, (here.frame.file, node.lineno))

    def _arguments(self, node: ast.Call, here: Here) -> Iterator[Value]:
        """What is given to a call as it stands."""
        for given in (*node.args, *(item.value for item in node.keywords)):
            if isinstance(given, ast.Name | ast.Attribute | ast.Subscript):
                yield from self.objects.evaluate(given, here.frame)

    def _kept(self, function: Function, *, runs: bool = False) -> None:
        """A method of an object is kept by something, which may call it."""
        outline = self.index.modules.function(function.ref)
        if outline is not None and function.receiver is not None:
            frame = self.frame_of(function.receiver, function.ref, outline)
            self.enter(frame, running=function.receiver if runs else None)

    def _constructed(self, cls: ClassRef, node: ast.Call, here: Here) -> None:
        """An object is made: it may call what it is given, now or later."""
        for value in self._arguments(node, here):
            if isinstance(value, Function):
                self._kept(value)
        found = self.index.modules.method(cls, INIT)
        if found is not None:
            thing = self.objects.create(cls, node, here.frame, "")
            self._enter(Function(found[0], thing), node, here)

    def _owners(self, node: ast.expr, here: Here) -> set[Value]:
        """The objects that an attribute chain goes through."""
        found: set[Value] = set()
        while isinstance(node, ast.Attribute):
            node = node.value
            found.update(self.objects.evaluate(node, here.frame))
        return found
