"""The other rules on real releases: hand labels, and faults of public reports."""

from functools import cache

import pytest

from pathaudit.audit import audit
from pathaudit.results import Report, Severity
from pathaudit.sources import open_source
from tests.labels import shipped_rules
from tests.releases import release
from tests.releases.places import Regression, Score, counts, regressions, rows, score, stands_at

VERSIONS = ("0.5.6", "0.5.12", "0.5.23")
RULES = [rule.id for rule in shipped_rules().rules]

# Labelled faults that are not found.
MISSED: dict[tuple[str, str], tuple[str, ...]] = {}


@cache
def report(version: str) -> Report:
    return audit(open_source(str(release(version)), "sglang"), shipped_rules())


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("rule", RULES)
def test_labels(rule: str, version: str) -> None:
    found = score(report(version), rows(version), rule)
    assert found == Score(missed=MISSED.get((rule, version), ()))


SHIPPED = [item for item in regressions() if item["rule"] in RULES]


@pytest.mark.parametrize("fault", SHIPPED, ids=lambda fault: f"{fault['id']}-{fault['rule']}")
def test_a_public_fault_is_in_the_release_that_has_it_alone(fault: Regression) -> None:
    before, after = (
        [x for x in report(fault[side]["version"]).findings if x.rule == fault["rule"]]
        for side in ("before", "after")
    )
    there = [x for x in before if counts(x) and stands_at(x, fault["before"])]
    worst = min((list(Severity).index(x.severity) for x in there), default=0)
    faulty = {x.fingerprint for x in there if list(Severity).index(x.severity) == worst}
    assert faulty
    assert faulty.isdisjoint(x.fingerprint for x in after if counts(x))


@pytest.mark.parametrize("version", VERSIONS)
def test_the_errors_can_be_read(version: str) -> None:
    """Tens, not hundreds, and none that could not be decided."""
    assert report(version).summary.errors < 60
    assert report(version).summary.unknown == 0
