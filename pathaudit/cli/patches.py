"""``--patches`` on the command line: the file that keeps what a user's patches rely on."""

import os
from typing import TYPE_CHECKING

import click

from pathaudit.errors import UsageError

if TYPE_CHECKING:
    from pathaudit.ruleset import Ruleset

# Read where it is in the current folder, without being named.
BOOK_FILE = "pathaudit-patches.json"

patches_option = click.option(
    "--patches",
    metavar="FILE",
    help=f"What your patches rely on: {BOOK_FILE} here, unless stated.",
)


def with_patches(ruleset: "Ruleset", named: str | None, chosen: tuple[str, ...] = ()) -> "Ruleset":
    """The rules with the patches of a file that is named, or of the usual one if it is there.

    UsageError for a file that cannot be read, and if rules are ``chosen`` that have no patches.
    """
    path = named if named is not None else BOOK_FILE if os.path.exists(BOOK_FILE) else None
    if path is not None:
        import msgspec

        from pathaudit.relies.book import read_book

        ruleset = msgspec.structs.replace(ruleset, patches=read_book(path).patches)
    if chosen and not ruleset.applying.rules:
        raise UsageError(
            f"{' and '.join(chosen)}: there are no patches to check",
            "note one with: pathaudit patch add FIX.diff",
        )
    return ruleset
