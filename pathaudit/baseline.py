"""Known findings, in a file that people review: they stay in the report and do not fail it.

An entry is known again by its fingerprint, also in another version; one that got worse than the
entry says is not accepted. Reasons are added by hand, and survive when the file is written anew.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import msgspec
import yaml
from msgspec import Struct

from pathaudit.diff.matching import Mark, mark_of, match_same
from pathaudit.diff.naming import Naming, Owner, definitions, owner_of
from pathaudit.errors import UsageError
from pathaudit.results import (
    BaselineUse,
    Finding,
    Known,
    Reach,
    Report,
    Severity,
    Summary,
    Verdict,
)
from pathaudit.sources import SourceTree

NO_REASON = "known, no reason given"

_SEVERITIES = (Severity.NOTE, Severity.WARNING, Severity.ERROR)
_HEADING = """\
# Findings that are known: they stay in the report and do not fail it, unless they get worse.
# Say in `reason` why one is accepted. Reasons survive `pathaudit scan --write-baseline`.
"""


Spared = Callable[[str], bool]


def _none(_: str) -> bool:
    return False


class Baseline(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The entries of a file, by rule, file and method; ``version`` is that of the tree."""

    schema: int = 1
    version: str | None = None
    findings: tuple[Known, ...] = ()


def read_baseline(path: str) -> Baseline:
    """Read a file of either form. UsageError if it cannot be read or is no baseline."""
    hint = "write one with: pathaudit scan --write-baseline FILE"
    try:
        data = Path(path).read_text(encoding="utf-8")
        found = msgspec.convert(yaml.safe_load(data), Baseline)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}", hint) from None
    except (UnicodeDecodeError, yaml.YAMLError, RecursionError) as error:
        reason = str(error).splitlines()[0] if str(error) else "nested too deeply"
        raise UsageError(f"{path}: is neither YAML nor JSON: {reason}", hint) from None
    except msgspec.ValidationError as error:
        raise UsageError(f"{path}: is no baseline: {error}", hint) from None
    if found.schema != 1:
        raise UsageError(f"{path}: is of schema {found.schema}, not 1", "update pathaudit")
    return found


def baseline_text(baseline: Baseline, path: str) -> str:
    """The file as text: JSON where it is named so, else YAML, in an order that does not change."""
    fields: dict[str, object] = {
        "schema": baseline.schema,
        "version": baseline.version,
        "findings": [_fields(entry) for entry in baseline.findings],
    }
    if path.endswith(".json"):
        return json.dumps(fields, indent=2) + "\n"
    return _HEADING + yaml.safe_dump(fields, sort_keys=False, width=100)


def _fields(entry: Known) -> dict[str, object]:
    """The fields that say something; the reason always, as a place to write one."""
    fields: dict[str, object] = msgspec.to_builtins(entry)
    usual: dict[str, object] = {"layers": "", "verdict": "violated", "reach": "reachable"}
    return {name: value for name, value in fields.items() if usual.get(name) != value}


def apply_baseline(
    report: Report,
    baseline: Baseline,
    tree: SourceTree,
    *,
    file: str,
    whole: bool,
    spared: Spared = _none,
) -> Report:
    """Accept the findings that a baseline knows, with the reason.

    Unless the ``whole`` tree was judged, no entry is said to occur no longer: what it is about
    may be on a path that nobody asked about. So may one about a ``spared`` file.
    """
    entries = baseline.findings
    pairs = _pairs(entries, report.findings, tree)
    findings = list(report.findings)
    accepted: list[str] = []
    worse: list[str] = []
    for position, number in pairs.items():
        finding, entry = findings[position], entries[number]
        if finding.suppressed is not None:
            continue  # a comment in the code accepts it, with a reason of its own
        (worse if _is_worse(finding, entry) else accepted).append(finding.fingerprint)
        if not _is_worse(finding, entry):
            reason = entry.reason.strip() or NO_REASON
            findings[position] = msgspec.structs.replace(finding, suppressed=reason)
    left = [entries[x] for x in sorted(set(range(len(entries))) - set(pairs.values()))]
    missing = [x for x in left if x.rule in report.rules and not spared(x.file)]
    judged = missing if whole else []
    use = BaselineUse(file=file, accepted=tuple(accepted), worse=tuple(worse), unused=tuple(judged))
    return msgspec.structs.replace(
        report,
        findings=tuple(findings),
        summary=_recounted(report.summary, findings),
        baseline=use,
    )


