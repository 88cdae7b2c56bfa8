"""What became of the things that the lines of a patch need."""

import ast
import builtins
from difflib import get_close_matches

from msgspec import Struct

from pathaudit.gates.scopes import Names, Scope
from pathaudit.index import ClassRef, FunctionRef, Index
from pathaudit.index.syntax import parse
from pathaudit.relies.code import digest_of, misfit, parameters_of, signature_of
from pathaudit.relies.finding import Fate, Whereabouts, find_definition
from pathaudit.relies.names import (
    Callee,
    attributes_of,
    bound_in,
    callee_of,
    class_at,
    defines,
    makes_names,
    may_have,
)
from pathaudit.relies.uses import imported
from pathaudit.results import Severity
from pathaudit.ruleset.patches import Use

_NEAR = 0.8  # how alike a name must be to be told in the place of another
_BUILTINS = frozenset(dir(builtins))


class Trouble(Struct, frozen=True):
    """A need that is not met, in words that follow on the patch's name.

    ``verb``, ``what`` and ``tail`` make a sentence; those that differ in ``what`` alone make one.
    """

    use: Use
    verb: str
    what: str
    tail: str
    effect: str
    severity: Severity = Severity.ERROR


class Doubt(Struct, frozen=True):
    """A need of which it cannot be told whether it is met."""

    use: Use
    why: str


def check_use(index: Index, use: Use, scope: Scope) -> Trouble | Doubt | None:
    """Is what the lines of a patch need there, for code that stands in ``scope``?"""
    match use.kind:
        case "local":
            return _local(index, use, scope)
        case "name":
            return _name(index, use, scope)
        case "import":
            return _import(index, use, scope)
        case "attribute":
            return _attribute(index, use, scope)
        case "call":
            return _call(index, use, scope)
        case "replaces":
            return _replaces(index, use)


def _local(index: Index, use: Use, scope: Scope) -> Trouble | None:
    if scope.function is None or use.code in bound_in(scope.function.node):
        return None
    if use.code in _BUILTINS or index.modules.resolve(scope.file, use.code) is not None:
        return None
    tail = f", which {scope.symbol} does not bind"
    return Trouble(use, "needs", f"`{use.code}`", tail, "NameError, as soon as the line runs")


def _name(index: Index, use: Use, scope: Scope) -> Trouble | Doubt | None:
    local = bound_in(scope.function.node) if scope.function is not None else {}
    if use.code.partition(".")[0] in local or Names(index).symbol(_parsed(use.code), scope):
        return None
    if makes_names(index, scope.file):
        return Doubt(use, f"`{use.code}` may be made in {scope.file} when it is imported")
    where = _whereabouts(index, use)
    tail = f", which {scope.file} does not have{_now(use, where)}"
    effect = "NameError or AttributeError, as soon as the line runs"
    return Trouble(use, "needs", f"`{use.code}`", tail, effect)


def _import(index: Index, use: Use, scope: Scope) -> Trouble | Doubt | None:
    node = _import_of(use.code)
    if node is None:
        return Doubt(use, f"`{use.code}` is no import")
    if imported(index, scope.file, node) is not None:
        return None
    home = index.modules.file_of(node.module or "")
    if home is not None and makes_names(index, home):
        return Doubt(use, f"`{use.code}` may be made in {home} when it is imported")
    where = _whereabouts(index, use)
    tail = " does not have" if home else " has no module for"
    tail = f", which {node.module or '.'}{tail}{_now(use, where)}"
    what = f"`{node.names[0].name}`"
    return Trouble(use, "imports", what, tail, "ImportError, when the import runs")


def _import_of(code: str) -> ast.ImportFrom | None:
    """The import of one name that a text is, in a file that someone may have edited."""
    try:
        node = parse(code).body[0]
    except (SyntaxError, ValueError, IndexError):
        return None
    return node if isinstance(node, ast.ImportFrom) else None


def _whereabouts(index: Index, use: Use) -> Whereabouts:
    return find_definition(index, use.file, use.symbol, use.sketch, use.callers, use.siblings)


