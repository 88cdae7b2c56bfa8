"""``pathaudit matrix``: what does each served class support, and where does the code say so?"""

from typing import TYPE_CHECKING, Literal, TextIO, get_args

import click

from pathaudit.cli.manual import FILES, TREE, VARIABLES, Command, Manual, documented
from pathaudit.cli.options import (
    Reach,
    color_option,
    means_options,
    open_inputs,
    open_tree,
    output_option,
    source_options,
)
from pathaudit.cli.output import Color, check_output, columns, wants_color, write_report
from pathaudit.cli.served import served_class
from pathaudit.cli.settings import settings_options
from pathaudit.errors import UsageError
from pathaudit.hints import did_you_mean

if TYPE_CHECKING:
    from pathaudit.config import Kept
    from pathaudit.results.matrices import Matrix
    from pathaudit.ruleset import Ruleset
    from pathaudit.sources import SourceTree

Format = Literal["text", "json", "markdown"]
Answer = Literal["no", "unknown", "blocked", "gated", "yes", "changed"]

MANUAL = Manual(
    text="""
    One row a class, one column a question, read from the code: each answer has the place that
    proves it, and what could not be decided is called unknown. Draft models are left out. The exit
    status does not depend on the answers.
    """,
    arguments=(TREE,),
    sections=(
        (
            "Columns",
            (
                (
                    "capture",
                    "Every layer of the forward is captured, for each setter: of EAGLE-3 (E), "
                    "DFlash (D), DSpark (S).",
                ),
                ("recorder", "The recorder of expert routing is told every layer."),
                ("prefill", "forward_split_prefill keeps what the forward captures."),
                ("overlap", "The path for two overlapping batches runs, and captures."),
                ("stages", "The model can be split into pipeline stages."),
                ("boundary", "The first and the last layer can be asked for."),
            ),
        ),
        (
            "Answers",
            (
                ("yes", "On every path that can run."),
                ("no", "The class has it, and it fails or is lost on some path."),
                ("gated", "Left out, or without effect, where the code says so."),
                ("blocked", "Raises before a layer runs."),
                ("unknown", "Could not be decided."),
                ("-", "The class does not have it."),
            ),
        ),
    ),
    examples=(
        ("pathaudit matrix", "the installed sglang"),
        ("pathaudit matrix sglang==0.5.23", "a release"),
        ("pathaudit matrix --entry DeepseekV3ForCausalLM", ""),
        ("pathaudit matrix --config model/config.json", "the class that serves a model"),
        ("pathaudit matrix --columns capture,overlap --only no,unknown", ""),
        ("pathaudit matrix sglang==0.5.23 --against sglang==0.5.20 --only changed", ""),
        ("pathaudit matrix --format markdown --output SUPPORT.md", ""),
    ),
    variables=VARIABLES,
    files=FILES,
)


