"""What became of the things that the lines of a patch need."""

import ast
import builtins
from difflib import get_close_matches

from msgspec import Struct

from pathaudit.gates.scopes import Names, Scope
from pathaudit.index import ClassRef, External, FunctionRef, Index
from pathaudit.index.syntax import parse
from pathaudit.relies.code import digest_of, misfit, signature_of
from pathaudit.relies.finding import Fate, Whereabouts, find_definition
from pathaudit.relies.names import (
    Callee,
    attributes_of,
    bound_in,
    callee_of,
    class_at,
    defines,
    may_have,
)
from pathaudit.relies.uses import imported
from pathaudit.results import Severity
from pathaudit.ruleset.patches import Use

_BUILTINS = frozenset(dir(builtins))


class Trouble(Struct, frozen=True):
    """A need that is not met: what is wrong, in words that follow on the patch's name."""

    use: Use
    how: str
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
    how = f"needs `{use.code}`, which {scope.symbol} does not bind any more"
    return Trouble(use, how, "NameError, as soon as the line runs")


def _name(index: Index, use: Use, scope: Scope) -> Trouble | Doubt | None:
    outline = index.modules.outline(scope.file)
    if outline is None:
        return Doubt(use, f"{scope.file} cannot be read")
    local = bound_in(scope.function.node) if scope.function is not None else {}
    if use.code.partition(".")[0] in local or Names(index).symbol(_parsed(use.code), scope):
        return None
    if outline.stars and any(_is_outside(index, scope.file, x.module) for x in outline.stars):
        return Doubt(use, f"`{use.code}` may come from a star import in {scope.file}")
    where = find_definition(index, use.file, use.symbol, use.sketch, use.callers)
    how = f"needs `{use.code}`, which {scope.file} does not have any more{_now(use, where)}"
    return Trouble(use, how, "NameError or AttributeError, as soon as the line runs")


def _is_outside(index: Index, file: str, module: str) -> bool:
    return isinstance(imported(index, file, ast.ImportFrom(module, [ast.alias("_")], 0)), External)


def _import(index: Index, use: Use, scope: Scope) -> Trouble | Doubt | None:
    (node,) = parse(use.code).body
    if not isinstance(node, ast.ImportFrom) or imported(index, scope.file, node) is not None:
        return None
    home = index.modules.file_of(node.module or "")
    outline = index.modules.outline(home) if home is not None else None
    if outline is not None and any(
        _is_outside(index, outline.file, star.module) for star in outline.stars
    ):
        return Doubt(use, f"`{use.code}` may come from a star import in {outline.file}")
    where = find_definition(index, use.file, use.symbol, use.sketch, use.callers)
    what = f"{node.module} does not have any more" if home else "is of a module that is gone"
    how = f"imports `{node.names[0].name}`, which {what}{_now(use, where)}"
    return Trouble(use, how, "ImportError, when the file is imported")


def _now(use: Use, where: Whereabouts) -> str:
    """Where something is now, as the end of a sentence."""
    if where.fate is Fate.GONE or (where.file, where.symbol) == (use.file, use.symbol):
        return ""
    if where.fate is Fate.RENAMED:
        return f"; {where.symbol} seems to be what it is now: {where.reason}"
    return f"; it is in {where.file} now"


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
    near = get_close_matches(node.attr, sorted(attributes_of(index, held)), n=1)
    hint = f"; it has `{near[0]}`" if near else ""
    how = f"needs `{use.code}`, which {held.name} does not have any more{hint}"
    return Trouble(use, how, "AttributeError, as soon as the line runs")


def _call(index: Index, use: Use, scope: Scope) -> Trouble | Doubt | None:
    callee = callee_of(Names(index), _parsed(use.code), scope) or _kept(index, use)
    if callee is None:
        return Doubt(use, f"what `{use.code}(...)` calls is not known here")
    now = signature_of(callee.function.node)
    reason = misfit(now, use.arguments, bound=callee.bound)
    if not reason:
        return None
    how = f"calls {callee.ref.qualname} in a way that it does not take any more: {reason}"
    return Trouble(use, how, "TypeError, as soon as the line runs")


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
    where = find_definition(index, use.file, use.symbol, use.sketch, use.callers)
    if where.fate is not Fate.THERE:
        how = f"replaces {use.code}, which is gone{_now(use, where)}"
        return Trouble(use, how, "silent: nothing calls what is put there")
    function = index.modules.function(FunctionRef(use.file, use.symbol))
    if function is None:
        return None
    now = signature_of(function.node)
    reason = misfit(use.arguments, _as_called(now), bound=False) if now != use.signature else ""
    if reason:
        how = f"replaces {use.code}, which takes {now} now, and what replaces it does not: {reason}"
        return Trouble(use, how, "TypeError, when the framework calls it")
    if digest_of(function.node) != use.digest:
        how = f"replaces {use.code}, whose body has changed since: what is new in it is lost"
        return Trouble(use, how, "silent: the old behaviour in a new framework", Severity.WARNING)
    return None


def _as_called(signature: str) -> str:
    """A call that gives every parameter of a signature by name, but the object."""
    arguments = parse(f"def _{signature}: ...").body[0]
    given = arguments.args if isinstance(arguments, ast.FunctionDef) else ast.arguments()
    positional = ["_" for _ in given.posonlyargs]
    names = [item.arg for item in given.args]
    if names and not positional:
        names = names[1:]
        positional = ["_"]
    named = [f"{name}=_" for name in (*names, *(x.arg for x in given.kwonlyargs))]
    return f"({', '.join([*positional, *named])})"


def _parsed(code: str) -> ast.expr:
    try:
        return ast.parse(code, mode="eval").body
    except SyntaxError:
        return ast.Constant(None)
