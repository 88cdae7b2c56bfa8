"""Judge rules: one module for each kind of invariant."""

from collections.abc import Iterable, Iterator

from msgspec import Struct

from pathaudit.check.covers import CoversMonitor
from pathaudit.check.explain import Judged
from pathaudit.check.gating import OPEN, gate_of
from pathaudit.check.present import present_entry, present_findings
from pathaudit.check.subjects import Subject, find_subjects, find_unarmed
from pathaudit.index import Index
from pathaudit.paths import BudgetExceeded, Executor, ask
from pathaudit.results import EntryReport, Finding, Gap
from pathaudit.ruleset import Rule

__all__ = ["Answer", "check_rule"]


class Answer(Struct, frozen=True):
    """What a rule says of a tree."""

    findings: tuple[Finding, ...]
    entries: tuple[EntryReport, ...]
    gaps: tuple[Gap, ...]


def check_rule(index: Index, rule: Rule, entry: str | None = None) -> Answer:
    """Judge one rule on every subject of a tree, or on those of one served class."""
    subjects = find_subjects(index, entry)
    judged = [judge(index, rule, subject) for subject in subjects]
    gaps = (gap for item in judged for gap in (item.cut, item.gate.gap) if gap is not None)
    return Answer(
        findings=tuple(present_findings(rule, judged)),
        entries=tuple(_present_entries(rule, judged)),
        gaps=(*find_unarmed(index, subjects, entry), *gaps),
    )


def _present_entries(rule: Rule, judged: Iterable[Judged]) -> Iterator[EntryReport]:
    for item in judged:
        report = present_entry(rule, item)
        if report is not None:
            yield report


def judge(index: Index, rule: Rule, subject: Subject) -> Judged:
    """Execute one subject; a budget that runs out leaves it unknown."""
    question = ask(rule, index.profile, subject.writes, subject.stacks)
    monitor = CoversMonitor(lambda condition, run: executor.asked(condition, run))
    executor = Executor(index, question, monitor)
    cut = None
    try:
        executor.run_root(subject.instance, subject.root)
    except BudgetExceeded as reached:
        cut = Gap(
            kind="budget",
            file=reached.file,
            line=reached.line,
            message=f"{subject.root.qualname} was not analysed to the end: {reached.reason}",
            entries=subject.entries,
        )
    return Judged(
        subject,
        executor,
        monitor.breaches,
        tuple(monitor.kept),
        tuple(monitor.unfollowed),
        tuple(monitor.stopped),
        cut,
        gate_of(index, subject.method) if monitor.breaches else OPEN,
    )
