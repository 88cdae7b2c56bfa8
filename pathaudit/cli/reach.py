"""``pathaudit reach``: does this line, function, call or patch run on every path?"""

import os
from typing import TYPE_CHECKING, Literal, TextIO, get_args

import click

from pathaudit.cli.manual import FILES, VARIABLES, Command, Manual, documented
from pathaudit.cli.options import (
    Reach,
    color_option,
    load_all_rules,
    means_options,
    open_tree,
    output_option,
    source_options,
)
from pathaudit.cli.output import Color, check_output, columns, wants_color, write_report
from pathaudit.cli.settings import settings_options
from pathaudit.errors import UsageError

if TYPE_CHECKING:
    from pathaudit.config import Kept
    from pathaudit.results.reaches import ReachReport
    from pathaudit.ruleset import Ruleset
    from pathaudit.sources import SourceTree
    from pathaudit.sources.fitting import Fitted

Format = Literal["text", "json"]

MANUAL = Manual(
    text="""
    With --patch or --diff, each statement that is added is asked about. The answer names what
    bypasses the target: conditions, the layers that run without it, and the flags that select such
    a path. The exit status does not depend on that.
    """,
    arguments=(
        (
            "TARGET",
            "FILE:LINE, or FILE:FIRST-LAST; a function, as Class.method or FILE::function; or a "
            "pattern of code such as '$X.append($Y)', where $X is anything and ... any arguments.",
        ),
        ("TREE", "Of --tree: a tree as for `pathaudit scan`."),
    ),
    examples=(
        ("pathaudit reach sglang/srt/models/deepseek_v2.py:3289", ""),
        ("pathaudit reach models/llama.py:380-392 --entry LlamaForCausalLM", ""),
        ("pathaudit reach DeepseekV2MoE.forward_deepep --tree sglang==0.5.6", ""),
        ("pathaudit reach 'layers/moe/topk.py::select_experts'", "a function"),
        ("pathaudit reach '$X.append($Y)' --entry DeepseekV3ForCausalLM", ""),
        ("pathaudit reach --patch fix.diff --tree ~/src/sglang", "what a patch adds"),
        ("pathaudit reach --diff v0.5.6 --tree ~/src/sglang", "what you added since"),
    ),
    variables=VARIABLES,
    files=FILES,
)


@documented(MANUAL)
@click.command(cls=Command)
@click.argument("target", required=False)
@click.option("--patch", metavar="FILE", help="Judge what a patch adds: a unified diff.")
@click.option("--diff", metavar="REV", help="Judge what the tree adds to a git revision.")
@click.option(
    "--tree", metavar="TREE", help="A tree as for scan, instead of the installed package."
)
@click.option("--entry", metavar="CLASS", help="Ask only about this served class.")
@click.option(
    "--format",
    "form",
    type=click.Choice(get_args(Format)),
    default="text",
    show_default=True,
    help="The form of the answer.",
)
@click.option("--verbose", is_flag=True, help="Show all classes and all groups of them.")
@output_option("answer")
@source_options
@settings_options
@means_options
@color_option
def reach(
    target: str | None,
    *,
    patch: str | None,
    diff: str | None,
    tree: str | None,
    entry: str | None,
    form: Format,
    verbose: bool,
    output: str | None,
    reach: Reach,
    kept: "Kept",
    color: Color,
    jobs: int | None,
    no_cache: bool,
) -> None:
    """Say whether code runs on every path, on some, or on none."""
    if output is not None:
        check_output(output)
    if [target, patch, diff].count(None) != 2:
        hint = "as in: pathaudit reach FILE:LINE, or pathaudit reach --patch FILE"
        raise UsageError("one of TARGET, --patch and --diff is needed", hint)
    ruleset = load_all_rules(kept)
    source = open_tree(tree or (diff and "."), ruleset, reach)
    fitted = _fit(source, patch) if patch is not None else None
    if diff is not None:
        inside = tree if tree is not None and os.path.isdir(tree) else None
        near = reach._replace(repo=reach.repo or inside)
        fitted = _differ(source, diff, ruleset, near)
    asked = target or patch or f"git:{diff}"
    found = _ask(source, ruleset, asked, entry, fitted, jobs=jobs, cached=not no_cache)

    def render(out: TextIO) -> None:
        _render(found, out, form, color, verbose=verbose)

    write_report(output, render)


def _fit(source: "SourceTree", patch: str) -> "Fitted":
    """The patch on the tree; UsageError, which names the hunk, where it does not fit."""
    from pathaudit.sources.fitting import Standing, fit_patch
    from pathaudit.sources.patches import open_patch

    opened = open_patch(patch)
    fitted = fit_patch(source, opened)
    if fitted.standing is Standing.NEITHER:
        misfit = fitted.misfits[0]
        more = f", nor do {len(fitted.misfits) - 1} others" if len(fitted.misfits) > 1 else ""
        text = f"{opened.label}:{misfit.at}: does not fit {misfit.path}: {misfit.reason}{more}"
        raise UsageError(text, f"{source.label} is neither before nor after this patch")
    return fitted


def _differ(source: "SourceTree", revision: str, ruleset: "Ruleset", reach: Reach) -> "Fitted":
    """What the tree adds to a revision."""
    from pathaudit.sources.differences import compare_trees
    from pathaudit.sources.forms import GIT

    old = open_tree(f"{GIT}{revision.removeprefix(GIT)}", ruleset, reach)
    return compare_trees(old, source)


def _ask(
    source: "SourceTree",
    ruleset: "Ruleset",
    target: str,
    entry: str | None,
    fitted: "Fitted | None",
    *,
    jobs: int | None,
    cached: bool,
) -> "ReachReport":
    from pathaudit.audit import reach_of
    from pathaudit.cli.progress import means_of_work

    with means_of_work(jobs=jobs, cached=cached, quiet=False) as means:
        return reach_of(source, ruleset, target, entry=entry, patch=fitted, means=means)


def _render(
    report: "ReachReport", out: TextIO, form: Format, color: Color, *, verbose: bool
) -> None:
    from pathaudit.reporters import json, reaches

    if form == "text":
        painted = wants_color(color, out)
        reaches.render(report, out, width=columns(out), color=painted, verbose=verbose)
    else:
        json.render(report, out)
