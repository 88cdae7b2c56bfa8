"""Which statements, names and calls of a function can matter to the rule at hand.

A branch that holds no event, no jump and no assignment that feeds a test, a bound, a stack or a
callee is stepped over: what it assigns is forgotten, and no state is split on it.
"""

from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase

from msgspec import Struct

from pathaudit import ir

# Builtins that hand on what they receive, and those that only look at it.
PASSING = frozenset(
    ("enumerate", "zip", "list", "tuple", "reversed", "iter", "islice", "partial", "next", "sorted")
)
READING = frozenset(
    (
        "len",
        "isinstance",
        "hasattr",
        "getattr",
        "setattr",
        "print",
        "str",
        "repr",
        "type",
        "id",
        "range",
        "bool",
        "int",
    )
)


class Interest(Struct, frozen=True):
    """What to look for in a function.

    ``stacks``: attribute names that hold layer stacks. ``collecting``: method names that collect
    into an accumulator; ``keywords``: argument names that hand one on. ``runs``: patterns of layer
    methods that run it. ``switches``: attributes that an arming setter writes. ``carriers``: parameters that hold something followed.
    ``returns``: does anybody use what the function returns? ``touches``: does a method of the
    receiver matter? ``collects``: does a class collect?
    """

    stacks: frozenset[str]
    collecting: frozenset[str]
    keywords: frozenset[str]
    runs: tuple[str, ...]
    switches: frozenset[str]
    carriers: frozenset[str]
    receiver: str
    returns: bool
    touches: Callable[[str], bool]
    collects: Callable[[str], bool]


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
    def __init__(self, function: ir.Function, interest: Interest) -> None:
        self._function = function
        self._interest = interest
        self._carriers = set(interest.carriers)
        self._names: set[str] = set()
        self._chains: set[str] = set()
        self._relevant: set[int] = set()
        self._splits: set[int] = set()
        self._all = tuple(all_statements(function.body))
        self._bindings = [pair for item in self._all for pair in bindings(item)]
        self._handed = _handed_names(self._all, interest)

    def plan(self) -> Plan:
        while self._grow_carriers():
            pass
        for statement in self._all:
            for expression in own_expressions(statement):
                self._mark_splits(expression)
        self._split_callees()
        tail = self._tail()
        before = -1
        while before != (before := self._size()):
            for statement in self._function.body[: len(self._function.body) - tail]:
                self._mark(statement)
        return Plan(
            frozenset(self._names | self._carriers),
            frozenset(self._relevant),
            frozenset(self._splits),
            self._kept(),
            frozenset(name for name, _ in self._bindings),
            tail,
        )

    def _size(self) -> int:
        return len(self._names) + len(self._relevant) + len(self._chains)

    # ---- carriers ----

    def _grow_carriers(self) -> bool:
        before = len(self._carriers)
        for name, value in self._bindings:
            if name not in self._carriers and self.holds(value):
                self._carriers.add(name)
        for statement in self._all:
            if isinstance(statement, ir.Define) and self._body_matters(statement.function):
                self._carriers.add(statement.function.name)
        return len(self._carriers) != before

    def _body_matters(self, function: ir.Function) -> bool:
        return any(
            self._is_event(node)
            or (isinstance(node, ir.Name) and node.id in self._carriers)
            or (isinstance(node, ir.Attribute) and self.holds(node))
            for statement in all_statements(function.body)
            for expression in own_expressions(statement)
            for node in walk(expression)
        )

    def holds(self, node: ir.Expression) -> bool:  # noqa: C901 - one arm a node type
        """May the value be a stack, a layer, an accumulator or something that closes over one?"""
        match node:
            case ir.Name(id):
                return id in self._carriers
            case ir.Attribute(value, name):
                return self._attribute_holds(value, name)
            case ir.Subscript(value) | ir.Starred(value) | ir.Walrus(_, value):
                return self.holds(value)
            case ir.Conditional(_, body, orelse):
                return self.holds(body) or self.holds(orelse)
            case ir.Boolean(_, operands):
                return any(self.holds(operand) for operand in operands)
            case ir.Collection(_, items):
                return not items or any(self._item_holds(item) for item in items)
            case ir.Mapping(_, values):
                return any(self._item_holds(value) for value in values)
            case ir.Binary("+" | "*", left, right):
                return self._part_holds(left) or self._part_holds(right)
            case ir.Comprehension(_, element, clauses):
                return any(self.holds(clause.iterable) for clause in clauses) or self.holds(element)
            case ir.Lambda(_, body):
                return any(self.holds(part) or self._is_event(part) for part in walk(body))
            case ir.Call():
                return self._call_holds(node)
            case _:
                return False

    def _part_holds(self, node: ir.Expression) -> bool:
        return not (isinstance(node, ir.Collection) and not node.items) and self.holds(node)

    def _attribute_holds(self, value: ir.Expression, name: str) -> bool:
        if name in self._interest.stacks:
            return True
        if self.holds(value):
            return name in self._interest.collecting or any(
                fnmatchcase(name, glob) for glob in self._interest.runs
            )
        match value:
            case ir.Name(id) if id == self._interest.receiver:
                return self._interest.touches(name)
            case ir.Call(ir.Name("super"), _, _):
                return self._interest.touches(name)
            case _:
                return False

    def _item_holds(self, node: ir.Expression) -> bool:
        """In a container also a bound method of a layer is something to run."""
        while isinstance(node, ir.Attribute) and node.name not in self._interest.stacks:
            node = node.value
        return self.holds(node)

    def _call_holds(self, node: ir.Call) -> bool:
        name = last_name(node.function)
        if name in PASSING:
            return any(self.holds(argument.value) for argument in node.arguments)
        if isinstance(node.function, ir.Name) and name == "list" and not node.arguments:
            return True
        if isinstance(node.function, ir.Attribute) and name in ("get", "pop"):
            return self.holds(node.function.value)  # of what `**kwargs` received
        if name[:1].isupper() and any(self.holds(item.value) for item in node.arguments):
            return True  # an object that is made with layers keeps them
        return self._interest.collects(dotted(node.function))

    # ---- calls ----

    def matters(self, node: ir.Call) -> bool:
        """May this call be an event, or lead to one?"""
        if self._is_event(node):
            return True
        function = node.function
        if last_name(function) in READING | PASSING:
            return False
        if self.holds(function):
            return True
        if isinstance(function, ir.Attribute) and self.holds(function.value):
            return True
        return any(self._hands_on(argument.value) for argument in node.arguments)

    def _hands_on(self, node: ir.Expression) -> bool:
        """An attribute of a layer hands nothing on, nor does an empty list."""
        empty = isinstance(node, ir.Collection) and not node.items
        return not empty and self.holds(node)

    def _is_event(self, node: ir.Expression) -> bool:
        if not isinstance(node, ir.Call):
            return False
        function = node.function
        if isinstance(function, ir.Attribute) and function.name in self._interest.collecting:
            return self.holds(function.value)
        return any(argument.keyword in self._interest.keywords for argument in node.arguments)

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
                return self.matters(node)
            case ir.Conditional():
                return self.holds(node)
            case ir.Collection(_, items):
                return any(isinstance(x, ir.Attribute) and self._item_holds(x) for x in items)
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

    # ---- statements ----

    def _mark(self, statement: ir.Statement) -> bool:
        """Mark a statement and those inside it; returns whether it is relevant."""
        inner = [self._mark(item) for block in blocks(statement) for item in block]
        found = any(inner) or self._is_relevant(statement)
        if found:
            self._relevant.add(id(statement))
            self._need(statement)
        return found

    def _is_relevant(self, statement: ir.Statement) -> bool:
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
                return self._shares(test)
            case ir.Assign(_, value, _) if self._keeps(statement) and self.holds(value):
                return True
            case _:
                wanted = self._names | self._carriers
                if any(name in wanted for name, _ in bindings(statement)):
                    return True
                return any(self._shares_store(target) for target in stored(statement))

    def _keeps(self, statement: ir.Statement) -> bool:
        """Is something stored on an object?"""
        return any(isinstance(target, ir.Attribute) for target in stored(statement))

    def _shares(self, test: ir.Expression) -> bool:
        """A test that raises matters where it tells of something that other tests ask."""
        found = set(chains(test))
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
        match statement:
            case ir.Branch(test, _, _, _) | ir.Assertion(test, _):
                self._need_test(test)
            case ir.Loop():
                for part in (statement.iterable, statement.test):
                    if part is not None:
                        self._need_test(part)
            case ir.Match(subject, _, _):
                self._need_test(subject)
            case ir.Exit("return", value, _) if value is not None and self._interest.returns:
                self._need_held(value)
        for name, value in bindings(statement):
            if name in self._names or name in self._carriers:
                self._names.update(self._sources(value))
        for expression in own_expressions(statement):
            if id(expression) in self._splits:
                self._need_parts(expression)

    def _need_held(self, value: ir.Expression) -> None:
        """Of what is returned, only what is followed."""
        for part in value.items if isinstance(value, ir.Collection) else (value,):
            if self.holds(part):
                self._names.update(names_of(part))

    def _sources(self, node: ir.Expression) -> Iterator[str]:
        """The names a value is made of; what a call returns is known by the call alone."""
        if isinstance(node, ir.Name):
            yield node.id
        elif not isinstance(node, ir.Call):
            for child in children(node):
                yield from self._sources(child)
        elif last_name(node.function) in PASSING | READING or self.holds(node):
            yield from names_of(node)

    def _need_test(self, test: ir.Expression) -> None:
        self._names.update(names_of(test))
        self._chains.update(chains(test))

    def _need_parts(self, expression: ir.Expression) -> None:
        """Inside an event: indexes, slices, the tests of split arms, callees, what is handed on."""
        for node in walk(expression):
            match node:
                case ir.Subscript(value, index) if self.holds(value):
                    self._need_test(index)
                case ir.Conditional(test, _, _) if self.holds(node) or id(node) in self._splits:
                    self._need_test(test)
                case ir.Call(function, arguments, _) if id(node) in self._splits:
                    self._names.update(names_of(function))
                    for argument in arguments:
                        if self._is_handed(argument.value):
                            self._names.update(names_of(argument.value))

    def _is_handed(self, node: ir.Expression) -> bool:
        """Arguments of events keep their value where it can decide what the callee does."""
        return self.holds(node) or (isinstance(node, ir.Name) and node.id in self._handed)

    # ---- results ----

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
        returned = (
            item.value
            for item in self._all
            if isinstance(item, ir.Exit) and item.kind == "return" and item.value is not None
        )
        if self._interest.returns and any(self.holds(value) for value in returned):
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
        last = statement is self._function.body[-1]
        if last and isinstance(statement, ir.Exit) and statement.kind == "raise":
            return True
        if isinstance(statement, ir.Assign) and self._keeps(statement):
            if self.holds(statement.value):
                return True
        return any(id(item) in self._splits for item in own_expressions(statement))


