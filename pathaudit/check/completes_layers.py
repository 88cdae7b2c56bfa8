"""What a layer hands back: a residual beside its output, a reduction that it leaves to others."""

import ast
from collections.abc import Iterator

from msgspec import Struct

from pathaudit import ir
from pathaudit.check.completes_values import OTHER, Output, Plain, Several, Values, union
from pathaudit.check.places import region_in
from pathaudit.index import FunctionOutline, FunctionRef, Index, Instance
from pathaudit.index.resolve import ClassRef
from pathaudit.index.syntax import dotted_name

CALL_DEPTH = 5


class Producer(Struct, frozen=True, order=True):
    """The layer class that leaves a reduction to the next layer, and where it says so."""

    layer: str
    file: str
    region: ir.Region


class Run(Struct, frozen=True):
    """What running a layer of a stack gives, and the classes that owe a reduction then."""

    values: Values
    layers: tuple[str, ...]
    producers: tuple[Producer, ...]


def run_layer(index: Index, instance: Instance, stack: str, method: str) -> Run:
    """What calling ``method`` on a layer of the stack that an object holds may give."""
    layers = [
        layer
        for item in index.types.attribute(instance, stack).stacks()
        for layer in item.elements.instances()
    ]
    results: list[Values] = []
    producers: list[Producer] = []
    for layer in layers:
        found = index.modules.method(layer.cls, method)
        if found is None:
            continue
        marks = sorted(_marks(index, layer.cls, found[0], 0, set()))
        producers += [Producer(layer.cls.name, *place) for place in marks[:1]]
        results.append(_returned(found[1], owed=bool(marks)))
    names = tuple(sorted({layer.cls.name for layer in layers}))
    return Run(union(results) or OTHER, names, tuple(sorted(set(producers))))


# ---- what is returned ----


def _returned(function: FunctionOutline, *, owed: bool) -> Values:
    """The output first; beside it the residual, where some return gives one that is not None."""
    shapes = [shape for value in _returns(function) for shape in _tuples(function, value)]
    output: Values = frozenset({Output(owed=owed)})
    pairs = [shape for shape in shapes if shape is not None and len(shape) > 1]
    if shapes and not pairs:
        return output
    seconds = [_is_none(pair[1]) for pair in pairs] or [False]
    second: Values = frozenset({Plain.NONE if none else Plain.RESIDUAL for none in seconds})
    return frozenset({Several((output, second))})


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _returns(function: FunctionOutline) -> Iterator[ast.expr]:
    for node in _own_nodes(function.node):
        if isinstance(node, ast.Return) and node.value is not None:
            yield node.value


def _own_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a function, not those of functions inside it."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield child
            yield from _own_nodes(child)


def _tuples(function: FunctionOutline, value: ast.expr) -> Iterator[list[ast.expr] | None]:
    """The items of a returned tuple, nothing where a call hides what it is, else ``None``."""
    match value:
        case ast.Tuple(items):
            yield items
        case ast.Call():
            return
        case ast.Name(name):
            # `outputs = (hidden, residual)`, and `outputs += (weights,)` after it.
            stored = [x.value for x in function.locals.get(name, ()) if x.position is None]
            pairs = [item.elts for item in stored if isinstance(item, ast.Tuple)]
            yield from pairs
            if not pairs:
                yield None
        case _:
            yield None


# ---- what is owed ----

_Place = tuple[str, ir.Region]


def _marks(
    index: Index, cls: ClassRef, ref: FunctionRef, depth: int, seen: set[FunctionRef]
) -> set[_Place]:
    """Where a method, or what it returns the result of, marks a returned tensor as owed."""
    function = index.modules.function(ref)
    if function is None or depth > CALL_DEPTH or ref in seen:
        return set()
    seen.add(ref)
    returned = _returned_names(function)
    found = {
        (ref.file, place) for name, place in _marked(index, ref.file, function) if name in returned
    }
    for call in _returned_calls(function, returned):
        called = resolve(index, cls, index.modules.owner(ref), ref.file, call.func)
        if called is not None:
            found |= _marks(index, cls, called, depth + 1, seen)
    return found


def _returned_names(function: FunctionOutline) -> frozenset[str]:
    """The locals that a function may return, also through a tuple that is named first."""
    found: set[str] = set()
    pending = list(_returns(function))
    while pending:
        for node in ast.walk(pending.pop()):
            if isinstance(node, ast.Name) and node.id not in found:
                found.add(node.id)
                stored = function.locals.get(node.id, ())
                pending += [x.value for x in stored if isinstance(x.value, ast.Tuple | ast.Name)]
    return frozenset(found)


def _marked(index: Index, file: str, function: FunctionOutline) -> Iterator[tuple[str, ir.Region]]:
    """``name.mark = value`` and ``setattr(name, mark, value)``, unless the value takes it off."""
    marks = index.profile.reductions.marks
    outline = index.modules.outline(file)
    lines = outline.lines if outline else []
    for node in _own_nodes(function.node):
        match node:
            case ast.Assign([ast.Attribute(ast.Name(name), mark)], value):
                pass
            case ast.Call(ast.Name("setattr"), [ast.Name(name), ast.Constant(str(mark)), value]):
                pass
            case _:
                continue
        off = isinstance(value, ast.Constant) and not value.value
        if mark in marks and not off:
            yield name, region_in(lines, node)


def _returned_calls(function: FunctionOutline, returned: frozenset[str]) -> Iterator[ast.Call]:
    """The calls whose results a function returns, directly or through a local."""
    values = list(_returns(function))
    values += [x.value for name in sorted(returned) for x in function.locals.get(name, ())]
    for value in values:
        parts = value.elts if isinstance(value, ast.Tuple) else [value]
        yield from (part for part in parts if isinstance(part, ast.Call))


def resolve(
    index: Index, cls: ClassRef, owner: ClassRef | None, file: str, callee: ast.expr
) -> FunctionRef | None:
    """The function of the tree that a name, or a method of the receiver, means."""
    match callee:
        case ast.Attribute(ast.Name("self"), name):
            found = index.modules.method(cls, name)
            return found[0] if found else None
        case ast.Attribute(ast.Call(ast.Name("super")), name):
            found = index.modules.method(cls, name, after=owner)
            return found[0] if found else None
        case ast.Name() | ast.Attribute():
            name = dotted_name(callee)
            symbol = index.modules.resolve(file, name) if name else None
            return symbol if isinstance(symbol, FunctionRef) else None
        case _:
            return None
