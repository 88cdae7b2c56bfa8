"""``pathaudit explain``: what does a rule say, and why?"""

import click

from pathaudit.cli.options import FRAMEWORK

EXAMPLES = """
\b
Examples:
  pathaudit explain skipped-aux-capture
  pathaudit rules list                        which rules there are
"""


@click.command(epilog=EXAMPLES)
@click.argument("rule")
def explain(rule: str) -> None:
    """Say what a rule finds, why that is bad, and what to do instead.

    RULE is an id such as skipped-aux-capture. The example is part of the labelled file that the
    rule is tested with: a finding stands below each comment that says `expect`.
    """
    from pathaudit.cli.pages import print_page
    from pathaudit.cli.rule_page import remark_lines, rule_lines
    from pathaudit.remarks import REMARKS
    from pathaudit.ruleset import load_ruleset, rules_directory

    remark = next((item for item in REMARKS if item.id == rule), None)
    if remark is not None:
        print_page(lambda page: remark_lines(remark, page))
        return
    ruleset = load_ruleset(rules_directory() / FRAMEWORK, only=(rule,))
    print_page(lambda page: rule_lines(ruleset, ruleset.rules[0], page))
