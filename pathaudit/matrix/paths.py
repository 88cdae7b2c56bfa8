"""The columns of how a forward is run: the expert recorder, two-batch overlap, pipeline stages."""

from collections.abc import Iterator

from msgspec.structs import replace

from pathaudit.matrix.asked import Asked
from pathaudit.matrix.capture import live_setters, lost_part
from pathaudit.matrix.overlap_runs import OverlapRun
from pathaudit.matrix.parts import cell_of, part_of, unseen
from pathaudit.matrix.staging import Staged
from pathaudit.results import Reach, Severity
from pathaudit.results.matrices import Cell, Evidence, Part, Support

RECORDER, OVERLAP, STAGES = "recorder", "overlap", "stages"


def recorder_cell(asked: Asked) -> Cell:
    """Is the recorder told the layer wherever experts are chosen?"""
    facts, place = asked.facts(RECORDER), asked.about.declares
    if place is None:
        support = Support.UNKNOWN if asked.about.opaque else Support.NONE
        return cell_of(RECORDER, [Part(support=support, detail=unseen("no declaration", asked))])
    remarks = [part_of(x, Support.NO) for x in asked.broken(facts.remarks, severity=None)]
    lost = lost_part(asked.recorder, ())
    if lost is not None:
        return cell_of(RECORDER, [lost], remarks)
    kept = tuple(sorted({x for item in asked.recorder for x in item.kept}))
    if not kept:
        detail = "declared; no layer that chooses experts was found"
        part = Part(support=Support.UNKNOWN, detail=detail, evidence=(place,), rule=facts.judge)
        return cell_of(RECORDER, [part], remarks)
    evidence = tuple(Evidence(x.file, x.line, "the layer is named") for x in kept)
    detail = "told the layer on every path that can run"
    part = Part(support=Support.YES, detail=detail, evidence=evidence, rule=facts.judge)
    return cell_of(RECORDER, [part], remarks)


# ---- two-batch overlap ------------------------------------------------------------------------


def overlap_cell(asked: Asked) -> Cell:
    """Is there a path for two overlapping batches, does it run, and does it capture?"""
    runs = [run for item in asked.overlaps for run in item.runs]
    cut = next((item.cut for item in asked.overlaps if item.cut), "")
    if not runs:
        support = Support.UNKNOWN if cut or asked.about.opaque else Support.NONE
        detail = cut or unseen("no path of its own", asked)
        return cell_of(OVERLAP, [Part(support=support, detail=detail)])
    live = [run for run in runs if not run.refused and not _fellow_of_refused(run, runs)]
    if not live:
        return cell_of(OVERLAP, [_refused(asked, runs)])
    remarks = list(_overlap_remarks(asked, live))
    setters = live_setters(asked)
    if not setters:
        return cell_of(OVERLAP, [_runs(live, Support.YES, "runs; there is no setter")], remarks)
    return cell_of(OVERLAP, (_overlapped(asked, live, x.name) for x in setters), remarks)


def _fellow_of_refused(run: OverlapRun, runs: list[OverlapRun]) -> bool:
    """Does the same path run into a runner that refuses? Then its other layers decide nothing."""
    same = [other for other in runs if other.symbol == run.symbol and other is not run]
    handing = [other for other in same if other.handoff]
    return not run.handoff and bool(handing) and all(other.refused for other in handing)


def _refused(asked: Asked, runs: list[OverlapRun]) -> Part:
    refused = next(run for run in runs if run.refused)
    place = Evidence(refused.file, refused.line, refused.symbol)
    found = asked.broken(asked.facts(OVERLAP).breaks, severity=None)
    if found:
        rule, detail = found[0].rule, found[0].message
        return Part(support=Support.BLOCKED, detail=detail, evidence=(place,), rule=rule)
    detail = f"{refused.handoff or refused.symbol} raises before a layer runs"
    return Part(support=Support.BLOCKED, detail=detail, evidence=(place,))


def _runs(runs: list[OverlapRun], support: Support, detail: str) -> Part:
    found = (Evidence(x.file, x.line, f"when {x.condition}") for x in runs)
    return Part(support=support, detail=detail, evidence=tuple(dict.fromkeys(found)))


