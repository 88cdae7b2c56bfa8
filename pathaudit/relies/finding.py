"""Where something of another version is in a tree: there, moved, renamed, or gone."""

import ast
from collections.abc import Iterable, Iterator
from enum import StrEnum
from posixpath import basename

from msgspec import Struct

from pathaudit.gates.scopes import Names
from pathaudit.index import ClassRef, FunctionOutline, FunctionRef, Index
from pathaudit.relies.code import (
    AHEAD,
    ALIKE,
    ALIKE_ALONE,
    likeness,
    may_be,
    sketch_of,
    sketch_of_names,
)
from pathaudit.relies.names import attributes_of, callee_of, calls_in, scope_of
from pathaudit.ruleset.patches import Caller

_SHARED = 0.5  # of the keywords of two calls
_CONFUSED = 0.2  # how alike functions of one version are that could be taken for each other
_SIBLINGS = 12  # of these that are kept of a function
_CALLERS = 12  # that are kept of a function


class Fate(StrEnum):
    """What became of a definition."""

    THERE = "there"
    MOVED = "moved"
    RENAMED = "renamed"
    GONE = "gone"


class Whereabouts(Struct, frozen=True):
    """Where a definition is now, and what tells that it is that one.

    Of one that is gone, ``file`` and ``symbol`` are as they were.
    """

    fate: Fate
    file: str
    symbol: str
    reason: str = ""


def find_definition(
    index: Index,
    file: str,
    symbol: str,
    sketch: str = "",
    callers: tuple[Caller, ...] = (),
    siblings: tuple[str, ...] = (),
) -> Whereabouts:
    """Look for a function, method, class or value: in its file, in its bases, then elsewhere.

    Another function is it under another name if their bodies are alike, or if those that called
    it call that in the same way now; but none of its ``siblings``, which were there beside it.
    """
    if is_there(index, file, symbol):
        return Whereabouts(Fate.THERE, file, symbol)
    base = _inherited(index, file, symbol)
    if base is not None:
        return Whereabouts(Fate.MOVED, base.file, base.qualname, "a base defines it")
    moved = _moved(index, file, symbol, sketch)
    if moved is not None:
        return moved
    renamed = _called_instead(index, file, symbol, callers)
    renamed = renamed or _alike(index, file, symbol, sketch, siblings)
    return renamed or Whereabouts(Fate.GONE, file, symbol)


def is_there(index: Index, file: str, symbol: str) -> bool:
    """Does a file define a function, a method, a class or a value of that name?"""
    outline = index.modules.outline(file)
    if outline is None:
        return False
    if not symbol or symbol in outline.values or symbol in outline.classes:
        return True
    owner, _, name = symbol.rpartition(".")
    if not owner:
        return symbol in outline.functions
    cls = outline.classes.get(owner)
    return cls is not None and (name in cls.methods or name in cls.attributes)


def _inherited(index: Index, file: str, symbol: str) -> FunctionRef | None:
    """The method of a base that a method which its class does not have any more is now."""
    owner, _, name = symbol.rpartition(".")
    found = index.modules.method(ClassRef(file, owner), name) if owner else None
    return found[0] if found is not None else None


# ---- elsewhere under its name -----------------------------------------------------------------


def _moved(index: Index, file: str, symbol: str, sketch: str) -> Whereabouts | None:
    """The same name in another file: in one of the same name, or with a body that is alike."""
    found = [x for x in _defining(index, symbol) if x != file]
    rated = sorted(((_rate(index, x, file, symbol, sketch), x) for x in found), reverse=True)
    rated = [(rate, x) for rate, x in rated if rate >= ALIKE]
    if not rated or (len(rated) > 1 and rated[0][0] - rated[1][0] < AHEAD):
        return None
    return Whereabouts(Fate.MOVED, rated[0][1], symbol)


