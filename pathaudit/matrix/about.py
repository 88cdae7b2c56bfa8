"""What the code says of one served class, before any rule is asked: hooks, signature, stages."""

import ast
from collections.abc import Iterable, Iterator

from msgspec import Struct

from pathaudit.check.subjects import OWNERS, Owner
from pathaudit.index import ClassRef, FunctionOutline, FunctionRef, Index
from pathaudit.index.syntax import parameters
from pathaudit.matrix.failing import failing_call
from pathaudit.matrix.staging import Staged, makes_logits_anyway, staged_of
from pathaudit.results.matrices import Evidence
from pathaudit.ruleset import AnyRule
from pathaudit.work import Stage, Work

Found = tuple[FunctionRef, FunctionOutline]


class Setter(Struct, frozen=True):
    """A method that arms a feature; ``called`` if the framework of this tree calls it at all.

    ``fails`` is the call of the same method on an object whose class does not have it.
    """

    name: str
    place: Evidence
    called: bool
    fails: Evidence | None = None


class About(Struct, frozen=True):
    """A served class. ``opaque`` if it may have methods that are not to be seen.

    ``takes`` is the forward whose signature offers to run in stages, ``stray`` where it makes
    logits on every stage; ``refused`` where split prefill does nothing but to raise.
    """

    entry: ClassRef
    line: int
    opaque: bool
    forward: Evidence | None
    takes: Evidence | None
    declares: Evidence | None
    prefill: Evidence | None
    refused: Evidence | None
    setters: tuple[Setter, ...]
    staged: tuple[Staged, ...]
    stray: Evidence | None


class Asked(Struct, frozen=True):
    """A served class with the objects in it that own layers."""

    entry: ClassRef
    owners: tuple[Owner, ...]
    declaration: str


def find_about(work: Work, served: Iterable[ClassRef], declaration: str) -> list[About]:
    """What is to be seen of each class; ``declaration`` is that of the expert recorder."""
    refs = list(served)
    owners = work.run(OWNERS, refs)
    items = [Asked(ref, own, declaration) for ref, own in zip(refs, owners, strict=True)]
    return work.run(ABOUT, items)


def _look(index: Index, _: AnyRule | None, item: Asked) -> About:
    entry, profile = item.entry, index.profile
    outline = index.modules.class_outline(entry)
    forward = _forward(index, entry)
    names = profile.declarations.get(item.declaration, ())
    parameter = profile.pipeline.parameter if profile.pipeline is not None else ""
    takes = forward is not None and parameter in parameters(forward[1].node)
    return About(
        entry=entry,
        line=outline.line if outline is not None else 1,
        opaque=index.modules.has_unknown_base(entry) or _answers_all(index, entry),
        forward=_head(forward),
        takes=_head(forward) if takes else None,
        declares=next(filter(None, (_method(index, entry, x) for x in names)), None),
        prefill=_method(index, entry, profile.matrix.method),
        refused=_refusal(index, entry, profile.matrix.method),
        setters=tuple(_setters(index, entry)),
        staged=staged_of(index, item.owners),
        stray=makes_logits_anyway(index, entry, forward[0]) if forward is not None else None,
    )


def _answers_all(index: Index, entry: ClassRef) -> bool:
    return index.modules.method(entry, "__getattr__") is not None


def _method(index: Index, entry: ClassRef, name: str) -> Evidence | None:
    return _head(index.modules.method(entry, name)) if name else None


def _head(found: Found | None) -> Evidence | None:
    if found is None:
        return None
    ref, function = found
    return Evidence(ref.file, function.line, f"def {function.name}")


def _forward(index: Index, entry: ClassRef) -> Found | None:
    """The forward of a class, also where it takes that of what it holds for its own."""
    name = index.profile.modules.call
    found = index.modules.method(entry, name)
    for ref in index.modules.mro(entry) if found is None else ():
        outline = index.modules.class_outline(ref)
        for store in outline.stores if outline is not None else ():
            match store.value:
                case ast.Attribute(ast.Attribute(ast.Name("self"), held), taken) if (
                    store.name,
                    taken,
                ) == (name, name):
                    inner = index.at(entry, (held,))
                    return index.modules.method(inner[0].cls, name) if len(inner) == 1 else None
    return found


def _refusal(index: Index, entry: ClassRef, name: str) -> Evidence | None:
    """Where a method raises that does nothing else."""
    found = index.modules.method(entry, name) if name else None
    if found is None:
        return None
    ref, function = found
    first, *rest = [x for x in function.node.body if not _is_text(x)] or [ast.Pass()]
    match first:
        case ast.Raise() | ast.Assert(ast.Constant(False)) if not rest:
            return Evidence(ref.file, first.lineno, ast.unparse(first))
        case _:
            return None


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _setters(index: Index, entry: ClassRef) -> Iterator[Setter]:
    """The arming setters that do something: those of its features."""
    for feature in index.features(entry):
        place = _method(index, entry, feature.setter)
        if place is not None:
            called = _is_called(index, feature.setter)
            yield Setter(feature.setter, place, called, failing_call(index, entry, feature.setter))


def _is_called(index: Index, hook: str) -> bool:
    """Does the framework call a hook? Without the files that would, a tree does not say."""
    callers = index.profile.features.callers
    if not callers or index.modules.find(callers, "def ") is None:
        return True
    return index.modules.find(callers, f".{hook}(") is not None


ABOUT = Stage("about", _look, Asked, About, lambda item: item.entry.file)
