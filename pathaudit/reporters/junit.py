"""Findings as JUnit XML, for the test pages of CI systems.

A suite is a rule, a case a method under audit or, where none was judged, the one that a finding is
in; cases keep their names when lines change, so that a CI system can follow them. A case fails by
what fails the run. What could not be decided, is accepted or cannot run is skipped, with why.
"""

from collections.abc import Iterator, Sequence
from typing import TextIO
from xml.etree import ElementTree

from msgspec import Struct

from pathaudit.reporters.diagnostics import attributes
from pathaudit.reporters.escaping import visible
from pathaudit.reporters.phrases import REACHES, Locate, by_urgency, here, left_out_phrases, word_of
from pathaudit.reporters.terminal import GLUE
from pathaudit.results import (
    EntryReport,
    Finding,
    Gap,
    Reach,
    Report,
    Severity,
    Verdict,
    fails,
)

_GAPS = "gaps"
_SETTINGS = "settings"


class _Case(Struct, frozen=True):
    """``outcome`` is ``failure``, ``skipped`` or nothing; ``output`` does not count for it."""

    name: str
    file: str
    line: int
    outcome: str = ""
    message: str = ""
    kind: str = ""
    body: str = ""
    output: str = ""


def render(
    report: Report,
    out: TextIO,
    *,
    fail_on: Severity = Severity.ERROR,
    strict: bool = False,
    locate: Locate = here,
) -> None:
    """Write the report to ``out``.

    What is at least as severe as ``fail_on`` is a failure; ``strict`` makes one of what could not
    be judged. ``locate`` gives the path of a file of the tree from the root of the reader's
    repository.
    """
    judge = _Judge(fail_on, strict, locate)
    rules = sorted({*report.rules, *(finding.rule for finding in report.findings)})
    suites = [(rule, list(_cases(report, rule, judge))) for rule in rules]
    suites.append((_GAPS, [_of_gap(gap, judge) for gap in report.gaps]))
    suites.append((_SETTINGS, [_of_settings(x) for x in left_out_phrases(report.left_out)]))
    every = [case for _, cases in suites for case in cases]
    root = ElementTree.Element("testsuites", {"name": "pathaudit", **_counts(every)})
    for name, cases in suites:
        if cases:
            _add_suite(root, name, cases)
    ElementTree.indent(root)
    text = ElementTree.tostring(root, encoding="unicode")
    shown = text.encode("ascii", "xmlcharrefreplace").decode("ascii")
    out.write(f'<?xml version="1.0" encoding="UTF-8"?>\n{shown}\n')


class _Judge(Struct, frozen=True):
    """What fails the run, and where files are."""

    fail_on: Severity
    strict: bool
    locate: Locate

    def failing(self, finding: Finding) -> bool:
        return fails(finding, self.fail_on, strict=self.strict)


# ---- cases --------------------------------------------------------------------------------------


def _cases(report: Report, rule: str, judge: _Judge) -> Iterator[_Case]:
    """The cases of a rule in the order of the report; one that says so if it had nothing to judge.

    A finding belongs to the method that was judged, wherever in it or below it the finding stands.
    """
    entries = {(x.entry, x.file): x for x in report.entries if x.rule == rule}
    homes = {name: (name, file) for name, file in reversed(entries)}
    found: dict[tuple[str, str], list[Finding]] = {key: [] for key in entries}
    for finding in (x for x in report.findings if x.rule == rule):
        home = homes.get(finding.entry, (finding.symbol or finding.file, finding.file))
        same_file = (finding.entry, finding.file)
        found.setdefault(same_file if same_file in entries else home, []).append(finding)
    for key, findings in found.items():
        yield _case(key, entries.get(key), by_urgency(findings), judge)
    if rule in report.inert:
        why = "nothing in this tree to look at"
        yield _Case(visible(rule), "", 0, outcome="skipped", message=why)


