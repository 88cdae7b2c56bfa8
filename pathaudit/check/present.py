"""From what a monitor recorded to findings: merged by place, conditions in the fewest literals."""

import hashlib
from collections.abc import Iterable, Iterator

from msgspec import Struct

from pathaudit import ir
from pathaudit.check.covers import Blocked, Breach, Kept, Unfollowed
from pathaudit.check.subjects import Subject
from pathaudit.conditions import (
    ALWAYS,
    Bound,
    Conjunction,
    Literal,
    PathCondition,
    disjoin,
    render,
    simplify,
    witness,
)
from pathaudit.paths import Executor, Run, Trail, plain
from pathaudit.results import (
    EntryReport,
    Finding,
    Gap,
    PathReport,
    Reach,
    Sibling,
    Site,
    Step,
    Value,
    Verdict,
)
from pathaudit.ruleset import Rule

Place = tuple[str, ir.Region, str]

# The most reachable path of a finding decides how loud it is.
REACH_ORDER = (Reach.REACHABLE, Reach.GATED, Reach.BLOCKED, Reach.DORMANT)


class Judged(Struct, frozen=True, eq=False):
    """One subject with everything that was recorded about it."""

    subject: Subject
    executor: Executor
    breaches: tuple[Breach, ...]
    kept: tuple[Kept, ...]
    unfollowed: tuple[Unfollowed, ...]
    stopped: tuple[Blocked, ...]
    gap: Gap | None


class _Case(Struct, frozen=True, eq=False):
    """One way to break the rule, with the condition at the place where it is reported.

    ``callee`` is set where the layers went to something that cannot be followed.
    """

    run: Run
    condition: PathCondition
    trail: Trail | None
    judged: Judged
    reach: Reach
    callee: str = ""


# ---- findings ---------------------------------------------------------------------------------


def present_findings(rule: Rule, judged: Iterable[Judged]) -> Iterator[Finding]:
    """One finding a place, merged over features and receivers, in order of place."""
    items = list(judged)
    cases: dict[tuple[Place, str], list[_Case]] = {}
    for item in items:
        for case in _cases(item):
            cases.setdefault((_place(case.run), item.subject.method), []).append(case)
    ordinals: dict[str, int] = {}
    for (place, method), found in sorted(cases.items(), key=lambda pair: pair[0]):
        siblings = _siblings(items, place, method)
        yield _finding(rule, found, siblings, ordinals)


def _cases(item: Judged) -> Iterator[_Case]:
    live = Reach.DORMANT if item.subject.dormant else Reach.REACHABLE
    for breach in item.breaches:
        yield _at_place(breach, item, live)
    for stopped in item.stopped:
        yield _at_place(stopped, item, Reach.BLOCKED)
    decided = {_place(found.run) for found in (*item.breaches, *item.stopped)}
    for lost in item.unfollowed:
        if _place(lost.run) not in decided:
            yield _at_place(lost, item, live, lost.callee)


def _at_place(
    found: Breach | Blocked | Unfollowed, item: Judged, reach: Reach, callee: str = ""
) -> _Case:
    """Inside a callee the condition is that of the call through which the layers left."""
    condition = found.condition
    if found.run.point >= 0:
        condition = item.executor.points[found.run.point].state.condition
    return _Case(found.run, condition, found.trail, item, reach, callee)


def _place(run: Run) -> Place:
    return (run.file, run.region, run.function)


def _finding(
    rule: Rule, cases: list[_Case], siblings: tuple[Sibling, ...], ordinals: dict[str, int]
) -> Finding:
    violated = [case for case in cases if not case.callee] or cases
    reach = min((case.reach for case in violated), key=REACH_ORDER.index)
    # What can run speaks for the finding; the other paths are told after it.
    told = sorted(violated, key=lambda case: REACH_ORDER.index(case.reach))
    paths = _paths(told)
    first, subject = told[0], told[0].judged.subject
    subjects = [case.judged.subject for case in told if case.reach is reach]
    verdict = Verdict.UNKNOWN if first.callee else _verdict(violated)
    region = first.run.region
    return Finding(
        rule=rule.id,
        title=rule.title,
        severity=rule.severity_of(subject.method),
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
        features=_union(subject.setters for subject in subjects),
        receivers=_union(subject.receivers for subject in subjects),
        entries=_union(subject.entries for subject in subjects),
        siblings=siblings,
        controls=(),
        why=rule.why,
        fix=rule.use_instead,
        fingerprint=_fingerprint(rule, first.run, ordinals),
    )


