"""Rules and profiles are data; a fault in a file is one line with file, line and field."""

import re
import shutil
from pathlib import Path

import pytest

from pathaudit.errors import RuleError, UsageError
from pathaudit.results import Severity
from pathaudit.ruleset import load_ruleset, rules_directory, text_pattern

SHIPPED = rules_directory() / "sglang"
RULE = "skipped-aux-capture.yaml"
SHAPE = "mismatched-return.yaml"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the shipped rules that a test may spoil."""
    return Path(shutil.copytree(SHIPPED, tmp_path / "rules"))


def spoil(folder: Path, file: str, old: str, new: str) -> Path:
    path = folder / file
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    return path


def test_the_shipped_rules_load() -> None:
    rules = {rule.id: rule for rule in load_ruleset(SHIPPED).rules}
    files = {path.stem for path in SHIPPED.glob("*.yaml")}
    assert {*rules, "profile"} == files
    assert rules["skipped-aux-capture"].severity_of("forward") is Severity.ERROR
    assert rules["skipped-aux-capture"].severity_of("forward_split_prefill") is Severity.NOTE


@pytest.mark.parametrize(
    ("file", "old", "new", "field", "message"),
    [
        pytest.param(RULE, "kind: covers", "kind: cov", "kind", "Invalid value 'cov'", id="kind"),
        pytest.param(RULE, "severity: error", "severity: 3", "severity", "Expected", id="type"),
        pytest.param(RULE, "since:", "sinse:", "", "unknown field `sinse`", id="unknown-field"),
        pytest.param(RULE, "require: captures", "require: capture", "require", "", id="event"),
        pytest.param(RULE, "assume: [rows", "assume: [row", "assume", "'rows'", id="assumption"),
        pytest.param(
            RULE, "  forward_split_prefill: note", "  forward_split_prefil: note",
            "severity_by_entry", "'forward_split_prefill'", id="entry",
        ),
        pytest.param(SHAPE, "collects: cap", "collects: kap", "collects", "'kaptures'", id="shape"),
        pytest.param(
            SHAPE, "assume_armed: [capture", "assume_armed: [kapture", "assume_armed",
            "'kapture-requested'", id="armed",
        ),
        pytest.param(RULE, "id: skipped", "id: skiped", "id", "file's name", id="id"),
        pytest.param(RULE, "title: layers", "title: [layers", "", "not YAML", id="yaml"),
        pytest.param(
            "profile.yaml", "position: 1", "position: one", "stacks.constructors[0].position",
            "Expected `int`", id="profile",
        ),
    ],
)  # fmt: skip
def test_a_fault_is_one_line(
    folder: Path, file: str, old: str, new: str, field: str, message: str
) -> None:
    path = spoil(folder, file, old, new)
    with pytest.raises(RuleError) as caught:
        load_ruleset(folder)
    text = caught.value.message
    assert "\n" not in text
    assert text.startswith(f"{path}:")
    assert field in text
    assert message in text


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("severity: error", "severity: 3", id="top-level"),
        pytest.param("  forward_split_prefill: note", "  forward_split_prefill: loud", id="nested"),
    ],
)
def test_the_line_is_that_of_the_field(folder: Path, old: str, new: str) -> None:
    path = spoil(folder, RULE, old, new)
    line = path.read_text().splitlines().index(new) + 1
    with pytest.raises(RuleError, match=re.escape(f"{RULE}:{line}: ")):
        load_ruleset(folder)


def test_a_missing_profile_is_named(tmp_path: Path) -> None:
    with pytest.raises(RuleError, match=r"profile\.yaml: cannot be read"):
        load_ruleset(tmp_path)


def test_an_unknown_rule_gets_its_nearest_name() -> None:
    with pytest.raises(UsageError) as caught:
        load_ruleset(SHIPPED, only=("skiped-aux-capture",))
    assert caught.value.hint == "did you mean 'skipped-aux-capture'?"


@pytest.mark.parametrize(
    ("pattern", "text", "matches"),
    [
        pytest.param("$X.is_idle()", "batch.mode.is_idle()", True, id="any-owner"),
        pytest.param("$X.is_idle()", "is_idle()", False, id="needs-an-owner"),
        pytest.param("$X.shape[0]", "hidden.shape[0]", True, id="brackets"),
        pytest.param("$X.shape[0]", "hidden.shape[01]", False, id="literal"),
    ],
)
def test_patterns_over_text(pattern: str, text: str, matches: bool) -> None:
    assert bool(text_pattern(pattern).fullmatch(text)) is matches


def test_rules_name_no_model() -> None:
    """Rules state invariants and profiles framework facts: no model, file or line of a label."""
    text = "".join(path.read_text() for path in SHIPPED.glob("*.yaml")).lower()
    for name in ("deepseek", "qwen", "llama", "glm4", "kimi", "mimo", "minimax", "gemma"):
        assert name not in text
