"""Follow a rule through versions: when did it break, when was it fixed, and by which commit?"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise

from msgspec import Struct

from pathaudit import __version__
from pathaudit.diff import is_about
from pathaudit.diff.version import names_of
from pathaudit.errors import UsageError
from pathaudit.hints import did_you_mean
from pathaudit.results import Finding, Report, Severity, Verdict, fails
from pathaudit.results.versions import (
    Bisection,
    Commit,
    History,
    HistoryRow,
    Moment,
    RuleCount,
    State,
    Trace,
    Turn,
)
from pathaudit.sources import SourceTree

# A commit is judged by its id; nothing where that cannot be told.
Judge = Callable[[str], State | None]


class Judged(Struct, frozen=True, eq=False):
    """A version with its report."""

    tree: SourceTree
    report: Report


def tabulate(versions: Sequence[Judged], fail_on: Severity) -> History:
    """One row for each version, with the findings of each rule by number."""
    rules = tuple(dict.fromkeys(rule for item in versions for rule in item.report.rules))
    rows = tuple(_row(item.report, fail_on) for item in versions)
    return History(tool=f"pathaudit {__version__}", rules=rules, rows=rows)


def _row(report: Report, fail_on: Severity) -> HistoryRow:
    return HistoryRow(
        source=report.source,
        counts=tuple(_count(report, rule, fail_on) for rule in report.rules),
        entries=len({(item.file, item.entry) for item in report.entries}),
        gaps=len(report.gaps),
    )


def _count(report: Report, rule: str, fail_on: Severity) -> RuleCount:
    found = [x for x in report.findings if x.rule == rule]
    violated = [x for x in found if x.verdict is Verdict.VIOLATED]
    failing = [x for x in violated if fails(x, fail_on)]
    return RuleCount(
        rule=rule,
        failing=len(failing),
        others=len(violated) - len(failing),
        unknown=len(found) - len(violated),
    )


# ---- one class ----------------------------------------------------------------------------------


def trace(versions: Sequence[Judged], rule: str, name: str, fail_on: Severity) -> Trace:
    """What a rule says of a class, served or audited, in each version, and where that turns.

    UsageError if no version has such a class.
    """
    moments = tuple(_moment(item, rule, name, fail_on) for item in versions)
    if all(moment.state is State.ABSENT for moment in moments):
        known = sorted({known for item in versions for known in _names(item.report)})
        hint = did_you_mean(name, known, f"{len(known)} classes are judged")
        raise UsageError(f"no version has a class {name!r}", hint)
    turns = tuple(_turns(moments))
    return Trace(rule=rule, entry=name, moments=moments, turns=turns)


def _names(report: Report) -> Iterator[str]:
    for finding in report.findings:
        yield from names_of(finding)
    for entry in report.entries:
        yield from names_of(entry)


def _moment(item: Judged, rule: str, name: str, fail_on: Severity) -> Moment:
    found = [x for x in item.report.findings if x.rule == rule and is_about(x, name)]
    state = state_of(item, rule, name, fail_on)
    wanted = _shown(found, state, fail_on)
    places = tuple(dict.fromkeys(f"{x.file}:{x.line}" for x in wanted))
    return Moment(source=item.report.source, state=state, places=places)


def _shown(found: Iterable[Finding], state: State, fail_on: Severity) -> list[Finding]:
    """The findings that make up a state."""
    if state is State.BROKEN:
        return [x for x in found if fails(x, fail_on)]
    if state is State.UNKNOWN:
        return [x for x in found if x.verdict is Verdict.UNKNOWN]
    return list(found)


def state_of(item: Judged, rule: str, name: str, fail_on: Severity) -> State:
    """What a rule says of a class in one version."""
    report = item.report
    found = [x for x in report.findings if x.rule == rule and is_about(x, name)]
    entries = [x for x in report.entries if x.rule == rule and is_about(x, name)]
    if any(fails(finding, fail_on) for finding in found):
        return State.BROKEN
    verdicts = [*(x.verdict for x in found), *(x.verdict for x in entries)]
    if Verdict.UNKNOWN in verdicts or _cut(report, name):
        return State.UNKNOWN
    if found:
        return State.LATENT
    if entries:
        return State.HOLDS
    if not _defines(item.tree, name):
        return State.ABSENT
    # Rules that tell no paths list no entries: what they do not find holds.
    return State.UNJUDGED if any(x.rule == rule for x in report.entries) else State.HOLDS


def _cut(report: Report, name: str) -> bool:
    """Is a gap about this very class?"""
    return any(name in gap.entries for gap in report.gaps)


def _defines(tree: SourceTree, name: str) -> bool:
    wanted = re.compile(rf"^class\s+{re.escape(name)}\b".encode(), re.MULTILINE)
    files = tree.find(f"class {name}".encode(), tree.paths)
    return any(wanted.search(tree.read(file)) for file in files)


def _turns(moments: Sequence[Moment]) -> Iterator[Turn]:
    """Where the state changes from one version to the next."""
    for before, after in pairwise(moments):
        if before.state is after.state:
            continue
        change = "changed"
        if after.state is State.BROKEN:
            change = "broke"
        elif before.state is State.BROKEN and after.state is State.HOLDS:
            change = "fixed"
        yield Turn(change=change, before=before, after=after)


# ---- one commit ---------------------------------------------------------------------------------


def bisect(commits: Sequence[Commit], wanted: State, judge: Judge) -> Bisection:
    """The first of some commits whose state is ``wanted``, as that of the last one is.

    The state before the first commit must be another one. Judges about log2(len) commits; one
    that cannot be judged is passed over, and if the first lies among such, all that it may be are
    returned.
    """
    known: dict[int, bool | None] = {len(commits) - 1: True}
    low, high = -1, len(commits) - 1  # other up to low, wanted from high on
    while (middle := _middle(low, high, known)) is not None:
        state = judge(commits[middle].id)
        known[middle] = None if state is None else state is wanted
        if known[middle] is True:
            high = middle
        elif known[middle] is False:
            low = middle
    first = tuple(commits[low + 1 : high + 1])
    return Bisection(first=first, commits=len(commits), judged=len(known) - 1)


def _middle(low: int, high: int, known: dict[int, bool | None]) -> int | None:
    """The position nearest to the middle that is not known, strictly between two."""
    center = (low + high) // 2
    left = [x for x in range(low + 1, high) if x not in known]
    return min(left, key=lambda x: (abs(x - center), x), default=None)
