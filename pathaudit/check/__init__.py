"""Judge rules: one module for each kind of invariant."""

from pathaudit.check.answer import Answer
from pathaudit.check.bounds import check_bounds
from pathaudit.check.carries import check_carries
from pathaudit.check.completes import check_completes
from pathaudit.check.covers import check_covers
from pathaudit.check.forwards import check_forwards
from pathaudit.check.once import check_once
from pathaudit.check.precedes import check_precedes
from pathaudit.check.reads import check_reads
from pathaudit.check.shape import check_shape
from pathaudit.check.subjects import find_entries
from pathaudit.ruleset import (
    AnyRule,
    BoundsRule,
    CarriesRule,
    CompletesRule,
    CoversRule,
    ForwardsRule,
    OnceRule,
    PrecedesRule,
    ReadsRule,
    ShapeRule,
)
from pathaudit.work import Work

__all__ = ["Answer", "check_rule", "find_entries"]


def check_rule(work: Work, rule: AnyRule, entry: str | None = None) -> Answer:
    """Judge one rule on a tree, or on one served class of it."""
    match rule:
        case CoversRule():
            return check_covers(work, rule, entry)
        case CarriesRule():
            return check_carries(work, rule, entry)
        case BoundsRule():
            return check_bounds(work, rule, entry)
        case CompletesRule():
            return check_completes(work, rule, entry)
        case ForwardsRule():
            return check_forwards(work, rule, entry)
        case ReadsRule():
            return check_reads(work, rule, entry)
        case OnceRule():
            return check_once(work, rule, entry)
        case PrecedesRule():
            return check_precedes(work, rule)
        case ShapeRule():
            return check_shape(work, rule, entry)
