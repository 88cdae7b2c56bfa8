"""From what a monitor recorded to findings: merged by place, conditions in the fewest literals."""

import hashlib
from collections.abc import Iterable, Iterator

from msgspec import Struct

from pathaudit import ir
from pathaudit.check.covers import Breach, Kept, Unfollowed
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
from pathaudit.index import Index
from pathaudit.paths import Executor, Run, Trail, plain
from pathaudit.results import (
    EntryReport,
    Finding,
    Gap,
    PathReport,
    Reach,
    Severity,
    Sibling,
    Site,
    Step,
    Value,
    Verdict,
)
from pathaudit.ruleset import Rule

Place = tuple[str, ir.Region, str]


class Judged(Struct, frozen=True, eq=False):
    """One subject with everything that was recorded about it."""

    subject: Subject
    executor: Executor
    breaches: tuple[Breach, ...]
    kept: tuple[Kept, ...]
    unfollowed: tuple[Unfollowed, ...]
    gap: Gap | None


class _Case(Struct, frozen=True, eq=False):
    """One breach or unfollowed handoff, with the condition at the place where it is reported."""

    run: Run
    condition: PathCondition
    trail: Trail | None
    judged: Judged
    callee: str = ""


# ---- findings ---------------------------------------------------------------------------------


def present_findings(index: Index, rule: Rule, judged: Iterable[Judged]) -> Iterator[Finding]:
    """One finding a place, merged over features and receivers, in order of place."""
    items = list(judged)
    cases: dict[tuple[Place, str], list[_Case]] = {}
    for item in items:
        for case in _cases(item):
            cases.setdefault((_place(case.run), item.subject.method), []).append(case)
    ordinals: dict[str, int] = {}
    for (place, method), found in sorted(cases.items(), key=lambda pair: pair[0]):
        siblings = _siblings(items, place, method)
        yield _finding(index, rule, found, siblings, ordinals)


def _cases(item: Judged) -> Iterator[_Case]:
    for breach in item.breaches:
        yield _at_place(breach.run, breach.condition, breach.trail, item, "")
    breached = {_place(breach.run) for breach in item.breaches}
    for lost in item.unfollowed:
        if _place(lost.run) not in breached:
            yield _at_place(lost.run, lost.condition, lost.trail, item, lost.callee)


def _at_place(
    run: Run, condition: PathCondition, trail: Trail | None, item: Judged, callee: str
) -> _Case:
    """Inside a callee the condition is that of the call through which the layers left."""
    if run.point >= 0:
        condition = item.executor.points[run.point].state.condition
    return _Case(run, condition, trail, item, callee)


def _place(run: Run) -> Place:
    return (run.file, run.region, run.function)


def _finding(
    index: Index,
    rule: Rule,
    cases: list[_Case],
    siblings: tuple[Sibling, ...],
    ordinals: dict[str, int],
) -> Finding:
    violated = [case for case in cases if not case.callee] or cases
    paths = _paths(index, violated)
    first, subject = violated[0], violated[0].judged.subject
    live = [case.judged.subject for case in violated if not case.judged.subject.dormant]
    subjects = live or [case.judged.subject for case in violated]
    verdict = Verdict.UNKNOWN if first.callee else _verdict(violated)
    return Finding(
        rule=rule.id,
        title=rule.title,
        severity=rule.severity_of(subject.method),
        verdict=verdict,
        reach=Reach.REACHABLE if live else Reach.DORMANT,
        entry=f"{subject.instance.cls.name}.{subject.method}",
        symbol=first.run.function,
        file=first.run.file,
        line=first.run.region.line,
        column=first.run.region.column,
        end_line=first.run.region.end_line,
        end_column=first.run.region.end_column,
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


def _paths(index: Index, cases: list[_Case]) -> list[PathReport]:
    """The ways to a place, one for each layer range; conditions are joined."""
    ranges: dict[tuple[str, str], list[_Case]] = {}
    for case in cases:
        ranges.setdefault((case.run.low, case.run.high), []).append(case)
    found = [_path(index, group) for group in ranges.values()]
    unique = {(path.layers, path.condition): path for path in found}
    return sorted(unique.values(), key=lambda path: (-len(path.witness), path.layers))


def _path(index: Index, group: list[_Case]) -> PathReport:
    facts = group[0].judged.executor.evaluator.facts
    condition: PathCondition | None = None
    for case in group:
        shown = _shown(case)
        condition = shown if condition is None else disjoin(condition, shown)
    shortest = simplify(condition or ALWAYS, facts)
    first = shortest.alternatives[0].literals
    names = _integers(first)
    values = witness(first, facts, names) or ()
    run = group[0].run
    text = render(shortest, plain)
    return PathReport(
        condition=text,
        layers=f"[{plain(run.low)}, {plain(run.high)})",
        witness=tuple(Value(plain(name), value) for name, value in values),
        steps=_steps(index, group[0], first),
    )


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


def _steps(index: Index, case: _Case, literals: frozenset[Literal]) -> tuple[Step, ...]:
    """The branches that decide the path, and the call that leaves the class."""
    del index
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
    file, region, function = place
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
    del region
    return tuple(found[key] for key in sorted(found))


def present_entry(index: Index, rule: Rule, item: Judged) -> EntryReport | None:
    """What the rule says of one subject; ``None`` where it runs no layers."""
    del index
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
    for breach in item.breaches:
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


_ = Severity
