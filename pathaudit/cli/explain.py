"""``pathaudit explain``: what does a rule say, and why?"""

from typing import TYPE_CHECKING

import click

from pathaudit.cli.options import load_all_rules
from pathaudit.cli.settings import settings_options

if TYPE_CHECKING:
    from pathaudit.config import Kept

EXAMPLES = """
\b
Examples:
  pathaudit explain skipped-aux-capture
  pathaudit rules list                        which rules there are
"""


@click.command(epilog=EXAMPLES)
@click.argument("rule")
@settings_options
def explain(rule: str, *, kept: "Kept") -> None:
    """Say what a rule finds, why that is bad, and what to do instead.

    RULE is an id such as skipped-aux-capture. The example is part of the labelled file that the
    rule is tested with: a finding stands below each comment that says `expect`.
    """
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
