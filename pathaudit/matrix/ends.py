"""Which numbers a setter can ask for at both ends of the layers, and what then is captured.

A loop that asks before a layer runs captures what the layer before it made. So the output of the
last layer takes a question after the loop.
"""

from collections.abc import Iterable
from fnmatch import fnmatchcase

from msgspec import Struct

from pathaudit.check.bounds_ids import asked_by
from pathaudit.check.bounds_loops import missing_operand
from pathaudit.index import ClassRef, Index
from pathaudit.index.features import TRUE
from pathaudit.matrix.ends_questions import AFTER, BEFORE, Question, Reading, read_questions
from pathaudit.results.matrices import Evidence, Support
from pathaudit.ruleset import AnyRule
from pathaudit.work import Stage


class End(Struct, frozen=True):
    """Can one end be captured, why not, and where is that to be seen?"""

    support: Support
    detail: str
    evidence: tuple[Evidence, ...] = ()


class Ends(Struct, frozen=True):
    """Both ends of the layers that one setter of a served class can ask for."""

    setter: str
    first: End
    last: End


def _find(index: Index, _: AnyRule | None, entry: ClassRef) -> tuple[Ends, ...]:
    return tuple(_ends(index, entry, item.setter) for item in index.features(entry))


def _ends(index: Index, entry: ClassRef, setter: str) -> Ends:
    stored = asked_by(index, entry, setter).stored
    if not stored:
        lost = End(Support.UNKNOWN, "what the setter makes of the ids is not understood")
        return Ends(setter, lost, lost)
    feature = next(item for item in index.features(entry) if item.setter == setter)
    flags = frozenset(x.name for x in feature.writes if x.element and x.kind == TRUE)
    shifts = frozenset(item.shift for item in stored)
    read = read_questions(index, entry, stored, flags)
    if not read.clear or not (read.asked or read.ends):
        lost = End(Support.UNKNOWN, "how the forward asks for layers is not understood")
        return Ends(setter, lost, lost)
    return Ends(setter, _first(read, shifts), _last(read, shifts, _checked(index, setter)))


def _checked(index: Index, setter: str) -> str:
    """Where the framework refuses the number behind the last layer, if it does."""
    for item in index.profile.requests:
        place = index.modules.find(item.anchor.files, item.anchor.text)
        if place is not None and any(fnmatchcase(setter, glob) for glob in item.setters):
            return f"{place[0]}:{place[1]}"
    return ""


def _first(read: Reading, shifts: frozenset[int]) -> End:
    """Id 0 may ask for what comes before the first layer, where nothing is to be added yet."""
    early = [x for x in read.asked if x.side != AFTER and min(shifts) - x.offset <= 0]
    if any(not x.side for x in early):
        return End(
            Support.UNKNOWN,
            "id 0: on which side of a layer it is captured is not understood",
            _places(early),
        )
    if not early:
        return End(Support.YES, "id 0 is the output of the first layer", _places(read.asked)[:1])
    for question in early:
        found = missing_operand(question.asking) if question.asking is not None else None
        if found is not None:
            statement, name = found
            place = Evidence(question.place.file, statement.lineno, f"adds {name}")
            return End(Support.NO, f"id 0 fails: {name} is None there (a TypeError)", (place,))
    told = [x for x in early if x.told or x.asking is None]
    if told:
        return End(
            Support.UNKNOWN,
            "id 0: what a layer collects by itself before any has run is not followed",
            _places(told),
        )
    return End(Support.YES, "id 0 is what the first layer is given", _places(early)[:1])


def _last(read: Reading, shifts: frozenset[int], checked: str) -> End:
    if read.ends:
        # The number behind the last layer is asked for by the id that the setter shifts there.
        refused = checked and all(x.offset - max(shifts) > -1 for x in read.ends)
        if refused:
            detail = f"the last layer takes an id that the framework refuses ({checked})"
            return End(Support.NO, detail, _places(read.ends))
        return End(Support.YES, "the output of the last layer is asked for", _places(read.ends)[:1])
    sides = {item.side for item in read.asked}
    if sides == {AFTER}:
        return End(Support.YES, "each layer is asked for after it has run", _places(read.asked)[:1])
    if sides == {BEFORE}:
        detail = "the output of the last layer cannot be captured: nothing asks after the loop"
        return End(Support.NO, detail, _places(read.asked)[:1])
    detail = "last layer: on which side of a layer it is captured is not understood"
    return End(Support.UNKNOWN, detail, _places(read.asked))


def _places(questions: Iterable[Question]) -> tuple[Evidence, ...]:
    return tuple(dict.fromkeys(item.place for item in questions))


ENDS = Stage("ends", _find, ClassRef, tuple[Ends, ...], lambda item: item.file)
