"""Compare a report with the hand labels of the other rules: one row for each place.

``finding`` must be reported (at the place, or in the same function), ``no-finding`` must not. The
faults of public reports are rows of the same kind: the release that has one, the one that no
longer does.
"""

import json
from collections.abc import Iterable, Iterator
from typing import TypedDict

from msgspec import Struct

from pathaudit.results import Finding, Report, Verdict
from tests.releases.score import LABELS

NEAR = 3  # lines between a label and the first line of a finding


class Row(Struct, frozen=True):
    """One labelled place of one release."""

    rule: str
    version: str
    file: str
    line: int
    symbol: str
    expected: str
    why: str


class Score(Struct, frozen=True):
    """What went wrong with one rule in one release, as ``file:line`` of the labels."""

    missed: tuple[str, ...] = ()
    false: tuple[str, ...] = ()


class Place(TypedDict):
    """A place of a public fault; ``lines`` as people write them: ``785,817`` or ``12-20``."""

    file: str
    lines: str


class Side(TypedDict):
    version: str
    places: list[Place]


class Regression(TypedDict):
    """A fault that one release has and a later one has not."""

    id: str
    rule: str
    before: Side
    after: Side


def rows(version: str) -> tuple[Row, ...]:
    """The labels of a release."""
    data = json.loads((LABELS / "rules.json").read_text())
    fields = Row.__struct_fields__
    found = (Row(**{field: row[field] for field in fields}) for row in data)
    return tuple(row for row in found if row.version == version)


def regressions() -> tuple[Regression, ...]:
    data: list[Regression] = json.loads((LABELS / "regressions.json").read_text())
    return tuple(data)


def score(report: Report, labels: Iterable[Row], rule: str) -> Score:
    """Judge what one rule reports."""
    mine = [row for row in labels if row.rule == rule]
    found = [x for x in report.findings if x.rule == rule and counts(x)]
    want = [row for row in mine if row.expected == "finding"]
    never = [row for row in mine if row.expected == "no-finding"]
    wrong = [x for x in found if not any(_meets(x, row) for row in want)]
    return Score(
        missed=_told(r for r in want if not any(_meets(x, r) or _same(x, r) for x in found)),
        false=_told(r for r in never if any(_meets(x, r) for x in wrong)),
    )


def counts(finding: Finding) -> bool:
    return finding.suppressed is None and finding.verdict is Verdict.VIOLATED


def stands_at(finding: Finding, side: Side) -> bool:
    """Is a finding at one of the places of a public fault?"""
    return any(
        finding.file.endswith(place["file"])
        and finding.line - NEAR <= line <= max(finding.end_line, finding.line + NEAR)
        for place in side["places"]
        for line in _lines(place["lines"])
    )


def _lines(text: str) -> Iterator[int]:
    for part in text.split(","):
        first, _, last = part.partition("-")
        yield from range(int(first), int(last or first) + 1)


def _meets(finding: Finding, row: Row) -> bool:
    last = max(finding.end_line, finding.line + NEAR)
    return finding.file == row.file and finding.line - NEAR <= row.line <= last


def _same(finding: Finding, row: Row) -> bool:
    return (finding.file, finding.symbol) == (row.file, row.symbol)


def _told(found: Iterable[Row]) -> tuple[str, ...]:
    return tuple(f"{row.file.rsplit('/', 1)[-1]}:{row.line}" for row in found)
