"""Steps of a slice through attributes: a property's body, else all that writes the attribute."""

import ast
from functools import partial
from typing import TYPE_CHECKING

from pathaudit.decisions import GateHop
from pathaudit.gates.scopes import Scope, is_property
from pathaudit.gates.traces import Trace, Traces, after, constant, run_time, unresolved
from pathaudit.gates.writers import Writer, last_name
from pathaudit.index import ClassRef, External, ValueRef

if TYPE_CHECKING:
    from pathaudit.gates.slicing import Slice


class Attributes:
    """Follows attributes for one slice."""

    def __init__(self, slice_: "Slice") -> None:
        self._slice = slice_
        self._known: dict[tuple[str, int], tuple[Traces, bool]] = {}  # by setter and depth left

    def follow(
        self, node: ast.expr, value: ast.expr, attr: str, scope: Scope, *, presence: bool = False
    ) -> Traces:
        read = self._slice.read(node, scope)
        if read:
            return read
        if attr in self._slice.index.profile.settings.runtime:
            return run_time(ast.unparse(node))
        symbol = self._slice.names.symbol(node, scope)
        if isinstance(symbol, ValueRef):
            return self._slice.variable(symbol)
        if self._is_member(value, attr, scope):
            return constant(ast.unparse(node))
        cls = self._slice.names.class_of(value, scope)
        if cls is None and isinstance(value, ast.Name) and value.id == "self":
            cls = scope.cls
        if cls is None and isinstance(self._slice.names.symbol(value, scope), External):
            return run_time(ast.unparse(node))
        return self._of(cls, attr, node, presence=presence)

    def _is_member(self, value: ast.expr, attr: str, scope: Scope) -> bool:
        """``Color.RED``: an attribute of a class, not of an object."""
        symbol = self._slice.names.symbol(value, scope)
        if not isinstance(symbol, ClassRef):
            return False
        outline = self._slice.index.modules.class_outline(symbol)
        return outline is not None and attr in outline.attributes

    def _of(
        self,
        cls: ClassRef | None,
        attr: str,
        node: ast.expr,
        *,
        presence: bool,
    ) -> Traces:
        """Where an attribute comes from: a property's body, else all that writes it.

        With ``presence`` it is only asked whether there is one: what decides that it is written
        counts, too.
        """
        called = last_name(node.value) if isinstance(node, ast.Attribute) else ""
        key = ("attribute", cls or called, attr)
        if not self._slice.once(key):
            return ()
        try:
            found = self._property(cls, attr)
            if found is not None:
                return found
            traces = self._written(cls, attr, called, presence)
            return traces or self._default(cls, attr) or unresolved(ast.unparse(node))
        finally:
            self._slice.leave()

    def _property(self, cls: ClassRef | None, attr: str) -> Traces | None:
        for owner in [cls] if cls else self._owners(attr):
            found = self._slice.index.modules.method(owner, attr)
            if found is not None and is_property(found[1]):
                return self._slice.callees.body(found[0], owner, (), "property")
        return None

    def _owners(self, attr: str) -> list[ClassRef]:
        """The one class that has a property of this name, where there is only one."""
        return [ref for ref, function in self._slice.owners(attr) if is_property(function)]

    def _writers(self, cls: ClassRef | None, attr: str, called: str) -> list[Writer]:
        """Who writes it; where the class is not known, only what surely is the same attribute.

        That is what the code calls by the same name, or all of it if one class alone has it.
        """
        every = self._slice.writers.of(attr, cls)
        found = [x for x in every if not self._is_foreign(x.scope.file)]
        if cls is not None:
            return found
        alike = [x for x in found if x.receiver == called]
        alone = len({x.receiver for x in found}) == 1
        return alike or (found if alone else [])

    def _written(self, cls: ClassRef | None, attr: str, called: str, presence: bool) -> Traces:
        writers = self._writers(cls, attr, called)
        initial = self._initial(writers)
        found: list[Trace] = []
        for writer in writers:
            hop = writer.scope.hop(writer.kind, writer.statement)
            armed = self._arms(writer)
            traces = self._from_writer(writer, presence)
            found += after((*initial, hop) if armed else (hop,), traces)
        if all(x.origin.kind == "constant" for x in found) and self._is_written_outside(cls, attr):
            found += unresolved(attr)
        return tuple(found)

    def _is_written_outside(self, cls: ClassRef | None, attr: str) -> bool:
        """May other code write an attribute of a model? Then it is not dead."""
        index = self._slice.index
        if cls is None or not index.is_model(cls.file):
            return False
        globs = index.profile.settings.files
        texts = (f".{attr} = ", f'"{attr}", ')
        files = {x for text in texts for x in index.modules.holding(globs, text)}
        return any(not index.is_model(x) for x in files)

    def _arms(self, writer: Writer) -> bool:
        """Is it a setter that arms a feature?"""
        function = writer.scope.function
        return function is not None and self._slice.index.profile.is_setter(function.name)

    def _is_foreign(self, file: str) -> bool:
        """Does a file belong to another model than the one whose condition is traced?"""
        return self._slice.index.is_model(file) and file not in self._slice.home

    def _initial(self, writers: list[Writer]) -> tuple[GateHop, ...]:
        """What an attribute is before a setter arms it."""
        first = next((x for x in writers if not self._arms(x)), None)
        return (first.scope.hop("attribute", first.statement),) if first else ()

    def _from_writer(self, writer: Writer, presence: bool) -> Traces:
        """A setter that arms a feature is decided by who calls it, anything else by its value."""
        if self._arms(writer) and writer.scope.function is not None:
            return self._armed(writer.scope.function.name)
        found = self._slice.stored(writer.value, writer.position, writer.statement, writer.scope)
        if presence and any(x.origin.kind != "constant" for x in found):
            return (*found, *self._slice.tests(writer.statement, writer.scope))
        return found

    def _armed(self, method: str) -> Traces:
        key = (method, self._slice.left)
        if key not in self._known:
            self._known[key] = self._slice.part(partial(self._callers, method))
        found, cut = self._known[key]
        if cut:
            self._slice.cut()
        return found

    def _callers(self, method: str) -> Traces:
        """The tests around the calls of a setter, or around those of the functions they are in."""
        if not self._slice.once(("armed", method)):
            return ()
        try:
            globs = self._slice.index.profile.features.callers
            found: list[Trace] = []
            for call, scope in self._slice.writers.callers(method, globs):
                traces = self._slice.tests(call, scope) or self._slice.callees.reached(scope)
                found += after((scope.hop("call", call),), traces)
            return tuple(found)
        finally:
            self._slice.leave()

    def _default(self, cls: ClassRef | None, attr: str) -> Traces:
        if cls is None:
            return ()
        for ref in self._slice.index.modules.mro(cls):
            outline = self._slice.index.modules.class_outline(ref)
            if outline is not None and attr in outline.attributes:
                value = outline.attributes[attr]
                scope = Scope(ref.file)
                return after((scope.hop("default", value),), self._slice.trace(value, scope))
        return ()
