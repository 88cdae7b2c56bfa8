"""``pathaudit rules docs``: a page for each rule, in Markdown."""

from functools import partial
from pathlib import Path
from typing import TextIO

import click

from pathaudit.cli.manual import (DIRECTORY, Command, Manual, documented)
from pathaudit.cli.options import FRAMEWORK
from pathaudit.cli.output import write_report
from pathaudit.errors import UsageError

MANUAL = Manual(
    text="Pages that are there already are written anew.",
    arguments=(DIRECTORY,),
    examples=(
        ("pathaudit rules docs --output docs/rules", "the rules of pathaudit"),
        ("pathaudit rules docs ours --output docs/our-rules", ""),
    ),
)


@documented(MANUAL)
@click.command(cls=Command)
@click.argument("directory", required=False)
@click.option(
    "--output", metavar="DIR", required=True, help="The directory for the pages; made if need be."
)
def docs(directory: str | None, output: str) -> None:
    """Write a page for each rule, and one that lists them."""
    from pathaudit.cli.rule_markdown import rule_pages
    from pathaudit.reporters.phrases import counted
    from pathaudit.ruleset import load_own_rules, load_ruleset, rules_directory

    shipped = rules_directory() / FRAMEWORK
    rules = (
        load_own_rules(Path(directory), shipped)
        if directory is not None
        else load_ruleset(shipped)
    )
    try:
        Path(output).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{output}: cannot be written: {error.strerror}") from error
    for name, text in rule_pages(rules).items():
        write_report(str(Path(output) / name), partial(_write, text))
    click.echo(f"wrote {counted(len(rules.rules), 'page')} to {output}")


def _write(text: str, out: TextIO) -> None:
    out.write(text)