def _handed_names(statements: tuple[ir.Statement, ...], interest: Interest) -> frozenset[str]:
    """Locals that are only ever assigned constants or tests: flags worth handing on."""
    flags: dict[str, bool] = {}
    for statement in statements:
        for name, value in bindings(statement):
            flags[name] = flags.get(name, True) and _is_flag(value)
    return frozenset({name for name, flag in flags.items() if flag} - {interest.receiver})


def _is_flag(value: ir.Expression) -> bool:
    if isinstance(value, ir.Conditional):
        return _is_flag(value.body) and _is_flag(value.orelse)
    return isinstance(value, (ir.Constant, ir.Compare, ir.Boolean, ir.Unary))


def _raises(body: tuple[ir.Statement, ...]) -> bool:
    return bool(body) and any(
        isinstance(item, ir.Exit) and item.kind == "raise" for item in all_statements(body)
    )


# ---- walking the IR ---------------------------------------------------------------------------


def blocks(statement: ir.Statement) -> tuple[tuple[ir.Statement, ...], ...]:
    """The nested statement lists of a statement; the body of a nested function is none."""
    match statement:
        case ir.Branch(_, body, orelse, _):
            return (body, orelse)
        case ir.Loop():
            return (statement.body, statement.orelse)
        case ir.With(_, body, _):
            return (body,)
        case ir.Try(body, handlers, orelse, final, _):
            return (body, *(handler.body for handler in handlers), orelse, final)
        case ir.Match(_, cases, _):
            return tuple(case.body for case in cases)
        case _:
            return ()


