"""What can be scanned: trees, files of one, and the class that serves a model."""

import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner, Result

from pathaudit.audit import Means, audit
from pathaudit.cache import Cache
from pathaudit.cli import main
from pathaudit.index.imports import Imports
from pathaudit.results import Report
from pathaudit.ruleset import Ruleset, load_ruleset, rules_directory
from pathaudit.sources import SourceTree, from_text, open_source
from tests.labels import capture_rules
from tests.releases import release

ROOT = Path(__file__).parent.parent
EXAMPLE = ROOT / "examples" / "two_batch_overlap"
MODELS = "sglang/srt/models"
OVERLAP = "sglang/srt/batch_overlap/two_batch_overlap.py"


def run(*words: object) -> Result:
    return CliRunner(env={"COLUMNS": "80"}).invoke(main, [str(word) for word in words])


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return Path(shutil.copytree(EXAMPLE, tmp_path / "tree"))


def report(*words: object) -> Report:
    return msgspec.json.decode(run(*words, "--format", "json").stdout, type=Report)


# ---- files ------------------------------------------------------------------------------------


def test_a_model_file_audits_what_depends_on_it(tree: Path) -> None:
    found = report("scan", tree / MODELS / "overlapped.py")
    assert found.files == (f"{MODELS}/overlapped.py",)
    assert [entry.entry for entry in found.entries] == ["OverlappedModel.forward"]
    assert len(report("scan", tree).entries) == 3
    assert run("scan", tree / MODELS / "overlapped.py").exit_code == 1
    assert run("scan", tree / MODELS / "overlapped_guarded.py").exit_code == 0


def test_a_helper_audits_all_that_go_through_it(tree: Path) -> None:
    found = report("scan", tree / OVERLAP)
    assert [entry.file for entry in found.entries] == [
        entry.file for entry in report("scan", tree).entries
    ]


def test_a_file_that_nothing_depends_on(tree: Path) -> None:
    (tree / MODELS / "other.py").write_text("x = 1\n")
    result = run("scan", tree / MODELS / "other.py")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith("No audited path depends on these files")


def test_the_tree_of_files_is_the_nearest_folder_of_the_package(tree: Path) -> None:
    outer = tree.parent / "sglang" / "python"
    shutil.copytree(tree, outer)
    model = next((outer / MODELS).glob("over*.py"))
    assert report("scan", model).files == (model.relative_to(outer).as_posix(),)


MISTAKES: Mapping[str, tuple[list[str], str]] = {
    "no such file": (["tree/sglang/srt/models/gone.py"], "no such file"),
    "no such file beside one": (["tree/sglang/srt/models/one.py", "gone.py"], "no such file"),
    "a folder beside a file": (
        ["tree/sglang/srt/models/one.py", "second"],
        "second: is no file, and files are named",
    ),
    "a tree and --tree": (["tree", "--tree", "second"], "tree: is no file, and --tree names"),
    "no such tree": (["setup.py", "--tree", "gone"], "gone: no such directory"),
    "nothing to lay over": (["setup.py", "--with", "gone"], "gone: no such directory"),
    "two trees": (
        ["tree/sglang/srt/models/one.py", "second/sglang/srt/models/one.py"],
        "the files are of several trees",
    ),
    "two folders": (["tree", "second"], "second: only one tree can be scanned"),
}


