"""The kind ``shape``: what a model returns on each path fits how each caller unpacks it.

Each served class that unpacks what a model returns is executed together with that model: with no
feature on, on any pipeline stage; and for each setter that arms a feature, with everything
collected that was asked for, and with nothing collected. The last counts only if the model can run
layers without capture. A tuple of another length, one tensor, and an object such as a pipeline
proxy are misfits where they meet an unpacking.
"""

from collections.abc import Iterable, Iterator

from msgspec import Struct
from msgspec.structs import replace

from pathaudit.check.answer import Answer, Fault, merge_faults
from pathaudit.check.gating import gate_of
from pathaudit.check.shape_bypass import Bypass, find_bypass
from pathaudit.check.shape_callers import Models, unpacking_methods
from pathaudit.check.shape_executor import Misfit, ShapeExecutor
from pathaudit.check.shape_values import EMPTY, Origin
from pathaudit.check.subjects import find_entries
from pathaudit.conditions import Conjunction, PathCondition, render
from pathaudit.index import ClassRef, Feature, FunctionRef, Index, Instance, Write
from pathaudit.index.features import FALSE, LISTED, TRUE
from pathaudit.paths import BudgetExceeded, Question, ask, plain
from pathaudit.paths.values import Symbol, Value
from pathaudit.results import Gap, Reach
from pathaudit.ruleset import Rule, ShapeRule
from pathaudit.work import Stage, Work


class Compared(Struct, frozen=True):
    """What was found out about one served class."""

    faults: tuple[Fault, ...] = ()
    unpackings: tuple[Origin, ...] = ()
    gaps: tuple[Gap, ...] = ()


class _Case(Struct, frozen=True, eq=False):
    """One method to execute, with one feature on, or none."""

    index: Index
    rule: ShapeRule
    models: Models
    entry: ClassRef
    instance: Instance
    ref: FunctionRef
    feature: Feature | None = None
    known: ShapeExecutor | None = None

    @property
    def method(self) -> str:
        return self.ref.qualname.rpartition(".")[2]


def check_shape(work: Work, rule: ShapeRule, entry: str | None) -> Answer:
    """Judge the rule on every served class of a tree, or on one."""
    asked = [ref for ref in find_entries(work) if entry in (None, ref.name)]
    compared = work.run(COMPARED, asked, rule)
    places = {place for item in compared for place in item.unpackings}
    return Answer(
        findings=merge_faults(rule, _most_reachable(compared)),
        entries=(),
        gaps=tuple(gap for item in compared for gap in item.gaps),
        examined=len(places),
    )


def _most_reachable(compared: Iterable[Compared]) -> Iterator[Fault]:
    """Where one served class gets somewhere and another cannot, the one that can is told."""
    groups: dict[object, list[Fault]] = {}
    for fault in (fault for item in compared for fault in item.faults):
        groups.setdefault((fault.file, fault.region, fault.symbol, fault.kind), []).append(fault)
    for group in groups.values():
        live = [fault for fault in group if fault.reach is Reach.REACHABLE]
        yield from live or group


def compare(index: Index, rule: Rule | None, entry: ClassRef) -> Compared:
    """Execute the methods of a served class that unpack what a model returns."""
    if not isinstance(rule, ShapeRule):
        raise AssertionError("a rule of this kind is needed")
    models = Models(index)
    faults: list[Fault] = []
    places: set[Origin] = set()
    gaps: list[Gap] = []
    for instance, ref in unpacking_methods(index, models, Instance(entry)):
        case = _Case(index, rule, models, entry, instance, ref)
        try:
            for fault, seen in _judged(case):
                faults += fault
                places |= seen
        except BudgetExceeded as reached:
            gaps.append(_cut(case, reached))
    order = sorted(places, key=lambda place: (place.file, place.region))
    return Compared(tuple(dict.fromkeys(faults)), tuple(order), tuple(gaps))


