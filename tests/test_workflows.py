"""The example workflows: what starts them, what they may do, and that their steps are there."""

import re
import subprocess
import sysconfig
from collections.abc import Mapping
from pathlib import Path
from typing import cast

import pytest
import yaml

from tests.actions import ROOT, read_action
from tests.pins import PINNED

WORKFLOWS = sorted((ROOT / "examples/workflows").glob("*.yml"))
PERMISSIONS = {
    "scan.yml": {"contents": "read", "security-events": "write"},
    "bump.yml": {"contents": "read", "pull-requests": "write"},
}


def read(path: Path) -> Mapping[str, object]:
    # YAML 1.1 takes the key `on` for true.
    return {"on" if key is True else key: x for key, x in yaml.safe_load(path.read_text()).items()}


def job(path: Path) -> Mapping[str, object]:
    (found,) = cast("dict[str, dict[str, object]]", read(path)["jobs"]).values()
    return found


def steps(path: Path) -> list[dict[str, object]]:
    return cast("list[dict[str, object]]", job(path)["steps"])


def tool(*words: str) -> None:
    command = [str(Path(sysconfig.get_path("scripts")) / words[0]), *words[1:]]
    done = subprocess.run(command, text=True, capture_output=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_they_are_workflows() -> None:
    assert [path.name for path in WORKFLOWS] == sorted(PERMISSIONS)
    tool("check-jsonschema", "--builtin-schema", "vendor.github-workflows", *map(str, WORKFLOWS))
    tool("check-jsonschema", "--builtin-schema", "vendor.github-actions", "action.yml")


def test_nothing_in_them_is_dangerous() -> None:
    tool("zizmor", "--offline", "--no-progress", *map(str, WORKFLOWS))
    tool("zizmor", "--offline", "--no-progress", "action.yml")


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_they_may_do_no_more_than_they_need(path: Path) -> None:
    assert read(path)["permissions"] == {}
    assert job(path)["permissions"] == PERMISSIONS[path.name]
    started = cast("dict[str, object]", read(path)["on"])
    assert set(started) <= {"push", "pull_request"}


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_their_inputs_are_those_of_the_action(path: Path) -> None:
    checkout, ours = steps(path)
    assert str(checkout["uses"]).startswith("actions/checkout@")
    assert cast("dict[str, object]", checkout["with"])["persist-credentials"] is False
    given = cast("dict[str, str]", ours["with"])
    assert set(given) <= set(read_action().inputs)
    assert given["command"] == path.stem
    # A permission that nothing uses, or one that is missing.
    permissions = PERMISSIONS[path.name]
    assert ("security-events" in permissions) == (given.get("sarif") == "true")
    assert ("pull-requests" in permissions) == (given.get("comment") == "true")


def test_what_pins_starts_the_comparison() -> None:
    started = cast(
        "dict[str, dict[str, list[str]]]", read(ROOT / "examples/workflows/bump.yml")["on"]
    )
    patterns = [pattern(glob) for glob in started["pull_request"]["paths"]]
    missed = [name for name, expected in PINNED.items() if expected]
    missed = [name for name in missed if not any(x.fullmatch(name) for x in patterns)]
    assert missed == []
    assert not any(x.fullmatch("python/sglang/srt/utils.py") for x in patterns)


def pattern(glob: str) -> re.Pattern[str]:
    """A filter for paths, as GitHub documents it: two stars are anything, one no slash."""
    meant = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*"}
    parts = re.split(r"(\*\*/|\*\*|\*|\[[^]]+\])", glob)
    texts = (meant.get(x) or (x if x.startswith("[") else re.escape(x)) for x in parts)
    return re.compile("".join(texts))
