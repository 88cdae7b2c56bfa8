"""Which statements, names and calls of a function can matter to the rule at hand.

A branch that holds no event, no jump and no assignment that feeds a test, a bound, a stack or a
callee is stepped over: what it assigns is forgotten, and no state is split on it.
"""

from collections.abc import Iterator

from msgspec import Struct

from pathaudit import ir
from pathaudit.paths.carriers import PASSING, READING, Carriers, Interest
from pathaudit.paths.walking import (
    all_statements,
    blocks,
    chains,
    children,
    contained,
    dotted,
    last_name,
    names_of,
    own_expressions,
    stored,
    walk,
)


class Plan(Struct, frozen=True, eq=False):
    """The relevant part of one function; statements and expressions by ``id``.

    ``splits`` are expressions that must be evaluated with their calls and conditional arms.
    ``kept`` are names whose value can reach the caller, ``assigned`` all that are assigned.
    ``tail`` is the number of statements of the body after which nothing can happen any more.
    """

    names: frozenset[str]
    statements: frozenset[int]
    splits: frozenset[int]
    kept: frozenset[str]
    assigned: frozenset[str]
    tail: int


def plan_function(function: ir.Function, interest: Interest) -> Plan:
    """Find what matters in ``function``. Linear passes until nothing is added."""
    return _Planner(function, interest).plan()


