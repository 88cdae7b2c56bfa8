"""Where a forward asks if a layer was asked for, and which numbers it asks that of."""

import ast
from collections.abc import Iterator

from msgspec import Struct

from pathaudit.index import FunctionRef, Index, Instance

Definition = ast.FunctionDef | ast.AsyncFunctionDef


class Asking(Struct, frozen=True, eq=False):
    """``number in self.layers_to_capture`` inside a loop that counts the layers with it.

    ``around`` are the nodes from the function down to the test.
    """

    ref: FunctionRef
    node: Definition
    loop: ast.For
    number: str
    around: tuple[ast.AST, ...]


def askings(index: Index, instance: Instance, name: str) -> tuple[Asking, ...]:
    """The tests of ``name`` in what the object's forward uses, if each is of a loop's counter.

    None where any use says that more is asked for, or says nothing that is understood.
    """
    found = index.modules.method(instance.cls, index.profile.modules.call)
    if found is None:
        return ()
    result: list[Asking] = []
    for ref in index.closure(instance.cls, found[0]):
        function = index.modules.function(ref)
        if function is None or name not in function.attributes:
            continue
        for uses in uses_of(function.node, name):
            if is_neutral(uses):
                continue
            asking = asking_of(ref, function.node, uses)
            if asking is None:
                return ()
            result.append(asking)
    return tuple(result)


def uses_of(function: Definition, name: str) -> Iterator[tuple[ast.AST, ...]]:
    """The loads of an attribute, or of a local that is only another name for it."""
    chains = list(_chains(function))
    aliases = {
        chain[-2].targets[0].id
        for chain in chains
        if _is_load(chain[-1], name)
        and isinstance(chain[-2], ast.Assign)
        and isinstance(chain[-2].targets[0], ast.Name)
    }
    for chain in chains:
        if _is_load(chain[-1], name) and not isinstance(chain[-2], ast.Assign):
            yield chain
        if isinstance(chain[-1], ast.Name) and chain[-1].id in aliases and _loads(chain[-1]):
            yield chain


def _chains(function: Definition) -> Iterator[tuple[ast.AST, ...]]:
    """Every node of a function with those above it, the node last."""
    pending: list[tuple[ast.AST, ...]] = [(function,)]
    while pending:
        chain = pending.pop()
        yield chain
        pending.extend((*chain, child) for child in ast.iter_child_nodes(chain[-1]))


