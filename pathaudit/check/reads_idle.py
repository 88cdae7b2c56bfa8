"""Lists and other accumulators that a forward makes and returns, and never adds to."""

import ast
from collections.abc import Iterable, Iterator

from msgspec import Struct

from pathaudit import ir
from pathaudit.check.places import region_in
from pathaudit.check.reads_held import Held
from pathaudit.check.reads_loads import forward_methods
from pathaudit.check.reads_stores import is_off, text_of
from pathaudit.index import ClassRef, FunctionRef, Index
from pathaudit.index.syntax import dotted_name
from pathaudit.paths import ask
from pathaudit.ruleset import ReadsRule, Rule
from pathaudit.work import Stage

# Inside these a name is only looked at, or handed back as it is.
_HARMLESS = (ast.Tuple, ast.IfExp, ast.BoolOp, ast.UnaryOp, ast.Compare)
_TESTS = (ast.If, ast.While, ast.Assert)


class Idle(Struct, frozen=True):
    """An accumulator that a function makes, measures and returns, and never adds to."""

    function: FunctionRef
    region: ir.Region
    name: str


def running_methods(index: Index, held: Iterable[Held]) -> tuple[FunctionRef, ...]:
    """The methods of what runs the layers of a served class."""
    owners = {x.cls for x in held if x.runs}
    return tuple(sorted({ref for cls in owners for ref in forward_methods(index, cls)}))


def find_idle(index: Index, rule: Rule | None, ref: FunctionRef) -> tuple[Idle, ...]:
    """The accumulators that come back empty from a function."""
    if not isinstance(rule, ReadsRule):
        raise AssertionError("a rule of this kind is needed")
    outline, function = index.modules.outline(ref.file), index.modules.function(ref)
    if outline is None or function is None or "return" not in text_of(index, ref):
        return ()
    verbs = ask(index.profile, rule.collects, (), (), frozenset()).collecting
    found = _idle(index, ref, function.node, verbs)
    return tuple(Idle(ref, region_in(outline.lines, node), name) for name, node in found)


def _idle(
    index: Index, ref: FunctionRef, function: ast.AST, verbs: frozenset[str]
) -> Iterator[tuple[str, ast.stmt]]:
    made: dict[str, ast.stmt] = {}
    spoilt: set[str] = set()
    for node in ast.walk(function):
        for name, value in _assigned(node):
            if _is_empty(index, ref.file, value, verbs) and isinstance(node, ast.stmt):
                made.setdefault(name, node)
            else:
                spoilt.add(name)
    used = set(_uses(function, made.keys() - spoilt, ()))
    for name in sorted(made.keys() - spoilt):
        kinds = {kind for found, kind in used if found == name}
        if kinds and kinds <= {"returned", "measured"} and "returned" in kinds:
            yield name, made[name]


def _assigned(node: ast.AST) -> Iterator[tuple[str, ast.expr | None]]:
    match node:
        case ast.Assign([ast.Name(name)], value) | ast.AnnAssign(ast.Name(name), _, value):
            yield name, value
        case ast.Name(name, ast.Store()):
            pass  # told by the statement, unless that is none of the above
        case ast.Assign(targets, _):
            for target in targets:
                names = (x.id for x in ast.walk(target) if isinstance(x, ast.Name))
                yield from ((name, None) for name in names)
        case ast.AugAssign(ast.Name(name), _, _) | ast.NamedExpr(ast.Name(name), _):
            yield name, None


def _is_empty(index: Index, file: str, value: ast.expr | None, verbs: frozenset[str]) -> bool:
    """Is a value a new list, or a new object that collects?"""
    if isinstance(value, ast.List) or (isinstance(value, ast.Call) and is_off(value)):
        return is_off(value)
    if not isinstance(value, ast.Call):
        return False
    symbol = index.modules.resolve(file, dotted_name(value.func) or "?")
    return isinstance(symbol, ClassRef) and bool(index.collecting_methods(symbol, verbs))


def _uses(
    node: ast.AST, names: frozenset[str] | set[str], around: tuple[ast.AST, ...]
) -> Iterator[tuple[str, str]]:
    """Each use of some names in a function, and what becomes of the name there."""
    if isinstance(node, ast.Name) and node.id in names and isinstance(node.ctx, ast.Load):
        yield node.id, _kind(around)
    for child in ast.iter_child_nodes(node):
        yield from _uses(child, names, (*around, node))


def _kind(around: tuple[ast.AST, ...]) -> str:
    for node in reversed(around):
        match node:
            case ast.Return():
                return "returned"
            case ast.Call(ast.Name("len" | "bool")):
                return "measured"
        if isinstance(node, _TESTS):
            return "measured"
        if not isinstance(node, _HARMLESS):
            return "used"
    return "used"


IDLE = Stage("idle", find_idle, FunctionRef, tuple[Idle, ...], lambda item: item.file, judges=True)
