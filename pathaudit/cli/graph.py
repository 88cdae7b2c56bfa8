"""``pathaudit graph``: which code runs the layers of a served class?"""

from typing import TYPE_CHECKING, Literal, TextIO, get_args

import click

from pathaudit.cli.manual import FILES, VARIABLES, Command, Manual, documented
from pathaudit.cli.options import (
    Reach,
    color_option,
    open_inputs,
    output_option,
    source_options,
)
from pathaudit.cli.output import Color, check_output, columns, wants_color, write_report
from pathaudit.cli.settings import settings_options

if TYPE_CHECKING:
    from pathaudit.config import Kept
    from pathaudit.results import GraphView
    from pathaudit.ruleset import Ruleset
    from pathaudit.sources import SourceTree

Format = Literal["text", "dot", "mermaid", "json"]

MANUAL = Manual(
    text="""
    The graph leads through calls, arms of branches and loops to where layers run, and marks what a
    rule says of a place: captures, BYPASS, unknown, blocked (an exception comes first), gated,
    dormant, or excluded (the rule's assumptions do not lead there). The exit status does not
    depend on that.
    """,
    arguments=(
        (
            "ENTRY",
            "A class that the framework serves, such as DeepseekV3ForCausalLM, or one of its "
            "methods: Class.method.",
        ),
        ("TREE", "Of --tree: a tree as for `pathaudit scan`."),
        ("WHAT", "Of --only: layers, all, or a rule, such as skipped-aux-capture."),
    ),
    examples=(
        ("pathaudit graph DeepseekV3ForCausalLM", "in the installed sglang"),
        ("pathaudit graph DeepseekV3ForCausalLM.forward_split_prefill", ""),
        ("pathaudit graph Qwen3MoeForCausalLM --tree ~/src/sglang", ""),
        ("pathaudit graph Qwen3MoeForCausalLM --tree git:v0.5.6 --repo ~/src/sglang", ""),
        ("pathaudit graph Qwen3MoeForCausalLM --only skipped-aux-capture --depth 1", ""),
        ("pathaudit graph Qwen3MoeForCausalLM --format dot | dot -Tsvg -o qwen3.svg", ""),
    ),
    variables=VARIABLES,
    files=FILES,
)


@documented(MANUAL)
@click.command(cls=Command)
@click.argument("entry")
@click.option(
    "--tree", metavar="TREE", help="A tree as for scan, instead of the installed package."
)
@click.option(
    "--format",
    "form",
    type=click.Choice(get_args(Format)),
    default="text",
    show_default=True,
    help="The form of the graph; dot is for Graphviz.",
)
@click.option(
    "--depth", metavar="N", type=click.IntRange(min=0), help="Follow at most N calls in a row."
)
@click.option(
    "--only",
    metavar="WHAT",
    default="layers",
    show_default=True,
    help="What to show: layers, all, or the places that a rule judges.",
)
@output_option("graph")
@source_options
@settings_options
@color_option
def graph(
    entry: str,
    *,
    tree: str | None,
    form: Format,
    depth: int | None,
    only: str,
    output: str | None,
    reach: Reach,
    kept: "Kept",
    color: Color,
) -> None:
    """Show which code runs the layers of a served class."""
    if output is not None:
        check_output(output)
    source, ruleset = open_inputs(tree, reach=reach, kept=kept)
    view = _draw(source, ruleset, entry, only, depth)

    def render(out: TextIO) -> None:
        _render(view, out, form, color)

    write_report(output, render)


def _draw(
    source: "SourceTree", ruleset: "Ruleset", entry: str, only: str, depth: int | None
) -> "GraphView":
    # Parsing is the slowest thing to import, and the mistakes above need none of it.
    from pathaudit.graph import graph

    return graph(source, ruleset, entry, only=only, depth=depth)


def _render(view: "GraphView", out: TextIO, form: Format, color: Color) -> None:
    from pathaudit.reporters import dot, json, mermaid, tree

    if form == "text":
        tree.render(view, out, width=columns(out), color=wants_color(color, out))
    else:
        {"dot": dot.render, "mermaid": mermaid.render, "json": json.render}[form](view, out)
