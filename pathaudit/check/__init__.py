"""Judge rules: one module for each kind of invariant."""

from pathaudit.check.answer import Answer
from pathaudit.check.bounds import check_bounds
from pathaudit.check.carries import check_carries
from pathaudit.check.completes import check_completes
from pathaudit.check.covers import check_covers
from pathaudit.check.dispatches import check_dispatches
from pathaudit.check.forwards import check_forwards
from pathaudit.check.gathers import check_gathers
from pathaudit.check.invokes import check_invokes
from pathaudit.check.once import check_once
from pathaudit.check.parity import check_parity
from pathaudit.check.precedes import begin_precedes, check_precedes
from pathaudit.check.provides import check_provides
from pathaudit.check.reads import check_reads
from pathaudit.check.relays import check_relays
from pathaudit.check.shape import check_shape
from pathaudit.check.subjects import find_entries
from pathaudit.check.uses import check_uses
from pathaudit.ruleset import (
    AnyRule,
    BoundsRule,
    CarriesRule,
    CompletesRule,
    CoversRule,
    DispatchesRule,
    ForwardsRule,
    GathersRule,
    InvokesRule,
    OnceRule,
    ParityRule,
    PrecedesRule,
    ProvidesRule,
    ReadsRule,
    RelaysRule,
    ReliesRule,
    ShapeRule,
    UsesRule,
)
from pathaudit.work import Work

__all__ = ["Answer", "begin_rule", "check_rule", "find_entries"]


def begin_rule(work: Work, rule: AnyRule) -> None:
    """Start what takes long and nothing else waits for, if there are processes for it."""
    if isinstance(rule, PrecedesRule):
        begin_precedes(work, rule)


def check_rule(  # noqa: C901 - one arm a kind
    work: Work, rule: AnyRule, entry: str | None = None
) -> Answer:
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
        case RelaysRule():
            return check_relays(work, rule, entry)
        case GathersRule():
            return check_gathers(work, rule, entry)
        case UsesRule():
            return check_uses(work, rule, entry)
        case DispatchesRule():
            return check_dispatches(work, rule, entry)
        case ProvidesRule():
            return check_provides(work, rule, entry)
        case ParityRule():
            return check_parity(work, rule, entry)
        case InvokesRule():
            return check_invokes(work, rule, entry)
        case ShapeRule():
            return check_shape(work, rule, entry)
        case ReliesRule():
            raise AssertionError("patches are no part of the code: see pathaudit.relies")