def _cut(case: _Case, reached: BudgetExceeded) -> Gap:
    return Gap(
        kind="budget",
        file=reached.file,
        line=reached.line,
        message=f"{case.ref.qualname} was not analysed to the end: {reached.reason}",
        entries=(case.entry.name,),
    )


_Judged = tuple[list[Fault], set[Origin]]


def _judged(case: _Case) -> Iterator[_Judged]:
    """The faults of one method, and the unpackings looked at, for each state of the features."""
    question = _question(case)
    looked = _look(case, question)
    yield _judged_off(case, question, looked)
    own = case.instance.cls == case.entry and not case.index.is_draft(case.entry)
    for features in _alike(case.index.features(case.entry) if own else ()):
        for faults, places in _judged_on(replace(case, feature=features[0], known=looked)):
            setters = tuple(item.setter for item in features)
            yield [replace(fault, features=setters) for fault in faults], places


def _alike(features: Iterable[Feature]) -> list[list[Feature]]:
    """Features whose setters store the same."""
    groups: dict[tuple[Write, ...], list[Feature]] = {}
    for feature in features:
        groups.setdefault(feature.writes, []).append(feature)
    return list(groups.values())


def _judged_off(case: _Case, question: Question, looked: ShapeExecutor) -> _Judged:
    if not looked.reached:
        return [], looked.unpackings
    executor = _execute(case, question, looked, None)
    return _faults(case, executor), executor.unpackings


def _judged_on(case: _Case) -> Iterator[_Judged]:
    question = _question(case)
    looked = _look(case, question)
    if not looked.reached:
        return
    full = _execute(case, question, looked, True)
    yield _faults(case, full), full.unpackings
    known = {(misfit.unpacked, misfit.returned) for misfit in full.misfits}
    empty = _execute(case, question, looked, False)
    bypasses: dict[Value | None, Bypass | None] = {}
    for misfit, receiver in empty.misfits.items():
        if (misfit.unpacked, misfit.returned) not in known:
            if receiver not in bypasses:
                bypasses[receiver] = _bypass(case, receiver)
            bypass = bypasses[receiver]
            if bypass is not None:
                yield [_bypass_fault(case, misfit, bypass)], empty.unpackings


def _bypass(case: _Case, receiver: Value | None) -> Bypass | None:
    types = receiver.types if isinstance(receiver, Symbol) else None
    if case.feature is None or not isinstance(receiver, Symbol) or types is None:
        return None
    path = tuple(receiver.text.split(".")[1:])
    found = [
        find_bypass(case.index, case.rule, case.feature, path, instance)
        for instance in types.instances()
    ]
    return next((item for item in found if item is not None), None)


def _look(case: _Case, question: Question) -> ShapeExecutor:
    """Execute the caller alone: most callers unpack with a feature on, and not without."""
    armed = None if case.feature is None else True
    executor = ShapeExecutor(
        case.index, question, case.models, collected=armed, dry=True, known=case.known
    )
    executor.run_root(case.instance, case.ref)
    return executor


def _execute(
    case: _Case, question: Question, looked: ShapeExecutor, collected: bool | None
) -> ShapeExecutor:
    executor = ShapeExecutor(case.index, question, case.models, collected=collected, known=looked)
    executor.run_root(case.instance, case.ref)
    return executor


def _question(case: _Case) -> Question:
    """What is on and what is assumed."""
    profile = case.index.profile
    assume = case.rule.assume
    if case.feature is not None:
        writes = case.feature.writes
        assume += case.rule.assume_armed
    else:
        own = case.instance.cls == case.entry
        writes = _switched_off(case.index.features(case.entry) if own else ())
        if profile.pipeline is not None and _is_one_stage(case):
            assume += (profile.pipeline.single,)
    return ask(profile, case.rule.collects, tuple(dict.fromkeys(assume)), writes, frozenset())


