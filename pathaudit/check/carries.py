"""The kind ``carries``: what is collected reaches the caller on every exit, and then its reader."""

from collections.abc import Iterable, Iterator
from typing import cast

from msgspec import Struct

from pathaudit.check.answer import Answer, Fault, merge_faults
from pathaudit.check.carries_follow import Follower, TooMany
from pathaudit.check.carries_values import Course, Loss, Thing
from pathaudit.check.gating import gate_of
from pathaudit.check.subjects import FEATURES, find_targets
from pathaudit.index import ClassRef, Feature, Index, Instance, Write
from pathaudit.index.features import LISTED, TRUE
from pathaudit.paths import ask
from pathaudit.results import Gap, Reach, Severity
from pathaudit.ruleset import CarriesRule, Rule
from pathaudit.work import Stage, Work

# How much of a returned expression is shown.
SHOWN = 60

DORMANT = "No setter of the served class arms the feature."


class Served(Struct, frozen=True):
    """A served class to follow; ``switches`` are those of all others where nothing arms it."""

    entry: ClassRef
    switches: tuple[tuple[str, str], ...] = ()


class Carried(Struct, frozen=True):
    """What was found in one served class, and how much was looked at."""

    faults: tuple[Fault, ...]
    gaps: tuple[Gap, ...]
    examined: int


def check_carries(work: Work, rule: CarriesRule, entry: str | None) -> Answer:
    """Judge the rule on every served class of a tree, or on one."""
    served = find_targets(work)
    features = dict(zip(served, work.run(FEATURES, served), strict=True))
    switches = _switches(features.values())
    asked = [ref for ref in served if entry in (None, ref.name)]
    items = [Served(ref, () if features[ref] else switches) for ref in asked]
    found = work.run(CARRIED, items, rule)
    return Answer(
        findings=merge_faults(rule, (fault for item in found for fault in item.faults)),
        entries=(),
        gaps=tuple(gap for item in found for gap in item.gaps),
        examined=sum(item.examined for item in found),
    )


def _switches(features: Iterable[tuple[Feature, ...]]) -> tuple[tuple[str, str], ...]:
    """The names that setters store lists and true flags under."""
    writes = {write for found in features for item in found for write in item.writes}
    kinds: dict[str, set[str]] = {}
    for write in writes:
        kinds.setdefault(write.name, set()).add(write.kind)
    known = {name: next(iter(found)) for name, found in kinds.items() if len(found) == 1}
    return tuple(sorted((name, kind) for name, kind in known.items() if kind in (TRUE, LISTED)))


def _follow(index: Index, rule: Rule | None, item: Served) -> Carried:
    """Follow the entry methods of a served class, with each of its features on."""
    asked = cast("CarriesRule", rule)
    faults: list[Fault] = []
    gaps: list[Gap] = []
    examined = 0
    for method in index.profile.entries.methods:
        for setters, writes in _states(index, item, method):
            examined += 1
            follower = _follower(index, asked, item, writes)
            cut = _run(index, follower, item.entry, method)
            if cut is not None:
                gaps.append(cut)
            else:
                faults += _faults(index, asked, item, method, setters, follower.losses)
    return Carried(tuple(faults), tuple(gaps), examined)


def _states(
    index: Index, item: Served, method: str
) -> Iterator[tuple[tuple[str, ...], tuple[Write, ...]]]:
    """What is stored while the method runs, and by which setters."""
    found = index.modules.method(item.entry, method)
    if found is None:
        return
    stored: dict[tuple[Write, ...], list[str]] = {}
    for feature in index.features(item.entry):
        stored.setdefault(feature.writes, []).append(feature.setter)
    yield from ((tuple(setters), writes) for writes, setters in stored.items() if writes)
    names = {name for name, _ in item.switches}
    reached = index.closure(item.entry, found[0]) if names else ()
    if any(index.attributes_of(ref) & names for ref in reached):
        yield (), ()


def _follower(index: Index, rule: CarriesRule, item: Served, writes: tuple[Write, ...]) -> Follower:
    question = ask(index.profile, rule.collect, rule.assume, writes, frozenset())
    return Follower(index, question, index.profile.sinks[rule.deliver], dict(item.switches))


def _run(index: Index, follower: Follower, entry: ClassRef, method: str) -> Gap | None:
    """Follow a method; the gap if that cannot be done to the end."""
    found = index.modules.method(entry, method)
    parameters = found[1].node.args.args if found is not None else []
    if found is None or not parameters:
        return None
    own = Thing((), Instance(entry))
    try:
        list(follower.follow(found[0], own, {parameters[0].arg: own}, Course({}), 0))
    except TooMany as cut:
        return _cut(entry, cut.file, cut.line, str(cut))
    except RecursionError:
        return _cut(entry, found[0].file, found[1].line, "code is nested too deeply")
    return None


def _cut(entry: ClassRef, file: str, line: int, reason: str) -> Gap:
    message = f"{entry.name} was not followed to the end: {reason}"
    return Gap(kind="budget", file=file, line=line, message=message, entries=(entry.name,))


def _faults(
    index: Index,
    rule: CarriesRule,
    item: Served,
    method: str,
    setters: tuple[str, ...],
    losses: Iterable[Loss],
) -> Iterator[Fault]:
    gate = gate_of(index, method).proof
    reach = Reach.DORMANT if not setters else Reach.GATED if gate else Reach.REACHABLE
    for loss in losses:
        yield Fault(
            file=loss.file,
            region=loss.region,
            symbol=loss.ref.qualname,
            entry=f"{item.entry.name}.{method}",
            message=rule.message.format(name=loss.name, how=_how(loss)),
            kind=f"{loss.name}|{loss.sink}",
            severity=_severity(rule, method),
            reach=reach,
            proof=DORMANT if reach is Reach.DORMANT else gate,
            features=setters,
            architectures=(item.entry.name,),
        )


def _severity(rule: CarriesRule, method: str) -> Severity | None:
    return rule.severity_by_entry.get(method)


def _how(loss: Loss) -> str:
    if loss.sink:
        return f"{loss.sink} is called without them"
    given = loss.given if len(loss.given) <= SHOWN else f"{loss.given[:SHOWN]}..."
    return f"this return gives {given} without them"


CARRIED = Stage("carried", _follow, Served, Carried, lambda item: item.entry.file, judges=True)
