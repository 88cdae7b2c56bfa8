"""Git revisions: found, read as blobs, and refused with a reason; the repository is left as is."""

import hashlib
import multiprocessing
import os
import pickle
import shutil
import subprocess
import sys
import zlib
from collections.abc import Mapping
from pathlib import Path

import pytest

from pathaudit.cache import take_manifest
from pathaudit.errors import PathAuditError, SourceError, StoreError
from pathaudit.reporters.escaping import visible
from pathaudit.sources import Access, SourceTree, open_source
from pathaudit.sources.tree import MAX_FILE_BYTES

MODEL = "sglang/srt/models/llama.py"
INIT = "sglang/__init__.py"
ENVIRONMENT = {
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@example.org",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@example.org",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
}


def git(root: Path, *words: str) -> str:
    environment = {**os.environ, **ENVIRONMENT}
    command = ["git", "-C", str(root), *words]
    run = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    return run.stdout.strip()


def commit(root: Path, files: Mapping[str, str | bytes], *, tag: str = "") -> None:
    """Commit files, in a repository that is made if it is not there."""
    if not (root / ".git").exists():
        root.mkdir(parents=True, exist_ok=True)
        git(root, "init", "-q", "-b", "main")
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    git(root, "add", "-A", "-f")
    git(root, "commit", "-q", "--allow-empty", "-m", "x")
    if tag:
        git(root, "tag", tag)


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A repository with two tagged versions and a branch."""
    root = tmp_path / "clone"
    commit(root, {f"python/{MODEL}": "old", f"python/{INIT}": "", "setup.py": ""}, tag="v0.5.6")
    git(root, "branch", "stable")
    commit(root, {f"python/{MODEL}": "new"}, tag="v0.5.9")
    return root


def opened(revision: str, root: Path) -> SourceTree:
    return open_source(f"git:{revision}", "sglang", Access(repository=str(root)))


def refusal(revision: str, root: Path) -> str:
    with pytest.raises(PathAuditError) as caught:
        opened(revision, root)
    assert "\n" not in visible(caught.value.message + caught.value.hint)
    return f"{caught.value.message} | {caught.value.hint}"


def damage(root: Path, identity: str, data: bytes | None) -> None:
    """Replace a loose object by other bytes, or take it away."""
    path = root / ".git" / "objects" / identity[:2] / identity[2:]
    path.chmod(0o644)
    path.unlink() if data is None else path.write_bytes(data)


# ---- revisions that are there -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("revision", "text"),
    [
        ("v0.5.6", "old"),
        ("v0.5.9", "new"),
        ("stable", "old"),
        ("refs/tags/v0.5.6", "old"),
        ("main", "new"),
        ("HEAD", "new"),
        ("HEAD~1", "old"),
        ("HEAD^", "old"),
        ("main@{0}", "new"),
    ],
)
def test_a_revision_is_read(clone: Path, revision: str, text: str) -> None:
    tree = opened(revision, clone)
    assert (tree.label, tree.paths) == (f"git:{revision}", (INIT, MODEL))
    assert tree.text(MODEL) == text


def test_a_short_id_is_read(clone: Path) -> None:
    assert opened(git(clone, "rev-parse", "--short", "v0.5.6"), clone).text(MODEL) == "old"


def test_an_annotated_tag_is_read(clone: Path) -> None:
    git(clone, "tag", "-a", "-m", "x", "v0.5.6.post1", "v0.5.6")
    assert opened("v0.5.6.post1", clone).text(MODEL) == "old"


def test_a_branch_of_a_remote_is_read(clone: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", str(clone), "copy")
    assert opened("origin/stable", tmp_path / "copy").text(MODEL) == "old"


def test_what_is_not_committed_is_not_read(clone: Path) -> None:
    (clone / "python" / MODEL).write_text("dirty")
    assert opened("HEAD", clone).text(MODEL) == "new"


def test_the_current_folder_tells_the_repository(
    clone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(clone / "python" / "sglang")
    assert open_source("git:v0.5.6", "sglang").text(MODEL) == "old"


def test_a_hook_that_names_another_repository_is_not_heard(
    clone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit(tmp_path / "other", {MODEL: "other"})
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "other" / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", "nowhere")
    assert opened("HEAD", clone).text(MODEL) == "new"


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(["clone", "-q", "--bare", "clone", "copy"], id="bare"),
        pytest.param(["clone", "-q", "--mirror", "clone", "copy"], id="mirror"),
        pytest.param(
            ["-C", "clone", "worktree", "add", "-q", "--detach", "../copy"], id="worktree"
        ),
        pytest.param(["clone", "-q", "--shared", "clone", "copy"], id="alternates"),
        pytest.param(["clone", "-q", "--no-checkout", "clone", "copy"], id="no checkout"),
        pytest.param(
            ["clone", "-q", "--separate-git-dir", "elsewhere", "clone", "copy"], id="separate"
        ),
    ],
)
@pytest.mark.usefixtures("clone")
def test_each_sort_of_repository(tmp_path: Path, words: list[str]) -> None:
    git(tmp_path, *words)
    assert opened("v0.5.6", tmp_path / "copy").text(MODEL) == "old"
    assert opened("HEAD", tmp_path / "copy").text(MODEL) == "new"


@pytest.mark.usefixtures("clone")
def test_a_mirror_without_configuration(tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--bare", "clone", "copy")
    (tmp_path / "copy" / "config").unlink()
    assert opened("v0.5.6", tmp_path / "copy").text(MODEL) == "old"


def test_packed_objects_and_refs(clone: Path) -> None:
    git(clone, "gc", "-q")
    assert opened("v0.5.6", clone).text(MODEL) == "old"


def test_objects_with_long_ids(tmp_path: Path) -> None:
    tmp_path.joinpath("r").mkdir()
    git(tmp_path / "r", "init", "-q", "--object-format=sha256", "-b", "main")
    commit(tmp_path / "r", {MODEL: "long"})
    tree = opened("main", tmp_path / "r")
    assert (tree.text(MODEL), len(tree.digest(MODEL))) == ("long", 64)


@pytest.mark.parametrize("place", ["", "python/", "src/", "engine/"])
def test_sub_directories_are_found(tmp_path: Path, place: str) -> None:
    commit(tmp_path / "r", {place + MODEL: "x", "docs/conf.py": ""})
    assert opened("HEAD", tmp_path / "r").paths == (MODEL,)


@pytest.mark.parametrize(
    ("revision", "code", "version"),
    [
        ("v0.5.6", "0.0.0", "0.5.6"),
        ("release/0.5.6", "0.0.0", "0.5.6"),
        ("main", "0.5.5", "0.5.5"),
        ("main", None, None),
    ],
)
def test_version(tmp_path: Path, revision: str, code: str | None, version: str | None) -> None:
    stated = f"__version__ = '{code}'\n" if code else ""
    commit(tmp_path / "r", {MODEL: "", "sglang/version.py": stated}, tag="v0.5.6")
    git(tmp_path / "r", "branch", "release/0.5.6")
    assert opened(revision, tmp_path / "r").version == version


# ---- what a tree holds ------------------------------------------------------------------------


def test_a_revision_equals_the_checkout(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {MODEL: "x\r\n", INIT: b"\xff"}
    files |= {"sglang/data.json": "{}", "sglang/.hidden/a.py": "", "sglang/__pycache__/a.py": ""}
    commit(tmp_path / "r", files, tag="t")
    revision, folder = opened("t", tmp_path / "r"), open_source(str(tmp_path / "r"), "sglang")
    assert (revision.paths, revision.skipped) == (folder.paths, folder.skipped)
    assert [revision.digest(x) for x in revision.paths] == [folder.digest(x) for x in folder.paths]
    assert [revision.read(x) for x in revision.paths] == [folder.read(x) for x in folder.paths]
    assert take_manifest(revision).digest == take_manifest(folder).digest


LINKS = [
    pytest.param("sglang/b.py", "srt/a.py", id="to a file"),
    pytest.param("sglang/b.py", "c.py", id="to a link"),
    pytest.param("sglang/b", "srt", id="to a folder"),
    pytest.param("sglang/srt/b", "..", id="circle"),
    pytest.param("sglang/b.py", "../setup.py", id="out"),
    pytest.param("sglang/b.py", "/etc/passwd", id="absolute"),
    pytest.param("sglang/b.py", "none.py", id="broken"),
    pytest.param("sglang/b.txt", "srt/a.py", id="no Python"),
]


@pytest.mark.parametrize(("link", "target"), LINKS)
def test_links_are_treated_as_in_a_folder(tmp_path: Path, link: str, target: str) -> None:
    root = tmp_path / "r"
    files = {"sglang/srt/a.py": "a", "sglang/d.py": "d", "setup.py": ""}
    commit(root, files)
    (root / "sglang" / "c.py").symlink_to("d.py")
    (root / link).symlink_to(target)
    commit(root, {})
    revision, folder = opened("HEAD", root), open_source(str(root), "sglang")
    assert (revision.paths, revision.skipped) == (folder.paths, folder.skipped)
    assert [revision.read(x) for x in revision.paths] == [folder.read(x) for x in folder.paths]


def test_links_to_each_other_end(tmp_path: Path) -> None:
    commit(tmp_path / "r", {MODEL: ""})
    (tmp_path / "r" / "sglang" / "a.py").symlink_to("b.py")
    (tmp_path / "r" / "sglang" / "b.py").symlink_to("a.py")
    commit(tmp_path / "r", {})
    reasons = dict(opened("HEAD", tmp_path / "r").skipped)
    assert set(reasons) == {"sglang/a.py", "sglang/b.py"}
    assert set(reasons.values()) == {"link runs in a circle"}


def test_a_submodule_is_left_out_with_a_reason(clone: Path) -> None:
    head = git(clone, "rev-parse", "HEAD")
    git(clone, "update-index", "--add", "--cacheinfo", f"160000,{head},python/sglang/third")
    git(clone, "commit", "-q", "-m", "x")
    assert opened("HEAD", clone).skipped == (("sglang/third", "submodule is not read"),)


def test_names_that_are_no_unicode_are_left_out(tmp_path: Path) -> None:
    commit(tmp_path / "r", {MODEL: ""})
    (tmp_path / "r" / "sglang" / os.fsdecode(b"\xff.py")).write_text("")
    commit(tmp_path / "r", {})
    tree = opened("HEAD", tmp_path / "r")
    assert tree.skipped == (("sglang/\\udcff.py", "name is not valid Unicode"),)


def test_a_large_file_is_an_error_and_the_next_one_is_read(tmp_path: Path) -> None:
    commit(tmp_path / "r", {MODEL: b"#" * (MAX_FILE_BYTES + 1), INIT: "small"})
    tree = opened("HEAD", tmp_path / "r")
    with pytest.raises(SourceError, match="too large"):
        tree.read(MODEL)
    assert tree.read(INIT) == b"small"


# ---- other processes --------------------------------------------------------------------------


def test_a_tree_travels_to_another_process(clone: Path) -> None:
    copy = pickle.loads(pickle.dumps(opened("v0.5.6", clone)))
    assert copy.text(MODEL) == "old"


def _reads(tree: SourceTree, link: "multiprocessing.Queue[bool]") -> None:
    link.put({tree.read_once(MODEL) for _ in range(300)} == {b"old"})


def test_forked_processes_do_not_read_from_the_pipe_of_their_parent(clone: Path) -> None:
    tree = opened("v0.5.6", clone)
    assert tree.text(MODEL) == "old"
    context = multiprocessing.get_context("fork")
    answers = context.Queue()
    others = [context.Process(target=_reads, args=(tree, answers), daemon=True) for _ in range(2)]
    for other in others:
        other.start()
    try:
        assert [answers.get(timeout=20) for _ in others] == [True, True]
    finally:
        for other in others:
            other.terminate()
            other.join()
    assert tree.read_once(MODEL) == b"old"


# ---- revisions that are not there -------------------------------------------------------------


@pytest.mark.parametrize(
    ("revision", "told"),
    [
        ("v0.5.66", "no such revision in {root} | did you mean 'git:v0.5.6'?"),
        ("stabel", "no such revision in {root} | did you mean 'git:stable'?"),
        ("123456789", "no such revision in {root} | it has 5 branches and tags"),
        ("HEAD~7", "no such revision in {root} | HEAD is there, but its history does not reach"),
        ("-n1", "looks like an option"),
        ("--all", "looks like an option"),
        ("", "names no revision"),
        ("HEAD\nHEAD", "names no revision"),
        ("v0.5.6..main", "is a range"),
        ("HEAD^{tree}", "is not a commit"),
        ("HEAD:python", "is not a commit"),
        ("empty", "no Python files of the package sglang; looked for sglang/, python/sglang/"),
    ],
)
def test_a_revision_that_is_not_there_is_told(clone: Path, revision: str, told: str) -> None:
    git(clone, "checkout", "-q", "--orphan", "empty")
    git(clone, "rm", "-rfq", ".")
    commit(clone, {"README.md": ""})
    git(clone, "checkout", "-q", "main")
    assert told.format(root=clone) in refusal(revision, clone)


def test_an_unborn_head_is_told(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "r")
    assert "no such revision" in (told := refusal("HEAD", tmp_path / "r"))
    assert told.endswith("the repository has no commits yet")


@pytest.mark.parametrize(
    ("name", "told"), [("none", "no such directory"), ("plain", "is in no git")]
)
def test_no_repository(tmp_path: Path, name: str, told: str) -> None:
    (tmp_path / "plain").mkdir()
    assert told in refusal("HEAD", tmp_path / name)


def test_without_git(clone: Path) -> None:
    program = "import sys; from pathaudit.cli import main; main(sys.argv[1:])"
    words = [sys.executable, "-c", program, "scan", "git:HEAD", "--repo", str(clone)]
    environment = {**os.environ, "PATH": str(clone)}
    told = subprocess.run(words, capture_output=True, text=True, check=False, env=environment)
    assert (told.returncode, told.stderr.splitlines()) == (
        2,
        [
            "pathaudit: error: git:HEAD: git is needed, and not found",
            "hint: install git, or name a directory",
        ],
    )


@pytest.mark.parametrize("place", [".git", "python/sglang", "python/sglang/srt"])
def test_any_folder_of_the_repository_will_do(clone: Path, place: str) -> None:
    assert opened("v0.5.6", clone / place).text(MODEL) == "old"


def test_a_shallow_clone_is_told(clone: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{clone}", "copy")
    assert opened("HEAD", tmp_path / "copy").text(MODEL) == "new"
    for revision in ("HEAD~1", "v0.5.6"):
        assert "this clone is shallow" in refusal(revision, tmp_path / "copy")


@pytest.mark.parametrize("kind", ["blob:none", "tree:0"])
def test_a_partial_clone_fetches_nothing(clone: Path, tmp_path: Path, kind: str) -> None:
    git(clone, "config", "uploadpack.allowFilter", "true")
    git(tmp_path, "clone", "-q", "--no-checkout", f"--filter={kind}", f"file://{clone}", "copy")
    before = state(tmp_path / "copy")
    told = refusal("v0.5.6", tmp_path / "copy")
    assert state(tmp_path / "copy") == before
    assert "partial clone" in told


def test_a_partial_clone_that_has_the_files_is_read(clone: Path, tmp_path: Path) -> None:
    git(clone, "config", "uploadpack.allowFilter", "true")
    git(tmp_path, "clone", "-q", "--filter=blob:none", f"file://{clone}", "copy")
    assert opened("HEAD", tmp_path / "copy").text(MODEL) == "new"


# ---- damage -----------------------------------------------------------------------------------


@pytest.mark.parametrize("data", [None, b"", b"rubbish", zlib.compress(b"blob 3\0old")[:-4]])
@pytest.mark.parametrize("what", ["commit", "tree", "blob"])
def test_a_damaged_object_is_told(clone: Path, what: str, data: bytes | None) -> None:
    name = {"commit": "HEAD", "tree": "HEAD:python/sglang", "blob": f"HEAD:python/{MODEL}"}[what]
    identity = git(clone, "rev-parse", name)
    damage(clone, identity, data)
    with pytest.raises(PathAuditError) as caught:
        opened("HEAD", clone).read(MODEL)
    assert isinstance(caught.value, StoreError) or what == "commit"
    assert "\n" not in caught.value.message + caught.value.hint


def test_an_object_that_is_not_what_its_id_says_is_refused(clone: Path) -> None:
    identity = git(clone, "rev-parse", f"HEAD:python/{MODEL}")
    damage(clone, identity, zlib.compress(b"blob 5\0wrong"))
    with pytest.raises(StoreError, match="damaged"):
        opened("HEAD", clone).read(MODEL)


def test_a_replaced_object_is_not_read(clone: Path) -> None:
    old, new = (git(clone, "rev-parse", f"{tag}:python/{MODEL}") for tag in ("v0.5.6", "v0.5.9"))
    git(clone, "replace", new, old)
    assert opened("HEAD", clone).text(MODEL) == "new"


# ---- the repository is left as it is ----------------------------------------------------------


def state(root: Path) -> dict[str, str]:
    """A digest and a time for each file below a folder."""
    files = sorted(path for path in root.rglob("*") if path.is_file())
    return {
        str(path): f"{hashlib.sha256(path.read_bytes()).hexdigest()} {path.stat().st_mtime_ns}"
        for path in files
    }


def test_the_repository_is_untouched(clone: Path) -> None:
    (clone / "python" / MODEL).write_text("dirty")
    shutil.copytree(clone / "python", clone / "untracked")
    before = state(clone)
    for revision in ("v0.5.6", "HEAD", "stable"):
        tree = opened(revision, clone)
        assert [tree.read(path) for path in tree.paths]
    refusal("none", clone)
    assert state(clone) == before


@pytest.mark.parametrize(
    "setting", ["core.fsmonitor", "core.sshCommand", "core.pager", "core.hooksPath", "core.editor"]
)
def test_what_the_configuration_names_is_not_run(clone: Path, setting: str, tmp_path: Path) -> None:
    trap = tmp_path / "trap"
    trap.write_text(f"#!/bin/sh\ntouch {tmp_path}/sprung\n")
    trap.chmod(0o755)
    git(clone, "config", setting, str(trap))
    opened("HEAD", clone).read(MODEL)
    assert not (tmp_path / "sprung").exists()


def test_a_broken_configuration_is_told(clone: Path) -> None:
    (clone / ".git" / "config").write_text("[core\n")
    refusal("HEAD", clone)
