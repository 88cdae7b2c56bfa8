"""``pathaudit rules``: the rules themselves, listed, described, written and tested."""

import click

from pathaudit.cli.group import Program
from pathaudit.cli.manual import Manual, documented
from pathaudit.cli.rules.docs import docs
from pathaudit.cli.rules.listing import list_rules
from pathaudit.cli.rules.new import new_rule
from pathaudit.cli.rules.schema import schema
from pathaudit.cli.rules.trial import test

MANUAL = Manual(
    text="""
    A rule is data: ID.yaml says what must hold, ID.py beside it is a labelled example. Rules of
    your own are folders of such files; they are checked with `--rules DIR`, or by the key
    `own-rules` of the settings.
    """,
    examples=(
        ("pathaudit rules list", ""),
        ("pathaudit rules new skipped-tap --dir ours", "a rule to start from"),
        ("pathaudit rules test ours", "does it find what it should?"),
        ("pathaudit rules schema profile > profile.schema.json", ""),
    ),
)


@documented(MANUAL)
@click.group(cls=Program, invoke_without_command=True)
@click.pass_context
def rules(context: click.Context) -> None:
    """List the rules, describe them, write new ones, test them."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


rules.add_command(list_rules)
rules.add_command(schema)
rules.add_command(test)
rules.add_command(new_rule)
rules.add_command(docs)
