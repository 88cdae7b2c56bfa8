"""Pins of two states: which changed, what they stand for, and what is to be audited for that."""

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from pathaudit.bump import PinComparison, Sought, compare_pins
from pathaudit.cli import main
from pathaudit.errors import SourceError
from pathaudit.reporters.bumps import change_text, pin_place, remarks_of
from pathaudit.sources.repository import files_at, files_of_texts, files_of_work_tree
from tests.test_revision import commit, git
from tests.versions import GUARD, files_of

SGLANG = Sought("sglang", ("github.com/sgl-project/sglang",), ("lmsysorg/sglang",))
OFFICIAL = "https://github.com/sgl-project/sglang.git"
LOCK = '[[package]]\nname = "sglang"\nversion = "%s"\n'
LOOSE = '[project]\ndependencies = ["sglang>=0.5"]\n'

Files = dict[str, str]


def never(specifier: str) -> str:
    raise AssertionError(f"the index was asked for {specifier}")


def today(specifier: str) -> str:
    """An index of which the newest release is 0.5.23."""
    if "0.9" in specifier:
        raise SourceError(f"sglang{specifier}: the package index has no wheel of such a version")
    return "0.5.23"


def compared(old: Files, new: Files, newest: Callable[[str], str] = never) -> PinComparison:
    return compare_pins(files_of_texts(old), files_of_texts(new), SGLANG, newest)


def told(found: PinComparison) -> list[str]:
    """The changes, each in one line."""
    lines = []
    for item in found.changes:
        shown = item.new or item.old
        assert shown is not None
        lines.append(f"{pin_place(shown.pin)} {item.change} {change_text(item)}")
    return lines


def audits(found: PinComparison) -> list[str]:
    """What is audited, and what cannot be."""
    lines = [f"{x.old.tree} -> {x.new.tree} ({len(x.pins)})" for x in found.couples]
    lines += [f"{x.target.tree}: {x.reason}" for x in found.alone]
    return lines + [f"missing: {x.reason}" for x in found.missing]


def requirement(text: str) -> Files:
    return {"requirements.txt": text}


CHANGES = [
    pytest.param("sglang==0.5.6", "sglang==0.5.6", [], [], id="nothing"),
    pytest.param("sglang==0.5.6", "torch\n\nsglang==0.5.6", [], [], id="another line"),
    pytest.param(
        "sglang==0.5.16",
        "sglang==0.5.20",
        ["requirements.txt:1 upgraded 0.5.16 -> 0.5.20"],
        ["sglang==0.5.16 -> sglang==0.5.20 (1)"],
        id="an upgrade",
    ),
    pytest.param(
        "sglang==0.5.20",
        "sglang==0.5.9",
        ["requirements.txt:1 downgraded 0.5.20 -> 0.5.9"],
        ["sglang==0.5.20 -> sglang==0.5.9 (1)"],
        id="a downgrade",
    ),
    pytest.param(
        "sglang==0.5.6",
        "sglang[all] == 0.5.6 ; python_version > '3'  # why",
        ["requirements.txt:1 same version (0.5.6); other extras, marker"],
        [],
        id="extras and markers",
    ),
    pytest.param(
        "sglang==0.5.6 --hash=sha256:aa",
        "sglang==0.5.6 --hash=sha256:bb --hash=sha256:cc",
        ["requirements.txt:1 same version (0.5.6); other hashes"],
        [],
        id="hashes",
    ),
    pytest.param(
        "sglang==0.5.6",
        "SGLang  ==0.5.6",
        ["requirements.txt:1 same version (0.5.6); other text"],
        [],
        id="spelling",
    ),
    pytest.param(
        "sglang==0.5.6",
        "sglang==0.5.6.0",
        ["requirements.txt:1 same version (0.5.6.0); other specifier, version"],
        [],
        id="the same version in other words",
    ),
    pytest.param(
        "sglang==0.5.6",
        f"sglang @ git+{OFFICIAL}@v0.5.6",
        ["requirements.txt:1 same version (0.5.6); other source, specifier, address, revision"],
        [],
        id="the tag of the same release",
    ),
    pytest.param(
        "torch",
        "sglang==0.5.6",
        ["requirements.txt:1 added 0.5.6"],
        ["sglang==0.5.6: sglang was not pinned before"],
        id="added",
    ),
    pytest.param("sglang==0.5.6", "torch", ["requirements.txt:1 removed 0.5.6"], [], id="removed"),
]


