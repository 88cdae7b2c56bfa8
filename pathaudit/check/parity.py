"""The kind ``parity``: sites that run the same layers give them the same, and keep what they give.

The loop over the layers says what a layer is given. A runner that gets the layers instead, and the
step-by-step method beside ``forward``, must have all of it, or the layer runs on a default.
"""

import ast
from collections.abc import Iterator
from fnmatch import fnmatchcase

from msgspec import Struct

from pathaudit.check.answer import Answer, Fault, merge_faults
from pathaudit.check.dispatches_runner import Runner
from pathaudit.check.parity_calls import LayerCall, layer_calls, reads, root_of
from pathaudit.check.parity_steps import unlike
from pathaudit.check.places import region_of
from pathaudit.check.sites import Handoff, handoffs, layer_classes
from pathaudit.check.subjects import Owner, find_owners
from pathaudit.index import ClassRef, FunctionRef, Index
from pathaudit.results import Reach, Severity
from pathaudit.ruleset import ParityRule, Rule
from pathaudit.work import Stage, Work


class Dropped(Struct, frozen=True, eq=False):
    """A parameter that the loop gives to a layer, and another site does not."""

    parameter: str
    value: str
    exempt: bool


def check_parity(work: Work, rule: ParityRule, entry: str | None) -> Answer:
    """Judge the objects that own layers, of a tree or of one served class."""
    call = work.profile.modules.call
    owners = [owner for owner in find_owners(work, entry) if owner.method == call]
    faults = [fault for found in work.run(UNEQUAL, owners, rule) for fault in found]
    return Answer(merge_faults(rule, faults), (), (), len(owners))


def _find_unequal(index: Index, rule: Rule | None, owner: Owner) -> tuple[Fault, ...]:
    if not isinstance(rule, ParityRule):
        raise AssertionError("a rule of this kind is needed")
    return tuple(_faults(index, rule, owner))


def _faults(index: Index, rule: Rule, owner: Owner) -> Iterator[Fault]:
    handed, stepping = list(handoffs(index, owner)), list(_steps_of(index, owner))
    for stack in sorted(owner.stacks) if handed or stepping else ():
        layers = layer_classes(index, owner.instance, stack)
        refs = index.closure(owner.instance.cls, owner.root)
        calls = [x for ref in refs for x in layer_calls(index, ref, frozenset((stack,)), layers)]
        if len(calls) != 1:
            continue  # several loops of one method: which is the sibling of a site is not known
        main = calls[0]
        for item in handed:
            if item.stack == stack and item.ref == main.ref:
                yield from _handed(index, rule, owner, layers, main, item)
        for ref in stepping:
            for other in layer_calls(index, ref, frozenset((stack,)), layers):
                yield from _stepped(index, rule, owner, layers, main, other)
            for node, text in unlike(index, main.ref, ref):
                yield _fault(index, rule, owner, ref, node, text, note=True)


def _steps_of(index: Index, owner: Owner) -> Iterator[FunctionRef]:
    """The other methods that the framework calls, of the object and of its served class."""
    profile = index.profile
    served = (owner.instance.cls, *_entry(index, owner))
    for name in profile.entries.methods:
        if name != profile.modules.call:
            found = [index.modules.method(cls, name) for cls in served]
            yield from sorted({method[0] for method in found if method is not None})


def _entry(index: Index, owner: Owner) -> Iterator[ClassRef]:
    """The served class of an owner, which stands in the file that is served or in its own."""
    files = {owner.instance.cls.file, owner.root.file}
    for file in sorted(files):
        yield from (cls for cls in index.served(file) if cls.name == owner.entry)


# ---- a runner that is handed the layers ----


def _handed(
    index: Index,
    rule: Rule,
    owner: Owner,
    layers: tuple[ClassRef, ...],
    main: LayerCall,
    item: Handoff,
) -> Iterator[Fault]:
    dropped = list(_not_handed(index, layers, main, item.call))
    if not dropped:
        return
    what = f"{item.callee.qualname} gets no {_listed(dropped)}, which the loop gives to each layer"
    refused = [Runner(index, cls).refusals(item.callee, item.name) for cls in layers]
    blocked = ""
    if refused and all(refused):
        blocked = f"{item.callee.qualname} raises {refused[0][0].error} for this class."
    yield _fault(
        index,
        rule,
        owner,
        item.ref,
        item.call,
        what,
        note=_harmless(dropped),
        blocked=blocked,
        effect=_effect(dropped),
    )


