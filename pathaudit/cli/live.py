"""``pathaudit live``: which path runs with my server's arguments, and what does it capture?"""

from typing import TYPE_CHECKING, Literal, TextIO, get_args

import click

from pathaudit.cli.manual import FILES, NOTHING_FAILS, VARIABLES, Command, Manual, documented
from pathaudit.cli.options import (
    color_option,
    load_all_rules,
    means_options,
    open_tree,
    output_option,
)
from pathaudit.cli.output import Color, check_output, columns, wants_color, write_report
from pathaudit.cli.settings import settings_options
from pathaudit.cli.status import Status

if TYPE_CHECKING:
    from pathaudit.config import Kept
    from pathaudit.results.live import LiveReport
    from pathaudit.ruleset import Ruleset
    from pathaudit.sources import SourceTree

Format = Literal["text", "json"]

MANUAL = Manual(
    text="""
    The arguments are read from one of a log, a command and a /server_info answer; nothing in them
    is run, and secrets are not shown. With the configurations of the model and its draft, the
    answer says which of the layers that the draft asks for are captured, on which variant of the
    forward, and what comes of those that are lost. FILE may be - for the standard input.
    """,
    examples=(
        ("pathaudit live --log server.log", ""),
        ("pathaudit live --log a.log --config config.json --draft-config draft.json", ""),
        ("pathaudit live --command 'python -m sglang.launch_server --tp 8'", ""),
        ("pathaudit live --command deployment.yaml --tree ~/src/sglang", ""),
        ("curl -s localhost:30000/server_info | pathaudit live --server-info -", ""),
    ),
    statuses=(
        ("0", "No requested layer is lost on a path that can run."),
        ("1", "One is, or the server would not start; with --strict, or it is not known."),
        *NOTHING_FAILS[1:],
    ),
    variables=VARIABLES,
    files=FILES,
)


@documented(MANUAL)
@click.command(cls=Command)
@click.option("--log", metavar="FILE", help="A log of the server that holds its start.")
@click.option(
    "--command", metavar="TEXT|FILE", help="What starts it: a command, a script or a manifest."
)
@click.option("--server-info", metavar="FILE", help="What its /server_info answers.")
@click.option("--config", "model_config", metavar="FILE", help="The config.json of the model.")
@click.option("--draft-config", metavar="FILE", help="The config.json of the draft model.")
@click.option(
    "--version", "stated", metavar="VERSION", help="The version that runs, if nothing says it."
)
@click.option(
    "--tree", metavar="TREE", help="A tree as for scan, instead of the installed package."
)
@click.option(
    "--format",
    "form",
    type=click.Choice(get_args(Format)),
    default="text",
    show_default=True,
    help="The form of the answer.",
)
@output_option("answer")
@means_options
@settings_options
@click.option("--strict/--no-strict", help="Fail too where it is not known.")
@click.option("--verbose", is_flag=True, help="Show all arguments that are stated.")
@color_option
@click.pass_context
def live(
    context: click.Context,
    *,
    log: str | None,
    command: str | None,
    server_info: str | None,
    model_config: str | None,
    draft_config: str | None,
    stated: str | None,
    tree: str | None,
    form: Format,
    output: str | None,
    jobs: int | None,
    no_cache: bool,
    kept: "Kept",
    strict: bool,
    verbose: bool,
    color: Color,
) -> None:
    """Say what a server runs with its arguments."""
    from pathaudit.cli.progress import means_of_work
    from pathaudit.live import Question, live

    if output is not None:
        check_output(output)
    question = Question(
        log=log,
        command=command,
        server_info=server_info,
        config=model_config,
        draft_config=draft_config,
        version=stated,
    )
    rules = load_all_rules(kept, ("skipped-aux-capture",))
    source = _source(tree, rules, needed=model_config is not None)
    with means_of_work(jobs=jobs, cached=not no_cache, quiet=False) as means:
        report = live(question, source, rules, means=means)

    def render(out: TextIO) -> None:
        _render(report, out, form, color, verbose)

    write_report(output, render)
    context.exit(Status.FINDINGS if _fails(report, strict) else Status.CLEAN)


def _source(tree: str | None, rules: "Ruleset", *, needed: bool) -> "SourceTree | None":
    """The tree that was named, or the installed one; none where it can be done without."""
    from pathaudit.errors import SourceError

    try:
        return open_tree(tree, rules)
    except SourceError:
        if tree is not None or needed:
            raise
        return None


def _render(report: "LiveReport", out: TextIO, form: Format, color: Color, verbose: bool) -> None:
    from pathaudit.reporters import json, live

    if form == "json":
        json.render(report, out)
    else:
        live.render(report, out, width=columns(out), color=wants_color(color, out), verbose=verbose)


def _fails(report: "LiveReport", strict: bool) -> bool:
    """Is something that was asked for lost on a path that can run, or perhaps can?"""
    states = {"possible", "unknown"} if strict else {"possible"}
    lost = any(item.lost and item.state in states for item in report.variants)
    lost = lost or any(item.name == "startup" for item in report.variants)
    return lost or (strict and any(x.state == "unknown" and x.selects for x in report.variants))