def _is_load(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == name and _loads(node)


def _loads(node: ast.Attribute | ast.Name) -> bool:
    return isinstance(node.ctx, ast.Load)


def is_neutral(chain: tuple[ast.AST, ...]) -> bool:
    """Is it only asked if there is anything to capture, or how much?"""
    node, above = chain[-1], chain[-2]
    match above:
        case ast.Call(ast.Name("len" | "bool")):
            return True
        case ast.Compare(_, [ast.Is() | ast.IsNot()], _):
            return True
        case ast.If() | ast.IfExp() | ast.While() | ast.Assert():
            return above.test is node
        case ast.UnaryOp(ast.Not()):
            return True
        case ast.BoolOp():
            return not isinstance(chain[-3], ast.Compare)
        case _:
            return False


def asking_of(ref: FunctionRef, function: Definition, chain: tuple[ast.AST, ...]) -> Asking | None:
    compare = chain[-3] if isinstance(chain[-2], ast.BoolOp) else chain[-2]
    match compare:
        case ast.Compare(ast.Name(number), [ast.In() | ast.NotIn()], _):
            loop = loop_of(number, chain)
            if loop is None or not _counts_layers(loop, function) or _rebound(loop, number):
                return None
            return Asking(ref, function, loop, number, chain[: chain.index(compare) + 1])
        case _:
            return None


def loop_of(number: str, chain: tuple[ast.AST, ...]) -> ast.For | None:
    """The innermost loop around that counts with this name."""
    loops = [node for node in chain if isinstance(node, ast.For)]
    return next((loop for loop in reversed(loops) if number in _counters(loop.target)), None)


def _counters(target: ast.expr) -> frozenset[str]:
    first = target.elts[0] if isinstance(target, ast.Tuple) and target.elts else target
    return frozenset((first.id,)) if isinstance(first, ast.Name) else frozenset()


def _counts_layers(loop: ast.For, function: Definition) -> bool:
    """Does a loop count layers from the first on, and end with the last?"""
    match loop.iter:
        case ast.Call(ast.Name("range"), [*_, end], []):
            return not isinstance(end, ast.Starred) and _is_plain(end, function)
        case ast.Call(ast.Name("enumerate"), [_, *start], keywords):
            first = [*start, *(item.value for item in keywords)]
            return not first or isinstance(first[0], ast.Attribute) or _is_zero(first[0])
        case _:
            return False


def _is_plain(node: ast.expr, function: Definition) -> bool:
    """Is a number as some object or call gives it, not computed here?"""
    if isinstance(node, ast.Name):
        return all(_is_plain(value, function) for value in _assigned(node.id, function))
    return not isinstance(node, ast.BinOp)


def _assigned(name: str, function: Definition) -> list[ast.expr]:
    """The values that a local is assigned, other than from itself."""
    return [
        node.value
        for node in ast.walk(function)
        if isinstance(node, ast.Assign)
        and any(isinstance(x, ast.Name) and x.id == name for x in node.targets)
        and not isinstance(node.value, ast.Name)
    ]


def _is_zero(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value == 0


def _rebound(loop: ast.For, number: str) -> bool:
    """Is the counter assigned in the loop? Then it is another number."""
    return any(
        isinstance(node, ast.Name) and node.id == number and isinstance(node.ctx, ast.Store)
        for statement in loop.body
        for node in ast.walk(statement)
    )


def missing_operand(asking: Asking) -> tuple[ast.stmt, str] | None:
    """The capture in the first iteration of an addend that is ``None`` there, if unguarded."""
    if not _starts_low(asking):
        return None
    guarded = _names_tested(asking)
    for statement in _captures(asking):
        for part in ast.walk(statement):
            if not (isinstance(part, ast.BinOp) and isinstance(part.op, ast.Add)):
                continue
            for operand in (part.left, part.right):
                if isinstance(operand, ast.Name) and _is_none_first(asking, operand, statement):
                    name = operand.id
                    if name not in guarded and not _chosen(statement, name):
                        return statement, name
    return None


def _starts_low(asking: Asking) -> bool:
    """Can the first number of the loop be 0?"""
    match asking.loop.iter:
        case ast.Call(ast.Name("range"), [first, _, *_]):
            values = _assigned(first.id, asking.node) if isinstance(first, ast.Name) else [first]
            return any(isinstance(x, ast.Attribute) or _is_zero(x) for x in values)
        case _:
            return True


def _captures(asking: Asking) -> Iterator[ast.stmt]:
    """The statements that run where the number was asked for."""
    for node in reversed(asking.around):
        if isinstance(node, ast.If):
            yield from node.body
            return
        if isinstance(node, ast.stmt):
            return


def _names_tested(asking: Asking) -> frozenset[str]:
    tests = [node.test for node in asking.around if isinstance(node, (ast.If, ast.IfExp))]
    return frozenset(x.id for test in tests for x in ast.walk(test) if isinstance(x, ast.Name)) - {
        asking.number
    }


def _is_none_first(asking: Asking, operand: ast.Name, statement: ast.stmt) -> bool:
    """Is a name ``None`` before the loop, and first assigned after the statement in it?"""
    values = _assigned(operand.id, asking.node)
    before = [x for x in values if x.lineno < asking.loop.lineno]
    if not any(isinstance(x, ast.Constant) and x.value is None for x in before):
        return False
    stores = [
        node.lineno
        for node in ast.walk(asking.node)
        if isinstance(node, ast.Name)
        and node.id == operand.id
        and isinstance(node.ctx, ast.Store)
        and asking.loop.lineno <= node.lineno < statement.lineno
    ]
    return not stores


def _chosen(statement: ast.stmt, name: str) -> bool:
    """Does the statement itself ask for the name: ``a + b if b is not None else a``?"""
    return any(
        isinstance(node, (ast.IfExp, ast.BoolOp, ast.If, ast.Assert))
        and any(isinstance(x, ast.Name) and x.id == name for x in ast.walk(node))
        for node in ast.walk(statement)
    )
