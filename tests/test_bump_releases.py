"""``pathaudit bump`` on real releases: what an upgrade of SGLang breaks, and what it fixes."""

import json
from importlib import import_module
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from pathaudit.cli import main
from pathaudit.cli.options import Reach
from pathaudit.ruleset import Ruleset
from pathaudit.sources import SourceTree, open_source
from tests.releases import release
from tests.test_readme import README
from tests.test_revision import commit, git

GEMMA = "sglang/srt/models/gemma3_causal.py"
LOCK = '[[package]]\nname = "sglang"\nversion = "%s"\n'
PINS = {
    "requirements.txt": "torch\nsglang[all]==%s\n",
    "uv.lock": LOCK,
    "poetry.lock": LOCK,
    "pyproject.toml": '[tool.poetry.dependencies]\nsglang = "%s"\n',
    "Dockerfile": "ARG TAG=v%s-cu126\nFROM lmsysorg/sglang:${TAG}\n",
}


@pytest.fixture(autouse=True)
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Releases are opened from the folders of the tests; returns which ones were."""
    names: list[str] = []

    def open_tree(target: str, ruleset: Ruleset, _: Reach) -> SourceTree:
        names.append(target)
        tree = open_source(str(release(target.partition("==")[2])), ruleset.profile.package)
        return msgspec.structs.replace(tree, label=target)

    monkeypatch.setattr(import_module("pathaudit.cli.bump"), "open_tree", open_tree)
    return names


def repository(root: Path, file: str, old: str, new: str) -> Path:
    """A repository with a pin in two commits."""
    text = PINS[file].replace("%s", old)
    commit(root, {file: text})
    commit(root, {file: text.replace(old, new)})
    return root


def bump(root: Path, *options: str) -> tuple[int, str]:
    words = ["bump", "--base", "HEAD~1", "--head", "HEAD", "--repo", str(root), "--quiet"]
    output = root / ".git" / "report"
    run = CliRunner().invoke(main, [*words, "--output", str(output), *options])
    assert run.exception is None or isinstance(run.exception, SystemExit), run.exception
    return run.exit_code, output.read_text()


def test_a_capture_that_lost_its_residual(tmp_path: Path, opened: list[str]) -> None:
    rule = ("--rule", "capture-without-residual", "--format", "markdown")
    told = set()
    for file in PINS:
        root = repository(tmp_path / file, file, "0.5.16", "0.5.20")
        status, text = bump(root, *rule)
        assert status == 1
        assert text.startswith("<!-- pathaudit-bump -->\n### pathaudit: sglang `0.5.16` → `0.5.20`")
        assert f"`{file}:" in text
        assert len(text) < 65_536
        told.add(text.partition("#### ")[2])
    assert opened == ["sglang==0.5.16", "sglang==0.5.20"] * len(PINS)
    (text,) = told
    assert f"`0.5.16` `{GEMMA}:626` → `0.5.20` `{GEMMA}:643`" in text
    assert (
        "  626 643 >         aux_hidden_states.append(hidden_states)\n"
        "- 627     |     layer_outputs = layer(\n"
        "+     644 |     hidden_states, residual = layer(\n"
    ) in text


SECTION = README.read_text(encoding="utf-8").partition("\n## Check a change of dependencies\n")[2]


def test_the_readme_shows_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repository(tmp_path, "requirements.txt", "0.5.16", "0.5.20")
    monkeypatch.chdir(tmp_path)
    command, _, shown = SECTION.partition("```text\n$ ")[2].partition("\n```")[0].partition("\n")
    run = CliRunner(env={"COLUMNS": "80"}).invoke(main, command.split()[1:])
    rest = run.stdout
    for part in shown.split("\n...\n"):
        assert part.removesuffix("...").strip("\n") in rest
        rest = rest.partition(part)[2]


def test_the_commands_of_the_readme_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repository(tmp_path, "Dockerfile", "0.5.16", "0.5.16-cu129")
    git(tmp_path, "update-ref", "refs/remotes/origin/main", "HEAD~1")
    monkeypatch.chdir(tmp_path)
    lines = SECTION.partition("```sh\n")[2].partition("```")[0].splitlines()
    for line in lines:
        run = CliRunner().invoke(main, line.partition("#")[0].split()[1:])
        assert run.exit_code == 0, run.output
    assert (tmp_path / "comment.md").read_text().startswith("<!-- pathaudit-bump -->")
    assert len(lines) == 3


def test_a_setter_that_a_wrapper_lacked(tmp_path: Path) -> None:
    root = repository(tmp_path, "requirements.txt", "0.5.10", "0.5.11")
    status, text = bump(root, "--rule", "unforwarded-hook")
    assert status == 0
    assert "Qwen3VLForConditionalGeneration does not offer set_eagle3" in " ".join(text.split())
    status, text = bump(root, "--rule", "unforwarded-hook", "--format", "json")
    (comparison,) = json.loads(text)["comparisons"]
    fixed = [x["finding"]["symbol"] for x in comparison["diff"]["fixed"]]
    assert "Qwen3VLForConditionalGeneration" in fixed
    assert not comparison["fails"]
    assert status == 0


UNCHANGED = {
    "requirements.txt": (
        "sglang==0.5.16",
        "# why\nsglang[all]==0.5.16 --hash=sha256:aa ; os_name == 'posix'",
    ),
    "uv.lock": (LOCK % "0.5.16", LOCK % "0.5.16" + 'wheels = [{hash = "sha256:aa"}]\n'),
    "Dockerfile": ("FROM lmsysorg/sglang:v0.5.16", "FROM lmsysorg/sglang:v0.5.16-cu129"),
}


@pytest.mark.parametrize("file", UNCHANGED)
def test_the_same_version_needs_no_release(tmp_path: Path, opened: list[str], file: str) -> None:
    for text in UNCHANGED[file]:
        commit(tmp_path, {file: text})
    status, text = bump(tmp_path)
    assert (status, opened) == (0, [])
    assert "same version (0.5.16)" in " ".join(text.split())
    assert "No version changed" in text