def _case(
    key: tuple[str, str], entry: EntryReport | None, findings: Sequence[Finding], judge: _Judge
) -> _Case:
    """What a case says: what fails it, else what is not known of it, else milder findings."""
    name, file = key
    line = entry.line if entry is not None else findings[0].line
    failing = [x for x in findings if judge.failing(x)]
    unsure = [x for x in findings if _skips(x)]
    told = failing or unsure
    outcome = "failure" if failing else "skipped" if unsure else ""
    message = _message(told) if told else ""
    if not findings and entry is not None and entry.verdict is Verdict.UNKNOWN:
        outcome = "failure" if judge.strict else "skipped"
        message = "could not be decided"
    rest = [x for x in findings if x not in told]
    return _Case(
        name=f"{visible(name)} ({visible(judge.locate(file))})",
        file=visible(judge.locate(file)),
        line=line,
        outcome=outcome,
        message=message,
        kind=word_of(told[0]) if told else "unknown",
        body="\n\n".join(_told(x, judge) for x in told),
        output="\n\n".join(_told(x, judge) for x in rest),
    )


def _skips(finding: Finding) -> bool:
    undecided = finding.verdict is Verdict.UNKNOWN
    return undecided or finding.suppressed is not None or finding.reach is not Reach.REACHABLE


def _message(findings: Sequence[Finding]) -> str:
    first = findings[0]
    more = f" (and {len(findings) - 1} more)" if len(findings) > 1 else ""
    return f"{_why_skipped(first)}{visible(first.message)}{more}"


def _why_skipped(finding: Finding) -> str:
    if finding.suppressed is not None:
        return f"accepted: {visible(finding.suppressed) or 'no reason given'}: "
    if finding.verdict is Verdict.UNKNOWN:
        return "could not be decided: "
    return f"{REACHES[finding.reach]}: " if REACHES[finding.reach] else ""


def _told(finding: Finding, judge: _Judge) -> str:
    place = f"{visible(judge.locate(finding.file))}:{finding.line}"
    head = f"{place}: {word_of(finding)}: {visible(finding.message)}"
    lines = [f"  {key}: {text}".replace(GLUE, " ") for key, text in attributes(finding)]
    return "\n".join((head, *lines))


def _of_gap(gap: Gap, judge: _Judge) -> _Case:
    file, message = visible(judge.locate(gap.file)), visible(gap.message)
    outcome = "failure" if judge.strict else "skipped"
    name = f"{visible(gap.kind)}: {message} ({file})"
    return _Case(name, file, gap.line, outcome=outcome, message=message, kind="gap")


def _of_settings(left_out: str) -> _Case:
    """What the settings leave out: no test of it was made."""
    return _Case("exclude", "", 0, outcome="skipped", message=left_out)


# ---- XML ----------------------------------------------------------------------------------------


def _counts(cases: Sequence[_Case]) -> dict[str, str]:
    outcomes = [case.outcome for case in cases]
    return {
        "tests": str(len(cases)),
        "failures": str(outcomes.count("failure")),
        "errors": "0",
        "skipped": str(outcomes.count("skipped")),
    }


def _add_suite(root: ElementTree.Element, name: str, cases: Sequence[_Case]) -> None:
    shown = visible(name)
    suite = ElementTree.SubElement(root, "testsuite", {"name": shown, **_counts(cases)})
    for case in cases:
        named = {"classname": f"pathaudit.{shown}", "name": case.name}
        place = {"file": case.file} if case.file else {}
        line = {"line": str(case.line)} if case.line > 0 else {}
        element = ElementTree.SubElement(suite, "testcase", {**named, **place, **line})
        if case.outcome:
            told = ElementTree.SubElement(element, case.outcome, message=case.message)
            if case.outcome == "failure":
                told.set("type", case.kind)
            told.text = case.body or None
        if case.output:
            ElementTree.SubElement(element, "system-out").text = case.output
