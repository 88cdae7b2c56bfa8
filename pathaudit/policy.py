"""What a user's settings make of an answer: severities, files that are left out, a few classes.

It is applied to what was found, and no rule is judged otherwise for it: a severity that a user
states changes neither what a rule looks at nor what it says.
"""

from collections.abc import Callable, Iterable

import msgspec
import pathspec
from msgspec import Struct

from pathaudit.remarks import UNUSED
from pathaudit.results import EntryReport, Finding, Gap, Reach, Severity, Verdict
from pathaudit.results.settings import LeftOut
from pathaudit.ruleset import Policy, Ruleset

_MILDEST_FIRST = (Severity.NOTE, Severity.WARNING, Severity.ERROR)
_WORST_FIRST = (Verdict.VIOLATED, Verdict.UNKNOWN, Verdict.HOLDS)


class Told(Struct, frozen=True):
    """What a report tells. ``left_out`` is set where settings exclude files."""

    findings: tuple[Finding, ...]
    entries: tuple[EntryReport, ...]
    gaps: tuple[Gap, ...]
    left_out: LeftOut | None = None


def apply_policy(rules: Ruleset, few: tuple[str, ...], told: Told) -> Told:
    """Return what is told under the policy of the rules, in the same order.

    ``few`` are served classes, if only these were asked about; others may have been judged too.
    """
    policy = rules.policy
    if policy == Policy():
        return told
    own = {rule.id: rule.severity for rule in rules.rules}
    findings = (x for x in told.findings if x.rule not in policy.off)
    rated = tuple(_rated(x, policy, own) for x in findings)
    told = msgspec.structs.replace(told, findings=rated)
    if few:
        told = _narrowed(told, frozenset(few))
    return _without(told, excluded_by(policy)) if policy.exclude else told


def excluded_by(policy: Policy) -> Callable[[str], bool]:
    """Return what tells whether a policy excludes a file of the tree."""
    if not policy.exclude:
        return lambda _: False
    globs = pathspec.GitIgnoreSpec.from_lines(policy.exclude)
    return lambda file: bool(globs.match_file(file))


def _rated(finding: Finding, policy: Policy, own: dict[str, Severity]) -> Finding:
    """A finding as severe as stated; one that its rule itself rates milder stays milder.

    What cannot be reached is a note, whatever is stated.
    """
    stated = policy.severities.get(finding.rule)
    if stated is None or finding.reach is not Reach.REACHABLE:
        return finding
    usual = own.get(finding.rule, finding.severity)
    milder = _rank(finding.severity) < _rank(usual)
    severity = min(finding.severity, stated, key=_rank) if milder else stated
    return msgspec.structs.replace(finding, severity=severity)


def _rank(severity: Severity) -> int:
    return _MILDEST_FIRST.index(severity)


def _narrowed(told: Told, wanted: frozenset[str]) -> Told:
    """What concerns some served classes, or none in particular.

    No comment is called unused then: what it accepts may be about another class.
    """

    def concerns(names: Iterable[str]) -> bool:
        return not names or not wanted.isdisjoint(names)

    return Told(
        tuple(x for x in told.findings if x.rule != UNUSED.id and concerns(x.entries)),
        tuple(x for x in told.entries if concerns(x.architectures)),
        tuple(x for x in told.gaps if concerns(x.entries)),
    )


def _without(told: Told, excluded: Callable[[str], bool]) -> Told:
    """What is not in excluded files, and how much is."""
    findings = tuple(x for x in told.findings if not excluded(x.file))
    gaps = tuple(x for x in told.gaps if not excluded(x.file))
    places = {site.file for entry in told.entries for site in entry.sites}
    files = frozenset(x for x in places | {x.file for x in told.entries} if excluded(x))
    cut = (_cut(entry, files) for entry in told.entries)
    entries = tuple(entry for entry in cut if entry is not None)
    left_out = LeftOut(
        findings=len(told.findings) - len(findings),
        entries=_methods(told.entries) - _methods(entries),
        gaps=len(told.gaps) - len(gaps),
    )
    return Told(findings, entries, gaps, left_out)


def _cut(entry: EntryReport, files: frozenset[str]) -> EntryReport | None:
    """An entry without its sites in some files; none if nothing is left of it."""
    sites = tuple(site for site in entry.sites if site.file not in files)
    if entry.file in files or (entry.sites and not sites):
        return None
    if len(sites) == len(entry.sites):
        return entry
    verdict = min((site.verdict for site in sites), key=_WORST_FIRST.index)
    return msgspec.structs.replace(entry, sites=sites, verdict=verdict)


def _methods(entries: Iterable[EntryReport]) -> int:
    return len({(entry.rule, entry.file, entry.entry) for entry in entries})
