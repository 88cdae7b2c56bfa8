"""What calls make of the outputs of layers, and which of them read one before it is finished."""

import ast
from abc import ABC, abstractmethod
from fnmatch import fnmatchcase
from itertools import takewhile

from msgspec import Struct

from pathaudit import ir
from pathaudit.check.completes_layers import Run, resolve, run_layer
from pathaudit.check.completes_tests import Tests
from pathaudit.check.completes_values import (
    COLLECTION,
    NONE,
    OTHER,
    Atom,
    Layer,
    Output,
    Plain,
    State,
    Values,
    added,
    changed,
    outputs,
    reduced,
    union,
)
from pathaudit.check.places import region_in
from pathaudit.index import FunctionOutline, FunctionRef, Index, Instance
from pathaudit.index.resolve import ClassRef
from pathaudit.index.syntax import dotted_name, parameters

CALL_DEPTH = 6


class Read(Struct, frozen=True, order=True):
    """A place that reads what a layer returned.

    ``kind`` is ``captured`` or ``added``. ``bare`` where the value may lack the residual, ``owed``
    where its reduction may not have run; ``name`` is the local that is added to.
    """

    kind: str
    file: str
    region: ir.Region
    symbol: str
    name: str
    bare: bool
    owed: bool


class Frame:
    """One function being followed: whose it is, and what it returned so far."""

    def __init__(self, ref: FunctionRef, owner: ClassRef | None, depth: int) -> None:
        self.ref = ref
        self.owner = owner
        self.depth = depth
        self.loops = 0
        self.returned: Values = frozenset()
        self.leaving: list[list[State]] = []
        self.continuing: list[list[State]] = []


