"""Options that several commands have, and what they open."""

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar, get_args

import click

from pathaudit.cli.output import Color
from pathaudit.errors import UsageError

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


def means_options(command: Command) -> Command:
    """``--jobs N`` and ``--no-cache``, for a command that audits."""
    jobs = click.option(
        "--jobs",
        metavar="N",
        type=click.IntRange(min=1),
        help="Processes to work in; as many as there are processors, unless stated.",
    )
    cache = click.option(
        "--no-cache", is_flag=True, help="Neither use nor keep answers of other runs."
    )
    return jobs(cache(command))


color_option = click.option(
    "--color",
    type=click.Choice(get_args(Color)),
    default="auto",
    show_default=True,
    help="Colour the text; auto means on a terminal, unless NO_COLOR is set.",
)


def open_inputs(target: str | None, rules: tuple[str, ...] = ()) -> "tuple[SourceTree, Ruleset]":
    """Open a source tree, the installed package without a ``target``, and load rules by their id.

    Raises ``SourceError``, ``RuleError`` or ``UsageError`` where that fails.
    """
    from pathaudit.sources import open_source

    ruleset = _load_rules(rules)
    return open_source(target, ruleset.profile.package), ruleset


def open_targets(
    targets: tuple[str, ...], rules: tuple[str, ...]
) -> "tuple[SourceTree, tuple[str, ...], Ruleset]":
    """Open a source tree, or that which some files belong to, and load rules by their id.

    Returns the tree, the paths in it that are asked about, and the rules. Raises as
    ``open_inputs``.
    """
    from pathaudit.sources import open_files

    if not targets or not any(target.endswith(".py") for target in targets):
        if len(targets) > 1:
            raise UsageError(f"{targets[1]}: only one tree can be scanned", "or name its files")
        tree, ruleset = open_inputs(targets[0] if targets else None, rules)
        return tree, (), ruleset
    ruleset = _load_rules(rules)
    files = [target for target in targets if target.endswith(".py")]
    return *open_files(files, ruleset.profile.package), ruleset


def _load_rules(rules: tuple[str, ...]) -> "Ruleset":
    from pathaudit.ruleset import load_ruleset, rules_directory

    return load_ruleset(rules_directory() / FRAMEWORK, only=rules)
