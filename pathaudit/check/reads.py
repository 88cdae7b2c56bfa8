"""The kind ``reads``: what a setter arms is read where it is written, what is read can be armed.

Three faults are found. A setter selects layers on an object whose forward never asks for what it
wrote. A forward asks for a switch that nothing sets. A forward makes a list to collect in, returns
it, and never adds to it. The second and third lose nothing that anybody armed: they are dormant.
"""

from collections.abc import Iterable, Iterator

from msgspec import Struct

from pathaudit.check.answer import Answer, Fault, merge_faults
from pathaudit.check.reads_armed import Unread, find_unread
from pathaudit.check.reads_dead import Idle, Seen, find_idle, find_seen
from pathaudit.check.subjects import FEATURES, find_entries
from pathaudit.index import ClassRef, Feature, Index
from pathaudit.index.features import LISTED, TRUE
from pathaudit.results import Reach
from pathaudit.ruleset import ReadsRule, Rule
from pathaudit.work import Stage, Work


class Asked(Struct, frozen=True):
    """A served class, and the names of all switches of the tree."""

    entry: ClassRef
    switches: tuple[str, ...]


class Looked(Struct, frozen=True):
    """What was found for one served class; ``examined`` counts the loads of switches."""

    unread: tuple[Unread, ...]
    seen: tuple[Seen, ...]
    idle: tuple[Idle, ...]


def check_reads(work: Work, rule: ReadsRule, entry: str | None) -> Answer:
    """Judge the rule on every served class; what any of them arms is alive for all."""
    served = [ref for ref in find_entries(work) if not work.profile.is_draft(ref.name, ref.file)]
    features = [item for found in work.run(FEATURES, served) for item in found]
    switches = _switches(features)
    looked = work.run(LOOKED, [Asked(ref, switches) for ref in served], rule)
    unread = [item for found in looked for item in found.unread]
    seen = [item for found in looked for item in found.seen]
    idle = [item for found in looked for item in found.idle]
    told = {(item.function, item.instead) for item in unread}
    dead = [item for item in seen if (item.load.function, item.load.name) not in told]
    faults = [*map(_unread_fault, unread), *_dead_faults(dead), *map(_idle_fault, idle)]
    asked = [item for item in faults if entry is None or entry in item.architectures]
    return Answer(merge_faults(rule, asked), (), (), len({item.load for item in seen}))


def _switches(features: Iterable[Feature]) -> tuple[str, ...]:
    """The names that setters store layers or a flag under."""
    writes = (write for feature in features for write in feature.writes)
    return tuple(sorted({write.name for write in writes if write.kind in (LISTED, TRUE)}))


def _look(index: Index, rule: Rule | None, item: Asked) -> Looked:
    if not isinstance(rule, ReadsRule):
        raise AssertionError("a rule of this kind is needed")
    names = frozenset(item.switches)
    return Looked(
        tuple(find_unread(index, item.entry, names)),
        tuple(find_seen(index, item.entry, names)),
        tuple(find_idle(index, item.entry)),
    )


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
        features=(item.setter,),
        architectures=(item.entry,),
        proof=item.outcome,
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


def _idle_fault(item: Idle) -> Fault:
    return Fault(
        file=item.function.file,
        region=item.region,
        symbol=item.function.qualname,
        entry=item.function.qualname,
        message=f"{item.name} is made and returned, and nothing is ever added to it",
        kind=f"idle {item.name}",
        reach=Reach.DORMANT,
        proof=f"The function only measures and returns {item.name}.",
        architectures=(item.entry,),
    )


LOOKED = Stage("looked", _look, Asked, Looked, lambda item: item.entry.file)