@pytest.mark.parametrize(("old", "new", "changes", "audited"), CHANGES)
def test_changes(old: str, new: str, changes: list[str], audited: list[str]) -> None:
    found = compared(requirement(old), requirement(new))
    assert (told(found), audits(found)) == (changes, audited)
    assert (found.disagreements, found.gaps) == ((), ())


def test_each_pair_of_versions_is_compared_once() -> None:
    def files(version: str) -> Files:
        return {
            "requirements.txt": f"sglang=={version}",
            "uv.lock": LOCK % version,
            "Dockerfile": f"FROM lmsysorg/sglang:v{version}-cu126",
        }

    found = compared(files("0.5.16"), files("0.5.20"))
    assert told(found) == [
        "Dockerfile:1 (FROM) upgraded 0.5.16 -> 0.5.20",
        "requirements.txt:1 upgraded 0.5.16 -> 0.5.20",
        "uv.lock:3 (package) upgraded 0.5.16 -> 0.5.20",
    ]
    assert audits(found) == ["sglang==0.5.16 -> sglang==0.5.20 (3)"]


# ---- versions that are not written --------------------------------------------------------------


def test_a_range_resolves_to_the_newest_today() -> None:
    found = compared(requirement("sglang==0.5.16"), requirement("sglang>=0.5.16"), today)
    assert told(found) == ["requirements.txt:1 upgraded 0.5.16 -> 0.5.23"]
    assert remarks_of(found.changes[0]) == ["is: sglang>=0.5.16 resolves to 0.5.23 today"]
    assert audits(found) == ["sglang==0.5.16 -> sglang==0.5.23 (1)"]


def test_two_ranges_may_stand_for_one_version() -> None:
    found = compared(requirement("sglang>=0.5.9"), requirement("sglang>=0.5.16"), today)
    assert told(found) == ["requirements.txt:1 same version (0.5.23); other specifier"]
    assert audits(found) == []


def test_a_range_of_which_nothing_is_published() -> None:
    found = compared(requirement("sglang==0.5.6"), requirement("sglang>=0.9"), today)
    assert audits(found) == [
        "missing: sglang>=0.9: the package index has no wheel of such a version"
    ]


SETTLED = [
    pytest.param(
        {"pyproject.toml": LOOSE, "uv.lock": LOCK % "0.5.16"},
        {"pyproject.toml": LOOSE.replace("0.5", "0.5.2"), "uv.lock": LOCK % "0.5.16"},
        ["pyproject.toml:2 (project.dependencies) same version (0.5.16); other specifier"],
        id="a lock file beside it",
    ),
    pytest.param(
        {"a/pyproject.toml": LOOSE, "uv.lock": LOCK % "0.5.16"},
        {"a/pyproject.toml": LOOSE.replace("0.5", "0.5.2"), "uv.lock": LOCK % "0.5.16"},
        ["a/pyproject.toml:2 (project.dependencies) same version (0.5.16); other specifier"],
        id="the lock file of a workspace",
    ),
    pytest.param(
        {"requirements.in": "sglang>=0.5", "requirements.txt": "sglang==0.5.16"},
        {"requirements.in": "sglang", "requirements.txt": "sglang==0.5.16"},
        ["requirements.in:1 same version (0.5.16); other specifier"],
        id="what was compiled from it",
    ),
    pytest.param(
        {"requirements.txt": "sglang", "ci/constraints.txt": "sglang==0.5.16"},
        {"requirements.txt": "sglang>=0.5", "ci/constraints.txt": "sglang==0.5.16"},
        ["requirements.txt:1 same version (0.5.16); other specifier"],
        id="a constraint",
    ),
]


