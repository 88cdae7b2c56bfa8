"""``pathaudit hooks``: where do hooks on modules fire, and where not?"""

from typing import TYPE_CHECKING, Literal, TextIO, get_args

import click

from pathaudit.cli.manual import FILES, VARIABLES, Command, Manual, documented
from pathaudit.cli.options import (
    Reach,
    color_option,
    means_options,
    open_inputs,
    output_option,
    source_options,
)
from pathaudit.cli.output import Color, check_output, columns, wants_color, write_report
from pathaudit.cli.settings import settings_options

if TYPE_CHECKING:
    from pathaudit.config import Kept
    from pathaudit.results.hooks import HooksReport

Format = Literal["text", "json", "markdown"]

MANUAL = Manual(
    text="""
    For each variant of the forward the table says whether a hook fires that is registered on the
    module, whether only a replaced forward runs, or neither, and the lines below it show the code
    that says so. The exit status does not depend on that.
    """,
    arguments=(
        (
            "MODULE",
            "A path as named_modules() has it, with * or a number for a layer; a class; or "
            "FILE:LINE of a constructor. Without it all modules are told.",
        ),
        ("TREE", "Of --tree: a tree as for `pathaudit scan`."),
    ),
    examples=(
        ("pathaudit hooks DeepseekV2DecoderLayer", "a class, wherever it is"),
        ("pathaudit hooks 'model.layers.*.mlp' --entry Qwen3MoeForCausalLM", ""),
        ("pathaudit hooks lm_head --tree ~/src/sglang", ""),
        ("pathaudit hooks models/nemotron_h.py:577", "what is constructed there"),
        ("pathaudit hooks --entry NemotronHForCausalLM --verbose", ""),
    ),
    variables=VARIABLES,
    files=FILES,
)


@documented(MANUAL)
@click.command(cls=Command)
@click.argument("module", metavar="[MODULE]", default="")
@click.option(
    "--tree", metavar="TREE", help="A tree as for scan, instead of the installed package."
)
@click.option("--entry", metavar="ARCHITECTURE", help="Tell only of this served class.")
@click.option(
    "--format",
    "form",
    type=click.Choice(get_args(Format)),
    default="text",
    show_default=True,
    help="The form of the answer.",
)
@output_option("answer")
@source_options
@settings_options
@means_options
@click.option("--verbose", is_flag=True, help="Show the places behind each cell, however many.")
@color_option
def hooks(
    module: str,
    *,
    tree: str | None,
    entry: str | None,
    form: Format,
    output: str | None,
    reach: Reach,
    kept: "Kept",
    jobs: int | None,
    no_cache: bool,
    verbose: bool,
    color: Color,
) -> None:
    """Show where hooks on modules fire, and where they do not."""
    from pathaudit.audit import hooks_of
    from pathaudit.cli.progress import means_of_work

    if output is not None:
        check_output(output)
    source, ruleset = open_inputs(tree, reach=reach, kept=kept)
    with means_of_work(jobs=jobs, cached=not no_cache, quiet=False) as means:
        report = hooks_of(source, ruleset, module, entry=entry, means=means)

    def render(out: TextIO) -> None:
        _render(report, out, form, color, verbose)

    write_report(output, render)


def _render(report: "HooksReport", out: TextIO, form: Format, color: Color, verbose: bool) -> None:
    from pathaudit.reporters import hooks, json, markdown_hooks

    if form == "json":
        json.render(report, out)
    elif form == "markdown":
        markdown_hooks.render(report, out)
    else:
        hooks.render(
            report, out, width=columns(out), color=wants_color(color, out), verbose=verbose
        )
