"""``--patches`` on the command line: the file that keeps what a user's patches rely on."""

import os
from typing import TYPE_CHECKING

import click

from pathaudit.errors import UsageError

if TYPE_CHECKING:
    from pathaudit.ruleset import Ruleset

# Read where it is in the current folder, without being named.
BOOK_FILE = "pathaudit-patches.json"

_META = "pathaudit.patches"


def _remember(context: click.Context, _: click.Parameter, value: str | None) -> str | None:
    context.meta[_META] = value
    return value


patches_option = click.option(
    "--patches",
    metavar="FILE",
    expose_value=False,
    callback=_remember,
    help=f"What your patches rely on: {BOOK_FILE} here, or beside the settings, unless stated.",
)


def patches_file() -> str:
    """The file that the command under way was given, or the usual one."""
    named: str | None = click.get_current_context().meta.get(_META)
    return named if named is not None else BOOK_FILE


def with_patches(ruleset: "Ruleset", chosen: tuple[str, ...] = ()) -> "Ruleset":
    """The rules with the patches of the file that was named, or of the usual one if it is there.

    UsageError for a file that cannot be read, and if rules are ``chosen`` that have no patches.
    """
    named: str | None = click.get_current_context().meta.get(_META)
    if named is not None or os.path.exists(BOOK_FILE):
        import msgspec

        from pathaudit.relies.book import read_book

        ruleset = msgspec.structs.replace(ruleset, patches=read_book(patches_file()).patches)
    if chosen and not ruleset.applying.rules:
        raise UsageError(
            f"{' and '.join(chosen)}: there are no patches to check",
            "note one with: pathaudit patch add FIX.diff",
        )
    return ruleset
