"""Audits what a change of pins brings: each version once, each pair of them compared once."""

from collections.abc import Callable, Iterable, Iterator

from msgspec import Struct

from pathaudit.audit import ALONE, Means, survey
from pathaudit.bump import Alone, Couple, Missing, PinComparison, Target
from pathaudit.bump.places import regressions_of
from pathaudit.bump.settling import shown
from pathaudit.diff import Version, compare
from pathaudit.errors import PathAuditError, SourceError, StoreError, UsageError
from pathaudit.results import Finding, Severity, fails
from pathaudit.results.bumps import Arrival, Comparison, Pin, Unfetched, pin_place
from pathaudit.results.versions import ReportDiff, fails_newly
from pathaudit.ruleset import Ruleset
from pathaudit.sources import SourceTree

# Opens a tree; SourceError or StoreError if it cannot be had.
Open = Callable[[Target], SourceTree]


class Judging(Struct, frozen=True):
    """What counts as a failure: findings from a severity on, none without one, or all unknown."""

    fail_on: Severity | None = Severity.ERROR
    strict: bool = False

    def of_diff(self, diff: ReportDiff) -> bool:
        """Does a new version have what fails, and did not fail before?"""
        return self.fail_on is not None and fails_newly(diff, self.fail_on, strict=self.strict)

    def of_findings(self, findings: Iterable[Finding]) -> bool:
        """Do some findings have what fails?"""
        worst = self.fail_on
        return worst is not None and any(fails(x, worst, strict=self.strict) for x in findings)


class Outcome(Struct, frozen=True):
    """What the audits told."""

    comparisons: tuple[Comparison, ...]
    arrivals: tuple[Arrival, ...]
    unfetched: tuple[Unfetched, ...]


def audit_versions(
    found: PinComparison,
    rules: Ruleset,
    open_tree: Open,
    *,
    judging: Judging,
    means: Means = ALONE,
) -> Outcome:
    """Audit and compare the versions that a change of pins brings.

    What cannot be opened, and a tree in which there is nothing to audit, is told as not fetched.
    """
    audits = _Audits(rules, open_tree, means, judging)
    told: list[Comparison | Arrival | Unfetched] = [_missing(item) for item in found.missing]
    for couple in found.couples:
        told += audits.compare(couple)
    told += [audits.scan(alone) for alone in found.alone]
    return Outcome(
        tuple(x for x in told if isinstance(x, Comparison)),
        tuple(x for x in told if isinstance(x, Arrival)),
        tuple(x for x in told if isinstance(x, Unfetched)),
    )


class _Audits:
    """Opens and judges each version once."""

    def __init__(self, rules: Ruleset, open_tree: Open, means: Means, judging: Judging) -> None:
        self._rules = rules
        self._open = open_tree
        self._means = means
        self._judging = judging
        self._known: dict[Target, Version | PathAuditError] = {}

    def compare(self, couple: Couple) -> Iterator[Comparison | Arrival | Unfetched]:
        """Compare two versions; where only the new one can be had, judge that alone."""
        old, new = self._version(couple.old), self._version(couple.new)
        places = _places(couple.pins)
        if isinstance(old, PathAuditError):
            yield Unfetched(tree=shown(couple.old), pins=places, reason=_reason(old))
            reason = f"{shown(couple.old)} could not be had"
            yield self.scan(Alone(couple.new, reason, False, couple.pins))
            return
        if isinstance(new, PathAuditError):
            yield Unfetched(tree=shown(couple.new), pins=places, reason=_reason(new))
            return
        diff = compare(old, new)
        yield Comparison(
            old=shown(couple.old),
            new=shown(couple.new),
            pins=places,
            fails=self._judging.of_diff(diff),
            diff=diff,
            regressions=regressions_of(diff, old, new),
            inert=_newly_inert(old, new),
        )

    def scan(self, alone: Alone) -> Arrival | Unfetched:
        """Judge one version, unless it cannot be had."""
        version = self._version(alone.target)
        places = _places(alone.pins)
        if isinstance(version, PathAuditError):
            return Unfetched(tree=shown(alone.target), pins=places, reason=_reason(version))
        report = version.survey.report
        return Arrival(
            tree=shown(alone.target),
            pins=places,
            reason=alone.reason,
            fails=alone.first and self._judging.of_findings(report.findings),
            report=report,
        )

    def _version(self, target: Target) -> Version | PathAuditError:
        if target not in self._known:
            self._known[target] = self._judged(target)
        return self._known[target]

    def _judged(self, target: Target) -> Version | PathAuditError:
        try:
            tree = self._open(target)
            return Version(tree, survey(tree, self._rules, means=self._means))
        except (SourceError, StoreError, UsageError) as error:
            return error


def _newly_inert(old: Version, new: Version) -> tuple[str, ...]:
    """The rules that have nothing to look at any more: what they rely on is gone."""
    before = old.survey.report.inert
    return tuple(rule for rule in new.survey.report.inert if rule not in before)


def _missing(item: Missing) -> Unfetched:
    return Unfetched(tree="", pins=_places(item.pins), reason=item.reason)


def _reason(error: PathAuditError) -> str:
    return f"{error.message}; {error.hint}" if error.hint else error.message


def _places(pins: Iterable[Pin]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(map(pin_place, pins)))
