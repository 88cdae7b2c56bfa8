"""How a forward asks if a layer was asked for: for which number, and on which side of the layer.

The ids may be tested in the loop over the layers or after it, or each layer may carry a mark.
"""

import ast
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from typing import TypeGuard

from msgspec import Struct

from pathaudit.check.bounds_ids import Stored
from pathaudit.check.bounds_loops import Asking, asking_of, is_neutral, uses_of
from pathaudit.check.parity_calls import is_element, layers_in
from pathaudit.check.sites import layer_classes
from pathaudit.index import ClassRef, FunctionOutline, FunctionRef, Index, Instance
from pathaudit.index.syntax import dotted_name
from pathaudit.results.matrices import Evidence

BEFORE, AFTER = "before", "after"


class Question(Struct, frozen=True, eq=False):
    """One question for a layer: for which number, counted from the loop's or from the end.

    ``side`` says if the layer is still to run; ``told`` if the layer collects by itself.
    """

    place: Evidence
    offset: int
    side: str = ""
    told: bool = False
    asking: Asking | None = None


class Reading(Struct, frozen=True, eq=False):
    """How a forward asks: in loops over the layers, and after them for the ``ends``.

    Not ``clear`` where something is done with the ids that is not understood.
    """

    asked: tuple[Question, ...]
    ends: tuple[Question, ...]
    clear: bool


def read_questions(
    index: Index, entry: ClassRef, stored: Iterable[Stored], flags: frozenset[str]
) -> Reading:
    asked: list[Question] = []
    ends: list[Question] = []
    clear = True
    for instance, names in _holders(index, entry, stored, flags):
        for ref, function, chain in _chains(index, instance, names):
            place = Evidence(ref.file, getattr(chain[-1], "lineno", function.line), _text(chain))
            asking = asking_of(ref, function.node, chain)
            offset = _offset(chain)
            if asking is not None or _is_flag(chain, flags) or _counted(index, chain):
                side, told = _side(index, instance, function, chain)
                asked.append(Question(place, offset, side, told, asking))
            elif _is_end(index, function, chain):
                ends.append(Question(place, offset))
            else:
                clear = False
    return Reading(tuple(asked), tuple(ends), clear)


def _holders(
    index: Index, entry: ClassRef, stored: Iterable[Stored], flags: frozenset[str]
) -> Iterator[tuple[Instance, frozenset[str]]]:
    """The objects that the ids are stored on, each with the names that its forward may ask."""
    names: dict[Instance, set[str]] = {}
    for item in stored:
        for instance in index.at(entry, item.path):
            names.setdefault(instance, set(flags)).add(item.name)
    for instance, found in names.items():
        yield instance, frozenset(found)


def _chains(
    index: Index, instance: Instance, names: frozenset[str]
) -> Iterator[tuple[FunctionRef, FunctionOutline, tuple[ast.AST, ...]]]:
    """Every use of the ids or of the mark of a layer in what the forward of an object uses."""
    found = index.modules.method(instance.cls, index.profile.modules.call)
    for ref in index.closure(instance.cls, found[0]) if found is not None else ():
        function = index.modules.function(ref)
        for name in sorted(names) if function is not None else ():
            if function is not None and name in function.attributes:
                for chain in uses_of(function.node, name):
                    if not is_neutral(chain) or _is_flag(chain, names):
                        yield ref, function, chain
            if function is not None:
                yield from ((ref, function, x) for x in _asked_by_name(function, name))


def _asked_by_name(function: FunctionOutline, name: str) -> Iterator[tuple[ast.AST, ...]]:
    """``getattr(layer, "name", False)``, with the nodes around it."""
    pending: list[tuple[ast.AST, ...]] = [(function.node,)]
    while pending:
        chain = pending.pop()
        match chain[-1]:
            case ast.Call(ast.Name("getattr"), [_, ast.Constant(str(found)), *_]) as call if (
                found == name
            ):
                yield (*chain, ast.copy_location(ast.Name(name, ast.Load()), call))
        pending.extend((*chain, child) for child in ast.iter_child_nodes(chain[-1]))


def _is_flag(chain: tuple[ast.AST, ...], flags: frozenset[str]) -> bool:
    """Is it the mark of a layer, not the list of the object?"""
    match chain[-1]:
        case ast.Attribute(owner, name):
            return name in flags and not (isinstance(owner, ast.Name) and owner.id == "self")
        case ast.Name(name):
            return name in flags and isinstance(chain[-2], ast.Call)
        case _:
            return False


def _offset(chain: tuple[ast.AST, ...]) -> int:
    """``c`` of ``i + c in ids``."""
    match _asked_number(chain):
        case ast.BinOp(_, ast.Add(), ast.Constant(int(by))):
            return by
        case ast.BinOp(_, ast.Sub(), ast.Constant(int(by))):
            return -by
        case _:
            return 0


def _counted(index: Index, chain: tuple[ast.AST, ...]) -> bool:
    """``i - 1 in ids`` in a loop that counts with ``i``, or with what is moved to the stage."""
    match _asked_number(chain):
        case ast.BinOp(ast.Name(name), ast.Add() | ast.Sub(), ast.Constant(int())):
            return any(isinstance(x, ast.For) and _names(x.target, name) for x in chain)
        case ast.Name(name):
            loops = [x for x in chain if isinstance(x, ast.For) and _names(x.target, name)]
            return bool(loops) and _is_rebased(index, loops[-1], name)
        case _:
            return False


