"""``pathaudit scan``: which paths break a rule?"""

import time
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TextIO, get_args

import click

from pathaudit.cli.baselines import Baselines, baseline_options
from pathaudit.cli.excerpts import excerpts
from pathaudit.cli.forms import FailOn, Form, Told, Writing, form_options, render_report
from pathaudit.cli.manual import (
    BASELINE_FILE,
    FILES,
    FINDINGS_FAIL,
    TREE,
    VARIABLES,
    Command,
    Manual,
    documented,
)
from pathaudit.cli.options import (
    Reach,
    color_option,
    load_rules,
    means_options,
    own_rules_option,
    source_options,
)
from pathaudit.cli.output import Color, columns, wants_color
from pathaudit.cli.patches import patches_option, with_patches
from pathaudit.cli.places import locator
from pathaudit.cli.served import served_class
from pathaudit.cli.settings import settings_options
from pathaudit.cli.status import Status
from pathaudit.cli.targets import Asked, open_targets
from pathaudit.errors import UsageError

if TYPE_CHECKING:
    from pathaudit.audit import Means
    from pathaudit.config import Kept
    from pathaudit.results import EntryReport, Report
    from pathaudit.ruleset import Ruleset
    from pathaudit.sources import SourceTree


class Shown(NamedTuple):
    """What the text tells: ``positive`` is what holds, ``started`` when the command was given."""

    verbose: bool
    positive: bool
    color: Color
    started: float


MANUAL = Manual(
    text="""
    A finding says where a path leaves what must happen, on which condition, which layers it
    concerns and which flags select it. What holds is counted, and shown with --verbose; what
    could not be judged is called unknown, or a gap. Findings that can be reached and are as severe
    as --fail-on says fail the run.

    With FILES, only the classes whose paths depend on one of them are audited.
    """,
    arguments=(
        TREE,
        (
            "FILES",
            "Python files of one tree: the one that they are in, or that --tree names. Files of no "
            "tree are left out.",
        ),
    ),
    examples=(
        ("pathaudit scan", "the installed sglang"),
        ("pathaudit scan ~/src/sglang", "a checkout"),
        ("pathaudit scan git:v0.5.6 --repo ~/src/sglang", ""),
        ("pathaudit scan sglang==0.5.9", "a release, read from its wheel"),
        ("pathaudit scan --with my_models", "with models of your own"),
        ("pathaudit scan --entry DeepseekV3ForCausalLM", "one served class"),
        ("pathaudit scan --config model/config.json", "the class that serves a model"),
        ("pathaudit scan sglang/srt/models/llama.py", "what depends on a file"),
        ("pathaudit scan --tree sglang==0.5.9 --with my_models my_models/own.py", ""),
        ("pathaudit scan --strict --quiet", "in a script: the exit status is all"),
        ("pathaudit scan --format json --output report.json", ""),
        ("pathaudit scan fork --format sarif --output pathaudit.sarif", ""),
        ("pathaudit scan --write-baseline known.yaml", "accept what is there today"),
        ("pathaudit scan --baseline known.yaml", "fail on what is new"),
        ("pathaudit scan --fail-on never | less", "look, and never fail"),
        ("pathaudit scan --rules ours --rule skipped-tap", "a rule of your own"),
    ),
    statuses=FINDINGS_FAIL,
    variables=VARIABLES,
    files=(*FILES, BASELINE_FILE),
)


@documented(MANUAL)
@click.command(cls=Command)
@click.argument("targets", metavar="[TREE | FILES...]", nargs=-1)
@click.option(
    "--rule", "chosen", metavar="ID", multiple=True, help="Check only this rule; repeatable."
)
@own_rules_option
@click.option("--entry", metavar="ARCHITECTURE", help="Audit only this served class.")
@click.option(
    "--config", metavar="FILE", help="Audit only the class that a model's config.json names."
)
@click.option(
    "--fail-on",
    type=click.Choice(get_args(FailOn)),
    default="error",
    show_default=True,
    help="The mildest severity that makes the exit status 1.",
)
@click.option("--tree", metavar="TREE", help="The tree that FILES belong to; others are left out.")
@click.option("--strict/--no-strict", help="Fail too on what could not be judged.")
@form_options(get_args(Form))
@source_options
@means_options
@baseline_options
@settings_options
@patches_option
@click.option("--verbose", is_flag=True, help="Show what holds and where, and all gaps, too.")
@click.option("--quiet", is_flag=True, help="Print no report; the exit status is the answer.")
@color_option
@click.pass_context
def scan(
    context: click.Context,
    targets: tuple[str, ...],
    *,
    chosen: tuple[str, ...],
    own: tuple[str, ...],
    entry: str | None,
    config: str | None,
    tree: str | None,
    fail_on: FailOn,
    strict: bool,
    writing: Writing,
    known: Baselines,
    kept: "Kept",
    verbose: bool,
    quiet: bool,
    color: Color,
    reach: Reach,
    jobs: int | None,
    no_cache: bool,
) -> None:
    """Find the paths that break a rule."""
    from pathaudit.cli.progress import means_of_work

    started = time.perf_counter()
    writing.check()
    known.read()
    if config is not None:
        entry = _only_entry(entry, served_class(config))
    ruleset = with_patches(load_rules(chosen, own, kept), chosen)
    asked = open_targets(targets, tree, ruleset, reach._replace(quiet=quiet))
    where = locator(asked.tree, writing.source_root)
    told = Told(writing.form, ruleset, where, fail_on, strict)
    with means_of_work(jobs=jobs, cached=not no_cache, quiet=quiet) as means:
        report = _audited(asked, ruleset, entry, known, means)
    shown = Shown(verbose, entry is not None, color, started)
    render = partial(_render, asked.tree, report, told, shown if writing.form == "text" else None)
    writing.write(render, quiet=quiet)
    context.exit(Status.FINDINGS if _fails(report, fail_on, strict) else Status.CLEAN)


def _audited(
    asked: Asked, ruleset: "Ruleset", entry: str | None, known: Baselines, means: "Means"
) -> "Report":
    """The report on a tree or on files of it, with what a baseline accepts."""
    from pathaudit.audit import audit
    from pathaudit.summary import report_of_nothing

    if asked.tree is None:
        return report_of_nothing(ruleset)
    report = audit(asked.tree, ruleset, entry=entry, files=asked.files, means=means)
    whole = entry is None and not asked.files and not ruleset.policy.entries
    return known.use(report, asked.tree, whole=whole, policy=ruleset.policy)


def _only_entry(entry: str | None, named: str) -> str:
    if entry not in (None, named):
        raise UsageError(f"--entry is {entry}, and --config names {named}", "give one of them")
    return named


def _render(
    source: "SourceTree | None", report: "Report", told: Told, shown: Shown | None, out: TextIO
) -> None:
    """Write the text with what is to be shown, or another form."""
    if shown is None:
        render_report(told, report, out)
        return
    if source is None:
        out.write("No file of a tree that can be audited: nothing was judged\n")
        return
    from pathaudit.reporters import text

    text.render(
        report,
        out,
        excerpts=excerpts(source, text.lines_wanted(report)),
        width=columns(out),
        color=wants_color(shown.color, out),
        verbose=shown.verbose,
        positive=shown.positive,
        seconds=time.perf_counter() - shown.started,
    )


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
