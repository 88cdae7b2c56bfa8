"""A folder laid over a tree: what it replaces, what it adds, and how that is read and kept."""

import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from pathaudit.audit import audit
from pathaudit.cache import take_manifest
from pathaudit.cli import main
from pathaudit.errors import SourceError
from pathaudit.sources import Access, SourceTree, open_source
from tests.labels import capture_rules
from tests.test_revision import commit
from tests.test_sources import write

MODELS = "sglang/srt/models"
EXAMPLE = Path(__file__).parent.parent / "examples" / "two_batch_overlap"


def laid(root: Path, base: dict[str, str | bytes], over: dict[str, str | bytes]) -> SourceTree:
    """The tree of ``base`` with the folder ``own``, which holds ``over``."""
    write(root / "base", base)
    write(root / "own", over)
    return over_it(root / "base", root / "own")


def over_it(base: Path, own: Path) -> SourceTree:
    return open_source(str(base), "sglang", Access(overlay=str(own), models=MODELS))


def texts(tree: SourceTree) -> dict[str, str]:
    return {path: tree.text(path) for path in tree.paths}


BASE: dict[str, str | bytes] = {f"{MODELS}/a.py": "base a", f"{MODELS}/b.py": "base b"}


@pytest.mark.parametrize("place", ["", "python/", "src/", "patch/"])
def test_files_of_the_package_replace_and_join(tmp_path: Path, place: str) -> None:
    over: dict[str, str | bytes] = {f"{MODELS}/b.py": "own b", f"{MODELS}/c.py": "own c"}
    tree = laid(tmp_path, BASE, {place + name: text for name, text in over.items()})
    assert texts(tree) == {
        f"{MODELS}/a.py": "base a",
        f"{MODELS}/b.py": "own b",
        f"{MODELS}/c.py": "own c",
    }
    assert tree.label == f"{tmp_path}/base with {tmp_path}/own"


def test_a_package_of_models_joins_the_models(tmp_path: Path) -> None:
    over: dict[str, str | bytes] = {"__init__.py": "", "mine.py": "mine", "deep/a.py": "deep"}
    tree = laid(tmp_path, BASE, over)
    assert set(tree.paths) == {
        *BASE,
        f"{MODELS}/own/__init__.py",
        f"{MODELS}/own/mine.py",
        f"{MODELS}/own/deep/a.py",
    }
    assert tree.text(f"{MODELS}/own/mine.py") == "mine"
    assert tree.label == f"{tmp_path}/base with {tmp_path}/own as {MODELS}/own"


def test_a_model_of_ones_own_is_audited(tmp_path: Path) -> None:
    faulty = (EXAMPLE / MODELS / "overlapped.py").read_text()
    renamed = faulty.replace("OverlappedForCausalLM", "MineForCausalLM")
    write(tmp_path / "mine", {"__init__.py": "", "model.py": renamed})
    report = audit(over_it(EXAMPLE, tmp_path / "mine"), capture_rules(), entry="MineForCausalLM")
    assert [x.file for x in report.findings] == [f"{MODELS}/mine/model.py"]


@pytest.mark.parametrize(
    ("files", "imported"),
    [
        ({"__init__.py": "", "base.py": "{model}"}, "mine.base"),
        ({"base.py": "{model}"}, "base"),
        ({"own/__init__.py": "", "own/base.py": "{model}"}, "own.base"),
        ({"__init__.py": "", "base.py": "{model}"}, ".base"),
    ],
)
def test_a_package_of_models_imports_itself(
    tmp_path: Path, files: dict[str, str], imported: str
) -> None:
    model = (EXAMPLE / MODELS / "overlapped.py").read_text()
    write(tmp_path / "mine", {name: text.format(model=model) for name, text in files.items()})
    served = f"from {imported} import OverlappedForCausalLM\n\n\n"
    served += "class MineForCausalLM(OverlappedForCausalLM):\n    pass\n\n\n"
    write(tmp_path / "mine", {"served.py": served + "EntryClass = MineForCausalLM\n"})
    tree = over_it(EXAMPLE, tmp_path / "mine")
    report = audit(tree, capture_rules(), entry="MineForCausalLM")
    assert len(report.findings) == 1
    base = next(path for path in tree.paths if path.endswith("/base.py"))
    narrowed = audit(tree, capture_rules(), files=(base,))
    assert "MineForCausalLM" in {x for entry in narrowed.entries for x in entry.architectures}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("M.forward = f\n", "replaces M.forward"),
        ("import x\nx.y.Model.forward=f\n", "replaces Model.forward"),
        ("setattr(x.Model, 'forward', f)\n", "replaces Model"),
        ("x.forward = f\n", ""),
        ("M.forward == f\n", ""),
        ("def f():\n    M.forward = f\n", ""),
        ("base a", ""),
    ],
)
def test_a_method_that_is_replaced_is_told(tmp_path: Path, text: str, told: str) -> None:
    tree = laid(tmp_path, BASE, {f"{MODELS}/a.py": text})
    assert f"{MODELS}/a.py" in tree.paths
    assert [x.split(" when")[0] for _, x in tree.skipped] == ([told] if told else [])


