"""Many versions: rows and turns, and the first commit, on a small repository."""

import io
import json
from pathlib import Path

import jsonschema
import pytest
from click.testing import CliRunner, Result

from pathaudit.audit import audit
from pathaudit.cli import main
from pathaudit.errors import SourceError, UsageError
from pathaudit.history import Judge, Judged, bisect, tabulate, trace
from pathaudit.reporters import json as json_reporter
from pathaudit.results import Severity
from pathaudit.results.versions import Commit, History, State
from pathaudit.sources.commits import Commits
from tests import versions
from tests.labels import capture_rules
from tests.test_revision import commit, git
from tests.versions import Edit

RULE = "skipped-aux-capture"


def judged(*edits: Edit) -> Judged:
    tree = versions.tree_of(*edits)
    return Judged(tree, audit(tree, capture_rules()))


@pytest.mark.parametrize(
    ("edits", "expected"),
    [
        pytest.param((), State.BROKEN, id="broken"),
        pytest.param((versions.GUARD,), State.HOLDS, id="holds"),
        pytest.param((versions.UNKNOWN_RUNNER,), State.UNKNOWN, id="unknown"),
        pytest.param((versions.RENAMED_CLASS,), State.ABSENT, id="absent"),
        pytest.param(
            (versions.NO_SETTER, versions.copied("sglang/srt/models/z.py")),
            State.HOLDS,
            id="nothing is judged anywhere",
        ),
    ],
)
def test_state(edits: tuple[Edit, ...], expected: State) -> None:
    found = trace([judged(), judged(*edits)], RULE, "OverlappedModel", Severity.ERROR)
    assert found.moments[1].state is expected


def test_turns() -> None:
    items = [judged(versions.GUARD), judged(), judged(versions.LOWER), judged(versions.GUARD)]
    found = trace(items, RULE, "OverlappedForCausalLM", Severity.ERROR)
    assert [turn.change for turn in found.turns] == ["broke", "fixed"]
    assert found.turns[0].after.places == (f"{versions.MODEL}:49",)


def test_a_class_that_no_version_has() -> None:
    with pytest.raises(UsageError) as caught:
        trace([judged()], RULE, "OverlapedModel", Severity.ERROR)
    assert caught.value.hint == "did you mean 'OverlappedModel'?"


def test_rows() -> None:
    found = tabulate([judged(), judged(versions.GUARD)], Severity.ERROR)
    assert [(row.counts[0].failing, row.entries) for row in found.rows] == [(1, 1), (0, 1)]
    assert tabulate([judged()], Severity.ERROR).rows[0].counts[0].others == 0


# ---- bisection ---------------------------------------------------------------------------------


def commits(number: int) -> list[Commit]:
    return [Commit(id=str(x), date="2025-01-01", subject=f"commit {x}") for x in range(number)]


