"""``pathaudit rules``: the rules themselves, listed, described for editors, and tested."""

import click

from pathaudit.cli.rules.listing import list_rules
from pathaudit.cli.rules.schema import schema
from pathaudit.cli.rules.trial import test

EXAMPLES = """
\b
Examples:
  pathaudit rules list
  pathaudit rules schema profile > profile.schema.json
  pathaudit rules test path/to/my/rules
"""


@click.group(epilog=EXAMPLES, invoke_without_command=True)
@click.pass_context
def rules(context: click.Context) -> None:
    """List the rules, describe their files, test them."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


rules.add_command(list_rules)
rules.add_command(schema)
rules.add_command(test)
