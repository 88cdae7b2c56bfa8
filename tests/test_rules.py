"""The shipped rules load, and each one finds in its labelled example what the labels say."""

from pathlib import Path

import pytest

from pathaudit.labels import Outcome, read_labels, try_example
from pathaudit.ruleset import PROFILE_FILE, ReliesRule, Rule, rules_directory
from tests.labels import shipped_rules

RULES = shipped_rules().rules
every_rule = pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)


def example(rule: Rule) -> Path:
    return rules_directory() / "sglang" / f"{rule.id}.py"


@every_rule
def test_the_labelled_example_gives_its_labels(rule: Rule) -> None:
    trial = try_example(shipped_rules(), rule)
    assert trial.outcome == Outcome()
    assert trial.passed


@every_rule
def test_the_example_shows_the_defect_and_its_absence(rule: Rule) -> None:
    labels = read_labels(example(rule).read_text())
    assert {"expect", "ok"} <= {label.kind for label in labels if label.rule == rule.id}


def test_every_file_is_a_rule_or_its_example() -> None:
    files = {path.name for path in (rules_directory() / "sglang").iterdir() if path.is_file()}
    named = {f"{rule.id}.{kind}" for rule in RULES for kind in ("yaml", "py")}
    named |= {f"{rule.id}.patches.json" for rule in RULES if isinstance(rule, ReliesRule)}
    assert files - {f"{rule.id}.fixed.py" for rule in RULES} == {PROFILE_FILE, *named}
