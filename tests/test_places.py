"""Where the files of a tree are for a reader of its report: below the root of a repository."""

import json
import shutil
import subprocess
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner, Result

from pathaudit.cli import main
from pathaudit.cli.places import locator
from pathaudit.errors import UsageError
from pathaudit.reporters.sarif_model import Log
from pathaudit.sources import SourceTree, from_text

ROOT = Path(__file__).parent.parent
EXAMPLE = ROOT / "examples" / "two_batch_overlap"
FILE = "sglang/srt/models/overlapped.py"


def run(*words: object) -> Result:
    return CliRunner().invoke(main, [str(word) for word in words])


def places(*words: object) -> set[str]:
    """The files of the results of a scan in SARIF."""
    text = run("scan", *words, "--format", "sarif").stdout
    (found,) = msgspec.json.decode(text, type=Log).runs
    return {x.locations[0].physical_location.artifact_location.uri for x in found.results}


@pytest.fixture
def fork(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with the layout of SGLang's; the current folder is another one."""
    shutil.copytree(EXAMPLE / "sglang", tmp_path / "fork" / "python" / "sglang")
    (tmp_path / "fork" / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path / "fork"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        pytest.param(["fork"], f"python/{FILE}", id="a checkout"),
        pytest.param(["fork/python/sglang"], f"python/{FILE}", id="the package in it"),
        pytest.param([f"fork/python/{FILE}"], f"python/{FILE}", id="a file of it"),
        pytest.param(["fork", "--source-root", "."], f"fork/python/{FILE}", id="a root above"),
        pytest.param(["fork", "--source-root", "fork/python"], FILE, id="a root below"),
    ],
)
def test_paths_of_a_checkout(fork: Path, words: list[str], expected: str) -> None:
    assert fork.is_dir()
    assert places(*words) == {expected}


def test_without_a_repository_it_is_the_current_folder(fork: Path) -> None:
    (fork / ".git").rmdir()
    assert places("fork") == {f"fork/python/{FILE}"}


def test_a_tree_that_is_not_below_keeps_its_paths(
    fork: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (fork / ".git").rmdir()
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    assert places(fork) == {FILE}


def test_paths_of_a_revision(fork: Path) -> None:
    (fork / ".git").rmdir()
    quiet = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
    for words in (["init", "-q"], ["add", "-A"], [*quiet, "commit", "-q", "-m", "one"]):
        subprocess.run(["git", *words], cwd=fork, check=True)
    assert places("git:HEAD", "--repo", fork) == {f"python/{FILE}"}


def test_files_that_are_laid_over_a_tree(fork: Path, tmp_path: Path) -> None:
    own = tmp_path / "ours" / "mine"
    own.mkdir(parents=True)
    (tmp_path / "ours" / ".git").mkdir()
    text = (EXAMPLE / FILE).read_text().replace("Overlapped", "Mine")
    (own / "mine.py").write_text(text)
    assert places(fork, "--with", own) == {f"python/{FILE}", "mine/mine.py"}


def test_every_format_for_others_tells_them(fork: Path) -> None:
    place = f"python/{FILE}"
    for form in ("sarif", "github", "junit", "markdown"):
        assert place in run("scan", fork, "--format", form).stdout
    file = json.loads(run("scan", fork, "--format", "json").stdout)["findings"][0]["file"]
    assert file == FILE


@pytest.mark.parametrize(
    ("root", "expected"),
    [
        pytest.param("nowhere", "--source-root nowhere: no such directory", id="no folder"),
        pytest.param("other", "fork is not below --source-root other", id="beside the tree"),
    ],
)
def test_a_root_that_is_none(fork: Path, root: str, expected: str) -> None:
    (fork.parent / "other").mkdir()
    result = run("scan", "fork", "--source-root", root)
    assert result.exit_code == 2
    assert f"pathaudit: error: {expected}\n" in result.stderr


def test_a_release_is_below_no_folder() -> None:
    tree: SourceTree = from_text({FILE: ""}, label="sglang==0.5.23")
    assert locator(tree, None)(FILE) == FILE
    with pytest.raises(UsageError, match="is not below --source-root"):
        locator(tree, str(ROOT))
