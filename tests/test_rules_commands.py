"""``explain`` and ``rules``: what is said of rules, and rules of one's own.

``PATHAUDIT_UPDATE_GOLDEN=1 pytest tests/test_rules_commands.py`` writes the golden page anew.
"""

import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest
import yaml
from click.testing import CliRunner, Result
from msgspec.structs import replace

from pathaudit.cli import main
from pathaudit.cli.rule_page import rule_lines
from pathaudit.paths import machine
from pathaudit.remarks import REMARKS, Remark
from pathaudit.reporters.terminal import Page
from pathaudit.ruleset import PROFILE_FILE, rules_directory
from tests.labels import shipped_rules

RULE = "skipped-aux-capture"
SHIPPED = rules_directory() / "sglang"
GOLDEN = Path(__file__).parent / "golden" / "explain.txt"


def run(*arguments: object, columns: int = 80) -> Result:
    words = [str(argument) for argument in arguments]
    runner = CliRunner(env={"COLUMNS": str(columns)})
    return runner.invoke(main, words, prog_name="pathaudit", catch_exceptions=False)


def error(result: Result) -> tuple[int, str, list[str]]:
    return result.exit_code, result.stdout, result.stderr.splitlines()


# ---- explain ----------------------------------------------------------------------------------


def test_explain() -> None:
    result = run("explain", RULE)
    assert (result.exit_code, result.stderr) == (0, "")
    if os.environ.get("PATHAUDIT_UPDATE_GOLDEN"):
        GOLDEN.write_text(result.stdout, encoding="utf-8")
    assert GOLDEN.read_text(encoding="utf-8") == result.stdout


@pytest.mark.parametrize(("columns", "longest"), [(60, 60), (80, 80), (200, 80)])
def test_a_page_is_as_wide_as_the_terminal_and_at_most_80_columns(
    columns: int, longest: int
) -> None:
    lines = run("explain", RULE, columns=columns).stdout.splitlines()
    assert max(len(line) for line in lines) <= longest


def test_explain_names_the_nearest_rule() -> None:
    line, hint = "there is no rule 'skiped-aux-capture'", f"did you mean '{RULE}'?"
    expected = (2, "", [f"pathaudit: error: {line}", f"hint: {hint}"])
    assert error(run("explain", "skiped-aux-capture")) == expected


def page(directory: Path, source: str | None = None, **changes: str) -> list[str]:
    """The page of the shipped rule with some changes and another example."""
    if source is not None:
        (directory / f"{RULE}.py").write_text(source)
    rules = replace(shipped_rules(), directory=str(directory))
    rule = replace(next(rule for rule in rules.rules if rule.id == RULE), **changes)
    lines = rule_lines(rules, rule, Page({}, 80, verbose=True))
    return ["".join(text for _, text in line) for line in lines]


def example(lines: list[str]) -> list[str]:
    """The lines of the example, without those of what follows."""
    rest = lines[lines.index("Example") + 1 :]
    return rest[: rest.index("Use instead") - 1]


def function(length: int, label: int) -> str:
    """A function of so many lines with a label on one of them, within a class."""
    body = [f"        {n}" for n in range(2, length + 1)]
    body[label - 2] = f"        # expect: {RULE}"
    return "\n".join(["class A:", "    def f(self):", *body, "", "    def g(self): ...", ""])


LENGTHS = [
    pytest.param(40, 10, 40, [], id="all of it"),
    pytest.param(41, 10, 39, [38], id="the end left out"),
    pytest.param(41, 40, 39, [1], id="the start left out"),
    pytest.param(100, 50, 40, [1, 39], id="both left out"),
]


@pytest.mark.parametrize(("length", "label", "shown", "marks"), LENGTHS)
def test_the_example_is_the_function_around_the_label(
    length: int, label: int, shown: int, marks: list[int], tmp_path: Path
) -> None:
    lines = example(page(tmp_path, function(length, label)))
    assert lines[0] == "  def f(self):"
    assert f"      # expect: {RULE}" in lines
    assert [number for number, line in enumerate(lines) if line == "      ..."] == marks
    assert len(lines) == shown


def test_an_example_outside_functions_is_the_statement(tmp_path: Path) -> None:
    lines = example(page(tmp_path, f"1\n# expect: {RULE}\nf(\n    2\n)\n3\n"))
    assert lines == [f"  # expect: {RULE}", "  f(", "      2", "  )"]