@documented(MANUAL)
@click.command(cls=Command)
@click.argument("tree", metavar="[TREE]", required=False)
@click.option("--entry", metavar="ARCHITECTURE", help="Only this served class, with all evidence.")
@click.option("--config", metavar="FILE", help="Only the class that a model's config.json names.")
@click.option("--columns", "chosen", metavar="IDS", help="Only these columns, separated by commas.")
@click.option(
    "--only", metavar="ANSWERS", help="Only classes with one of these answers, or `changed` ones."
)
@click.option("--against", metavar="TREE", help="Mark what is another answer in this tree.")
@click.option(
    "--format",
    "form",
    type=click.Choice(get_args(Format)),
    default="text",
    show_default=True,
    help="The form of the table.",
)
@click.option(
    "--links", metavar="URL", default="", help="What links in Markdown to files begin with."
)
@output_option("table")
@source_options
@settings_options
@means_options
@click.option("--verbose", is_flag=True, help="Show the evidence of what holds, and remarks, too.")
@click.option("--quiet", is_flag=True, help="Tell nothing of what is done.")
@color_option
def matrix(
    tree: str | None,
    *,
    entry: str | None,
    config: str | None,
    chosen: str | None,
    only: str | None,
    against: str | None,
    form: Format,
    links: str,
    output: str | None,
    reach: Reach,
    kept: "Kept",
    jobs: int | None,
    no_cache: bool,
    verbose: bool,
    quiet: bool,
    color: Color,
) -> None:
    """Make a table of what each served class supports."""
    if output is not None:
        check_output(output)
    if config is not None:
        named = served_class(config)
        if entry not in (None, named):
            raise UsageError(f"--entry is {entry}, and --config names {named}", "give one of them")
        entry = named
    answers = _answers(only, against)
    source, rules = open_inputs(tree, (), reach._replace(quiet=quiet), kept)
    asked = _columns(chosen, rules)
    sources = [source]
    if against is not None:
        sources.append(open_tree(against, rules, reach._replace(quiet=quiet)))
    found = _find(sources, rules, entry, jobs=jobs, cached=not no_cache, quiet=quiet)
    shown = _narrowed(found, asked, answers)

    def render(out: TextIO) -> None:
        _render(shown, out, form, color, links=links, verbose=verbose, entry=entry is not None)

    write_report(output, render)


def _answers(only: str | None, against: str | None) -> tuple[str, ...]:
    """The answers that were asked for; raises ``UsageError`` for one that there is not."""
    given = _split(only)
    for name in given:
        if name not in get_args(Answer):
            listed = ", ".join(get_args(Answer))
            hint = did_you_mean(name, get_args(Answer), f"the answers are {listed}")
            raise UsageError(f"--only: there is no answer {name!r}", hint)
    if "changed" in given and against is None:
        raise UsageError("--only changed needs a tree to compare with", "add --against TREE")
    return given


def _columns(chosen: str | None, rules: "Ruleset") -> tuple[str, ...]:
    given, known = _split(chosen), tuple(rules.profile.matrix.columns)
    for name in given:
        if name not in known:
            hint = did_you_mean(name, known, f"the columns are {', '.join(known)}")
            raise UsageError(f"--columns: there is no column {name!r}", hint)
    return given


def _split(text: str | None) -> tuple[str, ...]:
    return tuple(filter(None, (part.strip() for part in (text or "").split(","))))


def _find(
    sources: "list[SourceTree]",
    rules: "Ruleset",
    entry: str | None,
    *,
    jobs: int | None,
    cached: bool,
    quiet: bool,
) -> "Matrix":
    """The table of the first tree, compared with that of the second if there is one."""
    from pathaudit.audit import matrix_of
    from pathaudit.cli.progress import means_of_work
    from pathaudit.results.matrices import compared

    with means_of_work(jobs=jobs, cached=cached, quiet=quiet) as means:
        new = matrix_of(sources[0], rules, entry=entry, means=means)
        if len(sources) == 1:
            return new
        old = matrix_of(sources[1], rules, means=means)
        return compared(new, old, entry=entry)


def _narrowed(found: "Matrix", asked: tuple[str, ...], answers: tuple[str, ...]) -> "Matrix":
    from pathaudit.results.matrices import Support, narrowed

    return narrowed(
        found,
        columns=asked,
        only=tuple(Support(name) for name in answers if name != "changed"),
        changed="changed" in answers,
    )


def _render(
    found: "Matrix",
    out: TextIO,
    form: Format,
    color: Color,
    *,
    links: str,
    verbose: bool,
    entry: bool,
) -> None:
    from pathaudit.reporters import json, matrices, matrices_markdown

    if form == "json":
        json.render(found, out)
    elif form == "markdown":
        matrices_markdown.render(found, out, links=links)
    else:
        matrices.render(
            found,
            out,
            width=columns(out),
            color=wants_color(color, out),
            verbose=verbose,
            entry=entry,
        )