def _switched_off(features: Iterable[Feature]) -> tuple[Write, ...]:
    """What the attributes of all features hold while none is on."""
    off = {TRUE: FALSE, FALSE: TRUE, LISTED: EMPTY}
    writes = {write for item in features for write in item.writes if not write.element}
    return tuple(
        replace(write, kind=off[write.kind]) for write in sorted(writes) if write.kind in off
    )


def _is_one_stage(case: _Case) -> bool:
    """Does the framework refuse to split the served class into pipeline stages?"""
    pipeline = case.index.profile.pipeline
    found = case.index.modules.method(case.entry, case.index.profile.modules.call)
    if pipeline is None or found is None:
        return False
    arguments = found[1].node.args
    names = {x.arg for x in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}
    if pipeline.parameter in names:
        return False
    return case.index.modules.find(pipeline.anchor.files, pipeline.anchor.text) is not None


# ---- findings ----


def _faults(case: _Case, executor: ShapeExecutor) -> list[Fault]:
    """One fault for all states in which the same return meets the same unpacking."""
    groups: dict[tuple[Origin, Origin], list[Misfit]] = {}
    for misfit in executor.misfits:
        groups.setdefault((misfit.unpacked, misfit.returned), []).append(misfit)
    return [_fault(case, group) for group in groups.values()]


def _fault(case: _Case, group: list[Misfit]) -> Fault:
    """A fault at the unpacking."""
    misfit = group[0]
    place = misfit.returned
    told = f"{place.symbol} returns {_came(misfit)} (line {place.region.line})"
    message = f"unpacks {misfit.wanted} values where {told}: {_harm(misfit)}"
    return _at(case, misfit, misfit.unpacked, message, _always_true(group))


def _always_true(group: Iterable[Misfit]) -> str:
    """What holds in all states of a group; what they differ in decides nothing."""
    parts = [part.literals for item in group for part in item.condition.alternatives]
    common = frozenset.intersection(*parts)
    return render(PathCondition((Conjunction(common),)), plain)


def _bypass_fault(case: _Case, misfit: Misfit, bypass: Bypass) -> Fault:
    """A fault at the return: its arity hangs on what was collected."""
    caller = f"{misfit.unpacked.symbol} unpacks {misfit.wanted}"
    where = f"{misfit.unpacked.file.rpartition('/')[2]}:{misfit.unpacked.region.line}"
    message = (
        f"returns {_came(misfit)} where nothing was collected, yet {caller} ({where}): "
        f"{_harm(misfit)}"
    )
    fault = _at(case, misfit, misfit.returned, message, bypass.condition)
    if bypass.reach is Reach.REACHABLE:
        return fault
    return replace(fault, reach=bypass.reach, proof=bypass.proof)


def _at(case: _Case, misfit: Misfit, place: Origin, message: str, condition: str) -> Fault:
    gate = gate_of(case.index, case.method).proof if case.feature is not None else ""
    return Fault(
        file=place.file,
        region=place.region,
        symbol=place.symbol,
        entry=case.ref.qualname,
        message=case.rule.message.format(what=message),
        kind=f"{misfit.kind or misfit.found} for {misfit.wanted}",
        severity=case.rule.severity_of(case.method),
        reach=Reach.GATED if gate else Reach.REACHABLE,
        proof=gate,
        condition=condition,
        features=(case.feature.setter,) if case.feature is not None else (),
        architectures=(case.entry.name,),
    )


def _came(misfit: Misfit) -> str:
    names = {"one": "one tensor", "object": f"a {misfit.name}"}
    return names.get(misfit.kind, f"{misfit.found} values")


def _harm(misfit: Misfit) -> str:
    if misfit.kind == "one":
        return f"raises ValueError, or silently takes the rows of a batch of {misfit.wanted}"
    return "raises ValueError" if misfit.kind != "object" else "raises"


COMPARED = Stage("compared", compare, ClassRef, Compared, lambda item: item.file, judges=True)
