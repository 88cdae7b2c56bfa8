"""The hooks, run by pre-commit itself in repositories with the layout of SGLang's.

pre-commit installs pathaudit from a repository into an environment of its own: once a session.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

from pathaudit.bump.pins import _matters as reads
from tests.pins import PINNED
from tests.releases import release

ROOT = Path(__file__).parent.parent
HOOKS = {hook["id"]: hook for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())}
SHIPPED = ("pathaudit", "rules", "README.md", "LICENSE", "pyproject.toml", ".pre-commit-hooks.yaml")
OVERLAP = "python/sglang/srt/batch_overlap/two_batch_overlap.py"
MODELS = "python/sglang/srt/models"


class Repository:
    """A repository under git in a folder, where commands see nothing of the user's settings."""

    def __init__(self, folder: Path, **environment: str) -> None:
        self.folder = folder
        folder.mkdir(exist_ok=True)
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("GIT_", "PRE_COMMIT"))}
        named = {f"GIT_{who}_{what}": "pathaudit@localhost" for who in WHO for what in WHAT}
        nowhere = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
        # What is under test is what pre-commit installed, not this checkout.
        clean.pop("PYTHONPATH", None)
        self.environment = {**clean, **named, **nowhere, "COLUMNS": "80", **environment}
        self.git("init", "-q")

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command, cwd=self.folder, env=self.environment, text=True, capture_output=True
        )

    def git(self, *words: str) -> str:
        done = self.run("git", *words)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def write(self, files: Mapping[str, str]) -> None:
        for name, text in files.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        self.git("add", "--all")

    def commit(self, files: Mapping[str, str] | None = None) -> None:
        self.write(files or {})
        self.git("add", "--all")
        self.git("commit", "-q", "-m", "change")

    def hook(self, name: str, *options: str) -> tuple[int, str]:
        """Run a hook on what is staged, as a commit does; its exit status and what it prints."""
        command = (sys.executable, "-m", "pre_commit", "run", name, "--verbose", *options)
        done = self.run(*command)
        assert done.stderr == ""
        return done.returncode, done.stdout


WHO, WHAT = ("AUTHOR", "COMMITTER"), ("NAME", "EMAIL")


@pytest.fixture(scope="session")
def hooks(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    """A repository with the hooks, and environments for them that are there already."""
    origin = Repository(tmp_path_factory.mktemp("pre-commit") / "pathaudit")
    for name in SHIPPED:
        source, target = ROOT / name, origin.folder / name
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, target)
    origin.commit()
    return origin


@pytest.fixture
def fork(hooks: Repository, tmp_path: Path) -> Repository:
    """A small fork, in which nothing is staged."""
    shutil.copytree(ROOT / "examples/two_batch_overlap/sglang", tmp_path / "fork/python/sglang")
    return forked(hooks, tmp_path / "fork")


def forked(hooks: Repository, folder: Path) -> Repository:
    base = hooks.folder.parent
    fork = Repository(
        folder, PRE_COMMIT_HOME=str(base / "home"), PATHAUDIT_CACHE_DIR=str(base / "cache")
    )
    fork.commit({".pre-commit-config.yaml": configuration(hooks), "README.md": "a fork\n"})
    return fork


def configuration(hooks: Repository, **arguments: list[str]) -> str:
    used = [{"id": name, "args": arguments.get(name.replace("-", "_"), [])} for name in HOOKS]
    commit = hooks.git("rev-parse", "HEAD").strip()
    return yaml.safe_dump({"repos": [{"repo": str(hooks.folder), "rev": commit, "hooks": used}]})


def test_a_model_that_holds(fork: Repository) -> None:
    model = f"{MODELS}/overlapped_guarded.py"
    fork.write({model: (fork.folder / model).read_text() + "# changed\n"})
    status, said = fork.hook("pathaudit")
    assert status == 0
    assert re.search(r"Passed\n- hook id: pathaudit\n- duration: .*\n\nEvery path holds in", said)
    assert "1 entry audited" in said


