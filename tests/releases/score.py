"""Compare a report with the hand labels of a release: one row for each site that runs layers.

A label says what must be reported: ``violated`` (a failing error where ``reach`` is reachable),
``noted`` (reported, but not as a failing error), ``holds`` and ``exempt`` (never a failing error),
``either``. A finding meets a row when the row's line lies within its statement.
"""

import json
from pathlib import Path

from msgspec import Struct

from pathaudit.results import Finding, Report, Severity, fails

LABELS = Path(__file__).parent / "labels"


class Row(Struct, frozen=True):
    """One labelled site."""

    file: str
    line: int
    symbol: str
    expected: str
    reach: str
    when: str
    why: str


class Score(Struct, frozen=True):
    """What went wrong, as ``file:line`` of the labels; ``unlabelled`` as those of findings."""

    missed: tuple[str, ...]
    false: tuple[str, ...]
    overcalled: tuple[str, ...]
    silent: tuple[str, ...]
    shouted: tuple[str, ...]
    unlabelled: tuple[str, ...]


PERFECT = Score((), (), (), (), (), ())


def rows(name: str) -> tuple[Row, ...]:
    """The labels of a release, such as ``0.5.6``, or of a part of one."""
    data = json.loads((LABELS / f"skipped-aux-capture-{name}.json").read_text())
    fields = ("file", "line", "symbol", "expected", "reach", "when", "why")
    return tuple(Row(**{field: row[field] for field in fields}) for row in data)


def score(report: Report, labels: tuple[Row, ...], *, complete: bool) -> Score:
    """Judge a report; ``complete`` labels cover every file of the release."""
    failing = [finding for finding in report.findings if fails(finding, Severity.ERROR)]
    files = {row.file for row in labels}

    def those(expected: str, *, reachable: bool | None = None) -> list[Row]:
        return [
            row
            for row in labels
            if row.expected == expected and reachable in (None, row.reach == "reachable")
        ]

    def met(row: Row, findings: list[Finding]) -> bool:
        return any(_meets(finding, row) for finding in findings)

    allowed = [x for x in failing if any(_meets(x, r) for r in those("violated") + those("either"))]
    wrong = [x for x in failing if x not in allowed]
    return Score(
        missed=_places(r for r in those("violated", reachable=True) if not met(r, failing)),
        false=_places(r for r in those("holds") + those("exempt") if met(r, wrong)),
        overcalled=_places(r for r in those("violated", reachable=False) if met(r, failing)),
        silent=_places(r for r in those("noted") if not met(r, list(report.findings))),
        shouted=_places(r for r in those("noted") if met(r, failing)),
        unlabelled=_places(
            finding
            for finding in failing
            if complete or finding.file in files
            if not any(_meets(finding, row) for row in labels)
        ),
    )


def _places(items: "object") -> tuple[str, ...]:
    return tuple(f"{item.file}:{item.line}" for item in items)  # type: ignore[attr-defined]


def _meets(finding: Finding, row: Row) -> bool:
    last = max(finding.end_line, finding.line + 3)
    return finding.file == row.file and finding.line - 3 <= row.line <= last
