"""What a function collects for a feature: the names, and where they are filled."""

import ast
from collections.abc import Iterator
from functools import cached_property

from pathaudit.check.relays_layers import Loops, inside_of, names_in
from pathaudit.index import ClassRef, FunctionRef, Index
from pathaudit.index.syntax import dotted_name
from pathaudit.paths import Question

# How many assignments lie between a switch and the test that asks for it.
_ALIASES = 4


class Collections:
    """Accumulators of one function; the verbs that add to one are those of the question."""

    def __init__(self, index: Index, question: Question, ref: FunctionRef, loops: Loops) -> None:
        self._index = index
        self._question = question
        self._ref = ref
        self._loops = loops
        self._known: dict[tuple[str, int], frozenset[str]] = {}

    def filled(self, switches: frozenset[str]) -> Iterator[tuple[str, ast.expr]]:
        """The accumulators that a switch guards, each with the place that first fills it."""
        found: dict[str, ast.expr] = {}
        for name, place, asked in self._places:
            if asked & switches:
                found.setdefault(name, place)
        yield from sorted(found.items())

    def refusal(self, name: str) -> str:
        """The method that is called on an accumulator here and may raise, such as ``finish()``."""
        calls = (part for part in ast.walk(self._loops.node) if isinstance(part, ast.Call))
        for call in sorted(calls, key=lambda item: (item.lineno, item.col_offset)):
            match call.func:
                case ast.Attribute(ast.Name(owner), method) if owner == name:
                    if any(self._may_raise(cls, method) for cls in self._classes(name)):
                        return f"{method}()"
        return ""

    def _classes(self, name: str) -> Iterator[ClassRef]:
        for value in self._values(name):
            for part in ast.walk(value):
                found = self._class_of(part) if isinstance(part, ast.Call) else None
                if found is not None:
                    yield found

    def _may_raise(self, cls: ClassRef, method: str) -> bool:
        found = self._index.modules.method(cls, method)
        return (
            found is not None
            and method not in self._question.collecting
            and any(isinstance(part, ast.Raise | ast.Assert) for part in found[1].nodes)
        )

    @cached_property
    def guarded(self) -> frozenset[str]:
        """The accumulators that are filled only where a switch of a feature says so."""
        switches = frozenset(self._index.profile.features.switches)
        return frozenset(name for name, _, asked in self._places if asked & switches)

    @cached_property
    def adding(self) -> tuple[tuple[str, ast.Call], ...]:
        """Each call that adds to an accumulator by a verb of the event."""
        calls = (part for part in ast.walk(self._loops.node) if isinstance(part, ast.Call))
        return tuple((name, call) for call in calls for name in self._verbs(call))

    @cached_property
    def _places(self) -> list[tuple[str, ast.expr, frozenset[str]]]:
        """Where something is added to a name, and the attributes that tests around it ask for."""
        found: list[tuple[str, ast.expr, frozenset[str]]] = []
        self._block(self._loops.node.body, frozenset(), found)
        return sorted(found, key=lambda item: item[1].lineno)

    def _block(
        self,
        body: list[ast.stmt],
        asked: frozenset[str],
        found: list[tuple[str, ast.expr, frozenset[str]]],
    ) -> None:
        for statement in body:
            if isinstance(statement, ast.If):
                self._block(statement.body, asked | self.attributes(statement.test), found)
                self._block(statement.orelse, asked, found)
            else:
                self._block(inside_of(statement), asked, found)
            for part in _expressions(statement):
                if isinstance(part, ast.Call):
                    found += ((name, part, x | asked) for name, x in self._added(part))

    def _added(self, call: ast.Call) -> Iterator[tuple[str, frozenset[str]]]:
        yield from ((name, frozenset()) for name in self._verbs(call))
        if not self._loops.is_run(call):
            return
        for item in (*call.args, *(keyword.value for keyword in call.keywords)):
            for part in ast.walk(item):
                if isinstance(part, ast.IfExp):
                    asked = self.attributes(part.test)
                    yield from ((x, asked) for x in self._behind(part.body))

    def _verbs(self, call: ast.Call) -> Iterator[str]:
        match call.func:
            case ast.Attribute(ast.Name(name), verb) if verb in self._question.collecting:
                if self._is_accumulator(name):
                    yield name

    def _behind(self, node: ast.expr) -> Iterator[str]:
        """The accumulators that an expression gives away, also through a function of this one."""
        for name in sorted(names_in(node)):
            inner = next(
                (
                    part
                    for part in self._loops.statements
                    if isinstance(part, ast.FunctionDef) and part.name == name
                ),
                None,
            )
            names = names_in(inner) if inner is not None else frozenset((name,))
            yield from (item for item in sorted(names) if self._is_accumulator(item))

    def _is_accumulator(self, name: str) -> bool:
        return any(self._makes(value) for value in self._values(name))

    def _values(self, name: str) -> Iterator[ast.expr]:
        """What a name is assigned."""
        for part in self._loops.statements:
            targets = part.targets if isinstance(part, ast.Assign) else []
            if isinstance(part, ast.AnnAssign):
                targets = [part.target]
            if any(isinstance(item, ast.Name) and item.id == name for item in targets):
                value = getattr(part, "value", None)
                if isinstance(value, ast.expr):
                    yield value

    def _makes(self, value: ast.expr) -> bool:
        """Does an expression make something that collects?"""
        match value:
            case ast.List([]) | ast.Call(ast.Name("list"), []):
                return True
            case ast.IfExp(_, first, second):
                return self._makes(first) or self._makes(second)
            case ast.Call():
                found = self._class_of(value)
                verbs = self._question.collecting
                return found is not None and bool(
                    self._index.collecting_methods(found, verbs) & verbs
                )
            case _:
                return False

    def _class_of(self, call: ast.Call) -> ClassRef | None:
        """The class whose constructor, or other maker, is called."""
        text = dotted_name(call.func)
        found = self._index.modules.resolve(self._ref.file, text) if text else None
        if isinstance(found, FunctionRef):
            found = self._index.modules.owner(found)
        return found if isinstance(found, ClassRef) else None

    def attributes(self, test: ast.expr, depth: int = 0) -> frozenset[str]:
        """The attributes that a test asks for, also through names."""
        own = {part.attr for part in ast.walk(test) if isinstance(part, ast.Attribute)}
        own |= {
            part.value
            for part in ast.walk(test)  # a name in quotes: `getattr(layer, "captures", False)`
            if isinstance(part, ast.Constant) and isinstance(part.value, str)
        }
        for name in names_in(test) if depth < _ALIASES else ():
            own |= self._behind_name(name, depth)
        return frozenset(own)

    def _behind_name(self, name: str, depth: int) -> frozenset[str]:
        """The attributes that what a name is assigned asks for; what a layer made asks nothing."""
        key = (name, depth)
        if key not in self._known:
            values = [x for x in self._values(name) if not self._loops.runs_in(x)]
            found = (self.attributes(value, depth + 1) for value in values)
            self._known[key] = frozenset[str]().union(*found)
        return self._known[key]


def _expressions(statement: ast.stmt) -> Iterator[ast.AST]:
    """The parts of a statement that are no statements."""
    pending: list[ast.AST] = [
        item for item in ast.iter_child_nodes(statement) if not isinstance(item, ast.stmt)
    ]
    while pending:
        part = pending.pop()
        yield part
        pending += (x for x in ast.iter_child_nodes(part) if not isinstance(x, ast.stmt))
