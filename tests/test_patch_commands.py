"""``pathaudit patch`` and ``--patches`` as users see them."""

import json
import shutil
from pathlib import Path

import jsonschema
import pytest
from click.testing import CliRunner, Result

from pathaudit.cli import main
from pathaudit.relies.book import book_text, read_book, with_patch, without_patch
from pathaudit.reporters import json as json_reporter
from pathaudit.results.patches import PatchesReport
from pathaudit.ruleset.patches import PatchBook
from tests.patches import noted
from tests.test_patches import OLD, TAP

ROOT = Path(__file__).parent.parent
EXAMPLE = ROOT / "examples" / "kept_patch"
GOLDEN = Path(__file__).parent / "golden"
BOOK = "pathaudit-patches.json"


def run(*arguments: object, given: bytes | None = None) -> Result:
    words = [str(argument) for argument in arguments]
    runner = CliRunner(env={"COLUMNS": "80", "NO_COLOR": "1"})
    return runner.invoke(main, words, prog_name="pathaudit", input=given, catch_exceptions=False)


@pytest.fixture
def example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the example that a test may change, as the current folder."""
    folder = Path(shutil.copytree(EXAMPLE, tmp_path / "example"))
    monkeypatch.chdir(folder)
    return folder


# ---- add --------------------------------------------------------------------------------------


def test_the_example_is_what_its_readme_says(example: Path) -> None:
    before = (example / BOOK).read_text()
    (example / BOOK).unlink()
    readme = (example / "README.md").read_text()
    (line,) = [x for x in readme.splitlines() if x.startswith("pathaudit patch add")]
    assert "--tree old" in line
    reason = "the capture for our EAGLE-3 draft"
    result = run("patch", "add", "tap.diff", "--tree", "old", "--reason", reason)
    assert result.exit_code == 0, result.output
    assert (example / BOOK).read_text() == before


def test_a_patch_of_the_same_name_is_noted_anew_with_its_reason(example: Path) -> None:
    before = (example / BOOK).read_text()
    assert run("patch", "add", "tap.diff", "--tree", "old").exit_code == 0
    assert (example / BOOK).read_text() == before


def test_add_reads_the_standard_input(example: Path) -> None:
    diff = (example / "tap.diff").read_bytes()
    result = run("patch", "add", "-", "--name", "piped", "--tree", "old", given=diff)
    assert result.exit_code == 0, result.output
    names = [item.name for item in read_book(BOOK).patches]
    assert names == ["piped", "tap"]


def test_add_takes_off_the_patch_of_a_tree_that_has_it(example: Path) -> None:
    run("patch", "remove", "tap")
    path = example / "old" / "sglang" / "srt" / "models" / "tapped.py"
    patched(path)
    assert run("patch", "add", "tap.diff", "--tree", "old").exit_code == 0
    assert read_book(BOOK).patches[0].patched
    assert run("patch", "check", "--tree", "old").exit_code == 0
    lost = run("patch", "check", "--tree", "new")
    assert "is lost in this tree" in lost.output
    assert lost.exit_code == 1


def patched(path: Path) -> None:
    """What ``git apply tap.diff`` does."""
    text = path.read_text()
    loop = "        for i in range(self.start_layer, self.end_layer):\n"
    lines = (
        "            if i in self.layers_to_capture:\n"
        "                count_capture(i, rows=hidden_states.shape[0])\n"
        "                aux_hidden_states.append(hidden_states + residual)\n"
    )
    text = text.replace(loop, loop + lines)
    path.write_text(text.replace("import make_layers", "import count_capture, make_layers"))


MISTAKES = [
    pytest.param(
        ["patch", "add", "no.diff", "--tree", "old"],
        "no.diff: no such file",
        "name a file that holds a diff",
        id="no diff",
    ),
    pytest.param(
        ["patch", "add", "tap.diff", "--tree", "broken"],
        "tap.diff:13: does not fit broken: sglang/srt/models/tapped.py: "
        "there is no line 'aux_hidden_states = []'",
        "name the tree that the patch was made for, with or without it",
        id="neither with it nor without it",
    ),
    pytest.param(
        ["patch", "add", "-", "--tree", "old"],
        "a patch from the standard input has no name",
        "give it one with --name",
        id="no name",
    ),
    pytest.param(
        ["patch", "add", "tap.diff", "--name", "a\nb", "--tree", "old"],
        "'a\\nb' is no name for a patch",
        "give it one with --name",
        id="a name that no line can show",
    ),
    pytest.param(
        ["patch", "check", "tapp", "--tree", "old"],
        f"{BOOK}: holds no patch 'tapp'",
        "did you mean 'tap'?",
        id="nearly a patch",
    ),
    pytest.param(
        ["patch", "list", "--patches", "none.json"],
        "none.json: cannot be read: No such file or directory",
        "write one with: pathaudit patch add FIX.diff",
        id="no file",
    ),
    pytest.param(
        ["patch", "check", "--patches", "tap.diff"],
        "tap.diff: is not JSON: JSON is malformed: invalid character (byte 0)",
        "write one with: pathaudit patch add FIX.diff",
        id="something else",
    ),
    pytest.param(
        ["patch", "list", "--patches", "wrong.json"],
        "wrong.json: is no file of patches: Expected `array`, got `int` - at `$.patches`",
        "write one with: pathaudit patch add FIX.diff",
        id="a wrong field",
    ),
    pytest.param(
        ["patch", "list", "--patches", "newer.json"],
        "newer.json: is of schema 2, not 1",
        "update pathaudit",
        id="of a newer pathaudit",
    ),
    pytest.param(
        ["scan", "old", "--rule", "stale-patch", "--patches", "empty.json"],
        "stale-patch: there are no patches to check",
        "note one with: pathaudit patch add FIX.diff",
        id="a rule without a patch",
    ),
]


@pytest.mark.parametrize(("arguments", "message", "hint"), MISTAKES)
def test_mistakes(arguments: list[str], message: str, hint: str, example: Path) -> None:
    shutil.copytree(example / "old", example / "broken")
    model = example / "broken" / "sglang" / "srt" / "models" / "tapped.py"
    model.write_text(model.read_text().replace("aux_hidden_states = []", "aux_hidden_states = 0"))
    (example / "wrong.json").write_text('{"patches": 1}')
    (example / "newer.json").write_text('{"schema": 2}')
    (example / "empty.json").write_text("{}")
    before = (example / BOOK).read_text()
    result = run(*arguments)
    assert result.exit_code == 2
    assert result.output == f"pathaudit: error: {message}\nhint: {hint}\n"
    assert (example / BOOK).read_text() == before


# ---- list, remove, schema ---------------------------------------------------------------------


def test_list_tells_what_is_kept(example: Path) -> None:
    del example
    assert run("patch", "list").output == (GOLDEN / "patch_list.txt").read_text()
    kept = json.loads(run("patch", "list", "--format", "json").output)
    assert [item["name"] for item in kept["patches"]] == ["tap"]


def test_remove_forgets_one(example: Path) -> None:
    result = run("patch", "remove", "tap")
    assert (result.exit_code, result.output) == (0, f"{BOOK}: tap is forgotten\n")
    assert json.loads((example / BOOK).read_text()) == {"schema": 1, "patches": []}


def test_the_schema_describes_the_file(example: Path) -> None:
    schema = json.loads(run("patch", "schema").output)
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(json.loads((example / BOOK).read_text()), schema)


def test_the_file_is_the_same_for_any_order() -> None:
    one, two = noted(OLD, TAP, name="one"), noted(OLD, TAP, name="two")
    assert book_text(PatchBook(patches=(two, one))) == book_text(PatchBook(patches=(one, two)))
    both = with_patch(with_patch(PatchBook(), two), one)
    assert without_patch(both, "two", "").patches == (one,)


def test_the_file_survives_reading_and_writing(example: Path) -> None:
    text = (example / BOOK).read_text()
    assert book_text(read_book(BOOK)) == text


# ---- check ------------------------------------------------------------------------------------


def test_json_has_its_schema(example: Path) -> None:
    del example
    result = run("patch", "check", "--tree", "new", "--format", "json")
    jsonschema.validate(json.loads(result.output), json_reporter.schema(PatchesReport))


STATUSES = [
    pytest.param(["--tree", "old"], 0, id="holds"),
    pytest.param(["--tree", "new"], 1, id="does not hold"),
    pytest.param(["--tree", "new", "--fail-on", "never"], 0, id="never fails"),
    pytest.param(["--tree", "old", "--strict"], 0, id="nothing is unknown"),
]


@pytest.mark.parametrize(("arguments", "expected"), STATUSES)
def test_exit_status(arguments: list[str], expected: int, example: Path) -> None:
    del example
    assert run("patch", "check", *arguments).exit_code == expected


def test_names_from_a_patch_reach_no_terminal_unescaped(example: Path) -> None:
    text = (example / BOOK).read_text()
    (example / BOOK).write_text(text.replace("count_capture", "count_\\u001b[31mcapture"))
    assert "\x1b" not in run("patch", "check", "--tree", "new").output
    assert "\x1b" not in run("scan", "new", "--rule", "stale-patch").output


# ---- scan and diff ----------------------------------------------------------------------------


def test_scan_checks_the_file_that_is_there(example: Path) -> None:
    found = run("scan", "new", "--format", "json")
    report = json.loads(found.output)
    assert {"stale-patch"} <= {item["rule"] for item in report["findings"]}
    (example / BOOK).rename(example / "elsewhere.json")
    without = json.loads(run("scan", "new", "--format", "json").output)
    assert "stale-patch" not in without["rules"]
    assert "stale-patch" not in without["inert"]
    named = json.loads(run("scan", "new", "--patches", "elsewhere.json", "--format", "json").output)
    assert named["findings"] == report["findings"]


def test_an_answer_that_is_kept_knows_its_patches(
    example: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATHAUDIT_CACHE_DIR", str(example / "cache"))
    arguments = ("scan", "new", "--rule", "stale-patch", "--format", "json")
    first = run(*arguments).output
    assert run(*arguments).output == first
    run("patch", "add", "tap.diff", "--tree", "old", "--name", "again")
    twice = json.loads(run(*arguments).output)["findings"]
    assert len(twice) == 2 * len(json.loads(first)["findings"])


def test_diff_tells_what_an_upgrade_breaks(example: Path) -> None:
    del example
    result = run("diff", "old", "new", "--rule", "stale-patch", "--format", "json")
    added = json.loads(result.output)["added"]
    assert {item["finding"]["rule"] for item in added} == {"stale-patch"}
    assert result.exit_code == 1
