"""``pathaudit explain``: what does a rule say, and why?"""

from typing import TYPE_CHECKING

import click

from pathaudit.cli.manual import (
    SETTINGS_FILES,
    SETTINGS_VARIABLE,
    WIDTH_VARIABLE,
    Command,
    Manual,
    documented,
)
from pathaudit.cli.options import load_all_rules
from pathaudit.cli.settings import settings_options

if TYPE_CHECKING:
    from pathaudit.config import Kept

MANUAL = Manual(
    text="""
    The example is part of the labelled file that the rule is tested with: a finding stands below
    each comment that says `expect`. What your settings make of the rule is said, too.
    """,
    arguments=(
        (
            "RULE",
            "An id such as skipped-aux-capture, also of a rule of your own that the settings name, "
            "or of a remark about comments, such as unused-allow.",
        ),
    ),
    examples=(
        ("pathaudit explain skipped-aux-capture", ""),
        ("pathaudit rules list", "which rules there are"),
    ),
    variables=(SETTINGS_VARIABLE, WIDTH_VARIABLE),
    files=(SETTINGS_FILES,),
)


@documented(MANUAL)
@click.command(cls=Command)
@click.argument("rule")
@settings_options
def explain(rule: str, *, kept: "Kept") -> None:
    """Say what a rule finds, why, and what to do instead."""
    from pathaudit.cli.pages import print_page
    from pathaudit.cli.rule_page import remark_lines, rule_lines
    from pathaudit.remarks import REMARKS

    stated = _stated(rule, kept)
    remark = next((item for item in REMARKS if item.id == rule), None)
    if remark is not None:
        print_page(lambda page: remark_lines(remark, page, stated))
        return
    ruleset = load_all_rules(kept, (rule,))
    print_page(lambda page: rule_lines(ruleset, ruleset.rules[0], page, stated))


def _stated(rule: str, kept: "Kept") -> str:
    """What the settings make of a rule, and where they say so."""
    rating = kept.settings.rules.get(rule)
    return f"; {rating} by {kept.place('rules', rule)}" if rating is not None else ""
