"""The kind ``gathers``: what is made of rows that ranks share is gathered as its siblings are.

Where a forward splits the rows of the hidden states over ranks and gathers them before it
returns, what was collected in between has the rows of one rank alone. The same holds where the
layers themselves leave rows scattered: what is collected between two of them is a part.
"""

from collections.abc import Iterable, Iterator

from msgspec import Struct

from pathaudit.check.answer import Answer, Fault, merge_faults
from pathaudit.check.gathers_rows import Place, Rows
from pathaudit.check.places import region_of
from pathaudit.check.relays_collected import Collections
from pathaudit.check.relays_layers import Loops
from pathaudit.check.subjects import FEATURES, OWNERS, find_targets
from pathaudit.index import FunctionRef, Index, Instance
from pathaudit.ir import Region
from pathaudit.paths import ask
from pathaudit.results import Severity, Step
from pathaudit.ruleset import GathersRule, Rule
from pathaudit.work import Stage, Work


class Asked(Struct, frozen=True, order=True):
    """A method that runs layers, and the names that the setters of a served class write."""

    instance: Instance
    root: FunctionRef
    switches: tuple[str, ...]


class Part(Struct, frozen=True, order=True):
    """A value of which each rank keeps a part.

    ``gathered`` is what is gathered there in its place; where that is nothing, the layers share
    out the rows themselves.
    """

    function: FunctionRef
    region: Region
    name: str
    gathered: str
    filled: Region
    split: Region | None


class Looked(Struct, frozen=True):
    """What one method leaves in parts, and how many collections it fills."""

    asked: Asked
    parts: tuple[Part, ...]
    examined: int


def check_gathers(work: Work, rule: GathersRule, entry: str | None) -> Answer:
    """Judge the models that collect for a feature, of a tree or of one served class."""
    asked = find_targets(work, entry)
    groups: dict[Asked, dict[str, set[str]]] = {}
    for features, owners in zip(work.run(FEATURES, asked), work.run(OWNERS, asked), strict=True):
        names = tuple(sorted({write.name for item in features for write in item.writes}))
        for owner in owners if names else ():
            if owner.method == work.profile.modules.call:
                group = groups.setdefault(Asked(owner.instance, owner.root, names), {})
                group.setdefault(owner.entry, set()).update(item.setter for item in features)
    looked = work.run(PARTS, sorted(groups), rule)
    return Answer(
        findings=merge_faults(rule, (x for item in looked for x in _faults(rule, item, groups))),
        entries=(),
        gaps=(),
        examined=sum(item.examined for item in looked),
    )


# ---- one method -------------------------------------------------------------------------------


def _look(index: Index, rule: Rule | None, item: Asked) -> Looked:
    if not isinstance(rule, GathersRule):
        raise AssertionError("a rule of this kind is needed")
    parts: set[Part] = set()
    examined = 0
    stacks = index.stacks_of(item.instance)
    question = ask(index.profile, rule.collect, (), (), stacks)
    for ref in index.closure(item.instance.cls, item.root):
        function = index.modules.function(ref)
        if function is None or not function.attributes & stacks:
            continue
        loops = Loops(function.node, stacks)
        collections = Collections(index, question, ref, loops)
        rows = Rows(loops, collections, index.profile.sharding, frozenset(item.switches))
        examined += len(list(collections.filled(frozenset(item.switches))))
        parts.update(_part(index, ref, place) for place in rows.parts(function.attributes))
    return Looked(item, tuple(sorted(parts, key=repr)), examined)


def _part(index: Index, ref: FunctionRef, place: Place) -> Part:
    file = ref.file
    return Part(
        function=ref,
        region=region_of(index, file, place.node),
        name=place.name,
        gathered=place.gathered,
        filled=region_of(index, file, place.filled),
        split=region_of(index, file, place.split) if place.split is not None else None,
    )


# ---- findings ---------------------------------------------------------------------------------


def _faults(
    rule: GathersRule, looked: Looked, groups: dict[Asked, dict[str, set[str]]]
) -> Iterator[Fault]:
    entries = groups[looked.asked]
    setters = {name for names in entries.values() for name in names}
    for part in looked.parts:
        yield Fault(
            file=part.function.file,
            region=part.region,
            symbol=part.function.qualname,
            entry=looked.asked.root.qualname,
            message=rule.message.format(name=part.name, how=_how(part)),
            kind=f"{'split' if part.gathered else 'scattered'} {part.name}",
            # Whether layers scatter rows is decided by how the server is started.
            severity=None if part.gathered else Severity.WARNING,
            steps=tuple(_steps(part)),
            features=tuple(sorted(setters)),
            architectures=tuple(sorted(entries)),
            effect="Each rank keeps its own rows: the draft model gets too few of them, or others.",
        )


def _how(part: Part) -> str:
    if part.gathered:
        return f"{part.gathered} is gathered here, and it is not"
    return "layers may leave rows scattered, and no path gathers them before they are collected"


def _steps(part: Part) -> Iterable[Step]:
    if part.split is not None:
        yield _step(part, part.split, "each rank takes a part of the rows")
    if part.gathered:
        yield _step(part, part.filled, f"{part.name} is filled from these rows")


def _step(part: Part, region: Region, text: str) -> Step:
    return Step(
        file=part.function.file,
        line=region.line,
        column=region.column,
        end_line=region.end_line,
        end_column=region.end_column,
        kind="event",
        text=text,
    )


PARTS = Stage("parts", _look, Asked, Looked, lambda item: item.root.file, judges=True)
