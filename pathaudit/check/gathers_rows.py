"""Rows of one function: where they are shared out over ranks, gathered, and collected between."""

import ast
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase

from msgspec import Struct

from pathaudit.check.relays_collected import Collections
from pathaudit.check.relays_layers import Loops, names_in, stored_names
from pathaudit.index.syntax import dotted_name
from pathaudit.ruleset import Sharding


class Place(Struct, frozen=True, eq=False):
    """What is collected and not gathered.

    ``node`` is where its sibling ``gathered`` is, or where it is collected itself.
    """

    node: ast.expr | ast.stmt
    name: str
    gathered: str
    filled: ast.expr
    split: ast.expr | None


class Rows:
    """What the rows of one function are when they are collected, and when they leave."""

    def __init__(
        self,
        loops: Loops,
        collections: Collections,
        sharding: tuple[Sharding, ...],
        switches: frozenset[str],
    ) -> None:
        self._loops = loops
        self._collections = collections
        self._sharding = sharding
        self._switches = switches

    def parts(self, attributes: frozenset[str]) -> Iterator[Place]:
        """What stays in parts; ``attributes`` are those that the function mentions."""
        for kind in self._sharding:
            if kind.layout and attributes & frozenset(kind.layout):
                yield from self._scattered(kind)
            elif kind.split:
                yield from self._split(kind)

    # ---- rows that the function splits ----

    def _split(self, kind: Sharding) -> Iterator[Place]:
        splits = {
            name: call for part, call in self._calls(kind.split) for name in stored_names(part)
        }
        gathers = list(self._calls(kind.gather))
        for part, call in gathers if splits else ():
            whole = stored_names(part) & names_in(call)
            split = next((splits[name] for name in sorted(whole) if name in splits), None)
            if split is None or self._switched(part) or self._switched_call(split):
                continue
            yield from self._left_out(kind, part, min(whole), split)

    def _left_out(
        self, kind: Sharding, part: ast.stmt, gathered: str, split: ast.expr
    ) -> Iterator[Place]:
        for name, filled in self._collections.filled(self._switches):
            if self._returns(name) and not self._is_gathered(kind, name):
                yield Place(part, name, gathered, filled, split)

    def _calls(self, globs: tuple[str, ...]) -> Iterator[tuple[ast.stmt, ast.Call]]:
        for part in self._loops.statements:
            value = part.value if isinstance(part, ast.Assign) else None
            if isinstance(value, ast.Call) and _is_named(value, globs):
                yield part, value

    def _returns(self, name: str) -> bool:
        """Is a value in what some return gives, as far as names tell?"""
        returns = (part for part in self._loops.statements if isinstance(part, ast.Return))
        start = self._loops.node.lineno
        return any(name in self._loops.reaches(part, start) for part in returns)

    def _is_gathered(self, kind: Sharding, name: str) -> bool:
        """Is a collection gathered, each thing in it, or what adds to it?"""
        return any(
            _is_named(part, kind.gather) and name in self._related(part)
            for part in ast.walk(self._loops.node)
            if isinstance(part, ast.Call)
        )

    def _related(self, call: ast.Call) -> frozenset[str]:
        """The names that a gathering call is about: what it is given, and where that goes."""
        found = set(names_in(call))
        for part in ast.walk(self._loops.node):
            if isinstance(part, ast.FunctionDef) and part is not self._loops.node:
                if any(inner is call for inner in ast.walk(part)):
                    found |= names_in(part)
            elif isinstance(part, ast.For | ast.comprehension) and names_in(part.target) & found:
                found |= names_in(part.iter)
        found |= self._given(call)
        return frozenset(found)

    def _given(self, call: ast.Call) -> set[str]:
        """The collections that the result of a call is added to."""
        results = {
            name
            for part in self._loops.statements
            if isinstance(part, ast.Assign) and any(x is call for x in ast.walk(part.value))
            for name in stored_names(part)
        }
        return {
            name
            for name, place in self._collections.adding
            if any(x is call for x in ast.walk(place))
            or (names_in(*place.args) & results and call.lineno < place.lineno)
        }

    def _switched(self, statement: ast.stmt) -> bool:
        """Does a test around a statement ask for the feature? Then it may exclude it."""
        return any(
            isinstance(part, ast.If)
            and self._collections.attributes(part.test) & self._switches
            and any(inner is statement for inner in ast.walk(part))
            for part in self._loops.statements
        )

    def _switched_call(self, call: ast.expr) -> bool:
        return any(
            self._switched(part)
            for part in self._loops.statements
            if isinstance(part, ast.Assign) and part.value is call
        )

    # ---- rows that the layers scatter ----

    def _scattered(self, kind: Sharding) -> Iterator[Place]:
        """What is collected between layers as they left it, in a loop that runs them."""
        results = {name for run in self._loops.runs for name in run.results}
        inside = [part for loop in self._loops.loops for part in ast.walk(loop)]
        guarded = dict(self._collections.filled(self._switches))
        for name, place in self._collections.adding:
            if name not in guarded or not any(part is place for part in inside):
                continue
            if names_in(*place.args) & results and not self._is_gathered(kind, name):
                yield Place(place, name, "", place, None)


def _is_named(call: ast.Call, globs: Iterable[str]) -> bool:
    name = dotted_name(call.func).rpartition(".")[2]
    if not name and isinstance(call.func, ast.Attribute):
        name = call.func.attr
    return any(fnmatchcase(name, glob) for glob in globs)