@pytest.mark.parametrize("number", [1, 2, 3, 7, 100, 1230])
def test_the_first_bad_commit_is_found_with_few_looks(number: int) -> None:
    for first in {0, 1, number // 2, number - 1} & set(range(number)):
        found = bisect(commits(number), State.BROKEN, broken_from(first))
        assert [item.id for item in found.first] == [str(first)]
        assert found.judged <= number.bit_length()


def broken_from(first: int) -> Judge:
    return lambda name: State.BROKEN if int(name) >= first else State.HOLDS


@pytest.mark.parametrize(
    ("unknown", "expected"),
    [
        pytest.param({3}, ["5"], id="elsewhere"),
        pytest.param({4}, ["4", "5"], id="just before"),
        pytest.param({4, 5, 6}, ["4", "5", "6", "7"], id="around"),
        pytest.param(set(range(9)), [str(x) for x in range(10)], id="all"),
    ],
)
def test_commits_that_cannot_be_judged_are_passed_over(
    unknown: set[int], expected: list[str]
) -> None:
    def judge(name: str) -> State | None:
        if int(name) in unknown:
            return None
        return State.BROKEN if int(name) >= 5 else State.HOLDS

    assert [x.id for x in bisect(commits(10), State.BROKEN, judge).first] == expected


# ---- a repository ------------------------------------------------------------------------------


def step(root: Path, *edits: Edit, tag: str = "") -> None:
    commit(
        root, {f"python/{name}": text for name, text in versions.files_of(*edits).items()}, tag=tag
    )


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("clone")
    git(root, "init", "--quiet", "--initial-branch", "main")
    step(root, versions.GUARD, tag="v0.5.9")
    for number in range(5):
        step(root, versions.GUARD, versions.replaced("The bug", f"Bug {number}"))
    step(root, versions.RENAMED_CALLEE)
    step(root, tag="v0.5.10")
    step(root, versions.LOWER, tag="nightly")
    return root


def run(*arguments: object) -> Result:
    words = ["history", *map(str, arguments)]
    return CliRunner(env={"COLUMNS": "80"}).invoke(main, words, prog_name="pathaudit")


def test_tags_are_in_the_order_of_versions(clone: Path) -> None:
    assert Commits(str(clone)).tags("v*") == ("v0.5.9", "v0.5.10")
    assert Commits(str(clone)).tags("v*", "v0.5.10") == ("v0.5.10",)
    assert Commits(str(clone)).tags("*", "main~1") == ("nightly", "v0.5.10")


@pytest.mark.parametrize(
    ("pattern", "since", "fault"),
    [
        ("w0.*", None, "no tag is named 'w0.*'"),
        ("v*", "--exec=x", "looks like an option"),
        ("v*", "v0.6", "no such revision"),
    ],
)
def test_tags_that_are_not_there(clone: Path, pattern: str, since: str | None, fault: str) -> None:
    with pytest.raises(SourceError) as caught:
        Commits(str(clone)).tags(pattern, since)
    assert fault in caught.value.message


def test_a_bisection_needs_one_line_of_history(clone: Path) -> None:
    with pytest.raises(SourceError, match="no part of the history"):
        Commits(str(clone)).between("v0.5.10", "v0.5.9")


def test_the_commit_that_broke_it(clone: Path) -> None:
    head, status = git(clone, "rev-parse", "HEAD"), git(clone, "status", "--porcelain")
    words = ("--repo", clone, "--rule", RULE, "--entry", "OverlappedModel", "--jobs", 1)
    output = run("git:v0.5.9", "git:v0.5.10", *words).output
    wanted = git(clone, "rev-parse", "v0.5.10~1").strip()
    assert "broke after 0.5.9, in 0.5.10" in output
    assert f"    {wanted[:12]} " in output
    assert (git(clone, "rev-parse", "HEAD"), git(clone, "status", "--porcelain")) == (head, status)


def test_a_table_of_tags(clone: Path) -> None:
    result = run("--tags", "v*", "--repo", clone, "--rule", RULE)
    assert result.exit_code == 0
    assert [line.split() for line in result.output.splitlines()[1:3]] == [
        ["0.5.9", "0", "1", "0"],
        ["0.5.10", "1", "1", "0"],
    ]


def test_json_is_what_the_schema_says(clone: Path) -> None:
    words = ("--tags", "v*", "--repo", clone, "--rule", RULE, "--entry", "OverlappedModel")
    answer = json.loads(run(*words, "--format", "json").output)
    jsonschema.validate(answer, json_reporter.schema(History))
    assert answer["trace"]["turns"][0]["bisection"]["commits"] == 7
    out = io.StringIO()
    json_reporter.render(tabulate([judged()], Severity.ERROR), out)
    jsonschema.validate(json.loads(out.getvalue()), json_reporter.schema(History))


def test_markdown(clone: Path) -> None:
    words = ("--tags", "v*", "--repo", clone, "--rule", RULE)
    output = run(*words, "--format", "markdown").output
    assert "| `0.5.10` | 1 | 1 | 0 |" in output


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        ((), "there is no version to follow"),
        (("--entry", "X", "."), "--entry needs one --rule"),
        (("--tags", "v*", "--repo", "/"), "is in no git repository"),
    ],
)
def test_mistakes(words: tuple[str, ...], fault: str) -> None:
    result = run(*words)
    assert result.exit_code == 2
    assert fault in result.output