def _is_rebased(index: Index, loop: ast.For, name: str) -> bool:
    """Is all that a loop does to its counter to add the first layer of the stage?"""
    placeholder = index.profile.stacks.placeholder
    first = placeholder.first if placeholder is not None else ""
    added: list[ast.expr] = []
    for node in ast.walk(loop):
        match node:
            case ast.AugAssign(ast.Name(target), ast.Add(), value) if target == name:
                added.append(value)
            case ast.Assign([ast.Name(target)], ast.BinOp(ast.Name(left), ast.Add(), value)) if (
                target,
                left,
            ) == (name, name):
                added.append(value)
            case ast.Assign(targets) if any(_names(x, name) for x in targets):
                return False
    return bool(added) and all(isinstance(x, ast.Attribute) and x.attr == first for x in added)


def _names(target: ast.expr, name: str) -> bool:
    return any(isinstance(x, ast.Name) and x.id == name for x in ast.walk(target))


def _is_end(index: Index, function: FunctionOutline, chain: tuple[ast.AST, ...]) -> bool:
    """Is the number of a question the end of the layers, asked for outside of any loop?"""
    left = _asked_number(chain)
    if left is None or any(isinstance(node, ast.For) for node in chain):
        return False
    plain = left.left if isinstance(left, ast.BinOp) else left
    if isinstance(plain, ast.Name):
        values = [x.value for x in function.locals.get(plain.id, ())]
        return bool(values) and all(_counts(index, value) for value in values)
    return _counts(index, plain)


def _counts(index: Index, node: ast.expr) -> bool:
    """The number of the layers, or of the first one of the next stage."""
    stacks = index.profile.stacks
    end = stacks.placeholder.end if stacks.placeholder is not None else ""
    match node:
        case ast.Call(ast.Name("len"), [_]):
            return True
        case ast.Attribute(_, name):
            return name == end or any(fnmatchcase(name, glob) for glob in stacks.counts)
        case _:
            return False


def _asked_number(chain: tuple[ast.AST, ...]) -> ast.expr | None:
    """``number`` of ``number in ids``, also of ``number in (ids or ())``."""
    compare = chain[-3] if isinstance(chain[-2], ast.BoolOp) else chain[-2]
    match compare:
        case ast.Compare(left, [ast.In() | ast.NotIn()], _):
            return left
        case _:
            return None


def _text(chain: tuple[ast.AST, ...]) -> str:
    for node in reversed(chain[:-1]):
        if isinstance(node, ast.Compare | ast.Call):
            return ast.unparse(node)
    return ast.unparse(chain[-1])


# ---- on which side of a layer -----------------------------------------------------------------


def _side(
    index: Index, instance: Instance, function: FunctionOutline, chain: tuple[ast.AST, ...]
) -> tuple[str, bool]:
    """Is the layer still to run, or has it run? Nothing where that is unclear.

    Also: is the layer itself told to collect?
    """
    loop = next((x for x in reversed(chain) if isinstance(x, ast.For)), None)
    if loop is None:
        return "", False
    stacks = index.stacks_of(instance)
    elements = layers_in(loop, function, stacks)
    calls = [
        node
        for node in ast.walk(loop)
        if isinstance(node, ast.Call) and is_element(_callee(node.func), elements, stacks)
    ]
    told = _argument(chain, calls) or _held_for(chain, calls)
    if told:
        return _told(index, instance, told), True
    line = getattr(chain[-1], "lineno", 0)
    before = {line < call.lineno for call in calls}
    return "" if len(before) != 1 else BEFORE if before.pop() else AFTER, False


def _argument(chain: tuple[ast.AST, ...], calls: Iterable[ast.Call]) -> str:
    """The argument of a layer in which the question stands."""
    found = (x for call in calls for x in call.keywords if any(x.value is y for y in chain))
    return next((x.arg for x in found if x.arg), "")


def _callee(node: ast.expr) -> ast.expr:
    return node.value if isinstance(node, ast.Attribute) else node


def _held_for(chain: tuple[ast.AST, ...], calls: Iterable[ast.Call]) -> str:
    """The argument of a layer that gets a local which the question decides."""
    names = {
        target.id
        for node in chain
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for call in calls:
        for item in call.keywords:
            if item.arg and isinstance(item.value, ast.Name) and item.value.id in names:
                return item.arg
    return ""


def _told(index: Index, instance: Instance, argument: str) -> str:
    """Where a layer that is told to collect does so: before its modules run, or after them."""
    classes = {
        cls for stack in index.stacks_of(instance) for cls in layer_classes(index, instance, stack)
    }
    sides = {_collects(index, cls, argument) for cls in classes}
    return sides.pop() if len(sides) == 1 else ""


def _collects(index: Index, cls: ClassRef, argument: str) -> str:
    found = index.modules.method(cls, index.profile.modules.call)
    if found is None or not argument:
        return ""
    uses = [x.lineno for x in found[1].nodes if _is_argument(x, argument)]
    calls = (x for x in found[1].nodes if isinstance(x, ast.Call))
    runs = [call.lineno for call in calls if _runs_module(call)]
    if not uses:
        return ""
    if not runs or max(uses) < min(runs):
        return BEFORE
    return AFTER if min(uses) > max(runs) else ""


def _is_argument(node: ast.AST, name: str) -> TypeGuard[ast.Name | ast.Constant]:
    """A read of a parameter, also of one that is caught by ``**kwargs``."""
    match node:
        case ast.Name(id, ast.Load()):
            return id == name
        case ast.Constant(str(value)):
            return value == name
        case _:
            return False


def _runs_module(call: ast.Call) -> bool:
    """``self.mlp(...)``: a module of the layer is called, not a method of one."""
    name = dotted_name(call.func)
    return name.startswith("self.") and name.count(".") == 1
