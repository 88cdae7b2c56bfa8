"""``pathaudit patch remove``: forget a patch."""

import click

from pathaudit.cli.output import write_text
from pathaudit.cli.patches import patches_file, patches_option

EXAMPLES = """
\b
Examples:
  pathaudit patch remove fix
"""


@click.command(epilog=EXAMPLES)
@click.argument("name")
@patches_option
def remove(name: str) -> None:
    """Forget what a patch relies on. The patch itself is not touched."""
    from pathaudit.relies.book import book_text, read_book, without_patch
    from pathaudit.reporters.escaping import visible

    path = patches_file()
    text = book_text(without_patch(read_book(path), name, path))
    write_text(path, text)
    click.echo(f"{visible(path)}: {visible(name)} is forgotten")
