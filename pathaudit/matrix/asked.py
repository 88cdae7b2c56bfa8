"""All that the cells of one served class are made from; each column asks some of it."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence, Set
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from pathaudit.check.answer import Fault
from pathaudit.check.bounds import SPANNED
from pathaudit.check.judging import JUDGED, Judged
from pathaudit.check.present import present_findings
from pathaudit.check.subjects import (
    FEATURES,
    Subject,
    find_declared,
    find_layer_subjects,
    find_subjects,
    find_targets,
)
from pathaudit.index import ClassRef, Feature
from pathaudit.matrix.about import About, find_about
from pathaudit.matrix.ends import ENDS, Ends
from pathaudit.matrix.overlap_runs import Overlaps, find_overlaps
from pathaudit.results import Finding, Gap, Reach, Report, Severity, Verdict
from pathaudit.results.matrices import Evidence
from pathaudit.ruleset import BoundsRule, CoversRule, Profile, RelaysRule, Ruleset
from pathaudit.ruleset.matrix import ColumnFacts
from pathaudit.work import Work

Item = TypeVar("Item")


class Judgement(Struct, frozen=True, eq=False):
    """A judged method of the class: of which feature, what was found, and where it is right."""

    judged: Judged
    findings: tuple[Finding, ...]

    @property
    def cut(self) -> Gap | None:
        return self.judged.cut

    @property
    def kept(self) -> tuple[Evidence, ...]:
        """The places where the event happens, in order."""
        places = {item.evidence for item in self.judged.kept}
        return tuple(sorted(_evidence(place) for place in places))

    def with_reach(self, reach: Reach) -> tuple[Finding, ...]:
        """The findings of this reach that say that the rule is broken."""
        return tuple(x for x in self.findings if x.reach is reach and x.verdict is Verdict.VIOLATED)

    def at(self, places: Set[tuple[str, int]]) -> "Judgement":
        """What was judged at some places alone."""
        judged = self.judged
        kept = tuple(x for x in judged.kept if (x.run.file, x.run.region.line) in places)
        found = tuple(x for x in self.findings if (x.file, x.line) in places)
        return Judgement(replace(judged, kept=kept), found)

    @property
    def undecided(self) -> tuple[Finding, ...]:
        return tuple(x for x in self.findings if x.verdict is Verdict.UNKNOWN)


class Asked(Struct, frozen=True, eq=False):
    """One served class.

    ``capture`` and ``recorder`` are its judged methods, ``beyond`` where it runs layers of another
    stage, ``findings`` those of the report that name it. ``relaying`` are the rules about what a
    stage hands on, ``beyond_rule`` is the one of ``beyond``.
    """

    about: About
    features: tuple[Feature, ...]
    capture: tuple[Judgement, ...]
    recorder: tuple[Judgement, ...]
    overlaps: tuple[Overlaps, ...]
    ends: tuple[Ends, ...]
    beyond: tuple[Fault, ...]
    findings: tuple[Finding, ...]
    gaps: tuple[Gap, ...]
    relaying: frozenset[str]
    beyond_rule: str
    profile: Profile

    @property
    def entry(self) -> ClassRef:
        return self.about.entry

    def facts(self, column: str) -> ColumnFacts:
        return self.profile.matrix.columns[column]

    def broken(self, rules: Sequence[str], *, severity: Severity | None) -> tuple[Finding, ...]:
        """The findings of some rules that can be reached, of this severity or of any."""
        return tuple(
            x
            for x in self.findings
            if x.rule in rules
            and x.reach is Reach.REACHABLE
            and x.verdict is Verdict.VIOLATED
            and severity in (None, x.severity)
        )

    def judged_for(self, setter: str, method: str) -> tuple[Judgement, ...]:
        """What was judged of a method while the feature of a setter is on."""
        feature = next((x for x in self.features if x.setter == setter), None)
        return tuple(
            x
            for x in self.capture
            if setter in x.judged.subject.setters
            and x.judged.subject.method == method
            and feature is not None
            and _writes(feature, x.judged)
        )


def _writes(feature: Feature, judged: Judged) -> bool:
    """Were exactly the stores of this feature assumed? Setters of other classes share methods."""
    paths = {write.path[:size] for write in feature.writes for size in range(len(write.path) + 1)}
    return any(feature.seen_from(path) == judged.subject.writes for path in paths)


def ask_all(work: Work, rules: Ruleset, report: Report, entry: str | None) -> list[Asked]:
    """All that is known of each served class that is no draft, or of those of one name."""
    served = find_targets(work, entry)
    columns = work.profile.matrix.columns
    known = {rule.id: rule for rule in rules.rules}
    capture = known.get(columns["capture"].judge) if "capture" in columns else None
    recorder = known.get(columns["recorder"].judge) if "recorder" in columns else None
    declaration = recorder.declared if isinstance(recorder, CoversRule) else ""
    captured = _judged(work, capture, lambda _: find_subjects(work, entry)[0])
    recorded = _judged(work, recorder, lambda rule: find_declared(work, rule, entry))
    staging = next((x for x in rules.rules if isinstance(x, BoundsRule) and x.end == "stage"), None)
    beyond = _beyond(work, staging, entry)
    relaying = frozenset(x.id for x in rules.rules if isinstance(x, RelaysRule))
    findings = _by_class(report.findings, _classes_of)
    gaps = _by_class(report.gaps, lambda gap: gap.entries)
    about = find_about(work, served, declaration)
    parts = zip(
        served,
        about,
        work.run(FEATURES, served),
        find_overlaps(work, served),
        work.run(ENDS, served),
        strict=True,
    )
    return [
        Asked(
            about=seen,
            features=features,
            capture=tuple(captured[ref.name]),
            recorder=tuple(recorded[ref.name]),
            overlaps=overlaps,
            ends=ends,
            beyond=tuple(beyond[ref.name]),
            findings=tuple(findings[ref.name]),
            gaps=tuple(gaps[ref.name]),
            relaying=relaying,
            beyond_rule=staging.id if staging is not None else "",
            profile=work.profile,
        )
        for ref, seen, features, overlaps, ends in parts
    ]


def _judged(
    work: Work, rule: object, subjects_of: Callable[[CoversRule], tuple[Subject, ...]]
) -> dict[str, list[Judgement]]:
    """The judged methods by served class; each is presented alone, so that its reach is its own."""
    found: dict[str, list[Judgement]] = defaultdict(list)
    if not isinstance(rule, CoversRule):
        return found
    for item in work.run(JUDGED, subjects_of(rule), rule):
        judgement = Judgement(item, tuple(present_findings(rule, [item])))
        for name in item.subject.entries:
            found[name].append(judgement)
    return found


def _beyond(work: Work, rule: BoundsRule | None, entry: str | None) -> dict[str, list[Fault]]:
    """Where classes run layers of another pipeline stage, each with its own reach."""
    found: dict[str, list[Fault]] = defaultdict(list)
    if rule is None:
        return found
    subjects = find_layer_subjects(work, entry)
    for subject, item in zip(subjects, work.run(SPANNED, subjects, rule), strict=True):
        for name in subject.entries:
            found[name].extend(item.faults)
    return found


def _classes_of(finding: Finding) -> tuple[str, ...]:
    inside = (name for item in finding.receivers for name in item.entries)
    return tuple(dict.fromkeys((*finding.entries, *inside)))


def _by_class(
    items: Iterable[Item], names_of: Callable[[Item], tuple[str, ...]]
) -> dict[str, list[Item]]:
    found: dict[str, list[Item]] = defaultdict(list)
    for item in items:
        for name in names_of(item):
            found[name].append(item)
    return found


def _evidence(place: str) -> Evidence:
    file, _, line = place.rpartition(":")
    return Evidence(file, int(line), "captured here") if line.isdigit() else Evidence(place, 0, "")
