"""What the forward of an object loads by name: in its own methods, its layers, what it holds."""

import ast
from collections.abc import Iterable, Iterator

from msgspec import Struct

from pathaudit import ir
from pathaudit.check.places import region_in
from pathaudit.check.reads_stores import mentions, receiver_of
from pathaudit.index import ClassRef, FunctionOutline, FunctionRef, Index, Symbol
from pathaudit.index.syntax import dotted_name

HELPER_DEPTH = 3


class Load(Struct, frozen=True, order=True):
    """``name`` is loaded in ``function``: from the method's ``own`` object, or from another."""

    function: FunctionRef
    region: ir.Region
    name: str
    own: bool


def forward_methods(index: Index, cls: ClassRef) -> tuple[FunctionRef, ...]:
    """The methods that the framework calls on an object, and those of its own these lead to."""
    names = dict.fromkeys((index.profile.modules.call, *index.profile.entries.methods))
    found = (index.modules.method(cls, name) for name in names)
    roots = [method[0] for method in found if method is not None]
    return tuple(dict.fromkeys(ref for root in roots for ref in index.closure(cls, root)))


def loads_of(index: Index, ref: FunctionRef, names: frozenset[str]) -> tuple[Load, ...]:
    """Where a function loads attributes of these names, also by ``getattr``, in order."""
    function = index.modules.function(ref)
    outline = index.modules.outline(ref.file)
    if function is None or outline is None or not mentions(index, ref, names):
        return ()
    return tuple(sorted(_loads(index, ref, function, names, outline.lines)))


def _loads(
    index: Index,
    ref: FunctionRef,
    function: FunctionOutline,
    names: frozenset[str],
    lines: list[str],
) -> Iterator[Load]:
    receiver = receiver_of(index, ref, function)
    for node in function.nodes:
        found = _loaded(node)
        if isinstance(node, ast.expr) and found is not None and found[1] in names:
            base, name = found
            own = isinstance(base, ast.Name) and base.id == receiver
            yield Load(ref, region_in(lines, node), name, own)


def _loaded(node: ast.AST) -> tuple[ast.expr, str] | None:
    match node:
        case ast.Attribute(base, name, ast.Load()):
            return base, name
        case ast.Call(ast.Name("getattr" | "hasattr"), [base, ast.Constant(str(name)), *_]):
            return base, name
        case _:
            return None


def helper_loads(
    index: Index, refs: Iterable[FunctionRef], names: frozenset[str]
) -> Iterator[Load]:
    """What functions and objects of other modules load, where methods call them by name."""
    known = set(refs)
    pending = [(ref, HELPER_DEPTH) for ref in sorted(known)]
    while pending:
        ref, depth = pending.pop()
        yield from loads_of(index, ref, names)
        for inner in _called(index, ref) if depth else ():
            if inner not in known:
                known.add(inner)
                pending.append((inner, depth - 1))


def _called(index: Index, ref: FunctionRef) -> Iterator[FunctionRef]:
    """Functions that are named in a function, and the methods of classes that are."""
    function = index.modules.function(ref)
    if function is None:
        return
    calls = (node for node in function.nodes if isinstance(node, ast.Call))
    for name in sorted({dotted_name(call.func) for call in calls} - {""}):
        symbol = _symbol(index, ref.file, function, name)
        if isinstance(symbol, FunctionRef):
            yield symbol
        elif isinstance(symbol, ClassRef):
            outline = index.modules.class_outline(symbol)
            for method in outline.methods.values() if outline else ():
                # What a setter looks up in order to write it is not read by any forward.
                if not index.profile.is_setter(method.name):
                    yield FunctionRef(symbol.file, method.qualname)


def _symbol(index: Index, file: str, function: FunctionOutline, name: str) -> Symbol | None:
    """What a name means in a function, which may import it itself."""
    imported = dict(function.imports).get(name)
    if imported is None or imported.attribute is None:
        return index.modules.resolve(file, name)
    found = index.modules.file_of(index.modules.absolute(file, imported))
    return index.modules.resolve(found, imported.attribute) if found is not None else None
