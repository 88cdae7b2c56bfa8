"""The conditions on the paths of a served class: what its entry methods test."""

import ast
from collections.abc import Iterator

from pathaudit.gates.places import Place, tests_of
from pathaudit.gates.scopes import Names, Scope, is_parameter
from pathaudit.index import ClassRef, FunctionRef, Index, Instance

_DEPTH = 4  # objects within objects from the served class to its layers


def find_served(index: Index, name: str) -> ClassRef | None:
    """The served class of a name."""
    for file in index.modules.holding(index.profile.models, f"class {name}"):
        for ref in index.served(file):
            if ref.name == name:
                return ref
    return None


def entry_places(index: Index, cls: ClassRef, method: str) -> list[Place]:
    """The tests of an entry method and of what it hands its batch to, callers first."""
    names = Names(index)
    found: dict[tuple[str, int, int], Place] = {}
    for scope in _functions(names, cls, method):
        for test in tests_of(scope.function.node) if scope.function else ():
            found.setdefault((scope.file, test.lineno, test.col_offset), Place(test, scope))
    return list(found.values())


def caller_of(index: Index, method: str) -> Place | None:
    """A call of an entry method by what runs models."""
    from_callers = index.modules.holding(index.profile.features.callers, f".{method}(")
    for file in from_callers:
        outline = index.modules.outline(file)
        for cls in outline.classes.values() if outline else ():
            for function in cls.methods.values():
                scope = Scope(file, function, ClassRef(file, cls.name))
                place = _call_in(scope, method)
                if place is not None:
                    return place
    return None


def _call_in(scope: Scope, method: str) -> Place | None:
    for node in scope.function.nodes if scope.function else ():
        match node:
            case ast.Call(ast.Attribute(ast.Attribute(), attr)) if attr == method:
                return Place(node, scope)
    return None


def _functions(names: Names, cls: ClassRef, method: str) -> Iterator[Scope]:
    """A method and what it calls with the batch: of its object and of objects it holds."""
    batch = names.index.profile.entries.batch
    pending = [(cls, method, 0)]
    seen: set[tuple[ClassRef, FunctionRef]] = set()
    while pending:
        owner, name, depth = pending.pop(0)
        found = names.index.modules.method(owner, name)
        if found is None or (owner, found[0]) in seen:
            continue
        seen.add((owner, found[0]))
        if not is_parameter(found[1].node, batch):
            continue
        scope = Scope(found[0].file, found[1], owner)
        yield scope
        if depth < _DEPTH and not names.index.stacks_of(Instance(owner)):
            pending += _called(names, scope, depth)


def _called(names: Names, scope: Scope, depth: int) -> Iterator[tuple[ClassRef, str, int]]:
    call = names.index.profile.modules.call
    for node in scope.function.nodes if scope.function else ():
        match node:
            case ast.Call(ast.Attribute(ast.Name("self"), attr)) if scope.cls is not None:
                if names.index.modules.method(scope.cls, attr):
                    yield scope.cls, attr, depth
                else:
                    target = names.class_of(node.func, scope)
                    if target is not None:
                        yield target, call, depth + 1
            case ast.Call(ast.Attribute(ast.Attribute() as value, attr)):
                target = names.class_of(value, scope)
                if target is not None:
                    yield target, attr, depth + 1
