"""Options that several commands have, and what they open."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, get_args

import click

from pathaudit.cli.output import Color

if TYPE_CHECKING:
    from pathaudit.ruleset import Ruleset
    from pathaudit.sources import SourceTree

FRAMEWORK = "sglang"

Command = TypeVar("Command", bound=Callable[..., None])


def output_option(what: str) -> Callable[[Command], Command]:
    """``--output FILE``, for a command that writes ``what``."""
    return click.option(
        "--output", metavar="FILE", help=f"Write the {what} to a file, whole or not at all."
    )


color_option = click.option(
    "--color",
    type=click.Choice(get_args(Color)),
    default="auto",
    show_default=True,
    help="Colour the text; auto means on a terminal, unless NO_COLOR is set.",
)


def open_inputs(
    target: str | None, rules: tuple[str, ...] = (), own: tuple[str, ...] = ()
) -> "tuple[SourceTree, Ruleset]":
    """Open a source tree, the installed package without a ``target``, and load rules by their id.

    ``own`` are directories of rules that come on top of the shipped ones.

    Raises ``SourceError``, ``RuleError`` or ``UsageError`` where that fails.
    """
    from pathaudit.ruleset import load_ruleset, rules_directory
    from pathaudit.sources import open_source

    extra = tuple(Path(directory) for directory in own)
    ruleset = load_ruleset(rules_directory() / FRAMEWORK, only=rules, extra=extra)
    return open_source(target, ruleset.profile.package), ruleset
