"""``pathaudit rules list``: which rules are there?"""

import click

from pathaudit.cli.options import FRAMEWORK

EXAMPLES = """
\b
Examples:
  pathaudit rules list
  pathaudit explain skipped-aux-capture       all of one rule
"""


@click.command("list", epilog=EXAMPLES)
def list_rules() -> None:
    """List the rules with their severities and titles."""
    from pathaudit.cli.pages import print_page
    from pathaudit.reporters.escaping import visible
    from pathaudit.reporters.phrases import prose
    from pathaudit.reporters.terminal import table
    from pathaudit.ruleset import load_ruleset, rules_directory

    rules = load_ruleset(rules_directory() / FRAMEWORK).rules
    rows = [(visible(rule.id), rule.severity, prose(rule.title, frozenset())) for rule in rules]
    print_page(lambda page: table([("rule", "severity", "title"), *rows], 0, page))
