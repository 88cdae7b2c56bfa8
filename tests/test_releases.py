"""Real releases: the hand labels, and the case that everything is measured by."""

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from functools import cache

import pytest

from pathaudit.audit import audit
from pathaudit.results import Finding, Reach, Report, Severity, fails
from pathaudit.sources import SourceTree, open_source
from tests.labels import capture_rules
from tests.releases import release
from tests.releases.overlay import overlay
from tests.releases.score import PERFECT, rows, score

RULES = capture_rules()


@cache
def tree(version: str) -> SourceTree:
    return open_source(str(release(version)), "sglang")


@cache
def report(version: str) -> Report:
    return audit(tree(version), RULES)


@pytest.mark.parametrize(
    ("version", "labels", "complete"),
    [
        pytest.param("0.5.6", "0.5.6", True, id="0.5.6"),
        pytest.param("0.5.12", "0.5.12", True, id="0.5.12"),
        pytest.param("0.5.23", "0.5.23-part", False, id="0.5.23-part"),
    ],
)
def test_labels(version: str, labels: str, complete: bool) -> None:
    assert score(report(version), rows(labels), complete=complete) == PERFECT


# Its model is a class of another package.
MINDSPORE = ("sglang/srt/models/mindspore.py",)


@pytest.mark.parametrize(
    ("version", "left_out"), [("0.5.6", ()), ("0.5.12", MINDSPORE), ("0.5.23", MINDSPORE)]
)
def test_nothing_is_unknown_and_little_is_left_out(version: str, left_out: tuple[str, ...]) -> None:
    assert report(version).summary.unknown == 0
    assert tuple(gap.file for gap in report(version).gaps) == left_out


# Labelled as right, and no site: methods that leave the layers to another one that is judged, and
# an arm that cannot run while layers are captured.
DELEGATING = {"beam.py:1160", "muse_spark.py:1240", "teleflm.py:72"}
EXCLUDED = {"mimo_v2.py:1162", "mimo_v2.py:1165"}


@pytest.mark.parametrize(
    ("version", "labels"), [("0.5.6", "0.5.6"), ("0.5.12", "0.5.12"), ("0.5.23", "0.5.23-part")]
)
def test_what_holds_was_judged(version: str, labels: str) -> None:
    sites = {
        f"{site.file}:{site.line}" for entry in report(version).entries for site in entry.sites
    }
    places = [f"{row.file}:{row.line}" for row in rows(labels) if row.expected == "holds"]
    missing = {place.rpartition("/")[2] for place in places if place not in sites}
    assert missing <= DELEGATING | EXCLUDED


def finding(found: Report, file: str, symbol: str) -> Finding:
    (only,) = [x for x in found.findings if x.file.endswith(f"/{file}") and x.symbol == symbol]
    return only


def deepseek() -> Finding:
    return finding(report("0.5.6"), "deepseek_v2.py", "DeepseekV2Model.forward")


def test_the_canonical_finding() -> None:
    found = deepseek()
    assert (found.severity, found.reach) == (Severity.ERROR, Reach.REACHABLE)
    assert found.line == 3301
    assert found.layers == "[first_k_dense_replace, end_layer)"
    assert fails(found, Severity.ERROR)
    assert "model_forward_maybe_tbo" in found.message
    assert [step.line for step in found.steps] == [3277, 3278, 3300, 3301]
    assert [sibling.line for sibling in found.siblings] == [3286]
    assert "DeepseekV3ForCausalLM" in found.entries


def truth(condition: str, names: dict[str, object]) -> bool:
    """Evaluate a printed condition; ``a.b`` is looked up under that name."""

    class Dotted(ast.NodeTransformer):
        def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
            return ast.Name(ast.unparse(node).replace(".", "_"), ast.Load())

    body = ast.fix_missing_locations(Dotted().visit(ast.parse(condition, mode="eval")))
    return bool(eval(compile(body, "condition", "eval"), {}, names))


def worlds() -> Iterator[dict[str, object]]:
    for overlap in (True, False):
        for start in range(4):
            for dense in range(6):
                for end in range(start + 1, 6):
                    yield {
                        "forward_batch_can_run_tbo": overlap,
                        "start_layer": start,
                        "first_k_dense_replace": dense,
                        "end_layer": end,
                    }


