"""Which expressions of a function may hold a layer, a stack or an accumulator."""

from collections.abc import Callable
from fnmatch import fnmatchcase

from msgspec import Struct

from pathaudit import ir
from pathaudit.paths.walking import (
    all_statements,
    bindings,
    dotted,
    last_name,
    own_expressions,
    walk,
)

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
    methods that run it. ``switches``: attributes that an arming setter writes. ``carriers``:
    parameters that hold something followed. ``returns``: does anybody use what the function
    returns? ``touches``: does a method of the receiver matter, and ``gives``: does it return a
    layer? ``collects``: does a class collect? ``results``: calls, by ``id``, whose result is
    followed; ``wanted``: names to keep whatever they hold; ``whole``: nothing is left out at the
    end. Without ``lists`` an empty list is nothing to follow. ``makes``: does a function make what
    must stand around a run? ``leads``: calls, by ``id``, that lead to an event, and ``here``:
    statements, by ``id``, that are one.
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
    gives: Callable[[str], bool]
    collects: Callable[[str], bool]
    makes: Callable[[ir.Expression], bool]
    results: frozenset[int] = frozenset()
    wanted: frozenset[str] = frozenset()
    whole: bool = False
    lists: bool = True
    leads: frozenset[int] = frozenset()
    here: frozenset[int] = frozenset()


class Carriers:
    """The names of a function that carry something followed, found to a fixed point."""

    def __init__(self, function: ir.Function, interest: Interest) -> None:
        self.function = function
        self.interest = interest
        self.names = set(interest.carriers)
        self._lambdas: dict[tuple[int, int], bool] = {}
        self.statements = tuple(all_statements(function.body))
        self._bound = {id(item): tuple(bindings(item)) for item in self.statements}
        self.bindings = [pair for item in self.statements for pair in self._bound[id(item)]]
        while self._grow():
            pass

    def bound(self, statement: ir.Statement) -> tuple[tuple[str, ir.Expression], ...]:
        """What a statement of the function binds, as ``bindings`` has it."""
        return self._bound[id(statement)]

    def _grow(self) -> bool:
        before = len(self.names)
        for name, value in self.bindings:
            if name not in self.names and self.holds(value):
                self.names.add(name)
        for statement in self.statements:
            if isinstance(statement, ir.Define) and self._body_matters(statement.function):
                self.names.add(statement.function.name)
        return len(self.names) != before

    def _body_matters(self, function: ir.Function) -> bool:
        if any(id(item) in self.interest.here for item in all_statements(function.body)):
            return True
        return any(
            self.is_event(node)
            or (isinstance(node, ir.Name) and node.id in self.names)
            or (isinstance(node, ir.Attribute) and self.holds(node))
            for statement in all_statements(function.body)
            for expression in own_expressions(statement)
            for node in walk(expression)
        )

    def holds(self, node: ir.Expression) -> bool:  # noqa: C901 - one arm a node type
        """May the value be a stack, a layer, an accumulator or something that closes over one?"""
        match node:
            case ir.Name(id):
                return id in self.names
            case ir.Attribute(value, name):
                return self._attribute_holds(value, name)
            case ir.Subscript(value) | ir.Starred(value) | ir.Walrus(_, value):
                return self.holds(value)
            case ir.Conditional(_, body, orelse):
                return self.holds(body) or self.holds(orelse)
            case ir.Boolean(_, operands):
                return any(self.holds(operand) for operand in operands)
            case ir.Collection(_, items):
                if not items:
                    return self.interest.lists
                return any(self.item_holds(item) for item in items)
            case ir.Mapping(_, values):
                return any(self.item_holds(value) for value in values)
            case ir.Binary("*", ir.Collection("list"), _):
                return True
            case ir.Binary("+" | "*", left, right):
                return self._part_holds(left) or self._part_holds(right)
            case ir.Comprehension(_, element, clauses):
                return any(self.holds(clause.iterable) for clause in clauses) or self.holds(element)
            case ir.Lambda():
                return self._lambda_holds(node)
            case ir.Call():
                return self._call_holds(node)
            case _:
                return False

    def _lambda_holds(self, node: ir.Lambda) -> bool:
        """Kept for as long as no name is added: each part asks again of the lambdas in it."""
        key = (id(node), len(self.names))
        if key not in self._lambdas:
            self._lambdas[key] = any(
                self.holds(part) or self.is_event(part) for part in walk(node.body)
            )
        return self._lambdas[key]

    def _part_holds(self, node: ir.Expression) -> bool:
        return not (isinstance(node, ir.Collection) and not node.items) and self.holds(node)

    def _attribute_holds(self, value: ir.Expression, name: str) -> bool:
        if name in self.interest.stacks:
            return True
        if self.holds(value):
            return name in self.interest.collecting or any(
                fnmatchcase(name, glob) for glob in self.interest.runs
            )
        match value:
            case ir.Name(id) if id == self.interest.receiver:
                return self.interest.touches(name)
            case ir.Call(ir.Name("super"), _, _):
                return self.interest.touches(name)
            case _:
                return False

    def item_holds(self, node: ir.Expression) -> bool:
        """In a container also a bound method of a layer is something to run."""
        while isinstance(node, ir.Attribute) and node.name not in self.interest.stacks:
            node = node.value
        return self.holds(node)

    def _call_holds(self, node: ir.Call) -> bool:
        if id(node) in self.interest.results:
            return True
        name = last_name(node.function)
        if self.interest.makes(node.function):
            return True
        if name in PASSING:
            return any(self.holds(argument.value) for argument in node.arguments)
        if isinstance(node.function, ir.Name) and name == "list" and not node.arguments:
            return self.interest.lists
        if isinstance(node.function, ir.Attribute) and name in ("get", "pop"):
            return self.holds(node.function.value)  # of what `**kwargs` received
        if self._is_own_method(node.function) and self.interest.gives(name):
            return True
        if name[:1].isupper() and any(self.holds(item.value) for item in node.arguments):
            return True  # an object that is made with layers keeps them
        return self.interest.collects(dotted(node.function))

    def _is_own_method(self, node: ir.Expression) -> bool:
        return (
            isinstance(node, ir.Attribute)
            and isinstance(node.value, ir.Name)
            and node.value.id == self.interest.receiver
        )

    def matters(self, node: ir.Call) -> bool:
        """May this call be an event, or lead to one?"""
        if id(node) in self.interest.results or self.is_event(node):
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

    def is_event(self, node: ir.Expression) -> bool:
        if not isinstance(node, ir.Call):
            return False
        if id(node) in self.interest.leads:
            return True
        function = node.function
        if self.interest.makes(function):
            return True
        if isinstance(function, ir.Attribute) and function.name in self.interest.collecting:
            return self.holds(function.value)
        return any(argument.keyword in self.interest.keywords for argument in node.arguments)
