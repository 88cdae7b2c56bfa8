"""The kind ``uses``: a forward that declares a parameter of the protocol reads it."""

import ast
from collections.abc import Iterable, Iterator

from msgspec import Struct

from pathaudit.check.answer import Answer, Fault, merge_faults
from pathaudit.check.places import region_of
from pathaudit.check.subjects import OWNERS, Owner, find_targets
from pathaudit.index import ClassRef, FunctionRef, Index, Instance
from pathaudit.index.syntax import dotted_name, parameters
from pathaudit.ir import Region
from pathaudit.results import Gap, Reach
from pathaudit.ruleset import Protocol, Rule, UsesRule
from pathaudit.work import Stage, Work


class Served(Struct, frozen=True):
    """A served class with the objects in it that own layers.

    ``inferred`` are the parameters that the framework asks a signature for.
    """

    entry: ClassRef
    owners: tuple[Owner, ...]
    inferred: tuple[str, ...]


class Ignored(Struct, frozen=True):
    """A parameter of a forward that nothing there reads.

    ``declared`` if the served class's own forward declares it too.
    """

    function: FunctionRef
    region: Region
    name: str
    owner: str
    declared: bool


class Judged(Struct, frozen=True):
    """What a served class ignores, and how many parameters were looked at."""

    entry: str
    ignored: tuple[Ignored, ...]
    examined: int


def check_uses(work: Work, rule: UsesRule, entry: str | None) -> Answer:
    """Judge the forwards of a tree, or of one served class; drafts are not asked."""
    asks = dict(zip(rule.parameters, work.run(ASKS, rule.parameters), strict=True))
    inferred = tuple(item.name for item, found in asks.items() if found == _THERE)
    asked = find_targets(work, entry)
    owners = work.run(OWNERS, asked)
    items = [Served(ref, held, inferred) for ref, held in zip(asked, owners, strict=True)]
    judged = work.run(IGNORED, items, rule)
    faults = [fault for item in judged for fault in _faults(rule, inferred, item)]
    return Answer(
        findings=merge_faults(rule, faults),
        entries=(),
        gaps=tuple(_void(item) for item, found in asks.items() if found == _GONE),
        examined=sum(item.examined for item in judged),
    )


def _void(item: Protocol) -> Gap:
    file = item.inferred.files[0] if item.inferred is not None else ""
    message = f"nothing asks a signature for {item.name}: the code that did is not in this tree"
    return Gap(kind="profile", file=file, line=1, message=message)


def _asks(index: Index, _: Rule | None, item: Protocol) -> str:
    """Does the framework ask a signature for the parameter? A part of a tree cannot tell."""
    anchor = item.inferred
    if anchor is None:
        return ""
    if index.modules.find(anchor.files, anchor.text) is not None:
        return _THERE
    return _GONE if any(map(index.modules.outline, anchor.files)) else ""


_THERE, _GONE = "there", "gone"


# ---- one served class -------------------------------------------------------------------------


def _judge(index: Index, rule: Rule | None, item: Served) -> Judged:
    if not isinstance(rule, UsesRule):
        raise AssertionError("a rule of this kind is needed")
    every = [found.name for found in rule.parameters]
    own = _forwards(index, Instance(item.entry), item.entry)
    declared = {name for ref, _ in own[:1] for name in _parameters(index, ref)}
    places = {ref: (owner, list(item.inferred)) for ref, owner in own}
    for found in item.owners:
        forwards = _forwards(index, found.instance, found.instance.cls)
        places.update((ref, (owner, every)) for ref, owner in forwards)
    looked = [
        (ref, owner, name)
        for ref, (owner, names) in places.items()
        for name in names
        if name in _parameters(index, ref)
    ]
    return Judged(item.entry.name, tuple(_ignored(index, looked, declared)), len(looked))


def _forwards(index: Index, instance: Instance, cls: ClassRef) -> list[tuple[FunctionRef, str]]:
    """The forward of a class, and those of its bases that it hands over to."""
    call = index.profile.modules.call
    found = index.modules.method(instance.cls, call)
    if found is None:
        return []
    reached = index.closure(instance.cls, found[0])
    inherited = [ref for ref in reached if ref.qualname.rpartition(".")[2] == call]
    return [(ref, cls.name) for ref in inherited]


def _parameters(index: Index, ref: FunctionRef) -> set[str]:
    function = index.modules.function(ref)
    return parameters(function.node) if function is not None else set()


def _ignored(
    index: Index, looked: Iterable[tuple[FunctionRef, str, str]], declared: set[str]
) -> Iterator[Ignored]:
    for ref, owner, name in looked:
        function = index.modules.function(ref)
        cls = index.modules.owner(ref)
        if function is None or _reads(function.node, name) or (cls and index.is_draft(cls)):
            continue
        arguments = function.node.args
        every = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
        place = next(item for item in every if item.arg == name)
        region = region_of(index, ref.file, ast.copy_location(ast.Name(name), place))
        yield Ignored(ref, region, name, owner, name in declared)


def _reads(node: ast.FunctionDef | ast.AsyncFunctionDef, name: str) -> bool:
    """Does a body read a name in any way, or end before it could?"""
    return _refuses(node.body) or any(
        (isinstance(part, ast.Name) and part.id == name and isinstance(part.ctx, ast.Load))
        or (isinstance(part, ast.Call) and dotted_name(part.func) in ("locals", "vars"))
        for statement in node.body
        for part in ast.walk(statement)
    )


def _refuses(body: list[ast.stmt]) -> bool:
    """A body that does nothing: it only documents, passes or raises."""
    return all(
        isinstance(item, ast.Raise | ast.Pass)
        or (isinstance(item, ast.Expr) and isinstance(item.value, ast.Constant))
        for item in body
    )


# ---- findings ---------------------------------------------------------------------------------


def _faults(rule: UsesRule, inferred: tuple[str, ...], judged: Judged) -> Iterator[Fault]:
    protocol = {item.name: item for item in rule.parameters}
    for found in judged.ignored:
        item = protocol[found.name]
        refused = found.name in inferred and not found.declared
        owner = found.function.qualname.rpartition(".")[0]
        yield Fault(
            file=found.function.file,
            region=found.region,
            symbol=found.function.qualname,
            entry=found.function.qualname,
            message=rule.message.format(name=found.name, owner=owner),
            kind=f"ignores {found.name}",
            severity=item.severity,
            reach=Reach.BLOCKED if refused else Reach.REACHABLE,
            proof=_refused(judged.entry, item) if refused else "",
            architectures=(judged.entry,),
            effect="" if refused else item.effect,
        )


def _refused(entry: str, item: Protocol) -> str:
    return f"{entry}.forward does not declare {item.name}, so that nothing is handed over."


ASKS = Stage("asks", _asks, Protocol, str, lambda item: item.name)
IGNORED = Stage("ignored", _judge, Served, Judged, lambda item: item.entry.file, judges=True)