def test_the_condition_is_the_one_of_the_source() -> None:
    """The arms of the source, written down by hand, in every small world."""
    first, second = deepseek().paths
    for world in worlds():
        overlap, start = world["forward_batch_can_run_tbo"], world["start_layer"]
        dense, end = world["first_k_dense_replace"], world["end_layer"]
        assert truth(first.condition, world) == (overlap and start < dense < end)  # type: ignore[operator]
        assert truth(second.condition, world) == (overlap and dense < start)  # type: ignore[operator]


def test_no_literal_that_does_not_decide() -> None:
    for path in deepseek().paths:
        assert "pp_group" not in path.condition
        assert "aux_hidden_states" not in path.condition


def test_the_witness_satisfies_the_condition() -> None:
    found = deepseek()
    values: dict[str, object] = {item.name: item.value for item in found.witness}
    assert truth(found.condition, {**values, "forward_batch_can_run_tbo": True})


def test_the_second_arm_needs_stages_and_is_blocked() -> None:
    second = deepseek().paths[1]
    assert (second.layers, second.reach) == ("[0, end_layer)", Reach.BLOCKED)
    assert "NotImplementedError" in second.proof


def test_receivers_are_told_apart() -> None:
    """One forward, inherited: the runner knows one of the two layer classes."""
    found = finding(report("0.5.6"), "qwen2_moe.py", "Qwen2MoeModel.forward")
    assert {(item.name, item.reach) for item in found.receivers} == {
        ("Qwen2MoeModel", Reach.BLOCKED),
        ("Qwen3MoeModel", Reach.REACHABLE),
    }


@pytest.mark.parametrize(
    ("entry", "guard"),
    [
        pytest.param("MiMoV2FlashForCausalLM", "not self.layers_to_capture", id="guard"),
        pytest.param("DeepseekV4ForCausalLM", "and not capture_dspark", id="guard-in-a-local"),
    ],
)
def test_guarded_models_hold_because_of_their_guard(entry: str, guard: str) -> None:
    """Without its guard the same forward is found: it is understood, not exempt by name."""
    original = tree("0.5.23")
    guarded = audit(original, RULES, entry=entry)
    assert not [x for x in guarded.findings if fails(x, Severity.ERROR)]
    (file,) = {item.file for item in guarded.entries if item.entry.endswith("Model.forward")}
    text = original.text(file)
    assert guard in text
    removed = text.replace(f"and {guard}", "") if guard in text else text
    removed = removed.replace(guard, "")
    found = audit(overlay(original, {file: removed}), RULES, entry=entry)
    assert [x for x in found.findings if fails(x, Severity.ERROR) and x.file == file]


def test_a_setter_of_one_feature_does_not_guard_another() -> None:
    """A guard on a flag of one setter excludes the path for that setter's feature only."""
    found = finding(report("0.5.23"), "glm5_next.py", "Glm5NextModel.forward")
    assert found.features == ("set_eagle3_layers_to_capture",)
    assert "not dflash_capture" in found.condition


def test_a_rename_changes_the_message_alone() -> None:
    original = tree("0.5.6")
    old, new = b"model_forward_maybe_tbo", b"run_stages"
    files = original.find(old, original.paths)
    renamed = overlay(
        original, {x: original.text(x).replace(old.decode(), new.decode()) for x in files}
    )
    before = [x for x in report("0.5.6").findings if x.severity is Severity.ERROR]
    after = [x for x in audit(renamed, RULES).findings if x.severity is Severity.ERROR]
    assert [x.message.replace(old.decode(), new.decode()) for x in before] == [
        x.message for x in after
    ]
    assert [x.fingerprint for x in before] == [x.fingerprint for x in after]
    assert [(x.condition, x.layers, x.reach) for x in before] == [
        (x.condition, x.layers, x.reach) for x in after
    ]


def test_the_same_tree_gives_the_same_bytes() -> None:
    """Whatever the hash seed: sets and dicts decide no order."""
    command = [sys.executable, "-m", "pathaudit", "scan", str(release("0.5.6")), "--format", "json"]
    outputs = [
        subprocess.run(
            command, env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, check=False
        ).stdout
        for seed in ("0", "1")
    ]
    assert outputs[0]
    assert outputs[0] == outputs[1]
