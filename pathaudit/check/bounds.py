"""The kind ``bounds``: both ends of the layer ids that can be asked for are handled."""

from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import cast

from msgspec import Struct

from pathaudit.check.answer import Answer, Fault, merge_faults
from pathaudit.check.bounds_ids import Asked, Stored, asked_by
from pathaudit.check.bounds_loops import Asking, askings, missing_operand
from pathaudit.check.bounds_offsets import Meaning, meanings_of, unusual
from pathaudit.check.bounds_stages import Spanned, judge_stages
from pathaudit.check.places import region_of
from pathaudit.check.subjects import (
    FEATURES,
    Subject,
    find_entries,
    find_layer_subjects,
    find_targets,
)
from pathaudit.index import ClassRef, Index
from pathaudit.ruleset import BoundsRule, Rule
from pathaudit.work import Stage, Work


class Bounded(Struct, frozen=True):
    """What was found in one served class, and how many setters were followed."""

    faults: tuple[Fault, ...]
    examined: int


def check_bounds(work: Work, rule: BoundsRule, entry: str | None) -> Answer:
    """Judge one end of the layers on every served class of a tree, or on one."""
    if rule.end == "stage":
        return _check_stages(work, rule, entry)
    if rule.end == "offset":
        return _check_offsets(work, rule, entry)
    served = [
        ref
        for ref in find_entries(work)
        if entry in (None, ref.name) and not work.profile.is_draft(ref.name, ref.file)
    ]
    features = work.run(FEATURES, served)
    armed = [ref for ref, found in zip(served, features, strict=True) if found]
    results = work.run(BOUNDED, armed, rule)
    return Answer(
        findings=merge_faults(rule, (fault for item in results for fault in item.faults)),
        entries=(),
        gaps=(),
        examined=sum(item.examined for item in results),
    )


def _check_stages(work: Work, rule: BoundsRule, entry: str | None) -> Answer:
    subjects = find_layer_subjects(work, entry)
    results = work.run(SPANNED, subjects, rule)
    return Answer(
        findings=merge_faults(rule, (fault for item in results for fault in item.faults)),
        entries=(),
        gaps=tuple(item.gap for item in results if item.gap is not None),
        examined=len(subjects),
    )


def _check_offsets(work: Work, rule: BoundsRule, entry: str | None) -> Answer:
    """What is usual is asked of all served classes, whichever is judged."""
    served = find_targets(work)
    features = work.run(FEATURES, served)
    armed = [ref for ref, found in zip(served, features, strict=True) if found]
    meanings = [item for found in work.run(MEANINGS, armed) for item in found]
    asked = {ref.name for ref, _ in work.pairs(MEANT, armed)}
    faults = (x for x in unusual(rule, meanings, entry) if not asked.isdisjoint(x.architectures))
    return Answer(merge_faults(rule, faults), (), (), len(armed))


def _find_meanings(index: Index, _: Rule | None, entry: ClassRef) -> tuple[Meaning, ...]:
    return meanings_of(index, entry)


def _judge_stages(index: Index, rule: Rule | None, subject: Subject) -> Spanned:
    return judge_stages(index, cast("BoundsRule", rule), subject)


def _judge(index: Index, rule: Rule | None, entry: ClassRef) -> Bounded:
    asked = cast("BoundsRule", rule)
    faults: list[Fault] = []
    features = index.features(entry)
    for feature in features:
        ids = asked_by(index, entry, feature.setter)
        if asked.end == "first":
            faults += _first(index, asked, entry, feature.setter, ids)
        else:
            faults += _last(index, asked, entry, feature.setter, ids)
    return Bounded(tuple(faults), len(features))


def _last(
    index: Index, rule: BoundsRule, entry: ClassRef, setter: str, ids: Asked
) -> Iterator[Fault]:
    """Ids shifted by one name the layer after the last, which no loop reaches.

    It counts where the code says that the last layer may be asked for.
    """
    proof = f"The setter accepts it ({ids.checked})." if ids.checked else _accepted(index, setter)
    if ids.refused or not proof:
        return
    for asking in _askings(index, entry, [x for x in ids.stored if x.shift > 0]):
        yield Fault(
            file=asking.ref.file,
            region=region_of(index, asking.ref.file, asking.loop.iter),
            symbol=asking.ref.qualname,
            entry=f"{entry.name}.{setter}",
            message=rule.message.format(
                how="it is asked for as the layer after the last, which this loop does not reach"
            ),
            kind="loop",
            proof=proof,
            features=(setter,),
            architectures=(entry.name,),
        )


def _first(
    index: Index, rule: BoundsRule, entry: ClassRef, setter: str, ids: Asked
) -> Iterator[Fault]:
    """Ids stored as they are may be 0: nothing is there yet to be added to the hidden states."""
    for asking in _askings(index, entry, [x for x in ids.stored if x.shift == 0]):
        found = missing_operand(asking)
        if found is not None:
            statement, name = found
            yield Fault(
                file=asking.ref.file,
                region=region_of(index, asking.ref.file, statement),
                symbol=asking.ref.qualname,
                entry=f"{entry.name}.{setter}",
                message=rule.message.format(how=f"{name} is None there (a TypeError)"),
                kind=name,
                proof=_accepted(index, setter),
                features=(setter,),
                architectures=(entry.name,),
            )


def _askings(index: Index, entry: ClassRef, stored: list[Stored]) -> Iterator[Asking]:
    for item in stored:
        for instance in index.at(entry, item.path):
            yield from askings(index, instance, item.name)


def _accepted(index: Index, setter: str) -> str:
    """Where the framework itself says which ids it accepts."""
    for item in index.profile.requests:
        if any(fnmatchcase(setter, glob) for glob in item.setters):
            place = index.modules.find(item.anchor.files, item.anchor.text)
            if place is not None:
                return f"{item.reason} ({place[0]}:{place[1]})."
    return ""


SPANNED = Stage(
    "spanned",
    _judge_stages,
    Subject,
    Spanned,
    lambda item: item.root.file,
    judges=True,
    about=lambda item: item.homes,
)
BOUNDED = Stage("bounded", _judge, ClassRef, Bounded, lambda item: item.file, judges=True)
# The same answers twice: to compare them all are needed, and those are judged that are asked about.
MEANINGS = Stage("meanings", _find_meanings, ClassRef, tuple[Meaning, ...], lambda item: item.file)
MEANT = Stage(
    "meanings", _find_meanings, ClassRef, tuple[Meaning, ...], lambda item: item.file, judges=True
)
