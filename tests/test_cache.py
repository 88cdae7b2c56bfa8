"""What is kept between scans is given again only where a cold scan would say the same.

``PATHAUDIT_CACHE_STEPS=20000 pytest tests/test_cache.py`` walks longer than CI does.
"""

import os
import random
import shutil
import sqlite3
from collections.abc import Iterator, Mapping
from pathlib import Path
from textwrap import dedent

import pytest

from pathaudit.audit import Means, audit
from pathaudit.cache import Cache, cache_path, store
from pathaudit.results import Report
from pathaudit.ruleset import load_ruleset, rules_directory
from pathaudit.sources import SourceTree, from_text, open_source
from tests.labels import SUPPORT, capture_rules

STEPS = int(os.environ.get("PATHAUDIT_CACHE_STEPS", "1600"))
SRT = "sglang/srt"

ENTRY = """
from sglang.srt.models.inner import Inner
from sglang.srt.mixin import Arming

class OuterForCausalLM({base}):
    def __init__(self, config):
        self.model = Inner(config)

    def forward(self, hidden):
        return self.model(hidden)
{setter}
EntryClass = OuterForCausalLM
"""
SETTER = """
    def set_eagle3_layers_to_capture(self, layer_ids=None):
        self.model.layers_to_capture = layer_ids or [1, 2]
"""
INNER = """
from sglang.srt.utils import make_layers
from sglang.srt.layer import Layer
from sglang.srt.runner import run_all

class Inner({base}):
    def __init__(self, config):
        self.layers, self.start_layer, self.end_layer = make_layers(
            config.num_hidden_layers, lambda idx, prefix: Layer(idx)
        )
        self.layers_to_capture = []
{forward}
"""
LOOP = """
    def forward(self, hidden):
        aux = []
        for i in range(self.start_layer, self.end_layer):
            if i in self.layers_to_capture:
                aux.append(hidden)
            hidden = self.layers[i](hidden)
        return hidden, aux
"""
SKIPPING = """
    def forward(self, hidden):
        if hidden.overlap:
            return run_all(self.layers, hidden)
        aux = []
        for i in range(self.start_layer, self.end_layer):
            if i in self.layers_to_capture:
                aux.append(hidden)
            hidden = self.layers[i](hidden)
        return hidden, aux
"""
DEEPER = "from sglang.srt import deeper\n" + INNER.format(base="deeper.base.Base", forward="")
SPLIT = """
    def forward_split_prefill(self, hidden):
        return self.layers[0](hidden)
"""
RUNNER = """
def run_all(layers, hidden):
    {body}
    return hidden
"""
LAYER = """
class Layer:
    def forward(self, hidden):
        return hidden
"""
BASE = "from sglang.srt.models.inner import Unused\n\nclass Base:\n    x = 1\n{forward}"
STARRED = "from sglang.srt.deeper.runner import *"

