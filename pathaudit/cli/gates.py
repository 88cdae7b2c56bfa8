"""``pathaudit gates``: which flag, variable or config field selects this path?"""

from typing import TYPE_CHECKING, Literal, TextIO, get_args

import click

from pathaudit.cli.manual import FILES, VARIABLES, Command, Manual, documented
from pathaudit.cli.options import color_option, means_options, open_inputs, output_option
from pathaudit.cli.output import Color, check_output, columns, wants_color, write_report
from pathaudit.cli.settings import settings_options

if TYPE_CHECKING:
    from pathaudit.config import Kept
    from pathaudit.decisions import GatesReport

Format = Literal["text", "json"]

MANUAL = Manual(
    text="""
    What is known of a predicate comes first, with the code that proves it; anything else is traced
    backwards through the code to the nearest flag, environment variable or key of config.json.
    Nothing is guessed from similar names: what is not found is called decided at run time, or not
    resolved.
    """,
    arguments=(
        ("CONDITION", "An expression as the code has it; quote it if it has spaces."),
        (
            "ENTRY",
            "A class that the framework serves, or one of its methods: each condition on its "
            "paths is answered.",
        ),
    ),
    examples=(
        ("pathaudit gates forward_batch.can_run_tbo", ""),
        ("pathaudit gates 'not self.pp_group.is_last_rank' --tree ~/src/sglang", ""),
        ("pathaudit gates self.enable_a2a_moe --in DeepseekV2Model", "where it stands"),
        ("pathaudit gates 'input_embeds is None' --in models/deepseek_v2.py:2207", ""),
        ("pathaudit gates DeepseekV3ForCausalLM", "each condition on its paths"),
        ("pathaudit gates Qwen3MoeForCausalLM.forward_split_prefill", ""),
    ),
    variables=VARIABLES,
    files=FILES,
)


@documented(MANUAL)
@click.command(cls=Command)
@click.argument("what", metavar="CONDITION | ENTRY")
@click.option(
    "--tree", metavar="TREE", help="A tree as for scan, instead of the installed package."
)
@click.option(
    "--in",
    "within",
    metavar="WHERE",
    default="",
    help="Where the condition stands: a file, FILE:LINE, a class or a method.",
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
@color_option
def gates(
    what: str,
    *,
    tree: str | None,
    within: str,
    form: Format,
    output: str | None,
    color: Color,
    jobs: int | None,
    no_cache: bool,
    kept: "Kept",
) -> None:
    """Say which settings decide a condition, and show the way there."""
    if output is not None:
        check_output(output)
    report = _ask(what, tree, within, kept=kept, jobs=jobs, cached=not no_cache)

    def render(out: TextIO) -> None:
        _render(report, out, form, color)

    write_report(output, render)


def _ask(
    what: str,
    tree: str | None,
    within: str,
    *,
    kept: "Kept",
    jobs: int | None,
    cached: bool,
) -> "GatesReport":
    from pathaudit.audit import gates_of
    from pathaudit.cli.progress import means_of_work

    source, ruleset = open_inputs(tree, kept=kept)
    with means_of_work(jobs=jobs, cached=cached, quiet=True) as means:
        return gates_of(source, ruleset, what, within=within, means=means)


def _render(report: "GatesReport", out: TextIO, form: Format, color: Color) -> None:
    from pathaudit.reporters import gates as text
    from pathaudit.reporters import json

    if form == "text":
        text.render(report, out, width=columns(out), color=wants_color(color, out))
    else:
        json.render(report, out)
