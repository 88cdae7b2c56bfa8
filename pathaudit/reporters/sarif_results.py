"""Findings as results of SARIF: where, by which path, how bad, and whether accepted."""

from collections.abc import Mapping, Sequence
from urllib.parse import quote

from msgspec import Struct

from pathaudit.reporters.escaping import visible
from pathaudit.reporters.phrases import LONGEST_COMPARED, Locate, counted, when
from pathaudit.reporters.sarif_model import (
    BASE,
    ArtifactLocation,
    CodeFlow,
    FindingProperties,
    Location,
    LogicalLocation,
    PhysicalLocation,
    Region,
    Result,
    Suppression,
    ThreadFlow,
    ThreadFlowLocation,
    message,
)
from pathaudit.reporters.terminal import GLUE
from pathaudit.results import BaselineUse, Finding, PathReport, Reach, Sibling, Step, Verdict

STEPS = 20  # of one path: GitHub shows no more
PATHS = 10  # of one finding
FINGERPRINT = "pathaudit/v1"


class Telling(Struct, frozen=True):
    """What all results depend on: the places of rules, the names of files, what was known."""

    rules: Mapping[str, int]
    locate: Locate
    baseline: BaselineUse | None = None
    states: Mapping[str, str] = {}


def result_of(finding: Finding, telling: Telling) -> Result:
    """A finding as a result; one that could not be decided is ``open`` and has no level."""
    undecided = finding.verdict is Verdict.UNKNOWN
    return Result(
        rule_id=finding.rule,
        rule_index=telling.rules[finding.rule],
        kind="open" if undecided else "fail",
        level="none" if undecided else finding.severity.value,
        message=message(_said(finding)),
        locations=(_at(finding, telling),),
        partial_fingerprints={FINGERPRINT: finding.fingerprint},
        code_flows=_flows(finding, telling),
        related_locations=tuple(
            _sibling(number, sibling, telling) for number, sibling in enumerate(finding.siblings, 1)
        ),
        suppressions=_suppressions(finding, telling.baseline),
        baseline_state=_state(finding, telling),
        properties=_properties(finding),
    )


def located(file: str, locate: Locate, region: Region | None = None) -> PhysicalLocation:
    """A place in a file, as a relative URI."""
    uri = quote(_encoded(locate(file)), safe="/")
    return PhysicalLocation(
        artifact_location=ArtifactLocation(uri=uri, uri_base_id=BASE), region=region
    )


def _encoded(path: str) -> bytes:
    """The bytes of a name, also of one that could not be decoded."""
    try:
        return path.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return path.encode("utf-8", "surrogatepass")


def _said(finding: Finding) -> str:
    """The message as a sentence, and what a reader has to know to believe it."""
    unknown = "Could not be decided: " if finding.verdict is Verdict.UNKNOWN else ""
    parts = [f"{unknown}{finding.message}"]
    if finding.reach is not Reach.REACHABLE:
        proof = finding.paths[0].proof if finding.paths else ""
        parts.append(": ".join(filter(None, (f"This path is {finding.reach}", proof))))
    if finding.condition:
        always = finding.condition == "always"
        parts.append("Always" if always else f"When {finding.condition}")
    if finding.controls:
        parts.append(f"Enabled by {', '.join(finding.controls)}")
    return " ".join(part if part.endswith(".") else f"{part}." for part in parts)


def _at(finding: Finding, telling: Telling) -> Location:
    symbol = visible(finding.symbol)
    return Location(
        physical_location=_physical(finding, telling),
        logical_locations=(
            (LogicalLocation(fully_qualified_name=symbol, kind="function"),) if symbol else ()
        ),
    )


def _physical(place: Finding | Step | Sibling, telling: Telling) -> PhysicalLocation:
    if place.line < 1:
        return located(place.file, telling.locate)
    region = Region(
        start_line=place.line,
        start_column=place.column + 1,
        end_line=place.end_line,
        end_column=place.end_column + 1,
    )
    return located(place.file, telling.locate, region)


