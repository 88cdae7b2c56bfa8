"""``pathaudit rules``: the rules themselves, listed, described, written and tested."""

import click

from pathaudit.cli.rules.docs import docs
from pathaudit.cli.rules.listing import list_rules
from pathaudit.cli.rules.new import new_rule
from pathaudit.cli.rules.schema import schema
from pathaudit.cli.rules.trial import test

EXAMPLES = """
\b
Examples:
  pathaudit rules list
  pathaudit rules schema profile > profile.schema.json
  pathaudit rules new skipped-tap --dir path/to/my/rules
  pathaudit rules test path/to/my/rules
"""


@click.group(epilog=EXAMPLES, invoke_without_command=True)
@click.pass_context
def rules(context: click.Context) -> None:
    """List the rules, describe their files, write new ones, test them."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


rules.add_command(list_rules)
rules.add_command(schema)
rules.add_command(test)
rules.add_command(new_rule)
rules.add_command(docs)