def _now(use: Use, where: Whereabouts) -> str:
    """Where something is now, as the end of a sentence."""
    if where.fate is Fate.GONE or (where.file, where.symbol) == (use.file, use.symbol):
        return ""
    if where.fate is Fate.RENAMED:
        return f"; {where.symbol} seems to be what it is here: {where.reason}"
    return f"; it is in {where.file} here"


# ---- objects ----------------------------------------------------------------------------------


def _attribute(index: Index, use: Use, scope: Scope) -> Trouble | Doubt | None:
    node = _parsed(use.code)
    if not isinstance(node, ast.Attribute):
        return None
    held = class_at(Names(index), node.value, scope)
    where = find_definition(index, use.file, use.symbol)
    if where.fate in (Fate.GONE, Fate.RENAMED):
        held = held or None
    else:
        held = held or ClassRef(where.file, where.symbol)
    if held is None:
        return Doubt(use, f"the class of `{ast.unparse(node.value)}` is not known here")
    if defines(index, held, node.attr) is not None:
        return None
    if may_have(index, held, node.attr):
        return Doubt(use, f"`{use.code}` may be set from outside {held.name}")
    known = sorted(attributes_of(index, held))
    near = get_close_matches(node.attr, known, n=1, cutoff=_NEAR)
    tail = f", which {held.name} does not have{f'; it has `{near[0]}`' if near else ''}"
    effect = "AttributeError, as soon as the line runs"
    return Trouble(use, "needs", f"`{use.code}`", tail, effect)


def _call(index: Index, use: Use, scope: Scope) -> Trouble | Doubt | None:
    callee = callee_of(Names(index), _parsed(use.code), scope) or _kept(index, use)
    if callee is None:
        return Doubt(use, f"what `{use.code}(...)` calls is not known here")
    now = signature_of(callee.function.node)
    reason = misfit(now, use.arguments, bound=callee.bound)
    if not reason:
        return None
    tail = f" in a way that it does not take: {reason}"
    return Trouble(use, "calls", callee.ref.qualname, tail, "TypeError, as soon as the line runs")


def _kept(index: Index, use: Use) -> Callee | None:
    """The callee that a call had, where it is now; what is merely like it may be called else."""
    where = find_definition(index, use.file, use.symbol)
    ref = FunctionRef(where.file, where.symbol)
    function = index.modules.function(ref)
    if where.fate is Fate.RENAMED or function is None:
        return None
    bound = index.modules.owner(ref) is not None and not index.is_static(ref)
    return Callee(ref, function, bound)


def _replaces(index: Index, use: Use) -> Trouble | None:
    """A method that another function is put in the place of: what it is given then."""
    where = _whereabouts(index, use)
    if where.fate is not Fate.THERE:
        tail = f", which is not there{_now(use, where)}"
        effect = "silent: nothing calls what is put there"
        return Trouble(use, "replaces", use.code, tail, effect)
    function = index.modules.function(FunctionRef(use.file, use.symbol))
    if function is None:
        return None
    now = signature_of(function.node)
    reason = misfit(use.arguments, _as_called(now), bound=False) if now != use.signature else ""
    if reason:
        tail = f", which takes {now} here, and what replaces it does not: {reason}"
        effect = "TypeError, when it is called so"
        return Trouble(use, "replaces", use.code, tail, effect)
    if digest_of(function.node) != use.digest:
        tail = ", whose body is another here: what differs is lost"
        effect = "silent: the behaviour of one version in another"
        return Trouble(use, "replaces", use.code, tail, effect, Severity.WARNING)
    return None


def _as_called(signature: str) -> str:
    """A call that gives every parameter of a signature by name, but the object."""
    found = parameters_of(signature)
    if found is None:
        return "(*_, **_)"
    first, *names = [item.arg for item in (*found.posonlyargs, *found.args)] or [""]
    positional = ["_"] * max(len(found.posonlyargs), bool(first))
    named = names[max(len(found.posonlyargs) - 1, 0) :] + [item.arg for item in found.kwonlyargs]
    return f"({', '.join([*positional, *(f'{name}=_' for name in named)])})"


def _parsed(code: str) -> ast.expr:
    try:
        return ast.parse(code, mode="eval").body
    except (SyntaxError, ValueError):
        return ast.Constant(None)
