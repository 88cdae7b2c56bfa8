"""The forms of the answers about findings, and which reporter writes which."""

from collections.abc import Callable, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Literal, NamedTuple, TextIO, cast

import click

from pathaudit.cli.options import Command, output_option
from pathaudit.cli.output import check_output, write_report
from pathaudit.cli.places import source_root_option

if TYPE_CHECKING:
    from pathaudit.results import Report
    from pathaudit.results.versions import ReportDiff
    from pathaudit.ruleset import Ruleset

Form = Literal["text", "json", "sarif", "github", "junit", "markdown"]
DIFF_FORMS = ("text", "json", "sarif", "github", "markdown")
FailOn = Literal["error", "warning", "note", "never"]


class Writing(NamedTuple):
    """In which form a report is written, to which file, and where its paths start."""

    form: Form
    output: str | None
    source_root: str | None

    def check(self) -> None:
        """Refuse a file that could not be written, before the work. UsageError as for that."""
        if self.output is not None:
            check_output(self.output)

    def write(self, render: Callable[[TextIO], None], *, quiet: bool) -> None:
        """Write the report; what is ``quiet`` writes only to a file."""
        if self.output is not None or not quiet:
            write_report(self.output, render)


def form_options(forms: Sequence[str]) -> Callable[[Command], Command]:
    """``--format``, ``--output`` and ``--source-root``, for a command: one ``writing``."""
    form = click.option(
        "--format",
        "form",
        type=click.Choice(forms),
        default="text",
        show_default=True,
        help="The form of the report.",
    )

    def decorated(command: Command) -> Command:
        @wraps(command)
        def gathered(
            *given: object,
            form: Form,
            output: str | None,
            source_root: str | None,
            **others: object,
        ) -> None:
            command(*given, writing=Writing(form, output, source_root), **others)

        return cast(Command, form(output_option("report")(source_root_option(gathered))))

    return decorated


class Told(NamedTuple):
    """What reports for other programs need to know beside the findings.

    ``locate`` gives the path of a file of the tree for the reader; ``fail_on`` and ``strict`` are
    what fails the run.
    """

    form: Form
    rules: "Ruleset"
    locate: Callable[[str], str]
    fail_on: FailOn = "error"
    strict: bool = False


def render_report(told: Told, report: "Report", out: TextIO) -> None:
    """Write the report of a scan in a form that is not text."""
    form = told.form
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


def render_diff(told: Told, diff: "ReportDiff", out: TextIO) -> None:
    """Write what changed between two versions in a form that is not text."""
    form = told.form
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