class _Planner:
    """Marks what matters, to a fixed point."""

    def __init__(self, function: ir.Function, interest: Interest) -> None:
        self._function = function
        self._interest = interest
        self._carriers = Carriers(function, interest)
        self._names: set[str] = set(interest.wanted)
        self._chains: set[str] = set()
        self._relevant: set[int] = set()
        self._splits: set[int] = set()
        self._caught: set[int] = set()
        self._all = self._carriers.statements
        self._bindings = self._carriers.bindings
        self._handed = _handed_names(self._bindings) - {interest.receiver}

    def plan(self) -> Plan:
        for statement in self._all:
            for expression in own_expressions(statement):
                self._mark_splits(expression)
        self._split_callees()
        self._find_caught()
        tail = self._tail()
        shown = self._function.body[: len(self._function.body) - tail]
        self._mark_all(shown)
        if self._split_choices():
            self._mark_all(shown)
        return Plan(
            frozenset(self._names | self._carriers.names),
            frozenset(self._relevant),
            frozenset(self._splits),
            self._kept(),
            frozenset(name for name, _ in self._bindings),
            tail,
        )

    def _mark_all(self, body: tuple[ir.Statement, ...]) -> None:
        before = -1
        while before != (before := self._size()):
            for statement in body:
                self._mark(statement)

    def _split_choices(self) -> bool:
        """``end = a if test else b`` decides a bound or a test: its arms are told apart."""
        before = len(self._splits)
        for name, value in self._bindings:
            if name in self._names and isinstance(value, ir.Conditional) and _is_flag(value):
                self._splits.add(id(value))
        return len(self._splits) != before

    def _size(self) -> int:
        return len(self._names) + len(self._relevant) + len(self._chains)

    def _mark_splits(self, node: ir.Expression) -> bool:
        """Mark an expression whose evaluation can be an event or split the state."""
        inner = [self._mark_splits(child) for child in children(node)]
        found = self._splits_itself(node) or any(inner)
        if found:
            self._splits.add(id(node))
        return found

    def _splits_itself(self, node: ir.Expression) -> bool:
        match node:
            case ir.Call():
                return self._carriers.matters(node)
            case ir.Conditional() | ir.Comprehension():
                return self._carriers.holds(node)
            case ir.Collection(_, items):
                return any(
                    isinstance(x, ir.Attribute) and self._carriers.item_holds(x) for x in items
                )
            case _:
                return False

    def _split_callees(self) -> None:
        """``run = a if test else b`` before ``run(self.layers)`` decides what is called."""
        called = {
            node.function.id
            for statement in self._all
            for expression in own_expressions(statement)
            for node in walk(expression)
            if isinstance(node, ir.Call) and id(node) in self._splits
            if isinstance(node.function, ir.Name)
        }
        for name, value in self._bindings:
            if name in called and isinstance(value, ir.Conditional):
                self._splits.add(id(value))

    def _find_caught(self) -> None:
        """A ``raise`` inside a ``try`` leads to its handlers, where these do something."""
        for statement in self._all:
            if isinstance(statement, ir.Try):
                handled = all_statements(tuple(x for h in statement.handlers for x in h.body))
                if any(self._does_something(item) for item in handled):
                    self._caught.update(id(item) for item in all_statements(statement.body))

    def _does_something(self, statement: ir.Statement) -> bool:
        if isinstance(statement, ir.Exit) and statement.kind != "raise":
            return True
        return any(id(item) in self._splits for item in own_expressions(statement))

    def _mark(self, statement: ir.Statement) -> bool:
        """Mark a statement and those inside it; returns whether it is relevant."""
        inner = [self._mark(item) for block in blocks(statement) for item in block]
        found = any(inner) or self._is_relevant(statement)
        if found:
            self._relevant.add(id(statement))
            self._need(statement)
        return found

    def _is_relevant(self, statement: ir.Statement) -> bool:
        if id(statement) in self._interest.here:
            return True
        if any(id(item) in self._splits for item in own_expressions(statement)):
            return True
        match statement:
            case ir.Exit("raise"):
                return False
            case ir.Exit():
                return True
            case ir.Assertion(test, _):
                return self._shares(test)
            case ir.Branch(test, body, orelse, _) if _raises(body) or _raises(orelse):
                return self._shares(test) or self._binds(statement) or id(statement) in self._caught
            case ir.Assign(_, value, _) if self._keeps(statement) and self._carriers.holds(value):
                return True
            case ir.Assign() if self._puts(statement):
                return True
            case _:
                if self._binds(statement):
                    return True
                return any(self._shares_store(target) for target in stored(statement))

    def _keeps(self, statement: ir.Statement) -> bool:
        """Is something stored on an object?"""
        return any(isinstance(target, ir.Attribute) for target in stored(statement))

    def _puts(self, statement: ir.Statement) -> bool:
        """``collected[i] = hidden``."""
        return any(
            isinstance(target, ir.Subscript) and self._carriers.holds(target.value)
            for target in stored(statement)
        )

    def _binds(self, statement: ir.Statement) -> bool:
        wanted = self._names | self._carriers.names
        return any(name in wanted for name, _ in self._carriers.bound(statement))

    def _shares(self, test: ir.Expression) -> bool:
        """A test that raises matters where it tells of something that other tests ask."""
        found = set(chains(test))
        for name, value in self._bindings:
            if name in found and _is_flag(value):
                found.update(chains(value))
        return any(chain.rsplit(".", 1)[-1] in self._interest.switches for chain in found) or bool(
            found & self._chains
        )

    def _shares_store(self, target: ir.Expression) -> bool:
        chain = dotted(target)
        return bool(chain) and (
            chain in self._chains or chain.rsplit(".", 1)[-1] in self._interest.switches
        )

    def _need(self, statement: ir.Statement) -> None:
        """Names that decide a relevant statement are relevant too."""
        for test in _tests(statement):
            self._need_test(test)
        match statement:
            case ir.Exit("return", value, _) if value is not None and self._interest.returns:
                self._need_held(value)
        for name, value in self._carriers.bound(statement):
            if name in self._names or name in self._carriers.names:
                self._names.update(self._sources(value))
        for expression in own_expressions(statement):
            if id(expression) in self._splits:
                self._need_parts(expression)

    def _need_held(self, value: ir.Expression) -> None:
        """Of what is returned, only what is followed."""
        for part in value.items if isinstance(value, ir.Collection) else (value,):
            if self._carriers.holds(part):
                self._names.update(names_of(part))

    def _sources(self, node: ir.Expression) -> Iterator[str]:
        """The names a value is made of; what a call returns is known by the call alone."""
        if isinstance(node, ir.Name):
            yield node.id
        elif not isinstance(node, ir.Call):
            for child in children(node):
                yield from self._sources(child)
        elif last_name(node.function) in PASSING | READING or self._carriers.holds(node):
            yield from names_of(node)

    def _need_test(self, test: ir.Expression) -> None:
        self._names.update(names_of(test))
        self._chains.update(chains(test))

    def _need_parts(self, expression: ir.Expression) -> None:
        """Inside an event: indexes, slices, the tests of split arms, callees, what is handed on."""
        for node in walk(expression):
            match node:
                case ir.Subscript(value, index) if self._carriers.holds(value):
                    self._need_test(index)
                case ir.Conditional(test, _, _) if (
                    self._carriers.holds(node) or id(node) in self._splits
                ):
                    self._need_test(test)
                case ir.Call(function, arguments, _) if id(node) in self._splits:
                    self._names.update(names_of(function))
                    for argument in arguments:
                        if self._is_handed(argument.value):
                            self._names.update(names_of(argument.value))

    def _is_handed(self, node: ir.Expression) -> bool:
        """Arguments of events keep their value where it can decide what the callee does."""
        return self._carriers.holds(node) or (isinstance(node, ir.Name) and node.id in self._handed)

    def _kept(self) -> frozenset[str]:
        """Names whose value can reach the caller: returned, stored, or put into what is."""
        kept: set[str] = set()
        for statement in self._all:
            if isinstance(statement, ir.Exit) and statement.kind == "return" and statement.value:
                kept.update(contained(statement.value))
            for expression in own_expressions(statement):
                for node in walk(expression):
                    if isinstance(node, ir.Yield) and node.value is not None:
                        kept.update(contained(node.value))
            if isinstance(statement, ir.Assign) and any(
                not isinstance(target, ir.Name) for target in stored(statement)
            ):
                kept.update(contained(statement.value))
        assigned = [
            (target.id, statement.value)
            for statement in self._all
            if isinstance(statement, ir.Assign)
            for target in stored(statement)
            if isinstance(target, ir.Name)
        ]
        before = -1
        while before != (before := len(kept)):
            for name, value in assigned:
                if name in kept:
                    kept.update(contained(value))
        return frozenset(kept)

    def _tail(self) -> int:
        """How many statements at the end of the body can be left out.

        None where the function returns something that is followed.
        """
        if self._interest.whole:
            return 0
        returned = (
            item.value
            for item in self._all
            if isinstance(item, ir.Exit) and item.kind == "return" and item.value is not None
        )
        if self._interest.returns and any(self._carriers.holds(value) for value in returned):
            return 0
        count = 0
        for statement in reversed(self._function.body):
            if any(self._happens(item) for item in all_statements((statement,))):
                break
            count += 1
        return count

    def _happens(self, statement: ir.Statement) -> bool:
        """Is there an event in a statement, or is something followed stored on an object?

        A ``raise`` that ends the body ends the path, whatever stands before it.
        """
        if id(statement) in self._interest.here:
            return True
        last = statement is self._function.body[-1]
        if last and isinstance(statement, ir.Exit) and statement.kind == "raise":
            return True
        match statement:
            case ir.Assign(_, value, _) if self._keeps(statement) and self._carriers.holds(value):
                return True
            case ir.Assign() if self._puts(statement):
                return True
            case ir.AugmentedAssign(target, _, _, _) | ir.Assign(_, ir.Binary("+", target, _), _):
                if self._carriers.holds(target):
                    return True
        return any(id(item) in self._splits for item in own_expressions(statement))