def _defining(index: Index, symbol: str) -> Iterator[str]:
    """The files of the tree that define a name, in order."""
    owner, _, name = symbol.rpartition(".")
    texts = (f"class {owner}",) if owner else (f"def {name}(", f"class {name}", f"{name} =")
    package = (f"/{index.tree.package}/**/*.py",)
    files = {file for text in texts for file in index.modules.holding(package, text)}
    yield from (file for file in sorted(files) if is_there(index, file, symbol))


def _rate(index: Index, now: str, file: str, symbol: str, sketch: str) -> float:
    """How surely a definition in another file is the one that was meant."""
    alike = likeness(sketch, sketch_at(index, now, symbol)) if sketch else 0.0
    return alike + (0.5 if basename(now) == basename(file) else 0.0) + (0.0 if sketch else ALIKE)


def sketch_at(index: Index, file: str, symbol: str) -> str:
    """The sketch of a function or class of a file; nothing for what is neither."""
    function = index.modules.function(FunctionRef(file, symbol))
    if function is not None:
        return sketch_of(function.node)
    cls = ClassRef(file, symbol)
    known = index.modules.class_outline(cls) is not None
    return sketch_of_names(attributes_of(index, cls)) if known else ""


def has_file(index: Index, file: str) -> bool:
    """Is a file in the tree? That this was asked is noted."""
    module = file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    return index.modules.file_of(module) == file


def home_of(index: Index, file: str, symbols: Iterable[str]) -> str:
    """The file that holds now what a file held: itself, or one that defines the same things."""
    if has_file(index, file):
        return file
    symbols = [symbol for symbol in symbols if symbol]
    votes: dict[str, int] = {}
    for symbol in symbols:
        for found in _defining(index, symbol):
            votes[found] = votes.get(found, 0) + 1 + (basename(found) == basename(file))
    best = sorted(votes.items(), key=lambda item: (-item[1], item[0]))
    return best[0][0] if best and (len(best) == 1 or best[0][1] > best[1][1]) else file


# ---- under another name -----------------------------------------------------------------------


def _alike(
    index: Index, file: str, symbol: str, sketch: str, siblings: tuple[str, ...]
) -> Whereabouts | None:
    """The function near it whose body is most alike, if it is ahead of all others."""
    rated = sorted((rate, ref) for ref, rate in _rated(index, file, symbol, sketch))[-2:]
    if not rated or (len(rated) > 1 and rated[1][0] - rated[0][0] < AHEAD):
        return None
    rate, ref = rated[-1]
    known = {name.rpartition(".")[2] for name in siblings}
    if ref.qualname.rpartition(".")[2] in known or not may_be(sketch, symbol, ref.qualname, rate):
        return None
    return Whereabouts(Fate.RENAMED, ref.file, ref.qualname, f"{rate:.0%} alike")


def find_body(
    index: Index, file: str, symbol: str, sketch: str, siblings: tuple[str, ...]
) -> Whereabouts | None:
    """Where the body of a function went that is there, and whose own body is another now."""
    kept = likeness(sketch, sketch_at(index, file, symbol))
    if not sketch or kept >= ALIKE_ALONE:
        return None
    found = _alike(index, file, symbol, sketch, siblings)
    if found is None:
        return None
    rate = likeness(sketch, sketch_at(index, found.file, found.symbol))
    return found if rate >= max(ALIKE_ALONE, kept + AHEAD) else None


def find_siblings(index: Index, file: str, symbol: str) -> tuple[str, ...]:
    """The functions near one that are like it and are others, so that it is none of them."""
    sketch = sketch_at(index, file, symbol)
    rated = ((rate, ref.qualname) for ref, rate in _rated(index, file, symbol, sketch))
    alike = sorted((item for item in rated if item[0] >= _CONFUSED), reverse=True)
    return tuple(sorted({name for _, name in alike[:_SIBLINGS]}))


