"""Judge rules: one module for each kind of invariant."""

from pathaudit.check.answer import Answer
from pathaudit.check.covers import check_covers
from pathaudit.check.once import check_once
from pathaudit.check.precedes import check_precedes
from pathaudit.check.subjects import find_entries
from pathaudit.ruleset import AnyRule, CoversRule, OnceRule, PrecedesRule
from pathaudit.work import Work

__all__ = ["Answer", "check_rule", "find_entries"]


def check_rule(work: Work, rule: AnyRule, entry: str | None = None) -> Answer:
    """Judge one rule on a tree, or on one served class of it."""
    match rule:
        case CoversRule():
            return check_covers(work, rule, entry)
        case OnceRule():
            return check_once(work, rule, entry)
        case PrecedesRule():
            return check_precedes(work, rule)