@pytest.mark.parametrize(("old", "new", "changes"), SETTLED)
def test_an_exact_pin_settles_a_loose_one(old: Files, new: Files, changes: list[str]) -> None:
    found = compared(old, new)
    assert (told(found), audits(found)) == (changes, [])


def test_a_lock_comes_before_a_constraint() -> None:
    files = {"uv.lock": LOCK % "0.5.16", "constraints.txt": "sglang==0.5.9"}
    found = compared(
        files | {"pyproject.toml": LOOSE}, files | {"pyproject.toml": LOOSE.replace("0.5", "0.4")}
    )
    assert [aim.version for x in found.changes if (aim := x.new)] == ["0.5.16"]


def test_a_lock_settles_no_requirements_file() -> None:
    lock = {"uv.lock": LOCK % "0.5.16"}
    found = compared(lock | requirement("sglang>=0.5"), lock | requirement("sglang>=0.4"), today)
    assert [aim.version for x in found.changes if (aim := x.new)] == ["0.5.23"]


def test_pins_in_another_order_are_the_same() -> None:
    found = compared(requirement("sglang==1\nsglang==2"), requirement("sglang==2\nsglang==1"))
    assert told(found) == []


def test_a_lock_of_another_project_settles_nothing() -> None:
    lock = {"b/uv.lock": LOCK % "0.5.16"}
    old, new = {"a/pyproject.toml": LOOSE} | lock, {"a/pyproject.toml": LOOSE[:-3] + '0.1"]'} | lock
    assert [aim.version for x in compared(old, new, today).changes if (aim := x.new)] == ["0.5.23"]


UNKNOWN = [
    pytest.param("FROM lmsysorg/sglang:latest", "is whatever the newest image is", id="latest"),
    pytest.param("FROM corp/sglang:v0.5.9", "not published with the releases", id="a copy"),
    pytest.param("FROM lmsysorg/sglang:dev", "names no version", id="a tag without version"),
    pytest.param("FROM lmsysorg/sglang:$TAG", "an argument has no default", id="an argument"),
    pytest.param("RUN pip install git+" + OFFICIAL, "its newest commit is", id="no revision"),
    pytest.param(
        f"RUN pip install git+{OFFICIAL}@main", "nothing is fetched by git", id="a branch"
    ),
    pytest.param(
        "RUN pip install sglang@https://x.example/sglang.zip", "is not looked at", id="an address"
    ),
]


@pytest.mark.parametrize(("text", "reason"), UNKNOWN)
def test_what_cannot_be_told_is_said(text: str, reason: str) -> None:
    known = {"Dockerfile": "FROM lmsysorg/sglang:v0.5.6"}
    after = compared(known, {"Dockerfile": text})
    (missing,) = audits(after)
    assert missing.startswith("missing: ")
    assert reason in missing
    before = compared({"Dockerfile": text}, known)
    alone, missing = audits(before)
    assert alone.startswith("sglang==0.5.6: what was pinned before cannot be told: ")
    assert reason in alone
    assert missing.startswith("missing: what was pinned before cannot be told: ")
    assert not before.alone[0].first


# ---- other places -------------------------------------------------------------------------------


def test_a_new_place_is_compared_with_what_was_pinned_elsewhere() -> None:
    old = requirement("sglang==0.5.16")
    found = compared(old, {"pyproject.toml": LOOSE.replace(">=0.5", "==0.5.20")})
    assert told(found) == [
        "pyproject.toml:2 (project.dependencies) added 0.5.20",
        "requirements.txt:1 removed 0.5.16",
    ]
    assert audits(found) == ["sglang==0.5.16 -> sglang==0.5.20 (1)"]


def test_a_new_place_with_a_version_that_was_pinned_brings_nothing() -> None:
    old = requirement("sglang==0.5.16")
    found = compared(old, old | {"Dockerfile": "FROM lmsysorg/sglang:v0.5.16"})
    assert told(found) == ["Dockerfile:1 (FROM) added 0.5.16"]
    assert audits(found) == []


