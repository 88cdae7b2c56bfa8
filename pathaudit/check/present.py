"""From what a monitor recorded to findings and entry reports, merged by place."""

import hashlib
from collections.abc import Iterable, Iterator

from pathaudit import ir
from pathaudit.check.answer import union_of
from pathaudit.check.explain import (
    REACH_ORDER,
    Case,
    joined,
    layers_of,
    paths_of,
    possible,
    proof_of,
)
from pathaudit.check.iterations import Kept
from pathaudit.check.judging import Judged, Way
from pathaudit.conditions import both, render
from pathaudit.paths import Run, plain
from pathaudit.results import (
    EntryReport,
    Finding,
    Reach,
    Receiver,
    Severity,
    Sibling,
    Site,
    Verdict,
)
from pathaudit.ruleset import CoversRule

Place = tuple[str, ir.Region, str]


def present_findings(rule: CoversRule, judged: Iterable[Judged]) -> Iterator[Finding]:
    """One finding a place, merged over features and receivers, in order of place."""
    items = list(judged)
    cases: dict[tuple[Place, str], list[Case]] = {}
    for item in items:
        for case in filter(possible, _cases(item)):
            cases.setdefault((_place(case.run), item.subject.method), []).append(case)
    ordinals: dict[str, int] = {}
    for (place, method), found in sorted(cases.items(), key=lambda pair: pair[0]):
        siblings = _siblings(rule, items, place, method)
        yield _finding(rule, found, siblings, ordinals)


def _cases(item: Judged) -> Iterator[Case]:
    live = Reach.GATED if item.gate.proof else Reach.REACHABLE
    live = Reach.DORMANT if item.subject.dormant else live
    for breach in item.breaches:
        yield _case(breach, item, live)
    for stopped in item.stopped:
        yield _case(stopped, item, Reach.BLOCKED)
    decided = {_place(run) for run in _broken(item)}
    for lost in item.unfollowed:
        if _place(lost.run) not in decided:
            yield _case(lost, item, live)


def _case(way: Way, item: Judged, reach: Reach) -> Case:
    return Case(way.run, way.condition, way.steps, item, reach, way.callee)


def _broken(item: Judged) -> Iterator[Run]:
    """The runs that break the rule, on a path that can run or not."""
    yield from (found.run for found in item.stopped)
    yield from (found.run for found in item.breaches)


def _place(run: Run) -> Place:
    return (run.file, run.region, run.function)


def _finding(
    rule: CoversRule, cases: list[Case], siblings: tuple[Sibling, ...], ordinals: dict[str, int]
) -> Finding:
    violated = [case for case in cases if not case.callee] or cases
    reach = min((case.reach for case in violated), key=REACH_ORDER.index)
    # What can run speaks for the finding; the other paths are told after it.
    told = sorted(violated, key=lambda case: REACH_ORDER.index(case.reach))
    paths = paths_of(told)
    first, subject = told[0], told[0].judged.subject
    live = reach is Reach.REACHABLE
    subjects = [case.judged.subject for case in told if case.reach is reach]
    verdict = Verdict.UNKNOWN if first.callee else _verdict(violated)
    region = first.run.region
    return Finding(
        rule=rule.id,
        title=rule.title,
        severity=rule.severity_of(subject.method) if live else Severity.NOTE,
        verdict=verdict,
        reach=reach,
        entry=f"{subject.instance.cls.name}.{subject.method}",
        symbol=first.run.function,
        file=first.run.file,
        line=region.line,
        column=region.column,
        end_line=region.end_line,
        end_column=region.end_column,
        message=_message(rule, first, paths[0].layers, verdict),
        condition=paths[0].condition,
        layers=paths[0].layers,
        witness=paths[0].witness,
        steps=paths[0].steps,
        paths=tuple(paths),
        features=union_of(subject.setters for subject in subjects),
        receivers=_receivers(told),
        entries=union_of(subject.entries for subject in subjects),
        siblings=siblings,
        controls=(),
        why=rule.why,
        fix=rule.use_instead,
        fingerprint=_fingerprint(rule, first.run, ordinals),
        effect=_effect(rule, first) if live else "",
    )


def _effect(rule: CoversRule, case: Case) -> str:
    """What happens when it bites: other layers may have run with the event on the same path."""
    if rule.subject != "features":
        return rule.effect
    if rule.severity_of(case.judged.subject.method) is Severity.NOTE:
        return ""
    facts = case.judged.facts
    kept = [item for item in case.judged.kept if item.run.function == case.run.function]
    partly = any(both(item.condition, case.condition, facts) is not None for item in kept)
    return case.judged.effect.part if partly else case.judged.effect.whole


def _receivers(told: list[Case]) -> tuple[Receiver, ...]:
    """Each class that gets to the place, by its most reachable way."""
    found: dict[str, Receiver] = {}
    for case in told:
        for name in case.judged.subject.receivers:
            if name not in found:
                found[name] = Receiver(
                    name=name,
                    reach=case.reach,
                    entries=case.judged.subject.entries,
                    proof=proof_of(case),
                )
    return tuple(found[name] for name in sorted(found))


