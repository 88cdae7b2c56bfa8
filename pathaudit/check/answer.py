"""What a rule says of a tree, and findings of the kinds that tell no path."""

import hashlib
from collections.abc import Iterable, Iterator

from msgspec import Struct

from pathaudit import ir
from pathaudit.results import EntryReport, Finding, Gap, PathReport, Reach, Severity, Step, Verdict
from pathaudit.ruleset import Rule


class Answer(Struct, frozen=True):
    """What a rule says of a tree; ``examined`` counts the places that it looked at."""

    findings: tuple[Finding, ...]
    entries: tuple[EntryReport, ...]
    gaps: tuple[Gap, ...]
    examined: int


class Fault(Struct, frozen=True, kw_only=True):
    """A place that breaks a rule, found without telling a path.

    ``symbol`` is the qualified name of the function there, ``entry`` the method under audit,
    ``architectures`` the served classes that get there. ``kind`` tells apart what the fingerprint
    must: the same fault keeps it when lines move or a callee is renamed. ``severity`` is given
    where it is not the rule's; a fault that is not reachable is a note, with ``proof`` for why;
    ``effect`` is what happens when it bites.
    """

    file: str
    region: ir.Region
    symbol: str
    entry: str
    message: str
    kind: str
    severity: Severity | None = None
    reach: Reach = Reach.REACHABLE
    proof: str = ""
    effect: str = ""
    verdict: Verdict = Verdict.VIOLATED
    condition: str = ""
    steps: tuple[Step, ...] = ()
    features: tuple[str, ...] = ()
    architectures: tuple[str, ...] = ()


def merge_faults(rule: Rule, faults: Iterable[Fault]) -> tuple[Finding, ...]:
    """One finding for all faults at a place that say the same, in order of place."""
    groups: dict[tuple[str, ir.Region, str, str], list[Fault]] = {}
    for fault in faults:
        key = (fault.file, fault.region, fault.symbol, fault.kind)
        groups.setdefault(key, []).append(fault)
    ordinals: dict[str, int] = {}
    return tuple(_finding(rule, groups[key], ordinals) for key in sorted(groups))


_REACH = (Reach.REACHABLE, Reach.GATED, Reach.BLOCKED, Reach.DORMANT)


def _finding(rule: Rule, faults: list[Fault], ordinals: dict[str, int]) -> Finding:
    fault = min(faults, key=lambda item: (_REACH.index(item.reach), item.entry, item.message))
    live = fault.reach is Reach.REACHABLE
    region = fault.region
    return Finding(
        rule=rule.id,
        title=rule.title,
        severity=(fault.severity or rule.severity) if live else Severity.NOTE,
        verdict=fault.verdict,
        reach=fault.reach,
        entry=fault.entry,
        symbol=fault.symbol,
        file=fault.file,
        line=region.line,
        column=region.column,
        end_line=region.end_line,
        end_column=region.end_column,
        message=fault.message,
        condition=fault.condition,
        layers="",
        witness=(),
        steps=fault.steps,
        paths=tuple(_proofs(fault)),
        features=union_of(item.features for item in faults),
        receivers=(),
        entries=union_of(item.architectures for item in faults),
        siblings=(),
        controls=(),
        effect=fault.effect or rule.effect,
        why=rule.why,
        fix=rule.use_instead,
        fingerprint=_fingerprint(rule, fault, ordinals),
    )


def _proofs(fault: Fault) -> Iterator[PathReport]:
    """The way to a fault, where something is to be proved about it."""
    if fault.proof:
        yield PathReport(
            condition=fault.condition,
            layers="",
            witness=(),
            steps=fault.steps,
            reach=fault.reach,
            proof=fault.proof,
        )


def union_of(parts: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    """All names of several groups, sorted."""
    return tuple(sorted({name for part in parts for name in part}))


def _fingerprint(rule: Rule, fault: Fault, ordinals: dict[str, int]) -> str:
    text = "|".join((rule.id, fault.symbol, fault.kind))
    ordinals[text] = ordinals.get(text, 0) + 1
    return hashlib.sha256(f"{text}|{ordinals[text]}".encode()).hexdigest()[:16]