def test_a_new_place_where_several_versions_were_pinned() -> None:
    old = {"a/requirements.txt": "sglang==0.5.6", "b/requirements.txt": "sglang==0.5.9"}
    found = compared(old, old | {"c/requirements.txt": "sglang==0.5.20"})
    assert audits(found) == [
        "sglang==0.5.20: several versions were pinned before: sglang==0.5.6, sglang==0.5.9"
    ]


ODD = [
    pytest.param(
        {"requirements.txt": "sglang==0.5.6", "Dockerfile": "FROM lmsysorg/sglang:v0.5.9"},
        ["Dockerfile", "requirements.txt"],
        id="two versions",
    ),
    pytest.param(
        {"requirements.txt": "sglang>=0.5.9", "Dockerfile": "FROM lmsysorg/sglang:v0.5.6"},
        ["Dockerfile", "requirements.txt"],
        id="a range without the version",
    ),
    pytest.param(
        {"requirements.txt": "sglang>=0.5", "Dockerfile": "FROM lmsysorg/sglang:v0.5.6"},
        [],
        id="a range with the version",
    ),
    pytest.param(
        {"requirements.txt": "sglang==0.5.6;os_name=='a'\nsglang==0.5.9;os_name=='b'"},
        [],
        id="two environments",
    ),
    pytest.param(
        {"requirements.txt": "sglang==0.5.6", "Dockerfile": "FROM lmsysorg/sglang:latest"},
        [],
        id="what may be any version",
    ),
]


@pytest.mark.parametrize(("files", "expected"), ODD)
def test_pins_that_disagree_are_named(files: Files, expected: list[str]) -> None:
    found = compared({}, files, today)
    assert [pin.file for item in found.disagreements for pin in item.pins] == expected
    assert {item.when for item in found.disagreements} <= {"after"}
    again = compared(files, {}, today)
    assert [pin.file for item in again.disagreements for pin in item.pins] == expected
    assert {item.when for item in again.disagreements} <= {"before"}
    assert [item.when for item in compared(files, files).disagreements] == [
        "before and after" for _ in found.disagreements
    ]


# ---- repositories -------------------------------------------------------------------------------


@pytest.fixture
def service(tmp_path: Path) -> Path:
    root = tmp_path / "service"
    commit(root, {"requirements.txt": "sglang==0.5.6", ".gitignore": "ignored\n"}, tag="one")
    return root


def test_the_work_tree_is_read_as_it_is(service: Path) -> None:
    (service / "requirements.txt").write_text("sglang==0.5.9")
    (service / "new").mkdir()
    (service / "new/requirements.txt").write_text("sglang==0.5.10")
    (service / "ignored").mkdir()
    (service / "ignored/requirements.txt").write_text("sglang==0.5.11")
    (service / "linked-requirements.txt").symlink_to("requirements.txt")
    files = files_of_work_tree(str(service / "new"))
    assert files.paths == {".gitignore", "new/requirements.txt", "requirements.txt"}
    found = compare_pins(files_at("HEAD", str(service)), files, SGLANG, never)
    assert told(found) == [
        "new/requirements.txt:1 added 0.5.10",
        "requirements.txt:1 upgraded 0.5.6 -> 0.5.9",
    ]


def test_a_file_that_was_deleted_is_not_read(service: Path) -> None:
    (service / "requirements.txt").unlink()
    assert files_of_work_tree(str(service)).paths == {".gitignore"}


def everything(root: Path) -> dict[str, tuple[bytes, float]]:
    paths = (path for path in root.rglob("*") if path.is_file())
    return {str(path): (path.read_bytes(), path.stat().st_mtime) for path in paths}


def test_nothing_in_a_repository_is_run_or_written(service: Path, tmp_path: Path) -> None:
    trap = tmp_path / "trap"
    spy = tmp_path / "spy.sh"
    spy.write_text(f"#!/bin/sh\ntouch {trap}\n")
    spy.chmod(0o755)
    for name in ("core.fsmonitor", "core.hooksPath", "core.pager", "core.sshCommand"):
        git(service, "config", name, str(spy))
    (service / "requirements.txt").write_text("sglang==0.5.9")
    before = everything(service)
    files = files_of_work_tree(str(service))
    compare_pins(files_at("HEAD", str(service)), files, SGLANG, never)
    assert everything(service) == before
    assert not trap.exists()