def _sibling(number: int, sibling: Sibling, telling: Telling) -> Location:
    text = sibling.text or "does it right"
    if len(sibling.condition) <= LONGEST_COMPARED:
        text += f", {when(sibling.condition)}".replace(GLUE, " ")
    return Location(id=number, physical_location=_physical(sibling, telling), message=message(text))


# ---- paths --------------------------------------------------------------------------------------


def _flows(finding: Finding, telling: Telling) -> tuple[CodeFlow, ...]:
    """A code flow for each way to get there, at most ten; none where no path is known."""
    paths = [(_told(path), path.steps) for path in finding.paths if path.steps]
    paths = paths or [(finding.condition, finding.steps)] * bool(finding.steps)
    return tuple(_flow(told, steps, telling) for told, steps in paths[:PATHS])


def _told(path: PathReport) -> str:
    """When a path runs, and if it cannot, why."""
    if path.reach is Reach.REACHABLE:
        return path.condition
    return "; ".join(filter(None, (path.condition, str(path.reach), path.proof)))


def _flow(told: str, steps: Sequence[Step], telling: Telling) -> CodeFlow:
    shown = _most_telling(steps)
    left = len(steps) - len(shown)
    texts = [told, f"{counted(left, 'step')} left out" if left else ""]
    text = "; ".join(filter(None, texts))
    return CodeFlow(
        thread_flows=(ThreadFlow(locations=tuple(_step(step, telling) for step in shown)),),
        message=message(text) if text else None,
    )


def _most_telling(steps: Sequence[Step]) -> list[Step]:
    """At most as many as are shown: the last one, then the branches and those nearest to it."""
    order = sorted(
        range(len(steps)),
        key=lambda n: (n != len(steps) - 1, steps[n].kind != "branch", -n),
    )
    return [steps[n] for n in sorted(order[:STEPS])]


def _step(step: Step, telling: Telling) -> ThreadFlowLocation:
    text = step.text
    kinds: tuple[str, ...] = (step.kind,)
    if step.taken is not None:
        outcome = "taken" if step.taken else "not taken"
        text = f"branch {outcome}" if text in ("", outcome) else f"{text}: {outcome}"
        kinds = ("branch", "true" if step.taken else "false")
    return ThreadFlowLocation(
        location=Location(
            physical_location=_physical(step, telling), message=message(text or step.kind)
        ),
        kinds=kinds,
        importance="essential" if step.taken is not None else "important",
    )


# ---- what is known beside it --------------------------------------------------------------------


def _suppressions(finding: Finding, baseline: BaselineUse | None) -> tuple[Suppression, ...]:
    if finding.suppressed is None:
        return ()
    by_file = baseline is not None and finding.fingerprint in baseline.accepted
    kind = "external" if by_file else "inSource"
    reason = visible(finding.suppressed)
    return (Suppression(kind=kind, status="accepted", justification=reason),)


def _state(finding: Finding, telling: Telling) -> str:
    """What became of a finding since the baseline, or the older of two versions."""
    if telling.states:
        return telling.states[finding.fingerprint]
    if telling.baseline is None:
        return ""
    if finding.fingerprint in telling.baseline.accepted:
        return "unchanged"
    return "updated" if finding.fingerprint in telling.baseline.worse else "new"


def _properties(finding: Finding) -> FindingProperties:
    return FindingProperties(
        severity=finding.severity.value,
        verdict=finding.verdict.value,
        reach=finding.reach.value,
        entry=finding.entry,
        condition=finding.condition,
        layers=finding.layers,
        proof=finding.paths[0].proof if finding.paths else "",
        effect=finding.effect,
        fix=" ".join(finding.fix.split()),
        witness={value.name: value.value for value in finding.witness},
        controls=finding.controls,
        features=finding.features,
        entries=finding.entries,
    )
