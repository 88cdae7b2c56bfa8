"""The forms of the answers about findings, other than text: which reporter writes which."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, NamedTuple, TextIO

if TYPE_CHECKING:
    from pathaudit.results import Report
    from pathaudit.results.versions import ReportDiff
    from pathaudit.ruleset import Ruleset

Form = Literal["text", "json", "sarif", "github", "junit", "markdown"]
DiffForm = Literal["text", "json", "sarif", "github", "markdown"]
FailOn = Literal["error", "warning", "note", "never"]


class Told(NamedTuple):
    """What reports for other programs need to know beside the findings.

    ``locate`` gives the path of a file of the tree for the reader; ``fail_on`` and ``strict`` are
    what fails the run.
    """

    rules: "Ruleset"
    locate: Callable[[str], str]
    fail_on: FailOn = "error"
    strict: bool = False


def render_report(form: Form, report: "Report", out: TextIO, told: Told) -> None:
    """Write the report of a scan in a form that is not text."""
    if form == "json":
        from pathaudit.reporters import json

        json.render(report, out)
    elif form == "sarif":
        from pathaudit.cli.rule_docs import rule_docs
        from pathaudit.reporters import sarif

        sarif.render(report, out, docs=rule_docs(told.rules), locate=told.locate)
    elif form == "github":
        from pathaudit.reporters import github

        github.render(report, out, locate=told.locate)
    elif form == "junit":
        _render_junit(report, out, told)
    else:
        from pathaudit.reporters import comment

        comment.render(report, out, locate=told.locate)


def _render_junit(report: "Report", out: TextIO, told: Told) -> None:
    """Where nothing fails the run, a page of tests still shows what is an error."""
    from pathaudit.reporters import junit
    from pathaudit.results import Severity

    severity = Severity.ERROR if told.fail_on == "never" else Severity(told.fail_on)
    junit.render(report, out, fail_on=severity, strict=told.strict, locate=told.locate)


def render_diff(form: DiffForm, diff: "ReportDiff", out: TextIO, told: Told) -> None:
    """Write what changed between two versions in a form that is not text."""
    if form == "sarif":
        from pathaudit.cli.rule_docs import rule_docs
        from pathaudit.reporters import sarif

        sarif.render_diff(diff, out, docs=rule_docs(told.rules), locate=told.locate)
    elif form == "github":
        from pathaudit.reporters import github

        github.render_diff(diff, out, locate=told.locate)
    else:
        from pathaudit.reporters import json, markdown

        (json if form == "json" else markdown).render(diff, out)
