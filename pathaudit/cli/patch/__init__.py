"""``pathaudit patch``: what patches rely on, noted, listed, checked and forgotten."""

import click

from pathaudit.cli.group import Program
from pathaudit.cli.manual import PATCHES_FILE, Manual, documented
from pathaudit.cli.patch.add import add
from pathaudit.cli.patch.check import check
from pathaudit.cli.patch.listing import list_patches
from pathaudit.cli.patch.remove import remove
from pathaudit.cli.patch.schema import schema

MANUAL = Manual(
    text="""
    It is kept in pathaudit-patches.json. Where that file is, scan, diff, history and bump check it
    too, by the rule stale-patch.
    """,
    examples=(
        ("pathaudit patch add fix.diff --tree sglang==0.5.6 --reason 'issue 1234'", ""),
        ("pathaudit patch list", ""),
        ("pathaudit patch check --tree sglang==0.5.23", "what became of them there"),
        ("pathaudit patch remove fix", ""),
    ),
    files=(PATCHES_FILE,),
)


@documented(MANUAL)
@click.group(cls=Program, invoke_without_command=True)
@click.pass_context
def patch(context: click.Context) -> None:
    """Keep what your patches rely on, and check it elsewhere."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


patch.add_command(add)
patch.add_command(list_patches)
patch.add_command(check)
patch.add_command(remove)
patch.add_command(schema)