def make_baseline(
    report: Report, earlier: Baseline, tree: SourceTree, *, whole: bool, spared: Spared = _none
) -> Baseline:
    """A baseline of all findings that no comment accepts, with the reasons of an ``earlier`` one.

    What is said of comments is no part of it, as they can be put right at once. What was not
    judged, since only some rules or entries were, stays in it, and what is of ``spared`` files.
    """
    entries = earlier.findings
    pairs = _pairs(entries, report.findings, tree)
    found = [
        _entry(finding, entries[pairs[position]].reason if position in pairs else "")
        for position, finding in enumerate(report.findings)
        if finding.suppressed is None and finding.rule in report.rules
    ]
    left = [entries[x] for x in sorted(set(range(len(entries))) - set(pairs.values()))]
    judged = report.rules if whole else ()
    kept = [entry for entry in left if entry.rule not in judged or spared(entry.file)]
    ordered = sorted([*found, *kept], key=_order)
    return Baseline(version=report.source.version, findings=tuple(ordered))


def _order(entry: Known) -> tuple[str, ...]:
    return (entry.rule, entry.file, entry.symbol, entry.layers, entry.message, entry.fingerprint)


def _entry(finding: Finding, reason: str) -> Known:
    return Known(
        rule=finding.rule,
        file=finding.file,
        symbol=finding.symbol,
        severity=finding.severity,
        message=finding.message,
        fingerprint=finding.fingerprint,
        layers=finding.layers,
        verdict=finding.verdict,
        reach=finding.reach,
        reason=reason,
    )


def _is_worse(finding: Finding, entry: Known) -> bool:
    """Is a finding more than what was accepted: reachable, proved or severe, and was not?"""
    if finding.reach is Reach.REACHABLE and entry.reach is not Reach.REACHABLE:
        return True
    if finding.verdict is Verdict.VIOLATED and entry.verdict is not Verdict.VIOLATED:
        return True
    return _SEVERITIES.index(finding.severity) > _SEVERITIES.index(entry.severity)


def _recounted(summary: Summary, findings: Iterable[Finding]) -> Summary:
    told = [x for x in findings if x.suppressed is None and x.verdict is Verdict.VIOLATED]
    severities = [finding.severity for finding in told]
    return msgspec.structs.replace(
        summary,
        errors=severities.count(Severity.ERROR),
        warnings=severities.count(Severity.WARNING),
        notes=severities.count(Severity.NOTE),
        suppressed=len([x for x in findings if x.suppressed is not None]),
    )


# ---- which entry is which finding ---------------------------------------------------------------


def _pairs(
    entries: Sequence[Known], findings: Sequence[Finding], tree: SourceTree
) -> Mapping[int, int]:
    """Positions of findings with those of their entries."""
    marks = [Mark(x.rule, x.fingerprint, x.file, x.symbol, x.layers, x.message) for x in entries]
    found = [msgspec.structs.replace(mark_of(x), condition="", kind="") for x in findings]
    pairs = match_same(marks, found, _moved(marks, found, tree))
    return {pair.new: pair.old for pair in pairs}


def _moved(marks: Iterable[Mark], found: Iterable[Mark], tree: SourceTree) -> Naming:
    """Classes that are in another file now, the only one that findings tell of."""
    has = definitions(tree)
    now: dict[str, set[Owner]] = {}
    for mark in found:
        owner = owner_of(mark.file, mark.symbol)
        now.setdefault(owner.name, set()).add(owner)
    renamed: dict[Owner, Owner] = {}
    for mark in marks:
        owner = owner_of(mark.file, mark.symbol)
        places = now.get(owner.name, set())
        if len(places) == 1 and owner not in places and not has(owner.file, owner.name):
            renamed[owner] = next(iter(places))
    return Naming(renamed)