MODEL = "python/sglang/srt/models/llama.py"


@pytest.fixture
def framework(tmp_path: Path) -> Path:
    root = tmp_path / "sglang.git" / "work"
    commit(root, {MODEL: "old"}, tag="v0.5.6")
    commit(root, {MODEL: "new"})
    return root


def add_submodule(root: Path, framework: Path, revision: str) -> None:
    """Add the framework at a revision, as from its published address."""
    allow = ("-c", "protocol.file.allow=always")
    if not (root / "third_party/sglang").exists():
        git(root, *allow, "submodule", "add", "-q", str(framework), "third_party/sglang")
        git(root, "config", "-f", ".gitmodules", "submodule.third_party/sglang.url", OFFICIAL)
    git(root / "third_party/sglang", "checkout", "-q", revision)
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "x")


def test_a_submodule_is_a_pin(service: Path, framework: Path) -> None:
    add_submodule(service, framework, "v0.5.6")
    add_submodule(service, framework, "main")
    found = compare_pins(
        files_at("HEAD~1", str(service)), files_at("HEAD", str(service)), SGLANG, never
    )
    first, second = (git(framework, "rev-parse", name) for name in ("v0.5.6", "main"))
    (couple,) = found.couples
    assert (couple.old.tree, couple.new.tree) == (f"git:{first}", f"git:{second}")
    assert couple.new.repository == str(service / ".git/modules/third_party/sglang")
    (change,) = found.changes
    assert (change.change, change_text(change)) == ("changed", f"0.5.6 -> git:{second[:12]}")
    assert pin_place(couple.pins[0]) == ".gitmodules:3"


def test_the_commits_of_a_submodule_are_audited(service: Path, tmp_path: Path) -> None:
    framework = tmp_path / "sglang.git" / "work"
    commit(framework, {f"python/{name}": text for name, text in files_of(GUARD).items()}, tag="one")
    commit(framework, {f"python/{name}": text for name, text in files_of().items()}, tag="two")
    add_submodule(service, framework, "one")
    add_submodule(service, framework, "two")
    words = ["bump", "--base", "HEAD~1", "--head", "HEAD", "--repo", str(service), "--offline"]
    run = CliRunner().invoke(main, words)
    assert run.exit_code == 1, run.output
    assert "error[skipped-aux-capture]" in run.stdout
    first, second = (git(framework, "rev-parse", name)[:12] for name in ("one", "two"))
    assert f"git:{first} -> git:{second}" in run.stdout


def test_what_is_checked_out_of_a_submodule_counts(service: Path, framework: Path) -> None:
    add_submodule(service, framework, "v0.5.6")
    git(service / "third_party/sglang", "checkout", "-q", "main")
    found = compare_pins(
        files_at("HEAD", str(service)), files_of_work_tree(str(service)), SGLANG, never
    )
    assert [x.new.tree for x in found.couples] == [f"git:{git(framework, 'rev-parse', 'main')}"]


def test_a_submodule_that_is_not_here(service: Path, framework: Path, tmp_path: Path) -> None:
    add_submodule(service, framework, "v0.5.6")
    add_submodule(service, framework, "main")
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", str(service), str(clone))
    found = compare_pins(
        files_at("HEAD~1", str(clone)), files_of_work_tree(str(clone)), SGLANG, never
    )
    (missing,) = audits(found)
    assert "git submodule update --init third_party/sglang" in missing


def test_a_git_pin_is_read_from_a_submodule_that_has_it(service: Path, framework: Path) -> None:
    add_submodule(service, framework, "v0.5.6")
    commit_id = git(framework, "rev-parse", "main")
    (service / "requirements.txt").write_text(f"sglang @ git+{OFFICIAL}@{commit_id}")
    found = compare_pins(
        files_at("HEAD", str(service)), files_of_work_tree(str(service)), SGLANG, never
    )
    assert [(x.old.tree, x.new.tree) for x in found.couples] == [
        ("sglang==0.5.6", f"git:{commit_id}")
    ]
