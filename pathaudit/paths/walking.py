"""Walk the IR: statements, the expressions they hold, and the names in these."""

from collections.abc import Iterable, Iterator

from pathaudit import ir


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


def own_expressions(statement: ir.Statement) -> Iterator[ir.Expression]:
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


def assigned_names(body: Iterable[ir.Statement]) -> frozenset[str]:
    """The names that statements assign, at any depth."""
    found: set[str] = set()
    for statement in all_statements(tuple(body)):
        found.update(item.id for item in stored(statement) if isinstance(item, ir.Name))
        for expression in own_expressions(statement):
            found.update(item.name for item in walk(expression) if isinstance(item, ir.Walrus))
    return frozenset(found)


def binds_inside(node: ir.Expression) -> bool:
    """Does an expression bind a name: ``(name := value)``?"""
    return any(isinstance(part, ir.Walrus) for part in walk(node))


def bindings(statement: ir.Statement) -> Iterator[tuple[str, ir.Expression]]:
    """``(name, expression its value comes from)`` for each name a statement binds."""
    for expression in own_expressions(statement):
        for node in walk(expression):
            yield from _bound_inside(node)
    if isinstance(statement, ir.With):
        for item in statement.items:
            if item.target is not None:
                yield from _paired(_flat(item.target), item.manager)
        return
    source = _source(statement)
    if source is not None:
        yield from _paired(stored(statement), source)


def _bound_inside(node: ir.Expression) -> Iterator[tuple[str, ir.Expression]]:
    match node:
        case ir.Walrus(name, value):
            yield name, value
        case ir.Comprehension(_, _, clauses):
            for clause in clauses:
                yield from _paired(_flat(clause.target), clause.iterable)


def _source(statement: ir.Statement) -> ir.Expression | None:
    match statement:
        case ir.Assign(_, value, _):
            return value
        case ir.AugmentedAssign(target, operator, value, _):
            return ir.Binary(operator, target, value)
        case ir.Loop():
            return statement.iterable
        case _:
            return None


def _paired(
    targets: Iterator[ir.Expression], source: ir.Expression
) -> Iterator[tuple[str, ir.Expression]]:
    for target in targets:
        if isinstance(target, ir.Name):
            yield target.id, source


_LEAVES = (ir.Name, ir.Constant)


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


def walk(node: ir.Expression) -> list[ir.Expression]:
    """An expression and all its parts, each before its own."""
    found: list[ir.Expression] = []
    pending = [node]
    while pending:
        part = pending.pop()
        found.append(part)
        if not isinstance(part, _LEAVES):
            pending.extend(reversed(tuple(children(part))))
    return found


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