# What may stand in each file; nothing means that it is not there.
CHOICES: Mapping[str, tuple[str | None, ...]] = {
    f"{SRT}/models/outer.py": (
        ENTRY.format(base="Arming", setter=""),
        ENTRY.format(base="object", setter=SETTER),
        ENTRY.format(base="Arming", setter="")[:-40],
        None,
    ),
    f"{SRT}/models/second.py": (
        None,
        "from sglang.srt.models.outer import OuterForCausalLM\n\nEntryClass = [OuterForCausalLM]\n",
        "from sglang.srt.models.outer import OuterForCausalLM\n\n"
        "class SecondForCausalLM(OuterForCausalLM): ...\n\nEntryClass = SecondForCausalLM\n",
    ),
    f"{SRT}/models/inner.py": (
        INNER.format(base="object", forward=LOOP),
        INNER.format(base="object", forward=SKIPPING),
        INNER.format(base="object", forward=LOOP + SPLIT),
        DEEPER,
        "from sglang.srt.base import Base\n" + INNER.format(base="Base", forward=""),
    ),
    f"{SRT}/mixin.py": (f"class Arming:\n{SETTER}", "class Arming: ...\n", "class (\n", None),
    f"{SRT}/mixin/__init__.py": (None, f"class Arming:\n{SETTER}", ""),
    f"{SRT}/runner.py": (
        RUNNER.format(body="for layer in layers: hidden = layer(hidden)"),
        RUNNER.format(body="pass"),
        STARRED,
        None,
    ),
    f"{SRT}/deeper/runner.py": (
        None,
        RUNNER.format(body="return layers[0](hidden)"),
        RUNNER.format(body="raise NotImplementedError"),
    ),
    f"{SRT}/deeper/base.py": (None, BASE.format(forward=SKIPPING), BASE.format(forward=LOOP)),
    f"{SRT}/runner/__init__.py": (None, "from sglang.srt.deeper.runner import run_all\n"),
    f"{SRT}/layer.py": (LAYER, None, LAYER.replace("hidden)", "hidden, *_)")),
    f"{SRT}/base.py": (BASE.format(forward=SKIPPING), BASE.format(forward=LOOP), None),
    f"{SRT}/utils.py": (SUPPORT[f"{SRT}/utils.py"], "def make_layers(): ...\n"),
    f"{SRT}/managers/scheduler.py": (
        None,
        "if self.enable_pdmux and batch.forward_mode.is_split_prefill(): ...\n",
    ),
    f"{SRT}/server_args.py": (None, "enable_return_aux_hidden_states = True\n"),
}


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[Cache]:
    kept = Cache(tmp_path / "cache" / "answers.sqlite")
    yield kept
    kept.close()


def tree_of(chosen: Mapping[str, int]) -> SourceTree:
    found = {file: CHOICES[file][number] for file, number in chosen.items()}
    texts = {file: text for file, text in found.items() if text is not None}
    return from_text({"sglang/srt/models/other.py": OTHER, **texts})


OTHER = dedent(
    """
    class OtherForCausalLM:
        def forward(self, hidden):
            return hidden

    EntryClass = OtherForCausalLM
    """
)


def told(tree: SourceTree, cache: Cache | None) -> Report:
    return audit(tree, capture_rules(), means=Means(cache=cache))


