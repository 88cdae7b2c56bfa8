"""The kind ``completes``: what is read of a layer's output between layers is finished."""

import re
from collections.abc import Iterable, Iterator

from msgspec import Struct

from pathaudit.check.answer import Answer, Fault, merge_faults
from pathaudit.check.completes_calls import Read
from pathaudit.check.completes_flow import Flow
from pathaudit.check.completes_layers import Producer
from pathaudit.check.gating import gate_of
from pathaudit.check.subjects import find_owners, find_subjects
from pathaudit.index import FunctionRef, Index, Instance
from pathaudit.results import Gap, Reach, Step
from pathaudit.ruleset import AnyRule, CompletesRule, Profile
from pathaudit.work import Stage, Work

DORMANT = "no setter of the served class arms the feature"
READS = {"captured": "hidden states are captured", "added": "{name} is added to"}


class Target(Struct, frozen=True, order=True):
    """A method of an object that runs layers."""

    instance: Instance
    root: FunctionRef
    method: str


class Followed(Struct, frozen=True):
    """What was read of the layers' outputs in a method and what it calls.

    ``pending`` where the residual that layers return is still to be added; ``producers`` are the
    layers that owe a reduction. ``gate`` proves that the method never runs with a feature on.
    """

    target: Target
    reads: tuple[Read, ...]
    pending: bool
    layers: tuple[str, ...]
    producers: tuple[Producer, ...]
    gate: str
    gap: Gap | None


class Case(Struct, frozen=True):
    """A target as it is served: by which classes, armed by which setters, if that is known."""

    target: Target
    entries: tuple[str, ...]
    setters: tuple[str, ...]
    dormant: bool
    kinds: tuple[str, ...]


def check_completes(work: Work, rule: CompletesRule, entry: str | None) -> Answer:
    """Judge the rule on the methods that run layers, of a tree or of one served class.

    Captures are judged where a feature asks for them, what is added to a value everywhere.
    """
    cases = tuple(_cases(work, rule, entry))
    targets = sorted({case.target for case in cases})
    followed = {item.target: item for item in work.run(FOLLOWED, targets, rule)}
    found = ((case, followed.get(case.target)) for case in cases)
    breaches = [x for case, item in found if item for x in _breaches(rule, case, item)]
    reads = {(read.file, read.region) for item in followed.values() for read in item.reads}
    gaps = {item.gap for item in followed.values() if item.gap is not None}
    return Answer(
        findings=merge_faults(rule, _faults(rule, breaches)),
        entries=(),
        gaps=tuple(sorted(gaps, key=lambda gap: (gap.file, gap.line, gap.message))),
        examined=len(reads),
    )


def _cases(work: Work, rule: CompletesRule, entry: str | None) -> Iterator[Case]:
    if rule.owes == "reduction" and not _marks_anything(work):
        return
    for item in find_subjects(work, entry)[0]:
        target = Target(item.instance, item.root, item.method)
        yield Case(target, item.entries, item.setters, item.dormant, ("captured",))
    if rule.owes == "reduction":
        for owner in find_owners(work, entry):
            target = Target(owner.instance, owner.root, owner.method)
            yield Case(target, (owner.entry,), (), dormant=False, kinds=("added",))


def _marks_anything(work: Work) -> bool:
    answers: list[bool] = work.run(MARKED, work.profile.reductions.marks)
    return any(answers)


def _is_marked(index: Index, _: AnyRule | None, mark: str) -> bool:
    """Does a model file name a mark at all?"""
    return index.modules.find(index.profile.models, mark) is not None


MARKED = Stage("marked", _is_marked, str, bool, lambda _: "")


# ---- one method ----


def _follow(index: Index, rule: AnyRule | None, target: Target) -> Followed:
    if not isinstance(rule, CompletesRule):
        raise AssertionError("a rule of this kind is needed")
    flow = Flow(index, target.instance, _verbs(index.profile, rule.require))
    flow.follow(target.root, {}, 0)
    runs = flow.runs.values()
    gate = gate_of(index, target.method)
    return Followed(
        target=target,
        reads=tuple(sorted(flow.reads.values())),
        pending=flow.folds,
        layers=tuple(sorted({name for run in runs for name in run.layers})),
        producers=tuple(sorted({item for run in runs for item in run.producers})),
        gate=gate.proof,
        gap=gate.gap,
    )


def _verbs(profile: Profile, event: str) -> frozenset[str]:
    """The methods of an accumulator that an event names: ``append`` of ``$AUX.append(...)``."""
    found = (re.match(r"\$[A-Z]+\.(\w+)\(", item.pattern) for item in profile.events[event])
    return frozenset(match.group(1) for match in found if match is not None)


FOLLOWED = Stage("followed", _follow, Target, Followed, lambda x: x.root.file, judges=True)


# ---- findings ----


class Breach(Struct, frozen=True):
    """A read of an unfinished value in one case; ``owing`` are the classes of the layers."""

    case: Case
    read: Read
    owing: tuple[str, ...]
    producers: tuple[Producer, ...]
    reach: Reach
    proof: str


def _breaches(rule: CompletesRule, case: Case, followed: Followed) -> Iterator[Breach]:
    reduction = rule.owes == "reduction"
    for read in followed.reads:
        unfinished = read.owed if reduction else read.bare and followed.pending
        if read.kind in case.kinds and unfinished:
            producers = followed.producers if reduction else ()
            owing = tuple(item.layer for item in producers) or followed.layers
            yield Breach(case, read, owing, producers, *_reach(case, followed, read))


def _reach(case: Case, followed: Followed, read: Read) -> tuple[Reach, str]:
    """What nothing captures for does no harm; what is added to a value needs no feature."""
    if read.kind == "captured" and case.dormant:
        return Reach.DORMANT, DORMANT
    if read.kind == "captured" and followed.gate:
        return Reach.GATED, followed.gate
    return Reach.REACHABLE, ""


def _faults(rule: CompletesRule, breaches: list[Breach]) -> Iterator[Fault]:
    """A fault for each breach; those of a place that reach it alike name all their layers."""
    groups: dict[tuple[Read, Reach], list[Breach]] = {}
    for item in breaches:
        groups.setdefault((item.read, item.reach), []).append(item)
    for group in groups.values():
        layers = {name for item in group for name in item.owing}
        producers = sorted({place for item in group for place in item.producers})
        steps = tuple(dict.fromkeys(map(_step, producers)))
        yield from (_fault(rule, item, layers, steps) for item in group)


def _fault(
    rule: CompletesRule, breach: Breach, layers: Iterable[str], steps: tuple[Step, ...]
) -> Fault:
    case, read = breach.case, breach.read
    what = READS[read.kind].format(name=read.name or "the value")
    return Fault(
        file=read.file,
        region=read.region,
        symbol=read.symbol,
        entry=f"{case.target.instance.cls.name}.{case.target.method}",
        message=rule.message.format(read=what, layers=_listed(layers)),
        kind=read.kind,
        severity=rule.severity_of(case.target.method),
        reach=breach.reach,
        proof=breach.proof,
        steps=steps,
        features=case.setters,
        architectures=case.entries,
    )


def _listed(names: Iterable[str]) -> str:
    *first, last = sorted(set(names)) or ["the layer"]
    return f"{', '.join(first)} and {last}" if first else last


def _step(producer: Producer) -> Step:
    return Step(
        file=producer.file,
        line=producer.region.line,
        column=producer.region.column,
        end_line=producer.region.end_line,
        end_column=producer.region.end_column,
        kind="event",
        text="leaves the reduction to the next layer",
    )
