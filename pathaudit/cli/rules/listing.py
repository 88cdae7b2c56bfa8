"""``pathaudit rules list``: which rules are there?"""

from typing import TYPE_CHECKING

import click

from pathaudit.cli.manual import (SETTINGS_FILES, SETTINGS_VARIABLE, WIDTH_VARIABLE, Command, Manual, documented)
from pathaudit.cli.options import load_all_rules
from pathaudit.cli.settings import settings_options

if TYPE_CHECKING:
    from pathaudit.config import Kept

MANUAL = Manual(
    text="""
    Rules of your own that the settings name are among them, and the severity is the one that
    holds with the settings.
    """,
    examples=(
        ("pathaudit rules list", ""),
        ("pathaudit rules list --isolated", "as pathaudit has them"),
        ("pathaudit explain skipped-aux-capture", "all of one rule"),
    ),
    variables=(SETTINGS_VARIABLE, WIDTH_VARIABLE),
    files=(SETTINGS_FILES,),
)


@documented(MANUAL)
@click.command("list", cls=Command)
@settings_options
def list_rules(*, kept: "Kept") -> None:
    """List the rules with their severities and titles."""
    from pathaudit.cli.pages import print_page
    from pathaudit.reporters.escaping import visible
    from pathaudit.reporters.phrases import prose
    from pathaudit.reporters.terminal import table

    rated = kept.settings.rules
    rows = [
        (visible(rule.id), rated.get(rule.id, rule.severity), prose(rule.title, frozenset()))
        for rule in load_all_rules(kept).rules
    ]
    print_page(lambda page: table([("rule", "severity", "title"), *rows], 0, page))