@pytest.mark.parametrize("seed", range(4))
def test_warm_is_cold_after_any_change(cache: Cache, seed: int) -> None:
    chance = random.Random(seed)
    chosen = dict.fromkeys(CHOICES, 0)
    seen: dict[str, Report] = {}
    for _ in range(STEPS // 4):
        for file in chance.sample(sorted(CHOICES), chance.choice((1, 1, 2, 5))):
            chosen[file] = chance.randrange(len(CHOICES[file]))
        state = repr(sorted(chosen.items()))
        seen.setdefault(state, told(tree_of(chosen), None))
        assert told(tree_of(chosen), cache) == seen[state]
        assert cache.fault == ""
    answers = {repr((report.findings, report.entries, report.gaps)) for report in seen.values()}
    assert len(answers) > 8  # or the walk would show nothing


def test_answers_are_used_again(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = dict.fromkeys(CHOICES, 0)
    told(tree_of(chosen), cache)
    calls: list[object] = []
    monkeypatch.setattr("pathaudit.work.work.compute", lambda *given: calls.append(given))
    assert told(tree_of(chosen), cache) == told(tree_of(chosen), cache)
    assert calls == []


def test_a_change_elsewhere_takes_nothing_away(
    cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = dict.fromkeys(CHOICES, 0)
    first = told(tree_of(chosen), cache)
    monkeypatch.setattr("pathaudit.work.work.compute", None)
    chosen[f"{SRT}/deeper/runner.py"] = 1
    second = told(tree_of(chosen), cache)
    assert second.findings == first.findings
    assert second.summary.files == first.summary.files + 1


@pytest.mark.parametrize(
    "content", [b"", b"not a database" * 100, b"SQLite format 3\0" + b"x" * 5000]
)
def test_a_damaged_file_is_replaced(cache: Cache, content: bytes) -> None:
    cache.path.parent.mkdir()
    cache.path.write_bytes(content)
    tree = tree_of(dict.fromkeys(CHOICES, 0))
    assert told(tree, cache) == told(tree, None)
    assert cache.info().states == 1


def test_a_damaged_page_is_no_error(cache: Cache) -> None:
    tree = tree_of(dict.fromkeys(CHOICES, 0))
    told(tree, cache)
    cache.close()
    data = bytearray(cache.path.read_bytes())
    data[4096:] = os.urandom(len(data) - 4096)
    cache.path.write_bytes(data)
    assert told(tree, cache) == told(tree, None)


def test_a_foreign_database_is_replaced(cache: Cache) -> None:
    cache.path.parent.mkdir()
    with sqlite3.connect(cache.path) as connection:
        connection.execute("CREATE TABLE answer (x)")
    connection.close()
    tree = tree_of(dict.fromkeys(CHOICES, 0))
    assert told(tree, cache) == told(tree, None)
    assert cache.info().states == 1


def test_a_folder_that_cannot_be_made_is_a_fault_and_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    cache = Cache(tmp_path / "file" / "answers.sqlite")
    tree = tree_of(dict.fromkeys(CHOICES, 0))
    assert told(tree, cache) == told(tree, None)
    assert cache.fault


def test_a_full_disk_is_a_fault_and_no_error(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    def small(path: Path) -> sqlite3.Connection:
        connection = connect(path)
        connection.execute("PRAGMA max_page_count = 6")
        return connection

    connect = store._connect
    monkeypatch.setattr(store, "_connect", small)
    tree = tree_of(dict.fromkeys(CHOICES, 0))
    known = cache.known(tree)
    known.keep_whole(b"key", os.urandom(100_000))
    cache.keep(known, tree)
    assert cache.fault == "database or disk is full"
    assert cache.info().answers == 0


def test_old_states_are_forgotten(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pathaudit.cache.store._STATES", 3)
    for number in range(6):
        told(from_text({"sglang/srt/models/other.py": OTHER + f"\nx = {number}\n"}), cache)
    assert cache.info().states == 3


def test_two_users_at_once(cache: Cache) -> None:
    tree = tree_of(dict.fromkeys(CHOICES, 0))
    other = Cache(cache.path)
    known = [each.known(tree) for each in (cache, other)]
    for number, (each, found) in enumerate(zip((cache, other), known, strict=True)):
        found.keep_whole(bytes([number]), b"answer")
        each.keep(found, tree)
    assert cache.info().answers == 2
    other.close()


def test_a_tree_that_changes_while_it_is_read_is_not_kept(cache: Cache, tmp_path: Path) -> None:
    file = tmp_path / "tree" / "sglang" / "srt" / "models" / "a.py"
    file.parent.mkdir(parents=True)
    file.write_text(OTHER)
    tree = open_source(str(tmp_path / "tree"), "sglang")
    known = cache.known(tree)
    known.keep_whole(b"key", b"answer")
    file.write_text(OTHER + "\n")
    cache.keep(known, tree)
    assert cache.info().states == 0


def test_rules_and_profile_are_part_of_the_question(cache: Cache, tmp_path: Path) -> None:
    tree = tree_of({**dict.fromkeys(CHOICES, 0), f"{SRT}/models/inner.py": 1})
    first = told(tree, cache)
    folder = shutil.copytree(rules_directory() / "sglang", tmp_path / "rules")
    text = (folder / "profile.yaml").read_text().replace("set_*_layers_to_capture", "arm_*")
    (folder / "profile.yaml").write_text(text)
    rules = load_ruleset(folder, only=("skipped-aux-capture",))
    second = audit(tree, rules, means=Means(cache=cache))
    assert first.findings != second.findings
    assert second == audit(tree, rules)


def test_the_folder_can_be_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATHAUDIT_CACHE_DIR", str(tmp_path))
    assert cache_path().parent == tmp_path
    monkeypatch.delenv("PATHAUDIT_CACHE_DIR")
    assert cache_path().parent.name == "pathaudit"
