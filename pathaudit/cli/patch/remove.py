"""``pathaudit patch remove``: forget a patch."""

from typing import TYPE_CHECKING

import click

from pathaudit.cli.manual import (
    PATCHES_FILE,
    SETTINGS_FILES,
    SETTINGS_VARIABLE,
    Command,
    Manual,
    documented,
)
from pathaudit.cli.output import write_text
from pathaudit.cli.patches import patches_file, patches_option
from pathaudit.cli.settings import settings_options

if TYPE_CHECKING:
    from pathaudit.config import Kept

MANUAL = Manual(
    text="The patch itself is not touched.",
    arguments=(("NAME", "A patch, as `pathaudit patch list` names it."),),
    examples=(("pathaudit patch remove fix", ""),),
    variables=(SETTINGS_VARIABLE,),
    files=(SETTINGS_FILES, PATCHES_FILE),
)


@documented(MANUAL)
@click.command(cls=Command)
@click.argument("name")
@patches_option
@settings_options
def remove(name: str, *, kept: "Kept") -> None:  # noqa: ARG001
    """Forget what a patch relies on."""
    from pathaudit.relies.book import book_text, read_book, without_patch
    from pathaudit.reporters.escaping import visible

    path = patches_file()
    text = book_text(without_patch(read_book(path), name, path))
    write_text(path, text)
    click.echo(f"{visible(path)}: {visible(name)} is forgotten")
