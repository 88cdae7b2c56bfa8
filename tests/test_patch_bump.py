"""``pathaudit bump`` tells what a new version takes from a patch that is kept beside the pins."""

import json
from importlib import import_module
from pathlib import Path

import pytest
from click.testing import CliRunner

from pathaudit.cli import main
from pathaudit.cli.options import Reach
from pathaudit.ruleset import Ruleset
from pathaudit.sources import SourceTree, open_source
from tests.test_revision import commit

EXAMPLE = Path(__file__).parent.parent / "examples" / "kept_patch"
VERSIONS = {"sglang==0.1.0": "old", "sglang==0.2.0": "new"}


def test_an_upgrade_that_breaks_a_patch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def open_tree(target: str, ruleset: Ruleset, _: Reach) -> SourceTree:
        return open_source(str(EXAMPLE / VERSIONS[target]), ruleset.profile.package)

    monkeypatch.setattr(import_module("pathaudit.cli.bump"), "open_tree", open_tree)
    monkeypatch.chdir(tmp_path)
    commit(tmp_path, {"requirements.txt": "sglang==0.1.0\n"})
    commit(tmp_path, {"requirements.txt": "sglang==0.2.0\n"})
    words = ["bump", "--base", "HEAD~1", "--format", "json", "--rule", "stale-patch"]
    book = ["--patches", str(EXAMPLE / "pathaudit-patches.json")]
    result = CliRunner().invoke(main, [*words, *book], catch_exceptions=False)
    assert result.exit_code == 1, result.output
    assert "no longer runs on every path of TappedForCausalLM.forward" in result.output
    assert json.loads(result.output)["schema"] == 1
