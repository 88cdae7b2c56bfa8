"""``covers`` for drafts: what one of them leads to happens inside what must surround it.

Only where the target of a draft makes the declaration of the rule can the event matter at all.
"""

from collections.abc import Iterator

from msgspec import Struct

from pathaudit import ir
from pathaudit.check.answer import Answer, Fault, merge_faults
from pathaudit.check.covers_leads import Leads
from pathaudit.check.covers_targets import find_targets
from pathaudit.check.covers_ways import Chain, Hop, wanted_of
from pathaudit.check.subjects import declares, find_entries
from pathaudit.index import ClassRef, FunctionRef, Index, Instance
from pathaudit.paths.question import names_of_event
from pathaudit.ruleset import AnyRule, CoversRule
from pathaudit.work import Stage, Work


class Stray(Struct, frozen=True):
    """A call through which a draft's control leaves its code, on the way to the event.

    ``attributed`` where the event happens inside what gives it a layer.
    """

    hop: Hop
    symbol: str
    attributed: bool


class Draft(Struct, frozen=True):
    """A draft, its declaring target, the calls that stray, and whether it leads to the event."""

    entry: ClassRef
    target: str
    strays: tuple[Stray, ...]
    leads: bool


def check_drafts(work: Work, rule: CoversRule, entry: str | None) -> Answer:
    """Judge the rule on the drafts of a tree, or on one of them."""
    served = find_entries(work)
    drafts = [ref for ref in served if work.profile.is_draft(ref.name, ref.file)]
    asked = [ref for ref in drafts if entry in (None, ref.name)]
    found = work.run(DRAFTS, asked, rule)
    return Answer(
        findings=merge_faults(rule, (fault for item in found for fault in _faults(rule, item))),
        entries=(),
        gaps=(),
        examined=sum(item.leads for item in found),
    )


def _faults(rule: CoversRule, draft: Draft) -> Iterator[Fault]:
    for stray in draft.strays if draft.target else ():
        yield Fault(
            file=stray.hop.ref.file,
            region=stray.hop.region,
            symbol=stray.symbol,
            entry=f"{draft.entry.name}.forward",
            message=rule.message.format(target=draft.target),
            kind="stray",
            effect=rule.effect_attributed if stray.attributed else rule.effect,
            architectures=(draft.entry.name,),
        )


def _target(index: Index, rule: CoversRule, draft: ClassRef, passed: list[ClassRef]) -> str:
    """The name of the target that makes the declaration; nothing where none does."""
    targets = find_targets(index, draft, passed)
    found = (ref.name for ref in targets if declares(index, rule, ref))
    return min(found, key=lambda name: (len(name), name), default="")


def _find_draft(index: Index, rule: AnyRule | None, entry: ClassRef) -> Draft:
    if not isinstance(rule, CoversRule):
        raise AssertionError("a rule of this kind is needed")
    wanted = wanted_of(index.profile, rule)
    call = index.profile.modules.call
    leads = Leads(index, wanted)
    lead = leads.of_call(Instance(entry), call)
    strays: dict[tuple[str, str], Stray] = {}
    bare = _unattributed(index, rule, entry) if lead.bare else None
    for chain in lead.bare:
        stray = _stray(index, entry, chain, bare)
        strays.setdefault((stray.hop.ref.file, stray.symbol), stray)
    owners = {index.modules.owner(hop.ref) for chain in lead.bare for hop in chain}
    passed = [cls for cls in owners if cls is not None]
    target = _target(index, rule, entry, passed) if strays else ""
    return Draft(entry, target, tuple(strays.values()), bool(lead.bare or lead.inside))


def _unattributed(index: Index, rule: CoversRule, entry: ClassRef) -> Leads | None:
    """Where a draft leads to the event with nothing around it that gives it a layer either."""
    if not rule.attributes:
        return None
    named = names_of_event(index.profile, rule.attributes)
    leads = Leads(index, wanted_of(index.profile, rule).more_around(named))
    leads.of_call(Instance(entry), index.profile.modules.call)
    return leads


def _stray(index: Index, entry: ClassRef, chain: Chain, bare: Leads | None) -> Stray:
    """The last call in the draft's own code; the class itself where it inherits all of it."""
    own = [place for place, hop in enumerate(chain) if _is_own(index, hop)]
    attributed = bare is not None and not bare.is_bare(chain[own[-1] if own else 0].ref)
    if not own:
        outline = index.modules.class_outline(entry)
        line = outline.line if outline is not None else 1
        region = ir.Region(line, 0, line, len(f"class {entry.name}"))
        return Stray(Hop(FunctionRef(entry.file, entry.name), region), entry.name, attributed)
    hop = chain[own[-1]]
    return Stray(hop, hop.ref.qualname, attributed)


def _is_own(index: Index, hop: Hop) -> bool:
    owner = index.modules.owner(hop.ref)
    name = owner.name if owner is not None else hop.ref.qualname
    return index.profile.is_draft(name, hop.ref.file)


DRAFTS = Stage("drafts", _find_draft, ClassRef, Draft, lambda x: x.file, judges=True)
