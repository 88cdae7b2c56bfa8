"""Reads a patch in a tree, and notes what it relies on there."""

import ast
from collections.abc import Iterable, Iterator

from msgspec import Struct, structs

from pathaudit.errors import UsageError
from pathaudit.index import FunctionOutline, Index, build_index
from pathaudit.index.syntax import parse
from pathaudit.relies.code import digest_of, signature_of, sketch_of
from pathaudit.relies.finding import find_callers, find_siblings, functions_of
from pathaudit.relies.hunks import position
from pathaudit.relies.names import bound_in, scope_of
from pathaudit.relies.paths import find_ways, paths_of
from pathaudit.relies.uses import Added, find_uses, stands_for
from pathaudit.ruleset import Profile, patches
from pathaudit.sources import SourceTree
from pathaudit.sources.fitting import Fitted, Standing, find_path, fit_patch
from pathaudit.sources.patches import Hunk, LineKind, Patch
from pathaudit.work import Work


class _Sides(Struct, frozen=True, eq=False):
    """The tree without a patch and with it, and the lines that it adds to files."""

    old: Index
    new: Index
    fitted: Fitted

    def added(self, file: str) -> frozenset[int]:
        return frozenset(place.line for place in self.fitted.added if place.file == file)

    def removed(self, file: str) -> frozenset[int]:
        return frozenset(place.line for place in self.fitted.removed if place.file == file)


def record_patch(
    tree: SourceTree, profile: Profile, patch: Patch, *, name: str, reason: str = ""
) -> patches.Reliance:
    """Note what a patch relies on in a tree that has it, or that it fits.

    UsageError if it is in the tree only in part, or fits it no more: the message names the first
    hunk in its way.
    """
    fitted = fit_patch(tree, patch)
    if fitted.standing is Standing.NEITHER:
        first = fitted.misfits[0]
        raise UsageError(
            f"{patch.label}:{first.at}: does not fit {tree.label}: {first.path}: {first.reason}",
            "name the tree that the patch was made for, with or without it",
        )
    sides = _Sides(build_index(fitted.old, profile), build_index(fitted.new, profile), fitted)
    work = Work(fitted.new, profile)
    return patches.Reliance(
        name=name,
        files=tuple(_with_paths(work, sides, file) for file in _files(sides, patch)),
        reason=reason,
        version=tree.version or "",
        patched=fitted.standing is Standing.PATCHED,
    )


def _files(sides: _Sides, patch: Patch) -> Iterator[patches.File]:
    for file in patch.files:
        old = _own(sides.old.tree, file.old_path)
        new = _own(sides.new.tree, file.new_path)
        if old is None and new is None:
            continue
        path = new or old or ""
        yield patches.File(
            path,
            tuple(_hunk(sides, old, new, hunk) for hunk in file.hunks),
            tuple(_functions(sides, old, new)),
            was=old if old not in (None, path) else "",
            added=old is None,
            deleted=new is None,
        )


def _own(tree: SourceTree, path: str | None) -> str | None:
    """The path of a file of the patch in a tree; none where it is not there, on that side."""
    if path is None:
        return None
    inside = f"{tree.package}/{path}"
    return find_path(tree, path) or (inside if inside in tree else None)


def _with_paths(work: Work, sides: _Sides, file: patches.File) -> patches.File:
    """A file with the paths on which its functions run what the patch adds to them."""
    changed = [item.symbol for item in file.functions if item.digest]
    found = paths_of(find_ways(work, file.path, changed, sides.added(file.path)))
    functions = (structs.replace(item, paths=found.get(item.symbol, ())) for item in file.functions)
    return structs.replace(file, functions=tuple(functions))


# ---- hunks --------------------------------------------------------------------------------------


def _hunk(sides: _Sides, old: str | None, new: str | None, hunk: Hunk) -> patches.Hunk:
    before, after = _lines(sides.old, old), _lines(sides.new, new)
    known = {line.strip() for line in before}
    own = (
        at
        for at, line in enumerate(hunk.lines)
        if line.kind is LineKind.ADDED and _says_something(line.text, known)
    )
    first = position(before, [line.text for line in hunk.before], hunk.old_start)
    now = position(after, [line.text for line in hunk.after], hunk.new_start)
    return patches.Hunk(
        old=first if hunk.before else hunk.old_start,
        new=now if hunk.after else hunk.new_start,
        lines=tuple(f"{line.kind}{line.text}" for line in hunk.lines),
        symbol=_symbol(sides, old, new, hunk, first, now),
        own=tuple(own) if before else (),
    )