@pytest.mark.parametrize("source", [None, "1\n", "# ok: skipped-aux-capture\n1\n"])
def test_without_a_fault_there_is_no_example(source: str | None, tmp_path: Path) -> None:
    assert "Example" not in page(tmp_path, source)


def test_control_characters_are_shown(tmp_path: Path) -> None:
    lines = page(tmp_path, f"# expect: {RULE}\n'\x1b[31m'\n", title="a\x1b[31mb", why="\x07")
    assert "\x1b" not in "".join(lines)
    assert lines[0] == f"{RULE}: a\\x1b[31mb"
    assert example(lines)[1] == "  '\\x1b[31m'"
    assert "  \\x07" in lines


@pytest.mark.parametrize("remark", REMARKS, ids=lambda remark: remark.id)
def test_a_remark_is_explained(remark: Remark) -> None:
    page = run("explain", remark.id).stdout
    assert page.startswith(f"{remark.id}: ")
    assert " ".join(remark.fix.split()) in " ".join(page.split())


# ---- rules list and schema --------------------------------------------------------------------


def test_the_list_has_every_rule() -> None:
    head, *rows = run("rules", "list").stdout.splitlines()
    assert head.split() == ["rule", "severity", "title"]
    words = " ".join(" ".join(rows).split())
    rules = shipped_rules().rules
    assert words == " ".join(f"{rule.id} {rule.severity} {rule.title}" for rule in rules)


def test_without_a_command_the_help_is_shown() -> None:
    assert "Commands:" in run("rules").stdout


FILES = [
    pytest.param("rule", f"{RULE}.yaml", id="rule"),
    pytest.param("profile", PROFILE_FILE, id="profile"),
]


@pytest.mark.parametrize(("kind", "name"), FILES)
def test_the_schema_describes_the_shipped_files(kind: str, name: str) -> None:
    schema = json.loads(run("rules", "schema", kind).stdout)
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    data = yaml.safe_load((SHIPPED / name).read_text())
    assert [problem.message for problem in validator.iter_errors(data)] == []
    assert not validator.is_valid({**data, "unknown": 1})
    assert not validator.is_valid({key: data[key] for key in list(data)[1:]})


def test_the_schema_is_that_of_rules_unless_said_otherwise() -> None:
    assert run("rules", "schema").stdout == run("rules", "schema", "rule").stdout


# ---- rules test -------------------------------------------------------------------------------


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    """A copy of the profile and one shipped rule that a test may change."""
    folder = tmp_path / "rules"
    folder.mkdir()
    for name in (PROFILE_FILE, f"{RULE}.yaml", f"{RULE}.py"):
        shutil.copy(SHIPPED / name, folder)
    return folder


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_the_shipped_rules_do_what_their_labels_say() -> None:
    result = run("rules", "test")
    lines = [f"ok      {rule.id}\n" for rule in shipped_rules().rules]
    assert (result.exit_code, result.stdout) == (0, "".join(lines))


def test_rules_of_ones_own(rules: Path) -> None:
    for kind in ("yaml", "py"):
        shutil.copy(rules / f"{RULE}.{kind}", rules / f"another.{kind}")
        edit(rules / f"another.{kind}", RULE, "another")
    result = run("rules", "test", rules)
    assert (result.exit_code, result.stdout) == (0, f"ok      another\nok      {RULE}\n")


def test_a_fault_has_the_severity_of_its_rule(rules: Path) -> None:
    edit(rules / f"{RULE}.yaml", "severity: error", "severity: warning")
    assert run("rules", "test", rules).exit_code == 0


def no_label(rules: Path) -> None:
    edit(rules / f"{RULE}.py", f"# expect: {RULE}", "#")


def the_wrong_label(rules: Path) -> None:
    edit(rules / f"{RULE}.py", f"# expect: {RULE}", f"# ok: {RULE}")


def too_much_expected(rules: Path) -> None:
    edit(
        rules / f"{RULE}.py",
        f"# ok: {RULE}\n        for layer",
        f"# expect: {RULE}\n        for layer",
    )


def an_untested_rule(rules: Path) -> None:
    shutil.copy(rules / f"{RULE}.yaml", rules / "another.yaml")
    edit(rules / "another.yaml", f"id: {RULE}", "id: another")