def all_statements(body: tuple[ir.Statement, ...]) -> Iterator[ir.Statement]:
    """Every statement of a body, nested ones after the one that holds them."""
    for statement in body:
        yield statement
        for block in blocks(statement):
            yield from all_statements(block)


def own_expressions(statement: ir.Statement) -> Iterator[ir.Expression]:  # noqa: C901
    """The expressions a statement evaluates itself, not those of statements inside it."""
    match statement:
        case ir.Assign(targets, value, _):
            yield from targets
            yield value
        case ir.AugmentedAssign(target, _, value, _):
            yield target
            yield value
        case ir.Evaluate(value, _) | ir.Assertion(value, _):
            yield value
        case ir.Branch(test, _, _, _):
            yield test
        case ir.Loop():
            yield from (
                item for item in (statement.target, statement.iterable, statement.test) if item
            )
        case ir.With(items, _, _):
            yield from (item.manager for item in items)
        case ir.Exit(_, value, _) if value is not None:
            yield value
        case ir.Match(subject, cases, _):
            yield subject
            yield from (case.guard for case in cases if case.guard)


def stored(statement: ir.Statement) -> Iterator[ir.Expression]:
    """The targets that a statement stores to."""
    match statement:
        case ir.Assign(targets, _, _) | ir.Delete(targets, _):
            for target in targets:
                yield from _flat(target)
        case ir.AugmentedAssign(target, _, _, _):
            yield target
        case ir.Loop() if statement.target is not None:
            yield from _flat(statement.target)
        case ir.With(items, _, _):
            for item in items:
                if item.target is not None:
                    yield from _flat(item.target)


