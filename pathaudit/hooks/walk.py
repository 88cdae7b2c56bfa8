"""Follows one variant of the forward through the tree, and notes what it does to each module.

Every function that may run a module is entered once for each set of modules that it is given.
Tests are decided as far as the variant's assumptions tell; of those left, both arms are followed.
"""

import ast
from collections.abc import Iterable
from fnmatch import fnmatchcase

from msgspec import Struct
from msgspec.structs import replace

from pathaudit.hooks.deciding import Decider
from pathaudit.hooks.events import FORWARD, Event
from pathaudit.hooks.layers import Sites
from pathaudit.hooks.objects import Objects
from pathaudit.hooks.values import (
    Constant,
    Frame,
    Function,
    Module,
    Thing,
    Value,
    Values,
    leads_on,
)
from pathaudit.index import ClassRef, FunctionRef
from pathaudit.index.outline import FunctionOutline
from pathaudit.index.syntax import dotted_name

FUNCTIONS = 6_000  # that are entered, each with what it is given
FRAMES = 60  # that call each other

Given = tuple[tuple[str, Values], ...]
Key = tuple[FunctionRef | None, Thing | None, Given, frozenset[tuple[Value, bool]]]


class Here(Struct, frozen=True, eq=False):
    """Where the walk stands: the tests around it, the lines of the loops, and how it looks.

    What only ``looks`` at a module, as a test does, does not use it.
    """

    frame: Frame
    guards: tuple[tuple[ast.expr, bool], ...] = ()
    loops: tuple[int, ...] = ()
    looks: bool = False

    def under(self, test: ast.expr, *, taken: bool) -> "Here":
        return replace(self, guards=(*self.guards, (test, taken)))