def _verdict(cases: list[Case]) -> Verdict:
    """A path that may owe itself to a dropped literal proves nothing."""
    exact = any(not part.weakened for case in cases for part in case.condition.alternatives)
    return Verdict.VIOLATED if exact else Verdict.UNKNOWN


def _message(rule: CoversRule, case: Case, layers: str, verdict: Verdict) -> str:
    message = rule.message.format(layers=layers)
    if case.callee:
        return f"layers {layers} go to {plain(case.callee)}, which cannot be followed"
    if verdict is Verdict.UNKNOWN:
        return f"{message}, if the path is feasible"
    deaf = _deaf(case)
    if deaf:
        return f"{message}: what they are handed is ignored in {' and '.join(deaf)}"
    return f"{message} in {case.run.handoff}" if case.run.handoff else message


def _deaf(case: Case) -> list[str]:
    """The methods of the layers, where these are handed an accumulator and never collect."""
    place = (case.run.file, case.run.region)
    found = [x.methods for x in case.judged.deaf if (x.file, x.region) == place]
    return list(found[0]) if found else []


def _fingerprint(rule: CoversRule, run: Run, ordinals: dict[str, int]) -> str:
    """Rule, method, kind of site, stack and layer range; an ordinal tells equals apart."""
    parts = (rule.id, run.function, run.kind, plain(run.stack), plain(run.low), plain(run.high))
    text = "|".join(parts)
    ordinals[text] = ordinals.get(text, 0) + 1
    return hashlib.sha256(f"{text}|{ordinals[text]}".encode()).hexdigest()[:16]


def _siblings(
    rule: CoversRule, items: list[Judged], place: Place, method: str
) -> tuple[Sibling, ...]:
    """Places of the same method that do it right, and when they run."""
    file, _, function = place
    broken = {_place(breach.run) for item in items for breach in item.breaches}
    found: dict[Place, list[tuple[Judged, Kept]]] = {}
    for item in items:
        for kept in item.kept if item.subject.method == method else ():
            same = (kept.run.file, kept.run.function) == (file, function)
            if same and _place(kept.run) not in broken:
                found.setdefault(_place(kept.run), []).append((item, kept))
    return tuple(_sibling(rule, found[key]) for key in sorted(found))


def _sibling(rule: CoversRule, group: list[tuple[Judged, Kept]]) -> Sibling:
    item, first = group[0]
    cases = [Case(kept.run, kept.condition, (), judged, Reach.REACHABLE) for judged, kept in group]
    condition = joined(cases, item.facts)
    region = first.run.region
    return Sibling(
        file=first.run.file,
        line=region.line,
        column=region.column,
        end_line=region.end_line,
        end_column=region.end_column,
        condition=render(condition, plain),
        text=f"{rule.require} at {first.evidence}",
    )


def present_entry(rule: CoversRule, item: Judged) -> EntryReport | None:
    """What the rule says of one subject; ``None`` where it runs no layers."""
    sites = tuple(_sites(item))
    if not sites and item.cut is None:
        return None
    subject = item.subject
    verdicts = [site.verdict for site in sites]
    if item.cut is not None or Verdict.UNKNOWN in verdicts:
        verdict = Verdict.UNKNOWN
    else:
        verdict = Verdict.HOLDS
    if Verdict.VIOLATED in verdicts:
        verdict = Verdict.VIOLATED
    return EntryReport(
        rule=rule.id,
        entry=subject.root.qualname,
        file=subject.root.file,
        line=item.line,
        verdict=verdict,
        reach=Reach.DORMANT if subject.dormant else Reach.REACHABLE,
        receivers=subject.receivers,
        architectures=subject.entries,
        features=subject.setters,
        sites=sites,
    )


def _sites(item: Judged) -> Iterator[Site]:
    """The places that run layers, each with the worst that was found there."""
    verdicts: dict[Place, Verdict] = {}
    runs: dict[Place, set[Run]] = {}
    evidence: dict[Place, set[str]] = {}
    recorded = [
        *((kept.run, Verdict.HOLDS) for kept in item.kept),
        *((lost.run, Verdict.UNKNOWN) for lost in item.unfollowed),
        *((run, Verdict.VIOLATED) for run in _broken(item)),
    ]
    for run, verdict in recorded:
        verdicts[_place(run)] = verdict
        runs.setdefault(_place(run), set()).add(run)
    for kept in item.kept:
        evidence.setdefault(_place(kept.run), set()).add(kept.evidence)
    for place in sorted(verdicts):
        file, region, _ = place
        yield Site(
            file=file,
            line=region.line,
            column=region.column,
            end_line=region.end_line,
            end_column=region.end_column,
            layers=" or ".join(sorted({layers_of(run) for run in runs[place]})),
            verdict=verdicts[place],
            condition="",
            evidence=tuple(sorted(evidence.get(place, ()))),
        )
