"""``pathaudit patch check``: what became of patches in a tree."""

from typing import TYPE_CHECKING, Literal, TextIO, get_args

import click

from pathaudit.cli.manual import (
    FILES,
    NOTHING_FAILS,
    PATCHES_FILE,
    VARIABLES,
    Command,
    Manual,
    documented,
)
from pathaudit.cli.options import (
    Reach,
    color_option,
    means_options,
    open_inputs,
    output_option,
    source_options,
)
from pathaudit.cli.output import Color, check_output, columns, wants_color, write_report
from pathaudit.cli.patches import patches_file, patches_option
from pathaudit.cli.settings import settings_options
from pathaudit.cli.status import Status

if TYPE_CHECKING:
    from pathaudit.config import Kept
    from pathaudit.results.patches import PatchesReport
    from pathaudit.ruleset import Ruleset
    from pathaudit.ruleset.patches import Reliance
    from pathaudit.sources import SourceTree

Format = Literal["text", "json"]
FailOn = Literal["error", "warning", "note", "never"]

MANUAL = Manual(
    text="""
    A patch that was noted without being in its tree should still fit; one that was in it should
    still be there. Either way what its lines need is looked for: names, imports, attributes,
    parameters, arguments of calls.
    """,
    arguments=(
        ("NAME...", "Patches, as `pathaudit patch list` names them; all without it."),
        ("TREE", "Of --tree: a tree as for `pathaudit scan`."),
    ),
    examples=(
        ("pathaudit patch check", "all, in the installed sglang"),
        ("pathaudit patch check --tree sglang==0.5.23", ""),
        ("pathaudit patch check fix --tree ~/src/sglang --verbose", ""),
    ),
    statuses=(
        ("0", "Nothing that a patch relies on is gone, as far as --fail-on asks."),
        ("1", "Something is; with --strict, or it cannot be told."),
        *NOTHING_FAILS[1:],
    ),
    variables=VARIABLES,
    files=(*FILES, PATCHES_FILE),
)


@documented(MANUAL)
@click.command(cls=Command)
@click.argument("names", metavar="[NAME...]", nargs=-1)
@click.option("--tree", metavar="TREE", help="Where to check them, as for scan.")
@patches_option
@click.option(
    "--fail-on",
    type=click.Choice(get_args(FailOn)),
    default="warning",
    show_default=True,
    help="The mildest fault that makes the exit status 1.",
)
@click.option("--strict/--no-strict", help="Fail too on what cannot be told.")
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
@click.option("--verbose", is_flag=True, help="Show what holds, too.")
@color_option
@click.pass_context
def check(
    context: click.Context,
    names: tuple[str, ...],
    *,
    tree: str | None,
    fail_on: FailOn,
    strict: bool,
    form: Format,
    output: str | None,
    reach: Reach,
    kept: "Kept",
    jobs: int | None,
    no_cache: bool,
    verbose: bool,
    color: Color,
) -> None:
    """Say what became of what patches rely on."""
    if output is not None:
        check_output(output)
    asked = _asked(names)
    opened = open_inputs(tree, reach=reach, kept=kept)
    report = _ask(asked, opened, jobs=jobs, cached=not no_cache)

    def render(out: TextIO) -> None:
        _render(report, out, form, color, verbose)

    write_report(output, render)
    context.exit(Status.FINDINGS if _fails(report, fail_on, strict) else Status.CLEAN)


def _asked(names: tuple[str, ...]) -> "tuple[Reliance, ...]":
    """The patches of these names, or all, before a tree is opened for them."""
    from pathaudit.relies.book import chosen, read_book

    path = patches_file()
    return chosen(read_book(path), names, path)


def _ask(
    asked: "tuple[Reliance, ...]",
    opened: "tuple[SourceTree, Ruleset]",
    *,
    jobs: int | None,
    cached: bool,
) -> "PatchesReport":
    import msgspec

    from pathaudit.audit import patches_of
    from pathaudit.cli.progress import means_of_work

    source, ruleset = opened
    with means_of_work(jobs=jobs, cached=cached, quiet=True) as means:
        return patches_of(source, msgspec.structs.replace(ruleset, patches=asked), means=means)


def _render(
    report: "PatchesReport", out: TextIO, form: Format, color: Color, verbose: bool
) -> None:
    from pathaudit.reporters import json, patches

    if form == "json":
        json.render(report, out)
        return
    painted = wants_color(color, out)
    patches.render(report, out, width=columns(out), color=painted, verbose=verbose)


def _fails(report: "PatchesReport", fail_on: FailOn, strict: bool) -> bool:
    from pathaudit.results import Severity
    from pathaudit.results.patches import patch_fails

    if fail_on == "never":
        return False
    points = (point for item in report.patches for point in item.points)
    return any(patch_fails(point, Severity(fail_on), strict=strict) for point in points)