def _not_handed(
    index: Index, layers: tuple[ClassRef, ...], main: LayerCall, call: ast.Call
) -> Iterator[Dropped]:
    """What the loop takes from a local and the call does not get, nor through another object."""
    values = [*call.args, *(item.value for item in call.keywords)]
    given = {root_of(value) for value in values}
    stored = _stored_on(main.function.node, given)
    for name, value in main.given:
        root = root_of(value)
        if not root or root in given or root in stored or root in main.moving:
            continue
        if reads(index, layers, name) and not _is_gated(index, name):
            yield Dropped(name, root, _is_exempt(index, name, root))


def _stored_on(node: ast.AST, objects: set[str]) -> frozenset[str]:
    """The locals that a function stores on one of some objects."""
    return frozenset(
        name.id
        for statement in ast.walk(node)
        if isinstance(statement, ast.Assign)
        and any(isinstance(x, ast.Attribute) and root_of(x) in objects for x in statement.targets)
        for name in ast.walk(statement.value)
        if isinstance(name, ast.Name)
    )


# ---- the method that runs some layers at a time ----


def _stepped(
    index: Index,
    rule: Rule,
    owner: Owner,
    layers: tuple[ClassRef, ...],
    main: LayerCall,
    other: LayerCall,
) -> Iterator[Fault]:
    given = {name for name, _ in other.given}
    starred = any(item.arg is None for item in other.call.keywords)
    dropped = [
        Dropped(name, root_of(value), _is_exempt(index, name, root_of(value)))
        for name, value in main.given
        if name not in given
        and not starred
        and root_of(value)
        and reads(index, layers, name)
        and not _is_gated(index, name)
    ]
    if dropped:
        what = f"the layers get no {_listed(dropped)} here, which {main.ref.qualname} gives them"
        yield _fault(
            index,
            rule,
            owner,
            other.ref,
            other.call,
            what,
            note=_harmless(dropped),
            effect=_effect(dropped),
        )
    if len(main.targets) == len(other.targets) > 1:
        for kept, left in zip(main.targets, other.targets, strict=True):
            if left == "_" != kept:
                what = f"{kept} is thrown away here, and kept by {main.ref.qualname}"
                yield _fault(index, rule, owner, other.ref, other.call, what)


# ---- all ----


def _is_exempt(index: Index, *names: str) -> bool:
    globs = index.profile.siblings.exempt
    return any(fnmatchcase(name, glob) for name in names for glob in globs)


def _is_gated(index: Index, name: str) -> bool:
    """Does the framework refuse to start where the argument matters?"""
    return any(
        fnmatchcase(name, glob)
        and index.modules.find(item.anchor.files, item.anchor.text) is not None
        for item in index.profile.siblings.gates
        for glob in item.arguments
    )


def _harmless(dropped: list[Dropped]) -> bool:
    return all(item.exempt for item in dropped)


def _effect(dropped: list[Dropped]) -> str:
    if _harmless(dropped):
        return "silent: the layers do without it, and are slower"
    return "silent: the layers run on the default"


def _listed(dropped: list[Dropped]) -> str:
    """What matters, or all of it where nothing does."""
    names = [x.parameter for x in dropped if not x.exempt] or [x.parameter for x in dropped]
    *first, last = names
    return f"{', '.join(first)} or {last}" if first else last


def _fault(
    index: Index,
    rule: Rule,
    owner: Owner,
    ref: FunctionRef,
    node: ast.expr,
    text: str,
    *,
    note: bool = False,
    blocked: str = "",
    effect: str = "silent: what is computed differs",
) -> Fault:
    return Fault(
        file=ref.file,
        region=region_of(index, ref.file, node),
        symbol=ref.qualname,
        entry=f"{owner.instance.cls.name}.{owner.method}",
        message=rule.message.format(how=text),
        kind=text.partition(",")[0],
        effect=effect,
        severity=Severity.NOTE if note else None,
        reach=Reach.BLOCKED if blocked else Reach.REACHABLE,
        proof=blocked,
        architectures=(owner.entry,),
    )


UNEQUAL = Stage(
    "unequal", _find_unequal, Owner, tuple[Fault, ...], lambda item: item.root.file, judges=True
)
