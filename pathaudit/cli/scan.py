"""``pathaudit scan``: which paths break a rule?"""

import re
import time
from typing import TYPE_CHECKING, Literal, TextIO, get_args

import click

from pathaudit.cli.options import color_option, open_inputs, output_option
from pathaudit.cli.output import Color, check_output, columns, wants_color, write_report
from pathaudit.cli.status import Status

if TYPE_CHECKING:
    from pathaudit.results import EntryReport, Report
    from pathaudit.sources import SourceTree

Format = Literal["text", "json"]
FailOn = Literal["error", "warning", "note", "never"]

EXAMPLES = """
\b
Examples:
  pathaudit scan                              the installed sglang
  pathaudit scan ~/src/sglang                 a checkout
  pathaudit scan --entry DeepseekV3ForCausalLM
  pathaudit scan --format json --output report.json
  pathaudit scan --fail-on never | less       look, and never fail
  pathaudit scan --rules ours --rule skipped-tap
"""


@click.command(epilog=EXAMPLES)
@click.argument("tree", required=False)
@click.option(
    "--rule", "chosen", metavar="ID", multiple=True, help="Check only this rule; repeatable."
)
@click.option(
    "--rules",
    "own",
    metavar="DIR",
    multiple=True,
    help="Check the rules of a directory of your own, too; repeatable.",
)
@click.option("--entry", metavar="ARCHITECTURE", help="Audit only this served class.")
@click.option(
    "--fail-on",
    type=click.Choice(get_args(FailOn)),
    default="error",
    show_default=True,
    help="The mildest severity that makes the exit status 1.",
)
@click.option("--strict", is_flag=True, help="Fail too on what could not be judged.")
@click.option(
    "--format",
    "form",
    type=click.Choice(get_args(Format)),
    default="text",
    show_default=True,
    help="The form of the report.",
)
@output_option("report")
@click.option("--verbose", is_flag=True, help="Show what holds and where, and all gaps, too.")
@click.option("--quiet", is_flag=True, help="Print no report; the exit status is the answer.")
@color_option
@click.pass_context
def scan(
    context: click.Context,
    tree: str | None,
    *,
    chosen: tuple[str, ...],
    own: tuple[str, ...],
    entry: str | None,
    fail_on: FailOn,
    strict: bool,
    form: Format,
    output: str | None,
    verbose: bool,
    quiet: bool,
    color: Color,
) -> None:
    """Find the paths that break a rule.

    TREE is a directory: a checkout, a site-packages folder, or the package itself. Without it the
    installed package is read. A finding says where the path leaves, on which condition, and which
    layers it concerns; findings that are reachable and as severe as --fail-on fail the run.
    """
    started = time.perf_counter()
    if output is not None:
        check_output(output)
    source, report = _audit(tree, chosen, own, entry)

    def render(out: TextIO) -> None:
        if form == "json":
            _render_json(report, out)
        else:
            _render_text(source, report, out, verbose=verbose, color=color, started=started)

    if output is not None or not quiet:
        write_report(output, render)
    context.exit(Status.FINDINGS if _fails(report, fail_on, strict) else Status.CLEAN)


def _audit(
    target: str | None, chosen: tuple[str, ...], own: tuple[str, ...], entry: str | None
) -> "tuple[SourceTree, Report]":
    source, ruleset = open_inputs(target, chosen, own)

    # Parsing is the slowest thing to import, and the mistakes above need none of it.
    from pathaudit.audit import audit

    return source, audit(source, ruleset, entry=entry)


def _render_json(report: "Report", out: TextIO) -> None:
    from pathaudit.reporters import json

    json.render(report, out)


def _render_text(
    source: "SourceTree",
    report: "Report",
    out: TextIO,
    *,
    verbose: bool,
    color: Color,
    started: float,
) -> None:
    from pathaudit.reporters import text

    text.render(
        report,
        out,
        excerpts={
            file: _excerpt(source, file, lines) for file, lines in text.lines_wanted(report).items()
        },
        width=columns(out),
        color=wants_color(color, out),
        verbose=verbose,
        seconds=time.perf_counter() - started,
    )


def _excerpt(source: "SourceTree", file: str, wanted: frozenset[int]) -> dict[int, str]:
    """Return lines of a file by number; none of a file that cannot be read any more."""
    from pathaudit.errors import SourceError

    try:
        text = source.text(file)
    except SourceError:
        return {}
    # Only these end a line of Python: not a form feed, nor what str.splitlines also splits at.
    lines = enumerate(re.split(r"\r\n|\r|\n", text), start=1)
    return {number: line for number, line in lines if number in wanted}


def _fails(report: "Report", fail_on: FailOn, strict: bool) -> bool:
    """Does the answer fail the run? ``strict`` counts all that the answer does not cover."""
    from pathaudit.results import Severity, fails

    if fail_on == "never":
        return False
    if strict and (report.gaps or any(_is_undecided(entry, report) for entry in report.entries)):
        return True
    return any(fails(finding, Severity(fail_on), strict=strict) for finding in report.findings)


def _is_undecided(entry: "EntryReport", report: "Report") -> bool:
    """Is an entry unknown for a reason that nobody accepted? A budget that ran out is a gap."""
    from pathaudit.results import Verdict

    accepted = {
        (f.rule, f.file, f.line, f.column) for f in report.findings if f.suppressed is not None
    }
    unknown = (site for site in entry.sites if site.verdict is Verdict.UNKNOWN)
    return entry.verdict is Verdict.UNKNOWN and any(
        (entry.rule, site.file, site.line, site.column) not in accepted for site in unknown
    )