def _overlapped(asked: Asked, runs: list[OverlapRun], setter: str) -> Part:
    """What becomes of a feature on the path."""
    names, rule = (setter,), asked.facts(OVERLAP).judge
    judged = asked.judged_for(setter, asked.profile.modules.call)
    here = tuple(item.at({(run.file, run.line) for run in runs}) for item in judged)
    lost = lost_part(here, names)
    if lost is not None:
        return lost
    kept = tuple(sorted({place for item in here for place in item.kept}))
    if kept:
        detail = "runs, and captures"
        return Part(support=Support.YES, detail=detail, evidence=kept, rule=rule, features=names)
    if not judged:
        detail = "runs; whether it captures was not judged"
        return replace(_runs(runs, Support.UNKNOWN, detail), features=names)
    detail = f"not taken while capture is on; else taken when {runs[0].condition}"
    return replace(_runs(runs, Support.GATED, detail), features=names, rule=rule)


def _overlap_remarks(asked: Asked, runs: list[OverlapRun]) -> Iterator[Part]:
    """What else goes wrong at the places of the path."""
    places = {(run.file, run.line) for run in runs}
    rules = asked.facts(OVERLAP).remarks
    own = asked.broken(rules, severity=Severity.ERROR)
    recorded = (x for item in asked.recorder for x in item.with_reach(Reach.REACHABLE))
    for finding in (*own, *recorded):
        if finding.rule in rules and (finding.file, finding.line) in places:
            yield part_of(finding, Support.NO)


# ---- pipeline stages --------------------------------------------------------------------------


def stages_cell(asked: Asked) -> Cell:
    """Does the class run in stages, as its signature says?"""
    about = asked.about
    if about.forward is None:
        detail = "its forward is not to be seen"
        return cell_of(STAGES, [Part(support=Support.UNKNOWN, detail=detail)])
    if about.takes is None:
        detail = "its signature does not offer it"
        part = Part(support=Support.NONE, detail=detail, evidence=(about.forward,))
        return cell_of(STAGES, [part])
    broken = [*_stage_losses(asked), *_beyond_parts(asked)]
    if any(not part.features for part in broken):
        return cell_of(STAGES, broken)
    if about.stray is not None:
        detail = "makes logits on every stage: it never asks if it is the last"
        part = Part(support=Support.NO, detail=detail, evidence=(about.stray,))
        return cell_of(STAGES, [part, *broken])
    whole = _staged_part(about.staged, about.takes)
    return cell_of(STAGES, [whole, *broken])


def _beyond_parts(asked: Asked) -> Iterator[Part]:
    for fault in asked.beyond:
        if fault.reach is Reach.REACHABLE:
            when = f", when {fault.condition}" if fault.condition else ""
            place = Evidence(fault.file, fault.region.line, fault.symbol)
            detail = f"{fault.message}{when}"
            yield Part(support=Support.NO, detail=detail, evidence=(place,), rule=asked.beyond_rule)


def _stage_losses(asked: Asked) -> Iterator[Part]:
    """What the rules find wrong with stages: without a feature, or with one of the class."""
    pipeline = asked.profile.pipeline
    words = (pipeline.proxy, pipeline.parameter) if pipeline is not None else ()
    own = {item.name for item in live_setters(asked)}
    for finding in asked.broken(asked.facts(STAGES).breaks, severity=Severity.ERROR):
        features = tuple(sorted(own.intersection(finding.features)))
        if finding.rule in asked.relaying:
            if features or not finding.features:
                yield part_of(finding, Support.NO, features)
        elif not finding.features and any(word in finding.message for word in words):
            yield part_of(finding, Support.NO)


def _staged_part(staged: tuple[Staged, ...], takes: Evidence) -> Part:
    """What the objects that run the layers do with a stage; all of them have to do it."""
    if not staged:
        detail = "offered; no object that runs decoder layers was found"
        return Part(support=Support.UNKNOWN, detail=detail, evidence=(takes,))
    for item in staged:
        lacking = [
            text
            for text, place in (
                ("splits no layers", item.split),
                ("reads nothing of the stage before", item.reads),
                ("does not ask if it is the last stage", item.hands),
            )
            if place is None
        ]
        if lacking:
            detail = f"offered; {item.owner} {' and '.join(lacking)}, as far as is to be seen"
            return Part(support=Support.UNKNOWN, detail=detail, evidence=(takes,))
    found = (x for item in staged for x in (item.split, item.reads, item.hands) if x is not None)
    detail = "split, and handed on from stage to stage"
    return Part(support=Support.YES, detail=detail, evidence=tuple(dict.fromkeys(found)))
