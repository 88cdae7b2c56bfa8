"""Where the methods of an object hand its layer stack to another function of the tree."""

import ast
from collections.abc import Iterator

from msgspec import Struct, structs

from pathaudit.check.subjects import Owner, find_owners
from pathaudit.index import ClassRef, FunctionOutline, FunctionRef, Index, Instance, Symbol
from pathaudit.index.syntax import dotted_name
from pathaudit.ruleset import Rule
from pathaudit.work import Stage, Work

PASSING = frozenset(("enumerate", "zip", "list", "tuple", "reversed", "iter", "islice"))


class Handoff(Struct, frozen=True, eq=False):
    """``call`` in the method ``ref`` gives ``stack`` to the parameter ``name`` of ``callee``.

    ``value`` is what is given: the whole stack, a slice of it, or a list of its layers.
    """

    ref: FunctionRef
    function: FunctionOutline
    call: ast.Call
    stack: str
    value: ast.expr
    callee: FunctionRef
    name: str


def find_handing(work: Work, entry: str | None) -> dict[Owner, tuple[str, ...]]:
    """The owners that hand on their layers, without an entry: of these served classes each."""
    groups: dict[Owner, set[str]] = {}
    for owner in find_owners(work, entry):
        groups.setdefault(structs.replace(owner, entry=""), set()).add(owner.entry)
    owners = list(groups)
    handing = zip(owners, work.run(HANDING, owners), strict=True)
    return {owner: tuple(sorted(groups[owner])) for owner, hands in handing if hands}


def _hands_on(index: Index, _: Rule | None, owner: Owner) -> bool:
    return next(handoffs(index, owner), None) is not None


HANDING = Stage("handing", _hands_on, Owner, bool, lambda item: item.root.file)


def handoffs(index: Index, owner: Owner) -> Iterator[Handoff]:
    """The calls of an owner's method, and of those it leads to, that hand on its layers."""
    cls = owner.instance.cls
    stacks = owner.stacks
    for ref in index.closure(cls, owner.root):
        function = index.modules.function(ref)
        if function is None or not function.attributes & stacks:
            continue
        for node in function.nodes:
            if isinstance(node, ast.Call) and dotted_name(node.func) not in PASSING:
                yield from _handed(index, cls, ref, function, node, stacks)


def _handed(
    index: Index,
    cls: ClassRef,
    ref: FunctionRef,
    function: FunctionOutline,
    call: ast.Call,
    stacks: frozenset[str],
) -> Iterator[Handoff]:
    given = [*enumerate(call.args), *((item.arg, item.value) for item in call.keywords)]
    for key, value in given:
        stack = stack_in(value, function, stacks)
        callee = called(index, cls, ref, function, call.func) if stack else None
        name = _parameter(index, callee, key) if callee is not None else ""
        if callee is not None and name:
            yield Handoff(ref, function, call, stack, value, callee, name)


def stack_in(node: ast.expr, function: FunctionOutline, stacks: frozenset[str]) -> str:
    """The stack that an expression gives layers of in order; nothing if it gives none."""
    match node:
        case ast.Attribute(ast.Name("self"), name):
            return name if name in stacks else ""
        case ast.Subscript(value, ast.Slice()):
            return stack_in(value, function, stacks)
        case ast.Name(name):
            values = function.locals.get(name, ())
            found = {
                stack_in(x.value, function, stacks) for x in values if _is_other(x.value, name)
            }
            return found.pop() if len(found) == 1 else ""
        case ast.ListComp(element, [clause]):
            return _listed(element, clause, function, stacks)
        case ast.Call(ast.Name(name), [value]) if name in PASSING:
            return stack_in(value, function, stacks)
        case _:
            return ""


def _is_other(value: ast.expr, name: str) -> bool:
    return not any(isinstance(node, ast.Name) and node.id == name for node in ast.walk(value))


def _listed(
    element: ast.expr, clause: ast.comprehension, function: FunctionOutline, stacks: frozenset[str]
) -> str:
    """``[self.layers[i] for i in ...]`` and ``[layer for layer in self.layers]``."""
    match element, clause.target:
        case ast.Subscript(value, ast.Name(index)), ast.Name(target) if index == target:
            return stack_in(value, function, stacks)
        case ast.Name(name), ast.Name(target) if name == target:
            return stack_in(clause.iter, function, stacks)
        case _:
            return ""


def called(
    index: Index, cls: ClassRef, ref: FunctionRef, function: FunctionOutline, node: ast.expr
) -> FunctionRef | None:
    """The function of the tree that a call in a method of ``cls`` runs, if it has a name."""
    match node:
        case ast.Attribute(ast.Name("self"), method):
            found = index.modules.method(cls, method)
            return found[0] if found is not None else None
    name = dotted_name(node)
    symbol = symbol_of(index, ref.file, function, name) if name else None
    return symbol if isinstance(symbol, FunctionRef) else None


def symbol_of(index: Index, file: str, function: FunctionOutline, name: str) -> Symbol | None:
    """What a dotted name means in a function, which may import the head of it itself."""
    head, _, rest = name.partition(".")
    imported = dict(function.imports).get(head)
    if imported is None or imported.attribute is None:
        return index.modules.resolve(file, name)
    found = index.modules.file_of(index.modules.absolute(file, imported))
    inner = f"{imported.attribute}.{rest}" if rest else imported.attribute
    return index.modules.resolve(found, inner) if found is not None else None


def _parameter(index: Index, callee: FunctionRef, key: int | str | None) -> str:
    """The parameter that an argument is bound to, by position or name."""
    function = index.modules.function(callee)
    if function is None:
        return ""
    if isinstance(key, str):
        return key if key in function.parameters else ""
    arguments = function.node.args
    names = [item.arg for item in (*arguments.posonlyargs, *arguments.args)]
    bound = index.modules.owner(callee) is not None and not index.is_static(callee)
    position = key + bound if key is not None else len(names)
    return names[position] if position < len(names) else ""


def layer_classes(index: Index, instance: Instance, stack: str) -> tuple[ClassRef, ...]:
    """The classes of the layers in a stack of an object; nothing where they are not all known."""
    types = index.types.attribute(instance, stack)
    stacks = types.stacks()
    if not types.complete or not all(item.elements.complete for item in stacks):
        return ()
    return tuple(sorted({x.cls for item in stacks for x in item.elements.instances()}))