def _says_something(text: str, known: set[str]) -> bool:
    """Would the line be missed: is it code, and of the patch alone?"""
    plain = text.strip()
    return plain not in known and not plain.startswith("#") and any(map(str.isalnum, plain))


def _symbol(
    sides: _Sides, old: str | None, new: str | None, hunk: Hunk, first: int, now: int
) -> str:
    """The function in which the first changed line stands that says something."""
    for index, file, kept, start in (
        (sides.new, new, hunk.after, now),
        (sides.old, old, hunk.before, first),
    ):
        for at, line in enumerate(kept):
            if file and line.kind is not LineKind.CONTEXT and line.text.strip():
                function = _around(index, file, start + at)
                return function.qualname if function is not None else ""
    return ""


def _around(index: Index, file: str, line: int) -> FunctionOutline | None:
    return next((x for x in functions_of(index, file) if x.first <= line <= x.last), None)


def _lines(index: Index, file: str | None) -> list[str]:
    outline = index.modules.outline(file) if file is not None else None
    return [line.rstrip("\r\n") for line in outline.lines] if outline is not None else []


# ---- functions ----------------------------------------------------------------------------------


def _functions(sides: _Sides, old: str | None, new: str | None) -> Iterator[patches.Function]:
    """What a patch changes in a file: its module outside functions, then its functions."""
    added = Added(sides.added(new or ""), _module_names(sides, new))
    before = {x.qualname: x for x in functions_of(sides.old, old or "")}
    after = {x.qualname: x for x in functions_of(sides.new, new or "")}
    outside = _outside(sides, new, added)
    if outside:
        yield patches.Function("", uses=outside)
    changed = {x.qualname for x in after.values() if _holds(x, added.lines)}
    removed = sides.removed(old or "")
    changed |= {x.qualname for x in before.values() if _holds(x, removed)}
    for name in [x for x in {**before, **after} if x in changed]:
        yield _function(sides, old or "", new or "", before.get(name), after.get(name), added)


def _holds(function: FunctionOutline, lines: Iterable[int]) -> bool:
    return any(function.first <= line <= function.last for line in lines)


def _function(
    sides: _Sides,
    old: str,
    new: str,
    before: FunctionOutline | None,
    after: FunctionOutline | None,
    added: Added,
) -> patches.Function:
    shown = before or after
    if shown is None:
        raise AssertionError("a function is on one side at least")
    uses: tuple[patches.Use, ...] = ()
    if after is not None:
        scope = scope_of(sides.new, new, after.qualname)
        standing = stands_for(sides.new, new, _module(sides.new, new))
        if scope.cls is None and after.qualname in standing:
            scope = structs.replace(scope, cls=standing[after.qualname])
        uses = find_uses(sides.new, sides.old, scope, after.node, added)
    known = before is not None
    return patches.Function(
        symbol=shown.qualname,
        signature=signature_of(shown.node),
        digest=digest_of(shown.node) if known else "",
        sketch=sketch_of(shown.node) if known else "",
        uses=uses,
        callers=tuple(find_callers(sides.old, old, shown.qualname)) if known else (),
        siblings=find_siblings(sides.old, old, shown.qualname) if known else (),
    )


def _outside(sides: _Sides, new: str | None, added: Added) -> tuple[patches.Use, ...]:
    if new is None or not added.lines:
        return ()
    scope = scope_of(sides.new, new, "")
    module = _module(sides.new, new)
    return find_uses(sides.new, sides.old, scope, module, added)


def _module(index: Index, file: str) -> ast.Module:
    """The syntax of a file; empty if it has none, which is a gap."""
    if index.modules.outline(file) is None:
        return ast.Module(body=[], type_ignores=[])
    return parse("\n".join(_lines(index, file)))


def _module_names(sides: _Sides, new: str | None) -> frozenset[str]:
    """The names that the added lines bind in the module, where no other line does."""
    if new is None:
        return frozenset()
    lines = sides.added(new)
    outside = _module(sides.new, new)
    inner = [x for x in outside.body if not hasattr(x, "decorator_list")]
    heads = {getattr(x, "name", ""): [x.lineno] for x in outside.body if x not in inner}
    for statement in inner:
        for name, where in bound_in(statement).items():
            heads.setdefault(name, []).extend(where)
    return frozenset(name for name, where in heads.items() if lines.issuperset(where))
