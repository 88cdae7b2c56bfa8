"""The columns of hidden-state capture: the forward, split prefill, and both ends of the layers."""

from collections.abc import Iterator

from pathaudit.matrix.about import Setter
from pathaudit.matrix.asked import Asked, Judgement
from pathaudit.matrix.ends import End, Ends
from pathaudit.matrix.parts import cell_of, part_of, place_of, proof_of, told, unseen
from pathaudit.results import Reach, Severity
from pathaudit.results.matrices import Cell, Part, Support

CAPTURE, PREFILL, BOUNDARY = "capture", "prefill", "boundary"


def capture_cell(asked: Asked) -> Cell:
    """Is what each setter asks for captured on every path of the forward?"""
    facts = asked.facts(CAPTURE)
    setters = [item for item in asked.about.setters if item.called]
    remarks = [
        part_of(x, Support.NONE, x.features) for x in asked.broken(facts.remarks, severity=None)
    ]
    if not setters:
        return cell_of(CAPTURE, [_without_setter(asked)], remarks)
    return cell_of(CAPTURE, (_captured(asked, x) for x in setters), remarks)


def live_setters(asked: Asked) -> tuple[Setter, ...]:
    """The setters that the framework of this tree calls, and that do not fail."""
    return tuple(x for x in asked.about.setters if x.called and x.fails is None)


def _without_setter(asked: Asked) -> Part:
    """A class may read a switch that nothing sets, or have methods that are not to be seen."""
    idle = tuple(item.place for item in asked.about.setters)
    if idle:
        return Part(support=Support.NONE, detail="nothing calls its setter", evidence=idle)
    if asked.about.opaque:
        return Part(support=Support.UNKNOWN, detail=unseen("no setter", asked))
    dormant = [x for x in asked.capture if x.judged.subject.dormant]
    if dormant:
        detail = "no setter: nothing arms the capture that its model has"
        rule = asked.facts(CAPTURE).judge
        return Part(support=Support.NONE, detail=detail, evidence=dormant[0].kept, rule=rule)
    return Part(support=Support.NONE, detail="no setter")


def _captured(asked: Asked, setter: Setter) -> Part:
    """The first thing that is wrong with a feature, or where it is right."""
    facts = asked.facts(CAPTURE)
    names = (setter.name,)
    if setter.fails is not None:
        detail = f"the setter fails: {setter.fails.text} (an AttributeError)"
        where = (setter.fails,)
        return Part(support=Support.BLOCKED, detail=detail, evidence=where, features=names)
    missing = _missing_companion(asked, setter.name)
    if missing is not None:
        return missing
    judged = asked.judged_for(setter.name, asked.profile.modules.call)
    lost = lost_part(judged, names)
    if lost is not None and lost.support is Support.NO:
        return lost
    for finding in asked.broken(facts.breaks, severity=Severity.ERROR):
        if setter.name in finding.features:
            return part_of(finding, Support.NO, names)
    if lost is not None:
        return lost
    return _right(asked, judged, setter)


def _missing_companion(asked: Asked, setter: str) -> Part | None:
    """A hook that the framework calls after the setter, and that the class lacks."""
    wanted = [item.name for item in asked.profile.features.hooks if item.after == setter]
    for finding in asked.broken(asked.facts(CAPTURE).remarks, severity=Severity.WARNING):
        if setter in finding.features and any(name in finding.message for name in wanted):
            return part_of(finding, Support.BLOCKED, (setter,))
    return None


def _right(asked: Asked, judged: tuple[Judgement, ...], setter: Setter) -> Part:
    rule, names = asked.facts(CAPTURE).judge, (setter.name,)
    kept = tuple(sorted({place for item in judged for place in item.kept}))
    if kept:
        detail = "captured on every path that can run"
        return Part(support=Support.YES, detail=detail, evidence=kept, rule=rule, features=names)
    gap = next((x.message for x in asked.gaps if setter.name in x.message), "")
    detail = gap or "no layers that its setter arms were found"
    return Part(
        support=Support.UNKNOWN, detail=detail, evidence=(setter.place,), rule=rule, features=names
    )