def _tests(statement: ir.Statement) -> Iterator[ir.Expression]:
    """What decides which way a statement goes."""
    match statement:
        case ir.Branch(test, _, _, _) | ir.Assertion(test, _):
            yield test
        case ir.Loop():
            yield from (part for part in (statement.iterable, statement.test) if part is not None)
        case ir.Match(subject, _, _):
            yield subject


def _handed_names(bound: list[tuple[str, ir.Expression]]) -> frozenset[str]:
    """Locals only ever assigned constants, tests or attributes: flags and bounds to hand on."""
    flags: dict[str, bool] = {}
    for name, value in bound:
        flags[name] = flags.get(name, True) and _is_flag(value)
    return frozenset(name for name, flag in flags.items() if flag)


def _is_flag(value: ir.Expression) -> bool:
    if isinstance(value, ir.Conditional):
        return _is_flag(value.body) and _is_flag(value.orelse)
    if isinstance(value, ir.Binary):
        return _is_flag(value.left) and _is_flag(value.right)
    return bool(dotted(value)) or isinstance(value, (ir.Constant, ir.Compare, ir.Boolean, ir.Unary))


def _raises(body: tuple[ir.Statement, ...]) -> bool:
    return bool(body) and any(
        isinstance(item, ir.Exit) and item.kind == "raise" for item in all_statements(body)
    )