def test_what_is_left_out_is_told(tmp_path: Path) -> None:
    write(tmp_path / "base", BASE)
    (tmp_path / "base" / "sglang" / "x.py").symlink_to("none")
    (tmp_path / "base" / "sglang" / "y.py").symlink_to("none")
    write(tmp_path / "own", {"sglang/x.py": "now there"})
    (tmp_path / "own" / "sglang" / "z.py").symlink_to("/")
    tree = over_it(tmp_path / "base", tmp_path / "own")
    assert [path for path, _ in tree.skipped] == ["sglang/y.py", "sglang/z.py"]
    assert tree.text("sglang/x.py") == "now there"


@pytest.mark.parametrize(
    ("name", "told"), [("none", "no such directory"), ("empty", "holds no Python files")]
)
def test_a_folder_that_is_none(tmp_path: Path, name: str, told: str) -> None:
    write(tmp_path / "base", BASE)
    (tmp_path / "empty").mkdir()
    with pytest.raises(SourceError, match=told):
        over_it(tmp_path / "base", tmp_path / name)


def test_a_changed_overlay_is_another_state(tmp_path: Path) -> None:
    commit(tmp_path / "base", BASE)
    own = write(tmp_path / "own", {f"{MODELS}/b.py": "own"})
    access = Access(repository=str(tmp_path / "base"), overlay=str(own), models=MODELS)
    tree = open_source("git:HEAD", "sglang", access)
    assert tree.text(f"{MODELS}/b.py") == "own"
    first = take_manifest(tree)
    write(own, {f"{MODELS}/b.py": "changed"})
    assert first.changed(take_manifest(tree)) == {f"{MODELS}/b.py"}


def test_a_laid_tree_travels_to_another_process(tmp_path: Path) -> None:
    tree = laid(tmp_path, BASE, {"mine.py": "mine", "__init__.py": ""})
    assert texts(pickle.loads(pickle.dumps(tree))) == texts(tree)


# ---- on the command line ----------------------------------------------------------------------


def run(*words: str) -> Result:
    return CliRunner(env={"COLUMNS": "80"}).invoke(main, words)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository in which the example is faulty at first, and empty later."""
    files = {x.relative_to(EXAMPLE).as_posix(): x.read_bytes() for x in EXAMPLE.rglob("*.py")}
    commit(tmp_path / "repository", files, tag="v1.0")
    commit(tmp_path / "repository", {f"{MODELS}/overlapped.py": ""})
    return tmp_path / "repository"


def test_scan_of_a_revision(repository: Path) -> None:
    words = ["--repo", str(repository), "--jobs", "2", "--rule", "skipped-aux-capture"]
    first, second = run("scan", "git:v1.0", *words), run("scan", "git:HEAD", *words)
    assert (first.exit_code, second.exit_code) == (1, 0)
    assert "1 error in git:v1.0 (version 1.0): 3 entries" in first.stdout
    assert run("scan", "git:v1.0", *words, "--format", "json").stdout.count("git:v1.0") == 1


def test_graph_of_a_revision(repository: Path) -> None:
    words = ["--tree", "git:v1.0", "--repo", str(repository)]
    found = run("graph", "OverlappedForCausalLM", *words)
    assert "BYPASS" in found.stdout
    assert "in git:v1.0 (version 1.0)" in " ".join(found.stdout.split())


def test_scan_with_a_folder(repository: Path, tmp_path: Path) -> None:
    faulty = (EXAMPLE / MODELS / "overlapped.py").read_text()
    own = write(tmp_path / "own", {f"{MODELS}/overlapped.py": faulty})
    words = ["git:HEAD", "--repo", str(repository), "--with", str(own), "--fail-on"]
    assert (run("scan", *words, "error").exit_code, run("scan", *words, "never").exit_code) == (
        1,
        0,
    )


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["git:none"], "git:none: no such revision in"),
        (["git:--all"], "looks like an option"),
        (["sglang==0.0.1", "--offline"], "is not kept, and --offline forbids to download it"),
        ([f"{EXAMPLE}/{MODELS}/overlapped.py", "--with", "x"], "x: no such directory"),
    ],
)
def test_a_mistake_is_one_line(repository: Path, words: list[str], told: str) -> None:
    found = run("scan", *words, "--repo", str(repository))
    assert (found.exit_code, found.stdout) == (2, "")
    assert told in found.stderr
    assert [line.split(":")[0] for line in found.stderr.splitlines()] in (
        ["pathaudit", "hint"],
        ["pathaudit"],
    )


def test_cache_tells_and_deletes_releases(tmp_path: Path) -> None:
    from tests.test_archive import SOUND, WHEEL, make_zip

    found = run("scan", str(make_zip(tmp_path / WHEEL, SOUND)))
    assert "no served model was found" in found.stderr
    assert "releases 1 in 0.0 MiB" in run("cache", "info").stdout
    assert run("cache", "clear").exit_code == 0
    assert "releases 0 in 0.0 MiB" in run("cache", "info").stdout


def test_a_folder_takes_neither_git_nor_a_network(tmp_path: Path) -> None:
    program = (
        "import sys; from pathaudit.cli import main\n"
        "try: main(['scan', sys.argv[1]])\n"
        "except SystemExit: print({'git', 'packaging', 'tarfile', 'ssl'} & sys.modules.keys())"
    )
    words = [sys.executable, "-c", program, str(EXAMPLE)]
    environment = {**os.environ, "PATHAUDIT_CACHE_DIR": str(tmp_path)}
    told = subprocess.run(words, capture_output=True, text=True, check=True, env=environment)
    assert told.stdout.splitlines()[-1] == "set()"