def _flat(target: ir.Expression) -> Iterator[ir.Expression]:
    match target:
        case ir.Collection(_, items):
            for item in items:
                yield from _flat(item)
        case ir.Starred(value):
            yield from _flat(value)
        case _:
            yield target


def bindings(statement: ir.Statement) -> Iterator[tuple[str, ir.Expression]]:
    """``(name, expression its value comes from)`` for each name a statement binds."""
    sources = tuple(own_expressions(statement))
    for expression in sources:
        for node in walk(expression):
            if isinstance(node, ir.Walrus):
                yield node.name, node.value
            if isinstance(node, ir.Comprehension):
                for clause in node.clauses:
                    for name in _flat(clause.target):
                        if isinstance(name, ir.Name):
                            yield name.id, clause.iterable
    match statement:
        case ir.Assign(_, value, _):
            source = value
        case ir.AugmentedAssign(target, operator, value, _):
            source = ir.Binary(operator, target, value)
        case ir.Loop() if statement.iterable is not None:
            source = statement.iterable
        case ir.With(items, _, _):
            for item in items:
                if item.target is not None:
                    for name in _flat(item.target):
                        if isinstance(name, ir.Name):
                            yield name.id, item.manager
            return
        case _:
            return
    for target in stored(statement):
        if isinstance(target, ir.Name):
            yield target.id, source


def children(node: ir.Expression) -> Iterator[ir.Expression]:  # noqa: C901 - one arm a type
    """The direct parts of an expression."""
    match node:
        case ir.Attribute(value, _) | ir.Starred(value) | ir.Walrus(_, value):
            yield value
        case ir.Subscript(value, index):
            yield from (value, index)
        case ir.Range(lower, upper, step):
            yield from (part for part in (lower, upper, step) if part is not None)
        case ir.Call(function, arguments, _):
            yield function
            yield from (argument.value for argument in arguments)
        case ir.Unary(_, operand):
            yield operand
        case ir.Binary(_, left, right) | ir.Compare(_, left, right):
            yield from (left, right)
        case ir.Boolean(_, operands) | ir.Opaque(_, operands) | ir.Collection(_, operands):
            yield from operands
        case ir.Conditional(test, body, orelse):
            yield from (test, body, orelse)
        case ir.Mapping(keys, values):
            yield from (key for key in keys if key is not None)
            yield from values
        case ir.Comprehension(_, element, clauses, _, key):
            for clause in clauses:
                yield from (clause.target, clause.iterable, *clause.conditions)
            yield from ((element,) if key is None else (key, element))
        case ir.Lambda(_, body, _):
            yield body
        case ir.Yield(value) if value is not None:
            yield value


def walk(node: ir.Expression) -> Iterator[ir.Expression]:
    """An expression and all its parts."""
    yield node
    for child in children(node):
        yield from walk(child)


def names_of(node: ir.Expression) -> set[str]:
    return {part.id for part in walk(node) if isinstance(part, ir.Name)}


def dotted(node: ir.Expression) -> str:
    """``a.b.c`` for a chain of attributes of a name, else nothing."""
    match node:
        case ir.Name(id):
            return id
        case ir.Attribute(value, name):
            base = dotted(value)
            return f"{base}.{name}" if base else ""
        case _:
            return ""


def last_name(node: ir.Expression) -> str:
    match node:
        case ir.Name(id):
            return id
        case ir.Attribute(_, name):
            return name
        case _:
            return ""


def contained(node: ir.Expression) -> Iterator[str]:
    """The names whose value may be in the value of an expression: not those it calls."""
    match node:
        case ir.Name(id):
            yield id
        case ir.Call(function, arguments, _):
            if isinstance(function, ir.Attribute):
                yield from contained(function.value)
            for argument in arguments:
                yield from contained(argument.value)
        case ir.Conditional(_, body, orelse):
            yield from contained(body)
            yield from contained(orelse)
        case ir.Comprehension():
            for clause in node.clauses:
                yield from contained(clause.iterable)
        case ir.Compare() | ir.Lambda():
            return
        case _:
            for child in children(node):
                yield from contained(child)


def chains(node: ir.Expression) -> Iterator[str]:
    """The longest attribute chains in an expression, without bare ``self``."""
    text = dotted(node)
    if text:
        if text != "self":
            yield text
        return
    for child in children(node):
        yield from chains(child)