def _rated(
    index: Index, file: str, symbol: str, sketch: str
) -> Iterator[tuple[FunctionRef, float]]:
    """The functions near one, with how alike each is."""
    for ref in set(_near(index, file, symbol)) if sketch else ():
        if ref.qualname != symbol:
            yield ref, likeness(sketch, sketch_at(index, ref.file, ref.qualname))


def _near(index: Index, file: str, symbol: str) -> Iterator[FunctionRef]:
    """The functions of a file, those that its class has from bases, and those of files near it
    that it imports from."""
    outline = index.modules.outline(file)
    owner = ClassRef(file, symbol.rpartition(".")[0])
    files = [file, *(ref.file for ref in index.modules.mro(owner))]
    folder = file.rpartition("/")[0]
    for item in outline.imports.values() if outline is not None else ():
        home = index.modules.file_of(index.modules.absolute(file, item))
        files += [home] if home is not None and home.startswith(f"{folder}/") else []
    for path in dict.fromkeys(files):
        yield from (FunctionRef(path, x.qualname) for x in functions_of(index, path))


def functions_of(index: Index, file: str) -> Iterator[FunctionOutline]:
    """The functions and methods of a file."""
    outline = index.modules.outline(file)
    if outline is not None:
        yield from outline.functions.values()
        for cls in outline.classes.values():
            yield from cls.methods.values()


def find_callers(index: Index, file: str, symbol: str) -> Iterator[Caller]:
    """Functions that call one by its name, with keywords; by them it is known under another."""
    function = index.modules.function(FunctionRef(file, symbol))
    if function is None or "." in symbol:
        return
    package = (f"/{index.tree.package}/**/*.py",)
    found: dict[tuple[str, str], frozenset[str]] = {}
    for path in index.modules.holding(package, f"{symbol}("):
        outline = index.modules.outline(path)
        lines = outline.lines if outline is not None else []
        for caller in functions_of(index, path):
            if any(symbol in line for line in lines[caller.first - 1 : caller.last]):
                for keywords, func in calls_in(caller.node):
                    if isinstance(func, ast.Name) and func.id == symbol and keywords:
                        found[path, caller.qualname] = keywords
    for (path, qualname), keywords in [*found.items()][:_CALLERS]:
        yield Caller(path, qualname, tuple(sorted(keywords)))


def _called_instead(
    index: Index, file: str, symbol: str, callers: tuple[Caller, ...]
) -> Whereabouts | None:
    """What most of the callers of a function call in its place: of its file, in the same way."""
    votes: dict[FunctionRef, int] = {}
    asked = 0
    for caller in callers:
        scope = scope_of(index, caller.file, caller.symbol)
        if scope.function is None:
            continue
        asked += 1
        for ref in _similar_calls(index, caller, file, symbol):
            votes[ref] = votes.get(ref, 0) + 1
    best = sorted(votes.items(), key=lambda item: (-item[1], item[0]))
    if not best or best[0][1] * 2 <= asked or (len(best) > 1 and best[0][1] == best[1][1]):
        return None
    ref, count = best[0]
    many = f"{count} of the {asked} functions" if asked > 1 else "the function"
    reason = f"{many} that called it {'call' if asked > 1 else 'calls'} that"
    return Whereabouts(Fate.RENAMED, ref.file, ref.qualname, reason)


def _similar_calls(index: Index, caller: Caller, file: str, symbol: str) -> set[FunctionRef]:
    """The functions of a file that a caller gives most of the same keywords."""
    names = Names(index)
    scope = scope_of(index, caller.file, caller.symbol)
    wanted = frozenset(caller.keywords)
    found = set()
    for keywords, func in calls_in(scope.function.node) if scope.function else ():
        shared = len(wanted & keywords) / len(wanted | keywords) if wanted | keywords else 0.0
        if shared <= _SHARED:
            continue
        callee = callee_of(names, func, scope)
        if callee is not None and basename(callee.ref.file) == basename(file):
            found.add(callee.ref)
    return {ref for ref in found if ref.qualname != symbol}