class Walk:
    """Statements; ``events`` are what was found, ``lost`` the calls by names made at run time.

    ``stacks`` are the names of the layer stacks of each class that owns some, ``sites`` the places
    where its methods run them. ``cut`` says that a budget ran out.
    """

    def __init__(
        self,
        objects: Objects,
        decider: Decider,
        stacks: dict[ClassRef, frozenset[str]],
        sites: dict[ClassRef, tuple[Sites, ...]],
    ) -> None:
        self.objects = objects
        self.index = objects.index
        self.hooks = objects.index.profile.hooks
        self.decider = decider
        self.stacks = stacks
        self.sites = sites
        self.events: dict[Event, None] = {}
        self.lost: dict[Thing, tuple[str, int]] = {}
        self.cut = False
        self._entered: set[Key] = set()
        self._active: list[Value | None] = []
        self._running: list[Value] = []

    def enter_served(self, root: Thing, name: str) -> None:
        """Follow a method of the served class, or of what it keeps under that name."""
        for value in self.objects.attribute(root, name):
            if not isinstance(value, Function) or value.receiver is None:
                continue
            function = self.index.modules.function(value.ref)
            if function is not None:
                self._kept_forward(root, name, value.receiver)
                frame = self.frame_of(value.receiver, value.ref, function)
                self.enter(frame, running=value.receiver)

    def _kept_forward(self, root: Thing, name: str, receiver: Thing) -> None:
        """Note a forward that the served class keeps as its own: it is not called, either."""
        for cls in self.index.modules.mro(root.cls) if receiver != root else ():
            outline = self.index.modules.class_outline(cls)
            for store in outline.stores if outline is not None else ():
                if store.name == name:
                    where = (cls.file, store.line, store.line, f"{cls.name}.{store.method}")
                    text = self.objects.text(store.value)
                    self.events[Event(receiver, FORWARD, *where, text)] = None

    def frame_of(self, thing: Thing, ref: FunctionRef, function: FunctionOutline) -> Frame:
        owner = self.index.modules.owner(ref) or thing.cls
        return self.objects.method_frame(thing, owner, ref, function)

    def enter(self, frame: Frame, *, running: Thing | None = None) -> None:
        """Follow a function, unless it was with the same modules, or leads to none.

        ``running`` is the module that it runs, if it does not only do something with one.
        """
        self._running += [running] if running is not None else []
        self._follow(frame)
        if running is not None:
            self._running.pop()

    def _follow(self, frame: Frame) -> None:
        given = [(name, _told(values)) for name, values in frame.names.items()]
        own = frozenset(
            (x, x in self._running) for _, values in given for x in values if x in self._active
        )
        key = (frame.ref, frame.receiver, tuple((name, x) for name, x in given if x), own)
        leads = frame.receiver is not None or any(
            leads_on(value) for _, values in given for value in values
        )
        if key in self._entered or not leads:
            return
        if len(self._entered) >= FUNCTIONS or len(self._active) >= FRAMES:
            self.cut = True
            return
        self._entered.add(key)
        self._active.append(frame.receiver)
        if isinstance(frame.node, ast.FunctionDef | ast.AsyncFunctionDef):
            self.block(frame.node.body, Here(frame))
        self._active.pop()

    def runs_now(self, module: Value, *, whole: bool = False) -> bool:
        """Is a module at work, so that what it does with itself does not pass it by?

        Of its ``whole`` forward that is so only where the module was run before, not a mere part.
        """
        return module in (self._running if whole else self._active)

    # ---- statements ----

    def block(self, body: Iterable[ast.stmt], here: Here) -> bool:
        """Follow statements in order; does control go on after them?"""
        for statement in body:
            if isinstance(statement, ast.If):
                goes, here = self._branch(statement, here)
            else:
                goes = self._statement(statement, here)
            if not goes:
                return False
        return True

    def _branch(self, node: ast.If, here: Here) -> tuple[bool, Here]:
        """An ``if``; what follows it stands under the test, where one arm does not go on."""
        self.expression(node.test, replace(here, looks=True))
        known = self.decider.decide(node.test, here.frame)
        if known is not None:
            return self.block(node.body if known else node.orelse, here), here
        goes = self.block(node.body, here.under(node.test, taken=True))
        others = self.block(node.orelse, here.under(node.test, taken=False))
        if goes != others:
            return True, here.under(node.test, taken=goes)
        return goes, here

    def _statement(self, node: ast.stmt, here: Here) -> bool:  # noqa: C901 - one arm a form
        match node:
            case ast.Return(value):
                self.expressions([value], here)
                return False
            case ast.Raise() | ast.Continue() | ast.Break():
                return False
            case ast.For() | ast.AsyncFor():
                self._loop(node, here)
            case ast.While(test, body, orelse):
                self.expression(test, replace(here, looks=True))
                if self.decider.decide(test, here.frame) is not False:
                    self.block(body, replace(here, loops=(*here.loops, node.lineno)))
                self.block(orelse, here)
            case ast.With(items, body) | ast.AsyncWith(items, body):
                self.expressions([item.context_expr for item in items], here)
                return self.block(body, here)
            case ast.Try(body, handlers, orelse, final):
                goes = self.block([*body, *orelse], here)
                after = [self.block(handler.body, here) for handler in handlers]
                return self.block(final, here) and (goes or any(after))
            case ast.Match(subject, cases):
                self.expressions([subject], replace(here, looks=True))
                for case in cases:
                    self.block(case.body, here)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self.block(node.body, here)
            case ast.Assign([ast.Name(name)], ast.Attribute() as value):
                looks = self.is_weight(value.attr) and self._only_looked_at(name, here)
                self.expression(value, replace(here, looks=here.looks or looks))
            case ast.Assert() | ast.ClassDef() | ast.Import() | ast.ImportFrom():
                pass
            case _:
                self.expressions(ast.iter_child_nodes(node), here)
        return True

    def _only_looked_at(self, name: str, here: Here) -> bool:
        """Is a name that is assigned only asked for what shapes tell, and never used?"""
        nodes = list(ast.walk(here.frame.node))
        loads = [x for x in nodes if isinstance(x, ast.Name) and x.id == name]
        loads = [x for x in loads if isinstance(x.ctx, ast.Load)]
        asked = [x.value for x in nodes if isinstance(x, ast.Attribute) and self.is_shape(x.attr)]
        return bool(loads) and all(any(x is value for value in asked) for x in loads)

    def _loop(self, node: ast.For | ast.AsyncFor, here: Here) -> None:
        self.expression(node.iter, here)
        self.block(node.body, replace(here, loops=(*here.loops, node.lineno)))
        self.block(node.orelse, here)

    # ---- expressions ----

    def expressions(self, nodes: Iterable[ast.AST | None], here: Here) -> None:
        for node in nodes:
            if isinstance(node, ast.expr):
                self.expression(node, here)

    def expression(self, node: ast.expr, here: Here) -> None:
        """Follow an expression: what it calls, and which weights it reads."""
        if self._is_dull(node):
            return
        match node:
            case ast.IfExp():
                self._choice(node, here)
            case ast.Compare():
                self._children(node, replace(here, looks=True))
            case ast.Call():
                self.call(node, here)
            case ast.Attribute(base, name):
                if not self.is_shape(name):
                    self.read(node, here)
                    self.expression(base, here)
            case ast.List(items):
                self.listed(items, here)
                self._children(node, here)
            case _:
                self._children(node, here)

    def _choice(self, node: ast.IfExp, here: Here) -> None:
        self.expression(node.test, replace(here, looks=True))
        known = self.decider.decide(node.test, here.frame)
        for arm, taken in ((node.body, True), (node.orelse, False)):
            if known is None:
                self.expression(arm, here.under(node.test, taken=taken))
            elif known is taken:
                self.expression(arm, here)

    def _is_dull(self, node: ast.expr) -> bool:
        """Is there nothing in an expression that could use a module?"""
        dull = self.objects.dull
        if node not in dull:
            dull[node] = not any(
                isinstance(part, ast.Call | ast.List)
                or (isinstance(part, ast.Attribute) and self.is_weight(part.attr))
                for part in ast.walk(node)
            )
        return dull[node]

    def is_shape(self, name: str) -> bool:
        """Does an attribute of this name only tell something of a weight?"""
        return name in self.hooks.shapes

    def is_weight(self, name: str) -> bool:
        """Is an attribute of this name something to compute with?"""
        return any(fnmatchcase(name, glob) for glob in self.hooks.weights)

    def _children(self, node: ast.AST, here: Here) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self.expression(child, here)
            else:
                self._children(child, here)

    def call(self, node: ast.Call, here: Here) -> None:
        """Follow a call; what calls do is said by a subclass."""
        raise NotImplementedError

    def read(self, node: ast.Attribute, here: Here) -> None:
        """An attribute is read."""
        raise NotImplementedError

    def listed(self, items: list[ast.expr], here: Here) -> None:
        """Values are put in a list."""
        raise NotImplementedError

    def emit(self, module: Module, how: str, node: ast.AST, here: Here, layers: str = "") -> None:
        """Note that something happens to a module of the served class."""
        if not module.held or not self.objects.is_module(module):
            return
        line, last = getattr(node, "lineno", 1), getattr(node, "end_lineno", 1)
        text = node.func if isinstance(node, ast.Call) else node
        ref = here.frame.ref
        event = Event(
            module,
            how,
            here.frame.file,
            line,
            last,
            ref.qualname if ref is not None else "",
            dotted_name(text) if dotted_name(text) else ast.unparse(text),  # type: ignore[arg-type]
            self.when(here),
            layers,
        )
        self.events[event] = None

    def note(self, event: Event, node: ast.AST, here: Here, layers: str) -> None:
        """Note an event that a call leads to, elsewhere."""
        via = f"{here.frame.file}:{getattr(node, 'lineno', 1)}"
        self.events[replace(event, via=via, when=self.when(here), layers=layers)] = None

    def when(self, here: Here) -> tuple[str, ...]:
        """The tests around a place, as they came out."""
        return tuple(dict.fromkeys(self._guard(test, taken) for test, taken in here.guards))

    def _guard(self, test: ast.expr, taken: bool) -> str:
        if taken:
            return self.objects.text(test)
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            return self.objects.text(test.operand)
        return ast.unparse(ast.UnaryOp(ast.Not(), test))


def _told(values: Values) -> Values:
    """The values on which it depends what a function does."""
    return tuple(value for value in values if _tells(value))


def _tells(value: Value) -> bool:
    return isinstance(value, Constant) or leads_on(value)
