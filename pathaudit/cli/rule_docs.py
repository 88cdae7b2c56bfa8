"""What reports tell of rules, taken from the rules."""

from pathaudit.cli.rule_markdown import rule_pages
from pathaudit.remarks import REMARKS
from pathaudit.results.rules import RuleDoc
from pathaudit.ruleset import Ruleset


def rule_docs(rules: Ruleset) -> tuple[RuleDoc, ...]:
    """The rules that are checked, with their pages, and the remarks on comments."""
    pages = rule_pages(rules)
    docs = [
        RuleDoc(
            id=rule.id,
            title=rule.title,
            severity=rule.severity,
            why=rule.why,
            fix=rule.use_instead,
            page=pages[f"{rule.id}.md"],
        )
        for rule in rules.rules
    ]
    remarks = [
        RuleDoc(id=x.id, title=x.title, severity=x.severity, why=x.why, fix=x.fix) for x in REMARKS
    ]
    return (*docs, *remarks)