def test_a_helper_audits_what_goes_through_it(fork: Repository) -> None:
    fork.write({OVERLAP: (fork.folder / OVERLAP).read_text() + "# changed\n"})
    status, said = fork.hook("pathaudit")
    assert status == 1
    assert "error[skipped-aux-capture]: layers [first_k_dense_replace, end_layer) run" in said
    assert "3 entries audited" in said


def test_what_is_known_passes(hooks: Repository, fork: Repository) -> None:
    known = "pathaudit-baseline.yaml"
    fork.commit({".pre-commit-config.yaml": configuration(hooks, pathaudit=["--baseline", known])})
    written = [sys.executable, "-m", "pathaudit", "scan", "python", "--write-baseline", known]
    subprocess.run(
        written, cwd=fork.folder, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True
    )
    fork.commit()
    fork.write({OVERLAP: (fork.folder / OVERLAP).read_text() + "# changed\n"})
    status, said = fork.hook("pathaudit")
    assert (status, "2 suppressed" in said) == (0, True)


NOT_AUDITED = {
    "no Python": "docs/README.md",
    "outside": "test/srt/test_overlap.py",
    "another package": "sgl-kernel/python/sgl_kernel/a.py",
    "a test in the package": "python/sglang/test/run_eval.py",
    "an empty file": "python/sglang/srt/models/new.py",
}


@pytest.mark.parametrize("name", NOT_AUDITED.values(), ids=NOT_AUDITED)
def test_files_that_no_path_depends_on(name: str, fork: Repository) -> None:
    fork.write({name: ""})
    status, said = fork.hook("pathaudit")
    assert status == 0
    assert "error" not in said


def test_a_renamed_and_a_deleted_file(fork: Repository) -> None:
    fork.git("mv", f"{MODELS}/overlapped.py", f"{MODELS}/overlapped_anew.py")
    status, said = fork.hook("pathaudit")
    assert (status, f"{MODELS[7:]}/overlapped_anew.py:49:39" in said) == (1, True)
    fork.commit()
    fork.git("rm", "-q", f"{MODELS}/overlapped_anew.py")
    status, said = fork.hook("pathaudit")
    assert (status, "(no files to check)" in said) == (0, True)


def test_models_of_ones_own_and_the_framework_elsewhere(
    hooks: Repository, fork: Repository, tmp_path: Path
) -> None:
    own = forked(hooks, tmp_path / "own")
    where = ["--tree", str(fork.folder / "python"), "--with", "my_models"]
    own.commit({".pre-commit-config.yaml": configuration(hooks, pathaudit=where)})
    model = (fork.folder / MODELS / "overlapped.py").read_text().replace("Overlapped", "Own")
    own.write({"my_models/own.py": model, "setup.py": ""})
    status, said = own.hook("pathaudit")
    assert (status, "--> sglang/srt/models/my_models/own.py:49:39" in said) == (1, True)
    own.commit()
    own.write({"setup.py": "import os\n"})
    assert own.hook("pathaudit")[0] == 0


def test_a_fork_of_a_release(hooks: Repository, tmp_path: Path) -> None:
    """Of a real release, a line of a helper leads to ten methods, and all files to all of them."""
    shutil.copytree(release("0.5.12") / "sglang", tmp_path / "fork/python/sglang")
    fork = forked(hooks, tmp_path / "fork")
    fork.write({OVERLAP: (fork.folder / OVERLAP).read_text() + "# changed\n"})
    status, said = fork.hook("pathaudit")
    assert status == 1
    assert audited(said) == 10
    fork.commit()
    status, said = fork.hook("pathaudit", "--all-files")
    assert status == 1
    assert audited(said) > 50
    assert said.count("entries audited") == 1


def audited(said: str) -> int:
    found = re.search(r"(\d+)\s+entries\s+audited", said)
    assert found
    return int(found[1])


@pytest.mark.parametrize(("name", "expected"), PINNED.items(), ids=PINNED)
def test_the_files_that_hold_pins(name: str, expected: bool) -> None:
    """The hook runs on what bump reads; submodules are read from elsewhere."""
    assert bool(re.search(HOOKS["pathaudit-bump"]["files"], name)) == expected
    assert reads(name) == expected or name == ".gitmodules"


