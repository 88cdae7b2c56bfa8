"""The command ``bump`` as its users see it: exit statuses, forms, mistakes."""

import json
from importlib import import_module
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner, Result

from pathaudit.cli import main
from pathaudit.cli.options import Reach
from pathaudit.errors import SourceError
from pathaudit.ruleset import Ruleset
from pathaudit.sources import SourceTree
from tests.test_revision import commit, git
from tests.versions import GUARD, NO_SETTER, tree_of

TREES = {
    "sglang==0.5.6": tree_of(GUARD),
    "sglang==0.5.8": tree_of(NO_SETTER),
    "sglang==0.5.9": tree_of(),
}


@pytest.fixture(autouse=True)
def _opened(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some releases can be had: a correct one, one without a setter, and one with a fault."""

    def open_tree(target: str, _: Ruleset, reach: Reach) -> SourceTree:
        if target not in TREES or reach.offline:
            raise SourceError(f"{target}: is not kept", "run it once without --offline")
        return msgspec.structs.replace(TREES[target], label=target)

    monkeypatch.setattr(import_module("pathaudit.cli.bump"), "open_tree", open_tree)


@pytest.fixture
def service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "service"
    commit(root, {"requirements.txt": "sglang==0.5.6"})
    monkeypatch.chdir(root)
    return root


def run(*words: str) -> Result:
    result = CliRunner().invoke(main, ["bump", *words], prog_name="pathaudit")
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result


STATUSES = [
    pytest.param("sglang==0.5.6", [], 0, id="nothing changed"),
    pytest.param("sglang==0.5.6", ["--strict", "--offline"], 0, id="nothing changed, strict"),
    pytest.param("sglang[all]==0.5.6", ["--offline"], 0, id="nothing to download"),
    pytest.param("sglang==0.5.9", [], 1, id="worse"),
    pytest.param("sglang==0.5.9", ["--quiet"], 1, id="worse, quiet"),
    pytest.param("sglang==0.5.9", ["--fail-on", "never"], 0, id="never fails"),
    pytest.param("sglang==0.5.9", ["--rule", "dropped-aux"], 0, id="another rule"),
    pytest.param("sglang==0.5.9", ["--offline"], 0, id="not to be had"),
    pytest.param("sglang==0.5.9", ["--offline", "--strict"], 1, id="not to be had, strict"),
    pytest.param("sglang==0.5.8", [], 0, id="a rule has nothing to look at"),
    pytest.param("sglang==0.5.8", ["--strict"], 1, id="a rule has nothing to look at, strict"),
    pytest.param("sglang==0.5.10", ["--strict", "--fail-on", "never"], 0, id="never, strict"),
    pytest.param("sglang @ git+https://x.example/sglang@main", [], 0, id="cannot be told"),
    pytest.param(
        "sglang @ git+https://x.example/sglang@main", ["--strict"], 1, id="cannot be told, strict"
    ),
    pytest.param("sglang==0.5.6\nsglang ??", [], 0, id="a line that is wrong"),
    pytest.param("sglang==0.5.6\nsglang ??", ["--strict"], 1, id="a line that is wrong, strict"),
    pytest.param("torch", [], 0, id="removed"),
]


@pytest.mark.parametrize(("text", "options", "expected"), STATUSES)
def test_exit_status(service: Path, text: str, options: list[str], expected: int) -> None:
    (service / "requirements.txt").write_text(text)
    result = run(*options)
    assert expected == result.exit_code, result.output
    assert bool(result.stdout) is ("--quiet" not in options)


def test_a_first_pin_is_scanned(service: Path) -> None:
    (service / "requirements.txt").write_text("torch")
    commit(service, {})
    (service / "requirements.txt").write_text("sglang==0.5.9")
    result = run()
    assert result.exit_code == 1
    assert "scanned alone: sglang was not pinned before" in result.stdout


@pytest.mark.parametrize("form", ["text", "json", "sarif", "github", "markdown"])
def test_each_form_is_the_same_each_time(service: Path, form: str) -> None:
    (service / "requirements.txt").write_text("sglang==0.5.9")
    first, second = (run("--format", form, "--output", str(service / name)) for name in "ab")
    assert (first.exit_code, second.exit_code, first.stdout) == (1, 1, "")
    texts = [(service / name).read_text() for name in "ab"]
    assert "skipped-aux-capture" in texts[0]
    if form != "text":  # which tells the time it took
        assert texts[0] == texts[1]


@pytest.mark.usefixtures("service")
def test_json_names_the_revisions() -> None:
    told = json.loads(run("--format", "json").stdout)
    assert (told["base"], told["head"], told["pins"], told["changes"]) == (
        "HEAD",
        "the work tree",
        1,
        [],
    )


MISTAKES = [
    pytest.param(["--base", "nope"], "nope: no such revision in", id="no revision"),
    pytest.param(["--head", "nope"], "nope: no such revision in", id="no head"),
    pytest.param(["--base", "--all"], "--all: looks like an option", id="an option"),
    pytest.param(["--repo", "/"], "/: is in no git repository", id="no repository"),
    pytest.param(["--repo", "bare"], "has no work tree", id="no work tree"),
    pytest.param(["--rule", "dropped-au"], "there is no rule 'dropped-au'", id="no rule"),
    pytest.param(["--output", "no/x"], "no/x: there is no folder no", id="no folder"),
]


@pytest.mark.parametrize(("options", "message"), MISTAKES)
def test_mistakes(service: Path, options: list[str], message: str) -> None:
    git(service, "clone", "-q", "--bare", str(service), str(service / "bare"))
    result = run(*options)
    first, hint = result.stderr.splitlines()
    assert (result.exit_code, result.stdout) == (2, "")
    assert first.startswith("pathaudit: error: ")
    assert message in first
    assert hint.startswith("hint: ")
