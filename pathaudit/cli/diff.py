"""``pathaudit diff``: what does this upgrade break?"""

import time
from typing import TYPE_CHECKING, TextIO, get_args

import click

from pathaudit.cli.excerpts import excerpts
from pathaudit.cli.forms import DIFF_FORMS, FailOn, Told, Writing, form_options, render_diff
from pathaudit.cli.manual import (
    FILES,
    FINDINGS_FAIL,
    TREE_FORMS,
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
    open_tree,
    own_rules_option,
    source_options,
)
from pathaudit.cli.output import Color, columns, wants_color
from pathaudit.cli.patches import patches_option, with_patches
from pathaudit.cli.places import locator
from pathaudit.cli.settings import settings_options
from pathaudit.cli.status import Status

if TYPE_CHECKING:
    from pathaudit.config import Kept
    from pathaudit.results.versions import ReportDiff
    from pathaudit.sources import SourceTree

MANUAL = Manual(
    text="""
    Findings are known again by their fingerprint, or by resemblance where a class was renamed or
    moved, which is said. Beside them it tells which verdicts became unknown, which ways to run
    layers appeared or vanished, and where layers no longer come with an event. Findings that fail
    a scan of NEW and do not fail one of OLD make the exit status 1.
    """,
    arguments=(
        ("OLD, NEW", "Two trees, each of them as TREE here."),
        TREE_FORMS,
    ),
    examples=(
        ("pathaudit diff sglang sglang==0.5.23", "the installed one, and a release"),
        ("pathaudit diff sglang==0.5.6 sglang==0.5.23 --entry DeepseekV3ForCausalLM", ""),
        ("pathaudit diff git:v0.5.6 git:HEAD --repo ~/src/sglang", "two revisions"),
        ("pathaudit diff ~/old ~/new --format markdown --output comment.md", ""),
    ),
    statuses=FINDINGS_FAIL,
    variables=VARIABLES,
    files=FILES,
)


@documented(MANUAL)
@click.command(cls=Command)
@click.argument("old")
@click.argument("new")
@click.option(
    "--rule", "chosen", metavar="ID", multiple=True, help="Compare only this rule; repeatable."
)
@own_rules_option
@click.option("--entry", metavar="CLASS", help="Tell only of this class, served or audited.")
@click.option(
    "--fail-on",
    type=click.Choice(get_args(FailOn)),
    default="error",
    show_default=True,
    help="The mildest severity of a new finding that makes the exit status 1.",
)
@click.option("--strict/--no-strict", help="Fail too on what can no longer be decided.")
@form_options(DIFF_FORMS)
@source_options
@settings_options
@means_options
@patches_option
@click.option("--verbose", is_flag=True, help="List all of everything, also what is unchanged.")
@click.option("--quiet", is_flag=True, help="Print no report; the exit status is the answer.")
@color_option
@click.pass_context
def diff(
    context: click.Context,
    old: str,
    new: str,
    *,
    chosen: tuple[str, ...],
    own: tuple[str, ...],
    entry: str | None,
    fail_on: FailOn,
    strict: bool,
    writing: Writing,
    verbose: bool,
    quiet: bool,
    color: Color,
    jobs: int | None,
    no_cache: bool,
    reach: Reach,
    kept: "Kept",
) -> None:
    """Say what changed from one version to another."""
    from pathaudit.cli.progress import means_of_work

    started = time.perf_counter()
    writing.check()
    ruleset = with_patches(load_rules(chosen, own, kept), chosen)
    trees = [open_tree(target, ruleset, reach._replace(quiet=quiet)) for target in (old, new)]
    told = Told(writing.form, ruleset, locator(trees[1], writing.source_root))
    with means_of_work(jobs=jobs, cached=not no_cache, quiet=quiet) as means:
        from pathaudit.audit import survey
        from pathaudit.diff import Version, compare

        before, now = (Version(tree, survey(tree, ruleset, means=means)) for tree in trees)
        answer = compare(before, now, entry=entry)

    def render(out: TextIO) -> None:
        if writing.form == "text":
            _render_text(answer, now.tree, out, verbose, color, time.perf_counter() - started)
        else:
            render_diff(told, answer, out)

    writing.write(render, quiet=quiet)
    context.exit(Status.FINDINGS if _fails(answer, fail_on, strict) else Status.CLEAN)


def _render_text(
    answer: "ReportDiff",
    tree: "SourceTree",
    out: TextIO,
    verbose: bool,
    color: Color,
    seconds: float,
) -> None:
    from pathaudit.reporters import changes

    changes.render(
        answer,
        out,
        excerpts=excerpts(tree, changes.lines_wanted(answer)),
        width=columns(out),
        color=wants_color(color, out),
        verbose=verbose,
        seconds=seconds,
    )


def _fails(answer: "ReportDiff", fail_on: FailOn, strict: bool) -> bool:
    from pathaudit.results import Severity
    from pathaudit.results.versions import fails_newly

    return fail_on != "never" and fails_newly(answer, Severity(fail_on), strict=strict)