class Calls(Tests, ABC):
    """Evaluates calls; ``reads`` and ``runs`` are what was seen on the way.

    ``folds`` once the residual was seen to be added, or handed to a module with the output.
    """

    def __init__(self, index: Index, instance: Instance, verbs: frozenset[str]) -> None:
        super().__init__(index, instance)
        self.reads: dict[tuple[str, ir.Region, str], Read] = {}
        self.runs: dict[tuple[str, str], Run] = {}
        self.folds = False
        self.ran = 0
        self.verbs = verbs
        self.stacks = index.stacks_of(instance)

    @abstractmethod
    def follow(self, ref: FunctionRef, given: State, depth: int) -> Values:
        """What a function of the tree returns for some arguments."""

    @abstractmethod
    def evaluate(self, node: ast.expr | None, state: State, frame: Frame) -> Values:
        """What an expression may be."""

    def call(self, node: ast.Call, state: State, frame: Frame) -> Values:
        base: Values = OTHER
        method = ""
        if isinstance(node.func, ast.Attribute):
            base = self.evaluate(node.func.value, state, frame)
            method = node.func.attr
            callee: Values = OTHER
        else:
            callee = self.evaluate(node.func, state, frame)
        given = [self.evaluate(item, state, frame) for item in node.args]
        named = {item.arg or "": self.evaluate(item.value, state, frame) for item in node.keywords}
        every = [*given, *named.values()]
        collects = method in self.verbs and Plain.COLLECTION in base
        if collects or Plain.COLLECTOR in callee:
            self.capture(node, union(every), frame)
            return OTHER
        layers = self._layers(callee, base, method)
        if layers:
            return self._run(layers, method or self.index.profile.modules.call)
        if not every and isinstance(node.func, ast.Name) and node.func.id[:1].isupper():
            return COLLECTION  # an object that is made to collect
        return self._transformed(node, base, given, named, frame)

    def capture(self, node: ast.expr | ast.stmt, values: Values, frame: Frame) -> None:
        """Note that a collection gets values."""
        found = outputs(values)
        if found:
            self.note("captured", node, found, "", frame)

    def note(
        self,
        kind: str,
        node: ast.expr | ast.stmt,
        found: frozenset[Output],
        name: str,
        frame: Frame,
    ) -> None:
        """Keep a read of outputs; several visits of a place are one read."""
        outline = self.index.modules.outline(frame.ref.file)
        region = region_in(outline.lines if outline else [], node)
        bare = any(not item.folded for item in found)
        owed = any(item.owed for item in found)
        key = (frame.ref.file, region, kind)
        known = self.reads.get(key)
        if known is not None:
            bare, owed = bare or known.bare, owed or known.owed
        self.reads[key] = Read(kind, frame.ref.file, region, frame.ref.qualname, name, bare, owed)

    def _layers(self, callee: Values, base: Values, method: str) -> list[str]:
        """The stacks whose layers a call runs."""
        runs = self.index.profile.modules.runs
        if method and not any(fnmatchcase(method, glob) for glob in runs):
            return []
        values = base if method else callee
        return sorted({atom.stack for atom in values if isinstance(atom, Layer)})

    def _run(self, stacks: list[str], method: str) -> Values:
        self.ran += 1
        parts = []
        for stack in stacks:
            key = (stack, method)
            if key not in self.runs:
                self.runs[key] = run_layer(self.index, self.instance, stack, method)
            parts.append(self.runs[key].values)
        return union(parts)

    def _transformed(
        self,
        node: ast.Call,
        base: Values,
        given: list[Values],
        named: State,
        frame: Frame,
    ) -> Values:
        """What a call makes of what it is given: finished, moved about, or not known."""
        question = self.question(node, frame.ref.file)
        if question != OTHER:
            return question
        facts = self.index.profile.reductions
        name = _last_name(node.func)
        taken = union([base, *given, *named.values()])
        if self.reduces(node.func):
            return changed(frozenset(outputs(taken)), reduced) or OTHER
        if _matches(name, facts.moves):
            return frozenset[Atom](outputs(taken)) or OTHER
        if name in facts.adds and outputs(base):
            self.add(node, node.func, base, union(given), frame)
            return added(base, union(given))
        called = resolve(self.index, self.instance.cls, frame.owner, frame.ref.file, node.func)
        if called is not None:
            if frame.depth < CALL_DEPTH and self._worth(called, taken):
                bound = self._bound(called, node, given, named)
                return self.follow(called, bound, frame.depth + 1)
            return OTHER
        if not frame.loops and self._is_held(node.func, frame):
            # A module that is handed both, such as the final norm, adds one to the other.
            both = union([*given, *named.values()])
            self.note_fold(both, both)
        return OTHER

    def reduces(self, callee: ast.expr) -> bool:
        """Does a call run a reduction that is owed?"""
        return _matches(_last_name(callee), self.index.profile.reductions.completes)

    def _is_held(self, callee: ast.expr, frame: Frame) -> bool:
        """Is what is called an attribute of the object, or an argument of the function?"""
        root = dotted_name(callee).partition(".")[0]
        function = self.index.modules.function(frame.ref)
        return function is not None and root in parameters(function.node)

    def add(
        self,
        node: ast.expr | ast.stmt,
        target: ast.expr,
        values: Values,
        more: Values,
        frame: Frame,
    ) -> None:
        """Note what is added in place to an output, but for the residual."""
        found = outputs(values)
        if found and Plain.RESIDUAL not in more:
            root = target
            while isinstance(root, ast.Attribute | ast.Subscript):
                root = root.value
            name = root.id if isinstance(root, ast.Name) else ""
            self.note("added", node, found, name, frame)

    def _worth(self, ref: FunctionRef, taken: Values) -> bool:
        """May a function make or read outputs: is it given something, or does it run layers?"""
        if taken - OTHER - NONE:
            return True
        owner = self.index.modules.owner(ref)
        if owner is None:
            return False
        closure = self.index.closure(self.instance.cls, ref)
        return any(self.index.attributes_of(item) & self.stacks for item in closure)

    def _bound(self, ref: FunctionRef, call: ast.Call, given: list[Values], named: State) -> State:
        """The parameters of a function by what a call gives them, or by their defaults."""
        function = self.index.modules.function(ref)
        if function is None:
            return {}
        arguments = function.node.args
        names = [item.arg for item in (*arguments.posonlyargs, *arguments.args)]
        is_method = self.index.modules.owner(ref) is not None
        if is_method and not self.index.is_static(ref) and _has_receiver(call.func):
            names = names[1:]
        every = [*names, *(item.arg for item in arguments.kwonlyargs)]
        bound = {name: _default(function, name) for name in every}
        counted = takewhile(lambda item: not isinstance(item, ast.Starred), call.args)
        bound.update((name, value) for name, value, _ in zip(names, given, counted, strict=False))
        bound.update({name: value for name, value in named.items() if name in bound})
        return bound

    def note_fold(self, first: Values, second: Values) -> None:
        for one, other in ((first, second), (second, first)):
            if Plain.RESIDUAL in other and any(not x.folded for x in outputs(one)):
                self.folds = True


def _default(function: FunctionOutline, name: str) -> Values:
    arguments = function.node.args
    positional = [*arguments.posonlyargs, *arguments.args]
    pairs = [
        *zip(reversed(positional), reversed(arguments.defaults), strict=False),
        *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True),
    ]
    for item, default in pairs:
        if item.arg == name and isinstance(default, ast.Constant) and default.value is None:
            return NONE
    return OTHER


def _has_receiver(callee: ast.expr) -> bool:
    match callee:
        case ast.Attribute(ast.Name("self") | ast.Call(), _):
            return True
        case _:
            return False


def _last_name(node: ast.expr) -> str:
    match node:
        case ast.Name(name) | ast.Attribute(_, name):
            return name
        case _:
            return ""


def _matches(name: str, globs: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, glob) for glob in globs)