FOUND = r"line \d+: error, violated, reachable,\n? +when"
DIFFERENCES = [
    pytest.param(no_label, rf"without a label, found: {FOUND}", id="no label"),
    pytest.param(the_wrong_label, rf"labelled ok, found: {FOUND}", id="wrong label"),
    pytest.param(too_much_expected, r"expected, not found: line \d+: no finding\n", id="not found"),
    pytest.param(
        an_untested_rule, r"not tested: there is no another\.py with labels for it\n", id="untested"
    ),
]


@pytest.mark.parametrize(("change", "difference"), DIFFERENCES)
def test_a_difference_fails(change: Callable[[Path], None], difference: str, rules: Path) -> None:
    change(rules)
    result = run("rules", "test", rules)
    assert result.exit_code == 1
    assert re.search(rf"^FAILED  \S+\n        {difference}", result.stdout, re.MULTILINE)


def test_what_is_not_analysed_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "STEPS", 0)
    result = run("rules", "test")
    assert result.exit_code == 1
    assert "not analysed: line " in result.stdout


def no_rules(rules: Path) -> None:
    (rules / f"{RULE}.yaml").unlink()


def no_example(rules: Path) -> None:
    (rules / f"{RULE}.py").unlink()


def no_labels(rules: Path) -> None:
    path = rules / f"{RULE}.py"
    path.write_text(path.read_text().replace(RULE, "another-rule"))


def no_profile(rules: Path) -> None:
    (rules / PROFILE_FILE).unlink()


def broken_example(rules: Path) -> None:
    (rules / f"{RULE}.py").write_text("1\ndef (:\n")


def undecodable_example(rules: Path) -> None:
    (rules / f"{RULE}.py").write_bytes(b"# \xff\n")


def stray_label(rules: Path) -> None:
    (rules / f"{RULE}.py").write_text(f"# ok: {RULE}\n\n1\n")


def no_model(rules: Path) -> None:
    (rules / f"{RULE}.py").write_text(f"# ok: {RULE}\n1\n")


def broken_rule(rules: Path) -> None:
    edit(rules / f"{RULE}.yaml", "kind: covers", "kind: cover")


UNTESTED = "beside ID.yaml stands ID.py, with comments such as '# expect: ID'"
TWICE = f"rules/{RULE}.yaml: there is a rule '{RULE}' already: {SHIPPED / RULE}.yaml"
MISTAKES = [
    pytest.param(no_rules, "rules: nothing was tested: it holds no rules", UNTESTED, id="no rules"),
    pytest.param(
        no_example,
        "rules: nothing was tested: no rule has a labelled example",
        UNTESTED,
        id="no example",
    ),
    pytest.param(
        no_labels,
        "rules: nothing was tested: no rule has a labelled example",
        UNTESTED,
        id="no labels",
    ),
    pytest.param(no_profile, TWICE, "", id="the id of a shipped rule"),
    pytest.param(
        broken_example, f"rules/{RULE}.py:2: does not parse: invalid syntax", "", id="broken"
    ),
    pytest.param(
        undecodable_example,
        f"rules/{RULE}.py: cannot be read: 'utf-8' codec can't decode byte 0xff in position 2: "
        "invalid start byte",
        "",
        id="no text",
    ),
    pytest.param(
        stray_label,
        f"rules/{RULE}.py: line 1: '# ok: {RULE}' stands above no statement",
        "",
        id="a label above nothing",
    ),
    pytest.param(
        no_model,
        f"rules/{RULE}.py: no served model was found under sglang/srt/models/**/*.py",
        "is this a sglang source tree?",
        id="no model",
    ),
    pytest.param(
        broken_rule,
        f"rules/{RULE}.yaml:3: kind: Invalid value 'cover'",
        "a rule is described in the README under 'Rules'",
        id="a broken rule",
    ),
]


@pytest.mark.parametrize(("change", "message", "hint"), MISTAKES)
def test_a_mistake_is_one_line(
    change: Callable[[Path], None],
    message: str,
    hint: str,
    rules: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    change(rules)
    monkeypatch.chdir(rules.parent)
    lines = [f"pathaudit: error: {message}", *([f"hint: {hint}"] if hint else [])]
    assert error(run("rules", "test", "rules")) == (2, "", lines)
