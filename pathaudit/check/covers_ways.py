"""Ways of a method to an event, and what is asked about them."""

from collections.abc import Iterable

from msgspec import Struct

from pathaudit import ir
from pathaudit.index import FunctionRef, Types
from pathaudit.paths.question import names_of_event
from pathaudit.ruleset import CoversRule, Profile


class Hop(Struct, frozen=True):
    """One call on the way to an event, in the function ``ref``."""

    ref: FunctionRef
    region: ir.Region


Chain = tuple[Hop, ...]
Arguments = tuple[tuple[str, Types], ...]


class Lead(Struct, frozen=True):
    """The ways of a method to an event that nothing surrounds; ``inside`` is where one is.

    Of a method that is not asked about itself only one way is kept. ``sure`` unless every way
    leads through an object that is of one of several classes, of which others do not lead there.
    """

    bare: tuple[Chain, ...] = ()
    inside: str = ""
    sure: bool = False


NOWHERE = Lead()


class Wanted(Struct, frozen=True):
    """The names of the calls that are the event, and of those that make what surrounds it."""

    events: frozenset[str]
    around: frozenset[str]

    def more_around(self, names: frozenset[str]) -> "Wanted":
        return Wanted(self.events, self.around | names)


def wanted_of(profile: Profile, rule: CoversRule) -> Wanted:
    """What a rule asks of what leads to its trigger."""
    return Wanted(names_of_event(profile, rule.trigger), names_of_event(profile, rule.require))


def joined(leads: Iterable[Lead]) -> Lead:
    """The ways of several calls in turn."""
    bare: dict[Chain, None] = {}
    inside, sure = "", False
    for lead in leads:
        bare.update(dict.fromkeys(lead.bare))
        inside = inside or lead.inside
        sure = sure or lead.sure
    return Lead(tuple(bare), inside, sure)
