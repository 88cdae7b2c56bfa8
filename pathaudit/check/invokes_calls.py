"""Calls in the methods of a module that enter another module past its call."""

import ast
from collections.abc import Iterator
from fnmatch import fnmatchcase

from msgspec import Struct

from pathaudit.check.sites import stack_in
from pathaudit.index import ClassRef, External, FunctionOutline, FunctionRef, Index, Instance
from pathaudit.index.types import Scope

# What calling a module runs before and after its forward, if a class does not replace it.
CALL = "__call__"


class Entered(Struct, frozen=True, eq=False):
    """``call`` runs ``method`` of an object of one of ``classes``; ``text`` is the object."""

    ref: FunctionRef
    call: ast.Call
    text: str
    method: str
    classes: tuple[ClassRef, ...]


def entered_past_call(index: Index, cls: ClassRef, ref: FunctionRef) -> Iterator[Entered]:
    """The calls of a method of ``cls`` that run another module by one of its forward methods."""
    function = index.modules.function(ref)
    runs = index.profile.modules.runs
    if function is None or not any(
        fnmatchcase(name, glob) for name in function.attributes for glob in runs
    ):
        return
    for node in function.nodes:
        match node:
            case ast.Call(ast.Attribute(base, method)) if any(
                fnmatchcase(method, glob) for glob in runs
            ):
                found = modules_at(index, cls, ref, function, base)
                classes = tuple(x for x in found if _has(index, x, method))
                if classes:
                    yield Entered(ref, node, ast.unparse(base), method, classes)


def modules_at(
    index: Index, cls: ClassRef, ref: FunctionRef, function: FunctionOutline, base: ast.expr
) -> tuple[ClassRef, ...]:
    """The classes of what an expression holds, if it surely is another module than the method's."""
    if isinstance(base, ast.Name) and base.id in ("self", "cls"):
        return ()
    scope = Scope(ref.file, Instance(cls), index.modules.owner(ref), function)
    types = index.types.evaluate(base, scope)
    found = {item.cls for item in types.instances()} | _looped(index, cls, function, base)
    if not found or not all(is_module(index, item) for item in found):
        return ()
    return tuple(sorted(found))


def _looped(
    index: Index, cls: ClassRef, function: FunctionOutline, base: ast.expr
) -> set[ClassRef]:
    """The classes of the layers that a loop gives a name to, one at a time."""
    if not isinstance(base, ast.Name):
        return set()
    stacks = index.stacks_of(Instance(cls))
    found: set[ClassRef] = set()
    for loop in function.nodes:
        if isinstance(loop, ast.For) and _names_last(loop.target, base.id):
            stack = stack_in(loop.iter, function, stacks)
            types = index.types.attribute(Instance(cls), stack).stacks() if stack else ()
            found |= {x.cls for item in types for x in item.elements.instances()}
    return found


def _names_last(target: ast.expr, name: str) -> bool:
    last = target.elts[-1] if isinstance(target, ast.Tuple) and target.elts else target
    return isinstance(last, ast.Name) and last.id == name


def is_module(index: Index, cls: ClassRef) -> bool:
    """Does a class run hooks when it is called: a module that does not replace the call?"""
    order = index.modules.mro(cls)
    bases = [base for item in order for base in index.modules.bases(item)]
    return index.modules.method(cls, CALL) is None and any(
        isinstance(base, External) and base.name in index.profile.modules.bases for base in bases
    )


def _has(index: Index, cls: ClassRef, method: str) -> bool:
    return index.modules.method(cls, method) is not None


def runs_a_part(index: Index, cls: ClassRef, method: str) -> bool:
    """Does a method of a module do what its forward does, and is it a step of that?"""
    whole = index.modules.method(cls, index.profile.modules.call)
    part = index.modules.method(cls, method)
    if whole is None or part is None or method == index.profile.modules.call:
        return False
    names = {ref.qualname.rpartition(".")[2] for ref in index.closure(cls, whole[0])}
    both = index.entered(cls, method) & index.entered(cls, index.profile.modules.call)
    return method in names and bool(both)
