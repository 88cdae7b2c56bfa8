"""The kind ``invokes``: modules are entered by a call, so that what is hooked onto them runs.

Hooks, and what wraps a module from outside, stand around the call of a module. Code that runs its
``forward``, another method of it, or its operations in a recipe, passes them by.
"""

import ast
from collections.abc import Iterable, Iterator

from msgspec import structs

from pathaudit.check.answer import Answer, Fault, merge_faults
from pathaudit.check.dispatches_recipe import Listed, operations
from pathaudit.check.dispatches_runner import Runner
from pathaudit.check.invokes_calls import Entered, entered_past_call, modules_at, runs_a_part
from pathaudit.check.places import region_of
from pathaudit.check.reads_held import HELD
from pathaudit.check.reads_loads import forward_methods
from pathaudit.check.sites import find_handing, handoffs, layer_classes
from pathaudit.check.subjects import Owner, find_entries
from pathaudit.index import ClassRef, FunctionRef, Index, Instance
from pathaudit.ruleset import InvokesRule, Rule
from pathaudit.work import Stage, Work


def check_invokes(work: Work, rule: InvokesRule, entry: str | None) -> Answer:
    """Judge what served classes hold, and the recipes that their layers are run by."""
    served = [
        ref
        for ref in find_entries(work)
        if entry in (None, ref.name) and not work.profile.is_draft(ref.name, ref.file)
    ]
    entries: dict[ClassRef, set[str]] = {}
    for ref, held in zip(served, work.run(HELD, served), strict=True):
        for item in held:
            entries.setdefault(item.cls, set()).add(ref.name)
    classes = sorted(entries)
    faults = []
    for cls, found in work.pairs(DIRECT, classes, rule):
        names = tuple(sorted(entries[cls]))
        faults += [structs.replace(fault, architectures=names) for fault in found]
    owners = find_handing(work, entry)
    for owner, found in work.pairs(RECIPES, list(owners), rule):
        faults += [structs.replace(fault, architectures=owners[owner]) for fault in found]
    return Answer(merge_faults(rule, faults), (), (), len(classes) + len(owners))


# ---- another method than the call ----


def _find_direct(index: Index, rule: Rule | None, cls: ClassRef) -> tuple[Fault, ...]:
    if not isinstance(rule, InvokesRule):
        raise AssertionError("a rule of this kind is needed")
    found = (x for ref in forward_methods(index, cls) for x in entered_past_call(index, cls, ref))
    return tuple(_direct(index, rule, cls, item) for item in found)


def _direct(index: Index, rule: Rule, cls: ClassRef, item: Entered) -> Fault:
    names = _listed(x.name for x in item.classes)
    return Fault(
        file=item.ref.file,
        region=region_of(index, item.ref.file, item.call),
        symbol=item.ref.qualname,
        entry=f"{cls.name}.{index.profile.modules.call}",
        message=rule.message.format(
            how=f"{item.text}.{item.method}(...) runs {names}", modules=names
        ),
        kind=f"{item.text}.{item.method}",
    )


# ---- operations of a recipe ----


def _find_recipes(index: Index, rule: Rule | None, owner: Owner) -> tuple[Fault, ...]:
    if not isinstance(rule, InvokesRule):
        raise AssertionError("a rule of this kind is needed")
    found: dict[Fault, None] = {}
    for handoff in handoffs(index, owner):
        for cls in layer_classes(index, owner.instance, handoff.stack):
            runner = Runner(index, cls)
            if not runner.refusals(handoff.callee, handoff.name):
                listed = [x for item in runner.recipes for x in operations(index, item)]
                found.update(dict.fromkeys(_recipes(index, rule, owner, cls, listed)))
    return tuple(found)


def _recipes(
    index: Index, rule: Rule, owner: Owner, cls: ClassRef, listed: list[Listed]
) -> Iterator[Fault]:
    groups: dict[FunctionRef, list[Listed]] = {}
    for item in listed:
        if _holders(index, cls, item.path):
            groups.setdefault(item.ref, []).append(item)
    for ref, items in groups.items():
        names = sorted({x.name for item in items for x in _holders(index, cls, item.path)})
        yield Fault(
            file=ref.file,
            region=region_of(index, ref.file, items[0].node),
            symbol=ref.qualname,
            entry=f"{owner.instance.cls.name}.{owner.method}",
            message=rule.message.format(
                how=f"the operations listed from here on run {_listed(names)}",
                modules=_listed(names),
            ),
            kind="recipe",
        )
    for item in listed:
        for holder in _holders(index, cls, item.path):
            yield from _parts(index, rule, owner, holder, item.path[-1])


def _holders(index: Index, cls: ClassRef, path: tuple[str, ...]) -> list[ClassRef]:
    """The classes at a path that have the operation which ends it."""
    found = index.types.along([Instance(cls)], path[:-1])
    return [x.cls for x in found if index.modules.method(x.cls, path[-1]) is not None]


def _parts(
    index: Index, rule: Rule, owner: Owner, cls: ClassRef, operation: str
) -> Iterator[Fault]:
    """Modules of which an operation runs a part that their forward would run."""
    found = index.modules.method(cls, operation)
    if found is None:
        return
    for call in found[1].nodes:
        match call:
            case ast.Call(ast.Attribute(ast.Attribute(ast.Name("self")) as base, method)):
                classes = modules_at(index, cls, *found, base)
                run = tuple(x for x in classes if runs_a_part(index, x, method))
                if run:
                    item = Entered(found[0], call, ast.unparse(base), method, run)
                    yield _part(index, rule, owner, item)


def _part(index: Index, rule: Rule, owner: Owner, item: Entered) -> Fault:
    names = _listed(x.name for x in item.classes)
    return Fault(
        file=item.ref.file,
        region=region_of(index, item.ref.file, item.call),
        symbol=item.ref.qualname,
        entry=f"{owner.instance.cls.name}.{owner.method}",
        message=rule.message.format(
            how=f"{item.text}.{item.method}(...) runs a part of {names}", modules=names
        ),
        kind=f"{item.text}.{item.method}",
    )


def _listed(names: Iterable[str]) -> str:
    *first, last = list(dict.fromkeys(names)) or ["nothing"]
    return f"{', '.join(first)} and {last}" if first else last


DIRECT = Stage(
    "direct", _find_direct, ClassRef, tuple[Fault, ...], lambda cls: cls.file, judges=True
)
RECIPES = Stage(
    "recipes", _find_recipes, Owner, tuple[Fault, ...], lambda item: item.root.file, judges=True
)
