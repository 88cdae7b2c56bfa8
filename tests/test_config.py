"""Settings of a project: where they are found, what is wrong with them, and that they hold."""

import json
import os
import re
import shutil
import tomllib
from pathlib import Path

import click
import jsonschema
import pytest
from click.testing import CliRunner, Result

from pathaudit.cli import main
from pathaudit.config import KEYS, Settings, find_settings, load_settings, settled
from pathaudit.config.places import lines_of
from pathaudit.errors import ConfigError, UsageError
from pathaudit.ruleset import rules_directory
from tests.test_help import ALL

ROOT = Path(__file__).parent.parent
EXAMPLE = ROOT / "examples" / "two_batch_overlap"
SHIPPED = rules_directory() / "sglang"
README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a copy of the example, where commands are given."""
    shutil.copytree(EXAMPLE, tmp_path / "project" / "tree")
    monkeypatch.chdir(tmp_path / "project")
    monkeypatch.delenv("PATHAUDIT_SETTINGS", raising=False)
    return tmp_path / "project"


def write(path: str, text: str) -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(text, encoding="utf-8")


def settings(text: str, path: str = "pathaudit.toml") -> Settings:
    write(path, text)
    return load_settings(path).settings


def run(*arguments: object) -> Result:
    words = [str(argument) for argument in arguments]
    result = CliRunner().invoke(main, words, prog_name="pathaudit")
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


# ---- where they are ---------------------------------------------------------------------------

OWN = "strict = true\n"
SHARED = "[tool.pathaudit]\nstrict = true\n"


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        pytest.param({}, "", id="none"),
        pytest.param({"pathaudit.toml": OWN}, "pathaudit.toml", id="here"),
        pytest.param({"pyproject.toml": SHARED}, "pyproject.toml", id="here, shared"),
        pytest.param({"../pathaudit.toml": OWN}, "../pathaudit.toml", id="above"),
        pytest.param(
            {"pathaudit.toml": OWN, "pyproject.toml": SHARED}, "pathaudit.toml", id="its own first"
        ),
        pytest.param(
            {"pyproject.toml": SHARED, "../pathaudit.toml": OWN}, "pyproject.toml", id="the nearest"
        ),
        pytest.param(
            {"pyproject.toml": "[project]\n", "../pyproject.toml": SHARED},
            "../pyproject.toml",
            id="one without the table is passed by",
        ),
        pytest.param(
            {"pyproject.toml": "# pathaudit\n[tool.other]\n", "../pathaudit.toml": OWN},
            "../pathaudit.toml",
            id="one that only mentions it, too",
        ),
        pytest.param(
            {".git/HEAD": "", "../pathaudit.toml": OWN}, "../pathaudit.toml", id="past a repository"
        ),
        pytest.param(
            {"pyproject.toml": "[tool.pathaudit\n"}, "pyproject.toml", id="a damaged one is named"
        ),
        pytest.param(
            {"pathaudit.toml/x": "", "pyproject.toml": SHARED}, "pyproject.toml", id="folder"
        ),
    ],
)
def test_where_settings_are_found(files: dict[str, str], expected: str, project: Path) -> None:
    for path, text in files.items():
        write(path, text)
    found = find_settings()
    assert found.file == (os.path.normpath(project / expected) if expected else "")
    assert found.looked[0] == str(project)
    assert bool(expected) != (found.looked[-1] == "/")


# ---- what is in them --------------------------------------------------------------------------

EVERYTHING = """\
rules = { dropped-aux = "off", unforwarded-hook = "warning" }
select = ["dropped-aux", "unforwarded-hook"]
own-rules = ["ours"]
profile = "profile"
tree = "tree"
with = "models"
entries = ["OverlappedForCausalLM"]
exclude = ["legacy.py"]
baseline = "known.yaml"
patches = "patches.json"
fail-on = "note"
strict = true
format = "json"
jobs = 2
offline = true
"""


@pytest.mark.usefixtures("project")
def test_each_key_is_read() -> None:
    found = settings(EVERYTHING)
    assert {name for name in KEYS if f"\n{name} = " in f"\n{EVERYTHING}"} == set(KEYS)
    assert found == Settings(
        rules={"dropped-aux": "off", "unforwarded-hook": "warning"},
        select=("dropped-aux", "unforwarded-hook"),
        own_rules=("ours",),
        profile="profile",
        tree="tree",
        overlay="models",
        entries=("OverlappedForCausalLM",),
        exclude=("legacy.py",),
        baseline="known.yaml",
        patches="patches.json",
        fail_on="note",
        strict=True,
        format="json",
        jobs=2,
        offline=True,
    )


def test_the_schema_is_for_an_editor() -> None:
    validator = jsonschema.Draft202012Validator(
        json.loads(run("rules", "schema", "settings").output)
    )
    validator.validate(tomllib.loads(EVERYTHING))
    for wrong in ("strct = true", "jobs = 0", "rules.x = 'of'", "fail-on = 'nevr'"):
        assert not validator.is_valid(tomllib.loads(wrong)), wrong


def test_the_readme_has_a_row_for_each_key() -> None:
    section = README.partition("\n## Configuration\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `([-a-z]+)` \| `([^`]*)` \|", section, re.MULTILINE)
    assert [name for name, _ in rows] == list(KEYS)
    usual = {name: getattr(Settings(), field) for name, field in KEYS.items()}
    text = {True: "true", False: "false", None: "", (): "[]"}
    expected = {x: "{}" if y == {} else text.get(y, f'"{y}"') for x, y in usual.items()}
    assert dict(rows) == {name: value or "unset" for name, value in expected.items()}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param("tree", "../tree", id="a folder that is there"),
        pytest.param("./nowhere", "../nowhere", id="a path that is not"),
        pytest.param("sglang==0.5.9", "sglang==0.5.9", id="a release"),
        pytest.param("git:v0.5.9", "git:v0.5.9", id="a revision"),
        pytest.param("sglang", "sglang", id="the installed package"),
    ],
)
def test_paths_are_those_of_the_file(
    given: str, expected: str, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("pathaudit.toml", f'tree = "{given}"\nbaseline = "known.yaml"\nwith = "/models"\n')
    (project / "below").mkdir()
    monkeypatch.chdir("below")
    found = load_settings(str(project / "pathaudit.toml")).settings
    assert (found.tree, found.baseline) == (expected, "../known.yaml")
    assert found.overlay == "/models"


# ---- what is wrong with them ------------------------------------------------------------------

DESCRIBED = "the keys are described in the README under 'Configuration'"
FAULTS = [
    pytest.param("strct = true", 1, "there is no key 'strct'", "did you mean 'strict'?", id="key"),
    pytest.param("zzz = 1", 1, "there is no key 'zzz'", DESCRIBED, id="a key like no other"),
    pytest.param(
        "\n# here\nstrict = 'yes'", 3, "strict: Expected `bool`, got `str`", DESCRIBED, id="type"
    ),
    pytest.param(
        "select = 'dropped-aux'", 1, "select: Expected `array`, got `str`", DESCRIBED, id="no list"
    ),
    pytest.param(
        "select = [\n  'dropped-aux',\n  1,\n]",
        1,
        "select: Expected `str`, got `int`",
        DESCRIBED,
        id="no word",
    ),
    pytest.param("jobs = 0", 1, "jobs: Expected `int` >= 1", DESCRIBED, id="no processes"),
    pytest.param(
        "fail-on = 'warnings'",
        1,
        "fail-on: Invalid enum value 'warnings'",
        "did you mean 'warning'?",
        id="nearly a word",
    ),
    pytest.param(
        "[rules]\nx = 'off'\ndropped-aux = 'of'",
        3,
        "rules.dropped-aux: Invalid enum value 'of'",
        "did you mean 'off'?",
        id="a rule's severity",
    ),
    pytest.param(
        "[rules]\nx = true",
        2,
        "rules.x: Expected `str`, got `bool`",
        "one of off, error, warning, note",
        id="a rule is no switch",
    ),
    pytest.param(
        "rules = []", 1, "rules: Expected `object`, got `array`", DESCRIBED, id="no table"
    ),
    pytest.param("a = 1\nb = = 2", 2, "is not TOML: ", "", id="no TOML"),
    pytest.param("a = [1,", 1, "is not TOML: ", "", id="half a file"),
    pytest.param("x = 1\nx = 2", 2, "is not TOML: ", "", id="twice"),
]


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize("path", ["pathaudit.toml", "pyproject.toml"])
@pytest.mark.parametrize(("text", "line", "message", "hint"), FAULTS)
def test_a_fault_has_a_file_a_line_and_a_hint(
    text: str, line: int, message: str, hint: str, path: str
) -> None:
    if path == "pyproject.toml":
        text = '[project]\nname = """\n[tool.pathaudit]"""\n[tool.pathaudit]\n' + text.replace(
            "[rules]", "[tool.pathaudit.rules]"
        )
        line += 4
    with pytest.raises(ConfigError) as error:
        settings(text, path)
    assert error.value.message.startswith(f"{path}:{line}: {message}")
    assert error.value.hint == hint


@pytest.mark.parametrize(
    ("path", "data", "message"),
    [
        pytest.param("none.toml", None, "none.toml: cannot be read: No such file", id="missing"),
        pytest.param("tree", None, "tree: cannot be read: Is a directory", id="a folder"),
        pytest.param(
            "x.toml", b"\xff\xfe", "x.toml: is not UTF-8: invalid start byte", id="binary"
        ),
        pytest.param(
            "pyproject.toml", b"[tool]\n", r"has no table \[tool.pathaudit\]", id="no table"
        ),
        pytest.param(
            "pyproject.toml",
            b"tool.pathaudit = 1\n",
            r"has no table \[tool.pathaudit\]",
            id="a number",
        ),
        pytest.param(
            "x.toml", b"x = " + b"[" * 5000, "x.toml: is not TOML: it is nested", id="too deep"
        ),
    ],
)
@pytest.mark.usefixtures("project")
def test_a_file_that_cannot_be_used(path: str, data: bytes | None, message: str) -> None:
    if data is not None:
        Path(path).write_bytes(data)
    with pytest.raises(ConfigError, match=message):
        load_settings(path)


@pytest.mark.usefixtures("project")
def test_a_byte_order_mark_and_crlf_are_no_fault() -> None:
    Path("pathaudit.toml").write_bytes(b"\xef\xbb\xbfstrict = true\r\njobs = 2\r\n")
    kept = load_settings(find_settings().file)
    assert (kept.settings.strict, kept.line("jobs")) == (True, 2)


def test_a_key_stands_where_its_statement_begins() -> None:
    text = 'a = """\nb = 1"""\n\n# c\nb = [\n 1,\n]\n[t]\nc.d = 1\n"e f" = 2\n[t.g]\nh = 1\n'
    lines = {".".join(path): line for path, line in lines_of(text, ()).items()}
    places = "a 1, b 5, t 8, t.c 9, t.c.d 9, t.e f 10, t.g 11, t.g.h 12"
    assert lines == {x.rpartition(" ")[0]: int(x.rpartition(" ")[2]) for x in places.split(", ")}


# ---- rules ------------------------------------------------------------------------------------


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize(
    ("text", "chosen", "expected"),
    [
        pytest.param(
            "select = ['dropped-aux', 'lost-carry']", (), "dropped-aux lost-carry", id="few"
        ),
        pytest.param(
            "select = ['dropped-aux', 'lost-carry']\nrules = {lost-carry = 'off'}",
            (),
            "dropped-aux",
            id="of few, one is off",
        ),
        pytest.param(
            "select = ['dropped-aux']", ("lost-carry",), "lost-carry", id="another is chosen"
        ),
        pytest.param(
            "rules = {lost-carry = 'off'}", ("lost-carry",), "lost-carry", id="one that is off"
        ),
    ],
)
def test_which_rules_are_checked(text: str, chosen: tuple[str, ...], expected: str) -> None:
    write("pathaudit.toml", text)
    rules = settled(load_settings("pathaudit.toml"), SHIPPED, chosen=chosen)
    assert " ".join(rule.id for rule in rules.rules) == expected
    assert len(rules.known) > 20, "an id that is off is a rule all the same"


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        pytest.param(
            "\nselect = ['droped-aux']",
            "pathaudit.toml:2: select: there is no rule 'droped-aux'",
            "did you mean 'dropped-aux'?",
            id="selected",
        ),
        pytest.param(
            "[rules]\n\ndroped-aux = 'off'",
            "pathaudit.toml:3: rules: there is no rule 'droped-aux'",
            "did you mean 'dropped-aux'?",
            id="off",
        ),
        pytest.param(
            "[rules]\nunusd-allow = 'error'",
            "pathaudit.toml:2: rules: there is no rule 'unusd-allow'",
            "did you mean 'unused-allow'?",
            id="a remark",
        ),
        pytest.param(
            "select = ['dropped-aux']\nrules.dropped-aux = 'off'",
            "pathaudit.toml:2: rules: no rule is left to check",
            "switch one on",
            id="none left",
        ),
        pytest.param(
            "profile = 'tree'",
            "pathaudit.toml:1: profile: there is no profile.yaml in tree",
            "name a folder with a whole profile and its rules",
            id="no profile",
        ),
    ],
)
def test_a_rule_that_is_none(text: str, message: str, hint: str) -> None:
    write("pathaudit.toml", text)
    with pytest.raises(ConfigError) as error:
        settled(load_settings("pathaudit.toml"), SHIPPED)
    assert (error.value.message, error.value.hint) == (message, hint)


@pytest.mark.usefixtures("project")
def test_a_profile_brings_its_rules() -> None:
    Path("mine").mkdir()
    for name in ("profile.yaml", "dropped-aux.yaml"):
        shutil.copy(SHIPPED / name, "mine")
    write("pathaudit.toml", "profile = 'mine'")
    rules = settled(load_settings("pathaudit.toml"), SHIPPED)
    assert [rule.id for rule in rules.rules] == ["dropped-aux"]


# ---- commands ---------------------------------------------------------------------------------


def scanned(*arguments: object) -> tuple[int, str]:
    result = run("scan", *arguments)
    return result.exit_code, result.output.partition("\n")[0]


@pytest.mark.usefixtures("project")
def test_settings_hold_for_a_scan() -> None:
    write("pathaudit.toml", 'tree = "tree"\n[rules]\nskipped-aux-capture = "warning"\n')
    write("pathaudit.toml", Path("pathaudit.toml").read_text() + 'mismatched-return = "off"\n')
    status, first = scanned()
    assert (status, first[:28]) == (0, "warning[skipped-aux-capture]")
    assert scanned("--fail-on", "warning")[0] == 1
    assert scanned("--isolated", "tree") == (1, scanned("--isolated", "tree")[1])
    assert scanned("--isolated", "tree")[1].startswith("error[skipped-aux-capture]")
    assert scanned("--rule", "mismatched-return")[1].startswith("error[mismatched-return]")


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize(
    ("key", "arguments", "status"),
    [
        pytest.param("fail-on = 'never'", [], 0, id="never fails"),
        pytest.param("fail-on = 'never'", ["--fail-on", "error"], 1, id="fails all the same"),
        pytest.param("exclude = ['overlapped.py']", [], 0, id="excluded"),
        pytest.param("entries = ['OverlappedGuardedForCausalLM']", [], 0, id="a correct class"),
        pytest.param(
            "entries = ['OverlappedGuardedForCausalLM']",
            ["--entry", "OverlappedForCausalLM"],
            1,
            id="a faulty class is asked for",
        ),
        pytest.param("entries = ['NoneForCausalLM']", [], 2, id="no such class"),
        pytest.param("baseline = 'known.yaml'", [], 2, id="no such baseline"),
        pytest.param("baseline = 'known.yaml'", ["--baseline", ""], 1, id="no baseline"),
        pytest.param("with = 'nowhere'", [], 2, id="no such folder"),
        pytest.param("with = 'nowhere'", ["--with", ""], 1, id="no folder"),
        pytest.param("own-rules = ['nowhere']", [], 2, id="no rules"),
        pytest.param("own-rules = ['nowhere']", ["--rules", "empty"], 1, id="other rules"),
        pytest.param("format = 'github'", ["--format", "text"], 1, id="another form"),
        pytest.param("fail-on = 'nevr'", [], 2, id="a mistake"),
    ],
)
def test_the_command_line_wins(key: str, arguments: list[str], status: int) -> None:
    Path("empty").mkdir()
    write("pathaudit.toml", f"{key}\n")
    assert run("scan", "tree", *arguments).exit_code == status


def test_strict_is_taken_back(project: Path) -> None:
    with (project / "tree/sglang/srt/models/overlapped_guarded.py").open("a") as model:
        model.write("def (:\n")
    write("pathaudit.toml", "strict = true\nselect = ['lost-carry']\n")
    assert run("scan", "tree").exit_code == 1
    assert run("scan", "tree", "--no-strict").exit_code == 0


@pytest.mark.usefixtures("project")
def test_what_is_laid_over_a_tree_makes_its_files_part_of_it() -> None:
    write("pathaudit.toml", "tree = 'tree'\nwith = 'my_models'\n")
    shutil.copy("tree/sglang/srt/models/overlapped.py", "own.py")
    write("my_models/own.py", Path("own.py").read_text().replace("Overlapped", "Own"))
    found = run("scan", "own.py", "my_models/own.py")
    assert (found.exit_code, "with my_models as" in found.output) == (1, True)
    assert run("scan", "own.py").output.startswith("No file of a tree")
    assert run("scan", "tree/sglang/srt/models/overlapped_guarded.py").exit_code == 0


@pytest.mark.usefixtures("project")
def test_a_class_that_is_not_served_is_said_to_be_of_the_settings() -> None:
    write("pathaudit.toml", "entries = ['OverlapedForCausalLM']\n")
    line = "pathaudit: error: tree serves no class 'OverlapedForCausalLM'"
    hint = "hint: did you mean 'OverlappedForCausalLM'?\n"
    assert run("scan", "tree").stderr == f"{line}, which the settings name\n{hint}"
    assert run("scan", "tree", "--entry", "OverlapedForCausalLM").stderr == f"{line}\n{hint}"


@pytest.mark.usefixtures("project")
def test_the_summary_says_what_is_left_out() -> None:
    write("pathaudit.toml", "exclude = ['overlapped.py']\n")
    text = " ".join(run("scan", "tree").output.split())
    assert "left out by `exclude`: 2 findings, 1 entry, 0 gaps;" in text
    assert "No findings in tree" in text, "not every path holds where some are not told"
    report = json.loads(run("scan", "tree", "--format", "json").output)
    assert report["left_out"] == {"findings": 2, "entries": 1, "gaps": 0}
    compared = " ".join(run("diff", "tree", "tree").output.split())
    assert "left out by `exclude`: 2 findings, 1 entry, 0 gaps" in compared
    assert "exclude" in run("diff", "tree", "tree", "--format", "markdown").output


FORMS = ("text", "json", "sarif", "github", "junit", "markdown")


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize("form", FORMS)
def test_each_form_says_what_is_left_out(form: str) -> None:
    text = " ".join(run("scan", "tree", "--format", form).output.split())
    assert "exclude" not in text
    assert "eft_out" not in text or form == "json"
    write("pathaudit.toml", f"exclude = ['overlapped.py']\nformat = '{form}'\n")
    for command in (("scan", "tree"), ("diff", "tree", "tree")):
        text = " ".join(run(*command).output.split())
        data = re.search(r'"left_?[oO]ut": { "findings": 2, "entries": 1, "gaps": 0 }', text)
        assert data or "left out by `exclude`: 2 findings, 1 entry, 0 gaps" in text


@pytest.mark.usefixtures("project")
def test_excluded_files_keep_their_place_in_a_baseline() -> None:
    run("scan", "tree", "--write-baseline", "known.yaml")
    before = Path("known.yaml").read_text()
    write("pathaudit.toml", "exclude = ['overlapped.py']\nbaseline = 'known.yaml'\n")
    assert "No longer found" not in run("scan", "tree").output
    run("scan", "tree", "--write-baseline", "known.yaml")
    assert Path("known.yaml").read_text() == before
    write("pathaudit.toml", "exclude = ['other.py']\nbaseline = 'known.yaml'\n")
    assert run("scan", "tree").exit_code == 0, "and they are known again afterwards"


@pytest.mark.usefixtures("project")
def test_a_baseline_keeps_what_is_of_other_classes() -> None:
    run("scan", "tree", "--write-baseline", "known.yaml")
    before = Path("known.yaml").read_text()
    write("pathaudit.toml", "entries = ['OverlappedGuardedForCausalLM']\nbaseline = 'known.yaml'\n")
    assert "No longer found" not in run("scan", "tree").output
    run("scan", "tree", "--write-baseline", "known.yaml")
    assert Path("known.yaml").read_text() == before


@pytest.mark.usefixtures("project")
def test_other_settings_are_another_answer_for_the_cache() -> None:
    write(
        "pathaudit.toml", "rules.skipped-aux-capture = 'note'\nrules.mismatched-return = 'note'\n"
    )
    assert (run("scan", "tree").exit_code, run("scan", "tree").exit_code) == (0, 0)
    assert run("scan", "tree", "--isolated").exit_code == 1
    write("pathaudit.toml", "rules.skipped-aux-capture = 'error'\n")
    assert run("scan", "tree").exit_code == 1


@pytest.mark.usefixtures("project")
def test_settings_hold_for_a_diff_and_a_history() -> None:
    shutil.copytree("tree", "old")
    Path("old/sglang/srt/models/overlapped.py").unlink()
    write("pathaudit.toml", "fail-on = 'never'\nselect = ['skipped-aux-capture']\n")
    assert run("diff", "old", "tree").exit_code == 0
    assert run("diff", "old", "tree", "--fail-on", "error").exit_code == 1
    assert "mismatched-return" not in run("history", "old", "tree").output
    write("pathaudit.toml", "format = 'json'\n")
    for command in (("diff", "old", "tree"), ("history", "old", "tree")):
        assert json.loads(run(*command).output)["schema"] == 1
    write("pathaudit.toml", "format = 'sarif'\n")
    assert run("history", "old", "tree").output.startswith("version"), "a form that it has not"


@pytest.mark.usefixtures("project")
def test_graph_and_gates_read_the_tree_of_the_settings_and_keep_their_form() -> None:
    write("pathaudit.toml", "tree = 'tree'\nformat = 'json'\nselect = ['dropped-aux']\n")
    assert "BYPASS" in run("graph", "OverlappedForCausalLM").output
    assert "forward_batch.can_run_tbo" in run("gates", "forward_batch.can_run_tbo").output
    assert "code of tree" in run("live", "--command", "python -m sglang.launch_server").output


@pytest.mark.usefixtures("project")
def test_rules_are_explained_with_the_settings() -> None:
    shutil.copytree(ROOT / "examples/own_rule/rules", "ours")
    write("pathaudit.toml", "own-rules = ['ours']\n[rules]\nskipped-tap = 'note'\n")
    assert "severity: error; note by pathaudit.toml:3" in run("explain", "skipped-tap").output
    write("pathaudit.toml", "[rules]\nunused-allow = 'off'\n")
    assert "severity: note; off by pathaudit.toml:2" in run("explain", "unused-allow").output
    assert re.search(r"^dropped-aux +error", run("rules", "list").output, re.MULTILINE)
    write("pathaudit.toml", "own-rules = ['ours']\n[rules]\ndropped-aux = 'off'\n")
    listed = run("rules", "list").output
    assert re.search(r"^dropped-aux +off ", listed, re.MULTILINE)
    assert re.search(r"^skipped-tap +error ", listed, re.MULTILINE)
    assert "skipped-tap" not in run("rules", "list", "--isolated").output


SETTLED = [(x, y) for x, y in ALL if any(item.name == "kept" for item in y.params)]
WITHOUT = {"cache", "cache clear", "cache info", "completion", "patch", "patch schema", "rules"}
WITHOUT |= {"", "rules docs", "rules new", "rules schema", "rules test"}


def test_commands_that_read_trees_or_rules_have_settings() -> None:
    assert {name for name, _ in ALL} - {name for name, _ in SETTLED} == WITHOUT


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize(("name", "command"), SETTLED, ids=[name for name, _ in SETTLED])
def test_a_mistake_in_the_settings_stops_every_command(name: str, command: click.Command) -> None:
    write("pathaudit.toml", "strct = true\n")
    arguments = [x for x in command.params if isinstance(x, click.Argument) and x.required]
    result = run(*name.split(), *("x" for _ in arguments))
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("pathaudit: error: pathaudit.toml:1: there is no key 'strct'")


@pytest.mark.usefixtures("project")
def test_settings_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    write("pathaudit.toml", "fail-on = 'never'\n")
    write("ci/strict.toml", "fail-on = 'note'\n")
    assert run("scan", "tree").exit_code == 0
    assert run("scan", "tree", "--settings", "ci/strict.toml").exit_code == 1
    monkeypatch.setenv("PATHAUDIT_SETTINGS", "ci/strict.toml")
    assert run("scan", "tree").exit_code == 1
    assert run("scan", "tree", "--settings", "pathaudit.toml").exit_code == 0
    write("ci/strict.toml", "no")
    assert run("scan", "tree").exit_code == 2
    assert run("scan", "tree", "--isolated").exit_code == 1, "the command line wins"


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize("order", [1, -1])
def test_settings_cannot_be_named_and_refused(order: int) -> None:
    write("x.toml", "strict = true\n")
    words = ["--settings=x.toml", "--isolated"][::order]
    result = run("scan", "tree", *words)
    assert result.exit_code == 2
    assert result.stderr.startswith("pathaudit: error: --isolated takes no settings")


@pytest.mark.usefixtures("project")
def test_a_hostile_file_reaches_no_terminal_unescaped() -> None:
    Path("pathaudit.toml").write_bytes(b'"\\u001b[31m" = 1\n')
    errors = run("scan", "tree").stderr
    assert ("\x1b" in errors, "there is no key" in errors) == (False, True)
    Path("pathaudit.toml").write_bytes(b'exclude = ["\\u001b[31m\\u202e"]\n')
    assert not {"\x1b", "\u202e"} & set(run("config").output)


def test_help_needs_no_settings(project: Path) -> None:
    (project / "pathaudit.toml").write_text("no")
    assert run("scan", "--help").exit_code == 0


@pytest.mark.usefixtures("project")
def test_patches_are_found_beside_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    write("pathaudit.toml", "strict = true\n")
    Path("below").mkdir()
    monkeypatch.chdir("below")
    assert "pathaudit-patches.json" in run("patch", "list").stderr
    empty = '{"schema": 1, "patches": []}'
    write("../pathaudit-patches.json", empty)
    assert json.loads(run("patch", "list", "--format", "json").output)["file"].startswith("../")
    write("pathaudit-patches.json", empty)
    assert not json.loads(run("patch", "list", "--format", "json").output)["file"].startswith("../")
    write("../pathaudit.toml", "patches = 'mine.json'\n")
    assert "../mine.json" in run("patch", "list").stderr


# ---- pathaudit config -------------------------------------------------------------------------


def rows(output: str) -> dict[str, tuple[str, str]]:
    """Origins and values by key."""
    found = re.findall(r"^([\w.-]+)  +(\S.*?)  +(\S.*)$", output, re.MULTILINE)
    return {key: (origin, value) for key, origin, value in found}


@pytest.mark.usefixtures("project")
def test_config_says_what_holds_and_why() -> None:
    write(
        "pyproject.toml",
        "[tool.pathaudit]\nfail-on = 'warning'\nexclude = [\n  'a.py',\n  'b.py',\n]\n"
        "rules.dropped-aux = 'off'\nstrict = true\n",
    )
    result = run("config", "--no-strict", "--rules", "tree", "--verbose")
    found = rows(result.output)
    assert result.output.startswith("Settings from pyproject.toml\n")
    assert found["fail-on"] == ("pyproject.toml:2", "warning")
    assert found["exclude"] == ("pyproject.toml:3", "a.py, b.py")
    assert found["rules.dropped-aux"] == ("pyproject.toml:7", "off")
    assert found["strict"] == ("command line", "false")
    assert found["own-rules"] == ("command line", "tree")
    assert found["jobs"] == ("default", "as many as there are processors")
    assert found["PATHAUDIT_CACHE_DIR"][0] == "environment"
    assert re.search(r"Checks (\d+) of \d+ rules, all but dropped-aux", result.output)
    assert {key.partition(".")[0] for key in found if key in KEYS or "." in key} == set(KEYS)


@pytest.mark.usefixtures("project")
def test_config_says_where_it_looked(project: Path) -> None:
    output = run("config").output
    assert output.startswith("No settings file. Looked for pathaudit.toml, then pyproject.toml")
    assert f"\n  {project}\n  {project.parent}\n" in output
    assert run("config", "--isolated").output.startswith("No settings file, as --isolated says\n")


@pytest.mark.usefixtures("project")
def test_config_says_why_it_is_that_file(monkeypatch: pytest.MonkeyPatch) -> None:
    write("pathaudit.toml", "jobs = 3\n")
    write("other.toml", "jobs = 4\n")
    named = run("config", "--settings", "other.toml").output
    assert named.startswith("Settings from other.toml, as --settings says\n")
    monkeypatch.setenv("PATHAUDIT_SETTINGS", "other.toml")
    first = run("config").output.splitlines()[0]
    assert first == "Settings from other.toml, as PATHAUDIT_SETTINGS says"


@pytest.mark.usefixtures("project")
def test_config_as_json() -> None:
    write("pathaudit.toml", "jobs = 3\nformat = 'json'\n")
    assert run("config").output.startswith("Settings from"), "its own form is another one"
    document = json.loads(run("config", "--format", "json").output)
    expected = {
        "key": "jobs",
        "values": ["3"],
        "origin": "file",
        "file": "pathaudit.toml",
        "line": 1,
    }
    assert expected in document["keys"]
    assert list(document)[:4] == ["schema", "file", "origin", "looked"]
    assert (document["origin"], document["looked"]) == ("found", [])
    assert "dropped-aux" in document["checked"]


@pytest.mark.usefixtures("project")
def test_config_checks_what_is_there() -> None:
    write("pathaudit.toml", "select = ['dropd-aux']\n")
    result = run("config")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "pathaudit.toml:1: select: there is no rule 'dropd-aux'" in result.stderr


@pytest.mark.usefixtures("project")
def test_an_unknown_rule_on_the_command_line_is_no_fault_of_the_file() -> None:
    write("pathaudit.toml", "select = ['dropped-aux']\n")
    with pytest.raises(UsageError, match=r"^there is no rule 'x'$"):
        settled(load_settings("pathaudit.toml"), SHIPPED, chosen=("x",))
