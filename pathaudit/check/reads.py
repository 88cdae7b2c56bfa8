"""The kind ``reads``: what a setter arms is read where it is written, what is read can be armed.

Three faults are found. A setter selects layers on an object whose forward never asks for what it
wrote. A forward asks for a switch that nothing sets. A forward makes a list to collect in, returns
it, and never adds to it. The second and third lose nothing that anybody armed: they are dormant.
"""

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from pathaudit.check.answer import Answer, Fault, merge_faults
from pathaudit.check.reads_armed import Unread, find_unread
from pathaudit.check.reads_dead import Seen, find_seen
from pathaudit.check.reads_held import HELD, Held
from pathaudit.check.reads_idle import IDLE, Idle, running_methods
from pathaudit.check.subjects import FEATURES, find_targets
from pathaudit.index import ClassRef, Feature, FunctionRef, Index
from pathaudit.index.features import LISTED, TRUE
from pathaudit.results import Reach, Step
from pathaudit.ruleset import Profile, ReadsRule, Rule
from pathaudit.work import Stage, Work


class Asked(Struct, frozen=True):
    """A served class with all that it holds, and the names of all switches of the tree."""

    entry: ClassRef
    held: tuple[Held, ...]
    switches: tuple[str, ...]


class Looked(Struct, frozen=True):
    """What was found for one served class, and the methods that run its layers."""

    entry: str
    unread: tuple[Unread, ...]
    seen: tuple[Seen, ...]
    methods: tuple[FunctionRef, ...]


def check_reads(work: Work, rule: ReadsRule, entry: str | None) -> Answer:
    """Judge the rule on every served class; what any of them arms is alive for all."""
    served = find_targets(work)
    features = [item for found in work.run(FEATURES, served) for item in found]
    switches = _switches(work.profile, features)
    held = work.run(HELD, served)
    items = [Asked(ref, found, switches) for ref, found in zip(served, held, strict=True)]
    looked = work.run(LOOKED, items, rule)
    unread = [item for found in looked for item in found.unread]
    seen = [item for found in looked for item in found.seen]
    asked = {item.entry for item in (work.run(JUDGED, items, rule) if work.focus else looked)}
    asked = {name for name in asked if entry in (None, name)}
    dead = _dead(work, seen, unread)
    faults = [*map(_unread_fault, unread), *dead, *_idle_faults(work, rule, looked)]
    kept = [item for item in faults if not asked.isdisjoint(item.architectures)]
    return Answer(merge_faults(rule, kept), (), (), len({item.load for item in seen}))


def _dead(work: Work, seen: Sequence[Seen], unread: Iterable[Unread]) -> Iterator[Fault]:
    """What nothing sets; a switch that a setter should have set is told with that setter."""
    told = {(item.function, item.instead) for item in unread}
    names = sorted({item.load.name for item in seen})
    outside = dict(zip(names, work.run(SET_OUTSIDE, names), strict=True))
    left = [x for x in seen if (x.load.function, x.load.name) not in told]
    yield from _dead_faults(x for x in left if not outside[x.load.name])


def _switches(profile: Profile, features: Iterable[Feature]) -> tuple[str, ...]:
    """The names that setters store layers or a flag under, and those the profile knows."""
    writes = (write for feature in features for write in feature.writes)
    written = {write.name for write in writes if write.kind in (LISTED, TRUE)}
    return tuple(sorted({*written, *profile.features.switches}))


def _look(index: Index, rule: Rule | None, item: Asked) -> Looked:
    if not isinstance(rule, ReadsRule):
        raise AssertionError("a rule of this kind is needed")
    names = frozenset(item.switches)
    return Looked(
        item.entry.name,
        tuple(find_unread(index, item.entry, item.held, names)),
        tuple(find_seen(index, item.entry, item.held, names)),
        running_methods(index, item.held),
    )


def _set_outside(index: Index, rule: Rule | None, name: str) -> bool:  # noqa: ARG001 - a stage's
    """Does the framework itself set a switch of a model, past all setters?"""
    callers = index.profile.features.callers
    return bool(callers) and index.modules.find(callers, f"model.{name} = ") is not None


# ---- findings ---------------------------------------------------------------------------------


def _unread_fault(item: Unread) -> Fault:
    names = " and ".join(item.names)
    wrong = f"{item.setter} of {item.entry} sets {names}, which {item.receiver} never reads"
    instead = f": it asks for {item.instead}" if item.instead else ""
    return Fault(
        file=item.function.file,
        region=item.region,
        symbol=item.function.qualname,
        entry=f"{item.receiver}.forward",
        message=f"{wrong}{instead}; nothing is captured",
        kind=f"unread {names}",
        steps=(_stored(item),),
        features=(item.setter,),
        architectures=(item.entry,),
        effect=item.outcome,
    )


def _stored(item: Unread) -> Step:
    return Step(
        file=item.stored_file,
        line=item.stored.line,
        column=item.stored.column,
        end_line=item.stored.end_line,
        end_column=item.stored.end_column,
        kind="event",
        text=f"{item.setter} stores {' and '.join(item.names)}",
    )


def _dead_faults(seen: Iterable[Seen]) -> Iterator[Fault]:
    """One fault for each switch of a function that no served class can set."""
    groups: dict[tuple[object, str], list[Seen]] = {}
    for item in seen:
        groups.setdefault((item.load.function, item.load.name), []).append(item)
    for items in groups.values():
        if any(item.live for item in items):
            continue
        first = min(items, key=lambda item: item.load)
        names = tuple(sorted({item.entry for item in items}))
        ref, name = first.load.function, first.load.name
        yield Fault(
            file=ref.file,
            region=first.load.region,
            symbol=ref.qualname,
            entry=ref.qualname,
            message=f"{name} is read here, and nothing sets it for {_told(names)}",
            kind=f"dead {name}",
            reach=Reach.DORMANT,
            proof=f"No setter of these classes, of their bases or of what they hold sets {name}.",
            architectures=names,
        )


def _told(names: tuple[str, ...]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"


def _idle_faults(work: Work, rule: ReadsRule, looked: Iterable[Looked]) -> Iterator[Fault]:
    entries: dict[FunctionRef, set[str]] = {}
    for item in looked:
        for ref in item.methods:
            entries.setdefault(ref, set()).add(item.entry)
    for found in work.run(IDLE, sorted(entries), rule):
        yield from (_idle_fault(item, tuple(sorted(entries[item.function]))) for item in found)


def _idle_fault(item: Idle, entries: tuple[str, ...]) -> Fault:
    return Fault(
        file=item.function.file,
        region=item.region,
        symbol=item.function.qualname,
        entry=item.function.qualname,
        message=f"{item.name} is made and returned, and nothing is ever added to it",
        kind=f"idle {item.name}",
        reach=Reach.DORMANT,
        proof=f"The function only measures and returns {item.name}.",
        architectures=entries,
    )


SET_OUTSIDE = Stage("set outside", _set_outside, str, bool, lambda name: name)
LOOKED = Stage("looked", _look, Asked, Looked, lambda item: item.entry.file)
# Whether a switch is alive depends on all served classes, what is told on those asked about.
JUDGED = Stage("looked", _look, Asked, Looked, lambda item: item.entry.file, judges=True)