@pytest.mark.parametrize(("words", "message"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_one_line(
    words: list[str], message: str, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tree.parent)
    (tree.parent / "setup.py").write_text("")
    (tree / MODELS / "one.py").write_text("")
    shutil.copytree(tree, tree.parent / "second")
    result = run("scan", *words)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr.splitlines()[0]


@pytest.mark.parametrize("name", ["setup.py", "tool", "types.pyi", "sglang/a.py", "test/b.py"])
def test_files_of_no_tree_are_left_out(tree: Path, name: str) -> None:
    other = tree.parent / "sglang" / name  # as in a checkout that is named like the package
    other.parent.mkdir(parents=True, exist_ok=True)
    other.write_text("")
    model = tree / MODELS / "overlapped.py"
    assert report("scan", other, model).files == report("scan", model).files


def test_none_of_the_files_is_of_a_tree(tree: Path) -> None:
    (tree / "setup.py").write_text("")
    (tree.parent / "own").mkdir()
    result = run("scan", tree / "setup.py", "--with", tree.parent / "own", "--tree", "sglang==9.9")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == "No file of a tree that can be audited: nothing was judged\n"
    assert report("scan", tree / "setup.py").source.label == "no tree"
    (tree / "tool").write_text("#!/usr/bin/env python3\n")
    assert run("scan", tree / "tool").stdout == result.stdout


def test_all_files_are_the_whole_tree(tree: Path) -> None:
    assert report("scan", *sorted(tree.rglob("*.py"))).entries == report("scan", tree).entries
    assert report("scan", *sorted(tree.rglob("*.py"))).files == ()


def test_files_of_the_tree_that_is_named(tree: Path) -> None:
    second = shutil.copytree(tree, tree.parent / "second")
    files = [tree / MODELS / "overlapped.py", second / MODELS / "overlapped_guarded.py"]
    found = report("scan", *files, "--tree", second)
    assert found.files == (f"{MODELS}/overlapped_guarded.py",)
    assert report("scan", "--tree", tree) == report("scan", tree)


OWN = """
from sglang.srt.models.overlapped import OverlappedForCausalLM
class OwnForCausalLM(OverlappedForCausalLM):
    pass
EntryClass = OwnForCausalLM
"""


def test_files_of_own_models_are_audited_in_the_tree_below(tree: Path) -> None:
    own = tree.parent / "my_models" / "own.py"
    own.parent.mkdir()
    own.write_text(OWN)
    found = report("scan", own, "--with", own.parent, "--tree", tree)
    assert found.files == (f"{MODELS}/my_models/own.py",)
    assert ["OwnForCausalLM" in entry.architectures for entry in found.entries] == [True]
    assert report("scan", own, "--with", own.parent, "--tree", tree, "--offline") == found
    assert run("scan", own, "--tree", tree).stdout.startswith("No file of a tree")


def test_a_file_that_is_left_out_of_the_tree_is_a_gap(tree: Path) -> None:
    link = tree / MODELS / "link.py"
    outside = tree.parent / "outside.py"
    outside.write_text("x = 1\n")
    link.symlink_to(outside)
    (gap,) = report("scan", link).gaps
    assert (gap.file, gap.message) == (f"{MODELS}/link.py", "link leaves the tree")


# A served class of which every rule that this fork breaks says something.
FAULTY = """
import torch
from torch import nn

class FaultyModel(nn.Module):
    def forward(self, input_ids):
        return input_ids

    def forward(self, input_ids, positions):
        return input_ids

class FaultyForCausalLM(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = FaultyModel()

    def forward(self, input_ids, positions, forward_batch):
        return self.model.forward(input_ids, positions)

    # pathaudit: allow[skipped-aux-capture]
    def get_embed_and_head(self):
        return None

    def get_embed_and_head(self):
        return self

EntryClass = FaultyForCausalLM
"""


def test_no_rule_tells_of_what_depends_on_none_of_the_files(tree: Path) -> None:
    (tree / MODELS / "faulty.py").write_text(FAULTY)
    (tree / MODELS / "other.py").write_text("x = 1\n")
    told = {x.rule for x in report("scan", tree / MODELS / "faulty.py").findings}
    assert {"allow-without-reason", "shadowed-hook", "bypassed-module-call"} <= told
    assert report("scan", tree / MODELS / "other.py").findings == ()


@pytest.fixture(scope="module")
def kept_release(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Means, Report]]:
    """The whole answer on a release, and the means with which parts of it need no new work."""
    cache = Cache(tmp_path_factory.mktemp("kept") / "answers.sqlite")
    means = Means(jobs=2, cache=cache)
    yield means, audit(*inputs(), means=means)
    cache.close()


def inputs() -> tuple[SourceTree, Ruleset]:
    rules = load_ruleset(rules_directory() / "sglang")
    return open_source(str(release("0.5.12")), "sglang"), rules


FILES = {
    OVERLAP: ("skipped-aux-capture", "late-configuration"),
    f"{MODELS}/llama.py": ("unforwarded-hook", "skipped-expert-recorder"),
    "sglang/srt/managers/scheduler.py": ("skipped-aux-capture", "premature-capture"),
}


@pytest.mark.parametrize("file", FILES)
def test_a_release_is_told_of_as_far_as_it_depends_on_a_file(
    file: str, kept_release: tuple[Means, Report]
) -> None:
    means, whole = kept_release
    narrow = audit(*inputs(), files=(file,), means=means)
    assert set(narrow.entries) < set(whole.entries)
    found = {x.fingerprint: x.rule for x in narrow.findings}
    assert found.keys() < {x.fingerprint for x in whole.findings}
    assert found.keys() >= {x.fingerprint for x in whole.findings if x.file == file}
    told, not_told = FILES[file]
    assert told in found.values()
    assert not_told not in found.values()
    assert not_told in whole.rules


def test_of_a_file_that_no_path_depends_on_no_rule_tells_anything(
    kept_release: tuple[Means, Report],
) -> None:
    means, whole = kept_release
    narrow = audit(*inputs(), files=("sglang/test/run_eval.py",), means=means)
    assert (narrow.findings, narrow.entries, narrow.gaps) == ((), (), ())
    assert len({x.rule for x in whole.findings}) > 15


def test_the_rest_is_not_audited(monkeypatch: pytest.MonkeyPatch) -> None:
    """A leaf of the import graph of a real release leads to its own class alone."""
    judged: list[str] = []

    def note(*given: object) -> object:
        judged.append(type(given[-1]).__name__)
        return compute(*given)  # type: ignore[arg-type]

    from pathaudit.work.stage import compute

    monkeypatch.setattr("pathaudit.work.work.compute", note)
    tree = open_source(str(release("0.5.6")), "sglang")
    file = f"{MODELS}/glm4_moe.py"
    narrow = audit(tree, capture_rules(), files=(file,))
    assert judged.count("Subject") == 1
    whole = audit(tree, capture_rules())
    assert narrow.findings == tuple(f for f in whole.findings if f.file == file)


def test_warm_and_cold_say_the_same_of_files(tmp_path: Path) -> None:

    tree = open_source(str(release("0.5.6")), "sglang")
    cache = Cache(tmp_path / "answers.sqlite")
    cold = audit(tree, capture_rules(), files=(f"{MODELS}/qwen2_moe.py",))
    audit(tree, capture_rules(), means=Means(cache=cache))
    warm = audit(tree, capture_rules(), files=(f"{MODELS}/qwen2_moe.py",), means=Means(cache=cache))
    assert warm == cold
    assert 1 < len(warm.entries) < 20
    cache.close()


IMPORTS = {
    "from sglang.a import x": True,
    "    from sglang.a import (\n  x,\n)": True,
    "import sglang.a as b": True,
    "import os, sglang.a": True,
    "from sglang import b, a": True,
    "from . import a": True,
    "from .a import x": True,
    "from sglang import \\\n    a": True,
    "from sglang.between import y": True,
    "from sglang.ab import x": False,
    "import sglang": False,
    "import a": False,
    "x = 'import sglang.a'": False,
}


@pytest.mark.parametrize(("text", "expected"), IMPORTS.items(), ids=IMPORTS)
def test_imports_that_lead_to_a_file(text: str, expected: bool) -> None:
    files = {"start": text, "a": "x = 1", "ab": "x = 1", "between": "from sglang.a import x as y"}
    tree = from_text({f"sglang/{name}.py": text for name, text in files.items()})
    found = Imports(tree).lead_to(["sglang/start.py"], frozenset({"sglang/a.py"}))
    assert bool(found) == expected


def test_a_file_leads_to_itself() -> None:
    tree = from_text({"sglang/a.py": ""})
    assert Imports(tree).lead_to(["sglang/a.py"], frozenset({"sglang/a.py"})) == {"sglang/a.py"}


# ---- the served class -------------------------------------------------------------------------


def test_the_class_of_a_model_is_audited_alone_and_told_in_full(tree: Path) -> None:
    config = tree / "config.json"
    config.write_text('{"architectures": ["OverlappedGuardedForCausalLM"]}')
    result = run("scan", tree, "--config", config)
    assert result.exit_code == 0
    assert "captures at" in result.stdout
    assert "on every path" in result.stdout
    named = report("scan", tree, "--entry", "OverlappedGuardedForCausalLM")
    assert report("scan", tree, "--config", config) == named


CONFIGS = {
    "no JSON": ("{", "config.json: is not JSON: "),
    "a list": ("[]", "config.json: names no architectures"),
    "none": ('{"architectures": []}', "config.json: names no architectures"),
    "not served": ('{"architectures": ["Overlapped"]}', "tree serves no class 'Overlapped'"),
    "too deep": ("[" * 100_000, "config.json: is not JSON: "),
}


@pytest.mark.parametrize(("text", "message"), CONFIGS.values(), ids=CONFIGS)
def test_a_wrong_configuration_is_one_line(
    text: str, message: str, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tree.parent)
    Path("config.json").write_text(text)
    result = run("scan", "tree", "--config", "config.json")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"pathaudit: error: {message}")


def test_a_configuration_that_is_not_there(tree: Path) -> None:
    result = run("scan", tree, "--config", tree / "none.json")
    assert result.exit_code == 2
    assert "none.json: cannot be read: No such file" in result.stderr


def test_an_entry_beside_another_configuration(tree: Path) -> None:
    (tree / "config.json").write_text('{"architectures": ["OverlappedForCausalLM"]}')
    result = run("scan", tree, "--config", tree / "config.json", "--entry", "OtherForCausalLM")
    assert result.exit_code == 2
    assert "--entry is OtherForCausalLM" in result.stderr