def lost_part(judged: tuple[Judgement, ...], features: tuple[str, ...]) -> Part | None:
    """What judged methods lose or leave undecided: on a path that can run, or is gated."""
    for item in judged:
        for finding in item.with_reach(Reach.REACHABLE):
            return part_of(finding, Support.NO, features)
    for item in judged:
        for finding in item.undecided:
            return part_of(finding, Support.UNKNOWN, features)
        if item.cut is not None:
            detail = item.cut.message
            return Part(support=Support.UNKNOWN, detail=detail, features=features)
    for item in judged:
        for finding in item.with_reach(Reach.GATED):
            detail = f"{told(finding)}; gated: {proof_of(finding)}"
            return Part(
                support=Support.GATED,
                detail=detail,
                evidence=(place_of(finding),),
                rule=finding.rule,
                features=features,
            )
    return None


# ---- split prefill ----------------------------------------------------------------------------


def prefill_cell(asked: Asked) -> Cell:
    """Does split prefill keep what the forward captures?"""
    place = asked.about.prefill
    if place is None:
        support = Support.UNKNOWN if asked.about.opaque else Support.NONE
        return cell_of(PREFILL, [Part(support=support, detail=unseen("no split prefill", asked))])
    if asked.about.refused is not None:
        detail, where = "it only raises", (asked.about.refused,)
        return cell_of(PREFILL, [Part(support=Support.BLOCKED, detail=detail, evidence=where)])
    remarks = list(_unrecorded(asked))
    setters = live_setters(asked)
    if not setters:
        detail = "has it; there is no setter, so that nothing is to be captured"
        part = Part(support=Support.YES, detail=detail, evidence=(place,))
        return cell_of(PREFILL, [part], remarks)
    return cell_of(PREFILL, (_prefilled(asked, x) for x in setters), remarks)


def _unrecorded(asked: Asked) -> Iterator[Part]:
    """Where split prefill runs experts without the recorder."""
    for item in asked.recorder:
        if item.judged.subject.method == asked.profile.matrix.method:
            yield from (part_of(x, Support.NO) for x in item.with_reach(Reach.REACHABLE))


def _prefilled(asked: Asked, setter: Setter) -> Part:
    names, rule = (setter.name,), asked.facts(PREFILL).judge
    judged = asked.judged_for(setter.name, asked.profile.matrix.method)
    lost = lost_part(judged, names)
    if lost is not None:
        return lost
    kept = tuple(sorted({place for item in judged for place in item.kept}))
    place = asked.about.prefill
    where = kept or ((place,) if place is not None else ())
    support = Support.YES if kept else Support.UNKNOWN
    detail = "captures on every path" if kept else "no layers that it runs were found"
    return Part(support=support, detail=detail, evidence=where, rule=rule, features=names)


# ---- both ends --------------------------------------------------------------------------------


def boundary_cell(asked: Asked) -> Cell:
    """Can the first and the last layer be asked for?"""
    called = {item.name for item in live_setters(asked)}
    ends = [item for item in asked.ends if item.setter in called]
    if not ends:
        hidden = asked.about.opaque and not asked.about.setters
        support = Support.UNKNOWN if hidden else Support.NONE
        return cell_of(BOUNDARY, [Part(support=support, detail=unseen("no setter", asked))])
    return cell_of(BOUNDARY, (part for item in ends for part in _both(item)))


def _both(ends: Ends) -> Iterator[Part]:
    """One part for both ends where the answers agree, else one for each."""
    first, last = ends.first, ends.last
    if first.support is last.support and first.support is Support.YES:
        detail = f"{first.detail}; {last.detail}"
        evidence = tuple(dict.fromkeys((*first.evidence, *last.evidence)))
        yield _end_part(End(Support.YES, detail, evidence), ends.setter)
        return
    for end in dict.fromkeys((first, last)):
        yield _end_part(end, ends.setter)


def _end_part(end: End, setter: str) -> Part:
    return Part(support=end.support, detail=end.detail, evidence=end.evidence, features=(setter,))