def test_a_pin_that_stays(fork: Repository) -> None:
    fork.commit({"requirements.txt": "sglang==0.5.10\n"})
    fork.write({"requirements.txt": "sglang[all]==0.5.10  # serving\n"})
    status, said = fork.hook("pathaudit-bump")
    assert (status, "No version changed: from HEAD to the work tree" in said) == (0, True)
    fork.commit()
    fork.write({"notes.txt": "sglang==0.5.11\n"})
    assert "(no files to check)" in fork.hook("pathaudit-bump")[1]


def test_a_pin_that_moves(fork: Repository) -> None:
    """What cannot be had is told, and fails the commit only if that is asked for."""
    fork.environment["PIP_INDEX_URL"] = "http://127.0.0.1:9/simple"
    fork.commit({"requirements.txt": "sglang==0.0.1\n"})
    fork.write({"requirements.txt": "sglang==0.0.2\n"})
    status, said = fork.hook("pathaudit-bump")
    assert (status, "upgraded 0.0.1 -> 0.0.2" in said, "NOT AUDITED" in said) == (0, True, True)


def test_a_thousand_files_are_one_run(fork: Repository) -> None:
    fork.commit({f"python/sglang/srt/layers/a{i}.py": f"x = {i}\n" for i in range(1000)})
    status, said = fork.hook("pathaudit", "--all-files")
    assert status == 1
    assert said.count("entries audited") == 1


# ---- what the README says ----------------------------------------------------------------------

README = (ROOT / "README.md").read_text()


def shown(title: str, language: str) -> str:
    """The first block of a language below a heading of the README."""
    section = README.partition(f"\n### {title}\n")[2].partition("\n### ")[0]
    return section.partition(f"```{language}\n")[2].partition("```")[0]


def test_the_configuration_in_the_readme(hooks: Repository, fork: Repository) -> None:
    told = yaml.safe_load(shown("Before a commit", "yaml"))
    told["repos"][0] |= yaml.safe_load(configuration(hooks))["repos"][0] | {
        "hooks": told["repos"][0]["hooks"]
    }
    fork.commit({".pre-commit-config.yaml": yaml.safe_dump(told)})
    fork.write({OVERLAP: (fork.folder / OVERLAP).read_text() + "# changed\n"})
    status, said = fork.hook("pathaudit")
    assert (status, "error: pathaudit-baseline.yaml: " in said) == (1, True)
    installed(fork, "pathaudit scan python --write-baseline pathaudit-baseline.yaml")
    fork.git("add", "pathaudit-baseline.yaml")
    assert fork.hook("pathaudit")[0] == 0
    assert fork.hook("pathaudit-bump")[0] == 0


def test_the_commands_in_the_readme(fork: Repository) -> None:
    whole, changed, bump = shown("In a shell", "sh").splitlines()
    fork.git("branch", "-m", "main")
    fork.git("checkout", "-q", "-b", "work")
    assert installed(fork, changed) == (0, "")
    fork.commit({f"{MODELS}/overlapped_guarded.py": "x = 1\n", "test/a.py": ""})
    status, said = installed(fork, changed)
    assert (status, said.startswith("No audited path depends on these files")) == (0, True)
    status, said = installed(fork, bump)
    assert (status, said.startswith("No pin of sglang changed: from main")) == (0, True)
    status, said = installed(fork, whole.replace("~/src/sglang", "."))
    assert (status, "2 errors in ." in said) == (1, True)


def installed(repository: Repository, command: str) -> tuple[int, str]:
    """Run a line of a shell in a repository, with the pathaudit of this checkout on the path."""
    tools = repository.folder.parent / "tools"
    tools.mkdir(exist_ok=True)
    script = f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}" -m pathaudit "$@"\n'
    (tools / "pathaudit").write_text(script)
    (tools / "pathaudit").chmod(0o755)
    path = f"{tools}:{repository.environment['PATH']}"
    done = repository.run("env", f"PATH={path}", "bash", "-c", command)
    return done.returncode, done.stdout
