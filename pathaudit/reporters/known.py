"""What a baseline accepts, what of it got worse, and what of it no longer occurs."""

from collections.abc import Iterator, Sequence

from pathaudit.reporters.escaping import visible
from pathaudit.reporters.phrases import place_of, shown_path
from pathaudit.reporters.terminal import Line, Page, hanging, table
from pathaudit.results import Finding, Report

_ROWS = 20  # known findings that are shown, unless all are asked for
Row = tuple[str, str, str]


def known_lines(report: Report, page: Page) -> Iterator[Line]:
    """Yield the lines about the baseline of a report; none if it has none."""
    use = report.baseline
    if use is None:
        return
    file = shown_path(use.file)
    known = [_known(x) for x in report.findings if x.fingerprint in use.accepted and x.suppressed]
    yield from _listed(f"Known, and accepted by {file}", known, page)
    worse = [_worse(x) for x in report.findings if x.fingerprint in use.worse]
    yield from _listed(f"Worse than {file} says, and so not accepted", worse, page)
    unused = [(shown_path(x.file), visible(x.symbol), visible(x.rule)) for x in use.unused]
    yield from _listed(f"No longer found; --write-baseline takes them out of {file}", unused, page)


def _known(finding: Finding) -> Row:
    word = f"{finding.severity}[{visible(finding.rule)}]"
    return (
        place_of(finding),
        visible(finding.symbol),
        f"{word}: {visible(finding.suppressed or '')}",
    )


def _worse(finding: Finding) -> Row:
    return (
        place_of(finding),
        visible(finding.symbol),
        f"{finding.severity}[{visible(finding.rule)}]",
    )


def _listed(heading: str, rows: Sequence[Row], page: Page) -> Iterator[Line]:
    if not rows:
        return
    shown = rows if page.verbose else rows[:_ROWS]
    yield from hanging((("bold", ""),), f"{heading}: {len(rows)}", 2, page, "bold")
    groups: dict[str, list[Row]] = {}
    for row in shown:
        groups.setdefault(row[2], []).append(row)
    for remark, group in groups.items():
        yield from hanging((("", "  "),), remark, 4, page)
        yield from table([(place, name, "") for place, name, _ in group], 4, page)
    if len(rows) > len(shown):
        yield (("", f"  and {len(rows) - len(shown)} more; --verbose lists all"),)
    yield ()
