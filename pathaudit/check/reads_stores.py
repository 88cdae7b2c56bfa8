"""What classes store by name, and whether a value that is stored can switch anything on."""

import ast
from collections.abc import Iterable, Iterator

from msgspec import Struct

from pathaudit.index import ClassRef, FunctionOutline, FunctionRef, Index


def defines(index: Index, cls: ClassRef, name: str) -> bool:
    """Does a class or a base of it give ``name`` a meaning that no setter needs to arm?

    A method or property of that name, or a class attribute that is not off.
    """
    for ref in index.modules.mro(cls):
        outline = index.modules.class_outline(ref)
        if outline is None:
            continue
        if name in outline.methods:
            return True
        if name in outline.attributes and not is_off(outline.attributes[name]):
            return True
    return False


class Store(Struct, frozen=True, eq=False):
    """``name`` is stored to on the method's ``own`` object, or on another, by ``node``."""

    name: str
    own: bool
    node: ast.expr | ast.stmt


def stores_of(
    index: Index, cls: ClassRef, names: frozenset[str]
) -> Iterator[tuple[FunctionRef, Store]]:
    """What the methods of a class and its bases store that may switch something on."""
    for base in index.modules.mro(cls):
        outline = index.modules.class_outline(base)
        for method in outline.methods.values() if outline is not None else ():
            ref = FunctionRef(base.file, method.qualname)
            yield from ((ref, store) for store in stores_in(index, ref, names))


def stores_in(index: Index, ref: FunctionRef, names: frozenset[str]) -> Iterator[Store]:
    """What a function stores to attributes of these names, unless that is surely off."""
    function = index.modules.function(ref)
    if function is None or not mentions(index, ref, names):
        return
    receiver = receiver_of(index, ref, function)
    for node in function.nodes:
        for base, name, value in _stored(node):
            if name in names and not is_off(value):
                own = isinstance(base, ast.Name) and base.id == receiver
                yield Store(name, own, node)  # type: ignore[arg-type]


_Stored = tuple[ast.expr, str, ast.expr]


def _stored(node: ast.AST) -> Iterator[_Stored]:
    match node:
        case ast.Assign(targets, value):
            for target in targets:
                yield from _unpacked(target, value)
        case ast.AnnAssign(target, _, ast.expr() as value) | ast.AugAssign(target, _, value):
            yield from _unpacked(target, value)
        case ast.Call(ast.Name("setattr"), [base, ast.Constant(str(name)), value]):
            yield base, name, value
        case ast.Call(ast.Attribute(ast.Attribute(base, name), "append" | "add"), [value]):
            yield base, name, ast.List([value])
        case ast.Call(ast.Attribute(ast.Attribute(base, name), "extend" | "update"), [value]):
            yield base, name, value


def _unpacked(target: ast.expr, value: ast.expr) -> Iterator[_Stored]:
    if isinstance(target, ast.Tuple | ast.List):
        values = value.elts if isinstance(value, ast.Tuple | ast.List) else []
        for position, item in enumerate(target.elts):
            yield from _unpacked(item, values[position] if position < len(values) else value)
    elif isinstance(target, ast.Attribute):
        yield target.value, target.attr, value


def is_off(value: ast.expr) -> bool:
    """Is a value false for sure: a false constant, or an empty container?"""
    match value:
        case ast.Constant(constant):
            return not constant
        case ast.List([]) | ast.Tuple([]) | ast.Set([]):
            return True
        case ast.Dict([], _):
            return True
        case ast.Call(ast.Name("list" | "tuple" | "set" | "frozenset" | "dict"), [], []):
            return True
        case _:
            return False


def receiver_of(index: Index, ref: FunctionRef, function: FunctionOutline) -> str:
    """The name that a method gives its object; nothing in any other function."""
    arguments = function.node.args.args
    return arguments[0].arg if index.modules.owner(ref) is not None and arguments else ""


def mentions(index: Index, ref: FunctionRef, names: Iterable[str]) -> bool:
    """Does the text of a function hold one of the names? Cheaper than to look at its tree."""
    text = text_of(index, ref)
    return any(name in text for name in names)


def text_of(index: Index, ref: FunctionRef) -> str:
    """The source text of a function, nothing if it is not in the tree."""
    function = index.modules.function(ref)
    outline = index.modules.outline(ref.file)
    if function is None or outline is None:
        return ""
    return "".join(outline.lines[function.first - 1 : function.last])
