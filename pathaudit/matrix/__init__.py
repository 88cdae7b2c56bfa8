"""What each served class supports: one row a class, one cell a question, each with its evidence.

The answers are those of the rules, and what they do not say is asked of the code. Nothing is told
from names: a class that lacks something is told from one that has it and loses it.
"""

from collections.abc import Callable, Iterator

from pathaudit import __version__
from pathaudit.check.subjects import find_entries
from pathaudit.errors import UsageError
from pathaudit.index import Index
from pathaudit.matrix.asked import Asked, ask_all
from pathaudit.matrix.capture import boundary_cell, capture_cell, prefill_cell
from pathaudit.matrix.paths import overlap_cell, recorder_cell, stages_cell
from pathaudit.results import Report
from pathaudit.results.matrices import (
    Cell,
    Column,
    Evidence,
    FeatureName,
    Matrix,
    Part,
    Row,
    Support,
)
from pathaudit.ruleset import AnyRule, Ruleset
from pathaudit.ruleset.matrix import CodeFact
from pathaudit.work import Stage, Work

_CELLS: dict[str, Callable[[Asked], Cell]] = {
    "capture": capture_cell,
    "recorder": recorder_cell,
    "prefill": prefill_cell,
    "overlap": overlap_cell,
    "stages": stages_cell,
    "boundary": boundary_cell,
}


def find_matrix(work: Work, rules: Ruleset, report: Report, entry: str | None = None) -> Matrix:
    """The table of all served classes that are no drafts, or of one; ``report`` is their audit.

    Raises ``UsageError`` where the profile describes no columns, and for a draft.
    """
    facts = work.profile.matrix
    if not facts.columns:
        raise UsageError(f"the profile of {work.profile.framework} describes no matrix")
    columns = [name for name in facts.columns if name in _CELLS]
    asked = ask_all(work, rules, report, entry)
    if entry is not None and not asked:
        hint = "drafts have no row; name the class that serves the target"
        raise UsageError(f"{entry} is a draft model", hint=hint)
    served = find_entries(work)
    is_draft = work.profile.is_draft
    return Matrix(
        tool=f"pathaudit {__version__}",
        source=report.source,
        columns=tuple(_column(work, name) for name in columns),
        features=tuple(_features(work, asked)),
        rows=tuple(_rows(asked, columns)),
        drafts=tuple(sorted({ref.name for ref in served if is_draft(ref.name, ref.file)})),
        facts=tuple(x for name in columns for x in _facts(work, name)),
        gaps=report.gaps,
    )


def _rows(asked: list[Asked], columns: list[str]) -> Iterator[Row]:
    """One row a class, by name and file."""
    for item in sorted(asked, key=lambda x: (x.entry.name.lower(), x.entry)):
        yield Row(
            name=item.entry.name,
            file=item.entry.file,
            line=item.about.line,
            cells=tuple(_CELLS[name](item) for name in columns),
        )


def _column(work: Work, name: str) -> Column:
    facts = work.profile.matrix.columns[name]
    return Column(id=name, title=facts.title, says=facts.says)


def _features(work: Work, asked: list[Asked]) -> Iterator[FeatureName]:
    """The features that any class has; one that the profile does not know goes by its setter."""
    setters = sorted({feature.setter for item in asked for feature in item.features})
    known = {item.setter: item for item in work.profile.matrix.features}
    ordered = [
        *(name for name in known if name in setters),
        *(x for x in setters if x not in known),
    ]
    for name in ordered:
        title = known[name].title if name in known else name
        mark = known[name].mark if name in known else name
        yield FeatureName(setter=name, title=title, mark=mark)


def _facts(work: Work, name: str) -> Iterator[Part]:
    """What the framework says of a column as a whole: of each thing, the first that is there."""
    told: set[str] = set()
    facts = list(work.profile.matrix.columns[name].facts)
    for fact, places in zip(facts, work.run(FACTS, facts), strict=True):
        if places and fact.about not in told:
            told.add(fact.about)
            yield Part(support=Support.NONE, detail=fact.says, evidence=places, rule=name)


def _find_fact(index: Index, _: AnyRule | None, fact: CodeFact) -> tuple[Evidence, ...]:
    place = index.modules.find(fact.files, fact.text)
    return (Evidence(place[0], place[1], fact.text),) if place is not None else ()


FACTS = Stage("facts", _find_fact, CodeFact, tuple[Evidence, ...], lambda item: item.says)