def _verdict(cases: list[_Case]) -> Verdict:
    """A path that may owe itself to a dropped literal proves nothing."""
    exact = any(
        not part.weakened for case in cases for part in case.condition.alternatives
    )
    return Verdict.VIOLATED if exact else Verdict.UNKNOWN


def _message(rule: Rule, case: _Case, layers: str, verdict: Verdict) -> str:
    message = rule.message.format(layers=layers)
    if case.callee:
        return f"layers {layers} go to {plain(case.callee)}, which cannot be followed"
    if verdict is Verdict.UNKNOWN:
        return f"{message}, if the path is feasible"
    return f"{message} in {case.run.handoff}" if case.run.handoff else message


def _union(parts: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(sorted({name for part in parts for name in part}))


def _fingerprint(rule: Rule, run: Run, ordinals: dict[str, int]) -> str:
    """Rule, method, kind of site, stack and layer range; an ordinal tells equals apart."""
    parts = (rule.id, run.function, run.kind, plain(run.stack), plain(run.low), plain(run.high))
    text = "|".join(parts)
    ordinals[text] = ordinals.get(text, 0) + 1
    return hashlib.sha256(f"{text}|{ordinals[text]}".encode()).hexdigest()[:16]


# ---- paths ------------------------------------------------------------------------------------


def _paths(cases: list[_Case]) -> list[PathReport]:
    """The ways to a place, one for each layer range and reach; conditions are joined."""
    ranges: dict[tuple[int, str, str], list[_Case]] = {}
    for case in cases:
        key = (REACH_ORDER.index(case.reach), case.run.low, case.run.high)
        ranges.setdefault(key, []).append(case)
    found = [(key[0], _path(group)) for key, group in ranges.items()]
    unique = {(reach, path.layers, path.condition): path for reach, path in found}
    ordered = sorted(
        unique.items(), key=lambda item: (item[0][0], -len(item[1].witness), item[1].layers)
    )
    return [path for _, path in ordered]


def _path(group: list[_Case]) -> PathReport:
    first = group[0]
    facts = first.judged.executor.evaluator.facts
    condition: PathCondition | None = None
    for case in group:
        shown = _shown(case)
        condition = shown if condition is None else disjoin(condition, shown)
    shortest = simplify(condition or ALWAYS, facts)
    literals = shortest.alternatives[0].literals
    values = witness(literals, facts, _integers(literals)) or ()
    return PathReport(
        condition=render(shortest, plain),
        layers=f"[{plain(first.run.low)}, {plain(first.run.high)})",
        witness=tuple(Value(plain(name), value) for name, value in values),
        steps=_steps(first, literals),
        reach=first.reach,
        proof=_proof(first),
    )


def _proof(case: _Case) -> str:
    """Why a path cannot run."""
    if case.reach is Reach.DORMANT:
        return "no setter of the served class arms the feature"
    if case.reach is not Reach.BLOCKED:
        return ""
    raised = [step for step in (case.trail.steps() if case.trail else ()) if step.kind == "raise"]
    if not raised:
        return "every path raises before a layer runs"
    step = raised[-1]
    return f"raises {step.text} at {step.file}:{step.region.line} before a layer runs"


def _shown(case: _Case) -> PathCondition:
    """Without the literals that only say that the loop's counter lies in its range."""
    alternatives = [
        Conjunction(
            frozenset(x for x in part.literals if not _is_range(x, case.run)), part.weakened
        )
        for part in case.condition.alternatives
    ]
    condition = PathCondition((alternatives[0],))
    for part in alternatives[1:]:
        condition = disjoin(condition, PathCondition((part,)))
    return condition


def _is_range(literal: Literal, run: Run) -> bool:
    if not isinstance(literal, Bound):
        return False
    marked = "@" in literal.low or "@" in literal.high
    ends = {literal.low, literal.high}
    bases = {run.low.split(" ")[0], run.high.split(" ")[0], ""}
    return marked and bool(ends & bases)


def _integers(literals: frozenset[Literal]) -> tuple[str, ...]:
    bounds = sorted(x for x in literals if isinstance(x, Bound) and x.integral)
    names = [name for bound in bounds for name in (bound.low, bound.high) if name]
    return tuple(dict.fromkeys(names))


def _steps(case: _Case, literals: frozenset[Literal]) -> tuple[Step, ...]:
    """The branches that decide the path, and the call that leaves the class."""
    found = []
    subjects = _subjects_of(literals)
    trail = case.trail.steps() if case.trail else ()
    for item in trail:
        if item.taken is None or not (_subjects_of(item.literals) & subjects):
            continue
        if item.region == ir.NOWHERE:
            continue
        text = "taken" if item.taken else "not taken"
        found.append(_step(item.file, item.region, "branch", text, taken=item.taken))
    text = f"goes to {case.run.handoff}" if case.run.handoff else "runs layers"
    kind = "call" if case.run.handoff else "loop" if case.run.kind == "loop" else "event"
    found.append(_step(case.run.file, case.run.region, kind, text))
    return tuple(dict.fromkeys(found))


def _step(file: str, region: ir.Region, kind: str, text: str, taken: bool | None = None) -> Step:
    return Step(
        file=file,
        line=region.line,
        column=region.column,
        end_line=region.end_line,
        end_column=region.end_column,
        kind=kind,
        text=text,
        taken=taken,
    )


def _subjects_of(literals: frozenset[Literal]) -> frozenset[str]:
    found = set()
    for literal in literals:
        if isinstance(literal, Bound):
            found.add(f"{min(literal.low, literal.high)} {max(literal.low, literal.high)}")
        else:
            found.add(f"{literal.predicate} {literal.subject} {literal.argument}")
    return frozenset(found)


# ---- what holds -------------------------------------------------------------------------------


def _siblings(items: list[Judged], place: Place, method: str) -> tuple[Sibling, ...]:
    """Places of the same method that do it right."""
    found: dict[tuple[str, int], Sibling] = {}
    file, _, function = place
    broken = {_place(breach.run) for item in items for breach in item.breaches}
    for item in items:
        if item.subject.method != method:
            continue
        for kept in item.kept:
            run = kept.run
            if (run.file, run.function) != (file, function) or _place(run) in broken:
                continue
            found[(run.file, run.region.line)] = Sibling(
                file=run.file,
                line=run.region.line,
                column=run.region.column,
                end_line=run.region.end_line,
                end_column=run.region.end_column,
                condition="",
                text=f"captures at {kept.evidence}",
            )
    return tuple(found[key] for key in sorted(found))


def present_entry(rule: Rule, item: Judged) -> EntryReport | None:
    """What the rule says of one subject; ``None`` where it runs no layers."""
    sites = tuple(_sites(item))
    if not sites and item.gap is None:
        return None
    subject = item.subject
    verdicts = [site.verdict for site in sites]
    if item.gap is not None or Verdict.UNKNOWN in verdicts:
        verdict = Verdict.UNKNOWN
    else:
        verdict = Verdict.HOLDS
    if Verdict.VIOLATED in verdicts:
        verdict = Verdict.VIOLATED
    return EntryReport(
        rule=rule.id,
        entry=subject.root.qualname,
        file=subject.root.file,
        line=_line_of(item),
        verdict=verdict,
        reach=Reach.DORMANT if subject.dormant else Reach.REACHABLE,
        receivers=subject.receivers,
        architectures=subject.entries,
        features=subject.setters,
        sites=sites,
    )


def _line_of(item: Judged) -> int:
    function = item.executor.index.modules.function(item.subject.root)
    return function.node.lineno if function else 1


def _sites(item: Judged) -> Iterator[Site]:
    verdicts: dict[Place, Verdict] = {}
    runs: dict[Place, Run] = {}
    evidence: dict[Place, set[str]] = {}
    for kept in item.kept:
        verdicts.setdefault(_place(kept.run), Verdict.HOLDS)
        runs.setdefault(_place(kept.run), kept.run)
        evidence.setdefault(_place(kept.run), set()).add(kept.evidence)
    for lost in item.unfollowed:
        verdicts[_place(lost.run)] = Verdict.UNKNOWN
        runs.setdefault(_place(lost.run), lost.run)
    for breach in (*item.stopped, *item.breaches):
        verdicts[_place(breach.run)] = Verdict.VIOLATED
        runs.setdefault(_place(breach.run), breach.run)
    for place in sorted(verdicts):
        run = runs[place]
        yield Site(
            file=run.file,
            line=run.region.line,
            column=run.region.column,
            end_line=run.region.end_line,
            end_column=run.region.end_column,
            layers=f"[{plain(run.low)}, {plain(run.high)})",
            verdict=verdicts[place],
            condition="",
            evidence=tuple(sorted(evidence.get(place, ()))),
        )

