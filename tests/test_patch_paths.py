"""On which paths of the served classes a patch runs: noted, and compared with another tree."""

from pathlib import Path

import msgspec
import pytest

from pathaudit.audit import Means, patches_of
from pathaudit.cache import Cache
from pathaudit.results.patches import PatchPoint
from pathaudit.ruleset.patches import Reliance
from tests.labels import SUPPORT, shipped_rules
from tests.patches import MODEL, edited, noted, tree_of

OLD = {
    **SUPPORT,
    MODEL: """
from torch import nn

from sglang.srt.utils import make_layers


class Layer(nn.Module):
    def forward(self, states):
        return states


class Model(nn.Module):
    def __init__(self, config):
        self.layers, self.start_layer, self.end_layer = make_layers(
            config.num_hidden_layers, lambda idx: Layer()
        )

    def forward(self, input_ids, positions, forward_batch):
        states = self.embed(input_ids)
        rows = len(states)
        self.seen = rows
        aux = []
        for i in range(self.start_layer, self.end_layer):
            states = self.layers[i](states)
        states = self.norm(states)
        return states, aux


def run_all(layers, states):
    for layer in layers:
        states = layer(states)
    return states


class TappedForCausalLM(nn.Module):
    def __init__(self, config):
        self.model = Model(config)

    def forward(self, input_ids, positions, forward_batch):
        return self.model(input_ids, positions, forward_batch)


EntryClass = TappedForCausalLM
""",
}
EMBED = "        states = self.embed(input_ids)\n"
LOOP = "        for i in range(self.start_layer, self.end_layer):\n"
IN_LOOP = edited(OLD, (MODEL, LOOP, f"{LOOP}            aux.append(states)\n"))
NORM = "self.norm(states)\n"
AFTER = edited(OLD, (MODEL, NORM, f"{NORM}        aux.append(states)\n"))
BOTH = edited(IN_LOOP, (MODEL, "from torch import nn\n", "import os\nfrom torch import nn\n"))
NAME = "TappedForCausalLM.forward"
BYPASS = (
    "        if forward_batch.can_run_tbo:\n            return run_all(self.layers, states), []\n"
)
IDLE = "        if forward_batch.is_empty:\n            return states, []\n"


def paths(reliance: Reliance) -> list[tuple[str, str, tuple[str, ...]]]:
    found = (path for item in reliance.files[0].functions for path in item.paths)
    return [(path.code, path.runs, path.missed) for path in found]


def told(
    reliance: Reliance, files: dict[str, str], *, means: Means | None = None
) -> tuple[PatchPoint, ...]:
    rules = msgspec.structs.replace(shipped_rules(), patches=(reliance,))
    (answer,) = patches_of(tree_of(files), rules, means=means or Means()).patches
    return tuple(point for point in answer.points if point.status != "holds")


NOTED = [
    pytest.param(IN_LOOP, [("aux.append(states)", "every", ())], id="in the loop"),
    pytest.param(AFTER, [("aux.append(states)", "every", ())], id="after it"),
    pytest.param(
        edited(AFTER, (MODEL, "        aux.append", "        if self.on:\n            aux.append")),
        [("if self.on:", "every", ())],
        id="what stands around it",
    ),
    pytest.param(
        edited(
            OLD,
            (MODEL, "    for layer in layers:\n", "    print(layers)\n    for layer in layers:\n"),
        ),
        [],
        id="in what nothing calls",
    ),
]


@pytest.mark.parametrize(("new", "expected"), NOTED)
def test_the_paths_of_what_is_added(
    new: dict[str, str], expected: list[tuple[str, str, tuple[str, ...]]]
) -> None:
    assert expected == paths(noted(OLD, new))


def test_some_paths_are_noted_with_what_runs_without_it() -> None:
    old = edited(OLD, (MODEL, EMBED, f"{EMBED}{BYPASS}"))
    new = edited(old, (MODEL, LOOP, f"{LOOP}            aux.append(states)\n"))
    missed = "layers [0, len(layers)) in run_all, when forward_batch.can_run_tbo"
    assert paths(noted(old, new)) == [("aux.append(states)", "some", (missed,))]
    assert told(noted(old, new), old) == ()


LATER = [
    pytest.param(IN_LOOP, [], [], id="the same"),
    pytest.param(
        IN_LOOP,
        [(MODEL, EMBED, f"{EMBED}{BYPASS}")],
        [
            (
                "error",
                "return run_all",
                f"adds `aux.append(states)`, which no longer runs on every path of {NAME}: without "
                "it run layers [0, len(layers)) in run_all, when forward_batch.can_run_tbo",
            )
        ],
        id="layers run without it",
    ),
    pytest.param(
        BOTH,
        [(MODEL, EMBED, f"{EMBED}{BYPASS}")],
        [
            (
                "error",
                "return run_all",
                f"adds `aux.append(states)`, which no longer runs on every path of {NAME}: without "
                "it run layers [0, len(layers)) in run_all, when forward_batch.can_run_tbo",
            )
        ],
        id="lines are those of the tree without the patch",
    ),
    pytest.param(
        AFTER,
        [(MODEL, EMBED, f"{EMBED}{IDLE}")],
        [
            (
                "warning",
                "states = self.norm(",
                f"adds `aux.append(states)`, which no longer runs on every path of {NAME}: without "
                "it when forward_batch.is_empty",
            )
        ],
        id="a path that runs no layers",
    ),
    pytest.param(
        AFTER,
        [(MODEL, EMBED, f"{EMBED}        return states, []\n")],
        [
            (
                "error",
                "states = self.norm(",
                f"adds `aux.append(states)`, which runs on no path of {NAME} here",
            )
        ],
        id="no path",
    ),
]


@pytest.mark.parametrize(("new", "edits", "expected"), LATER)
def test_the_paths_of_another_tree(
    new: dict[str, str], edits: list[tuple[str, str, str]], expected: list[tuple[str, str, str]]
) -> None:
    tree = edited(OLD, *edits)
    lines = tree[MODEL].splitlines()
    found = told(noted(OLD, new), tree)
    assert [(status, text) for status, _, text in expected] == [(x.status, x.text) for x in found]
    for point, (_, code, _) in zip(found, expected, strict=True):
        assert lines[point.line - 1].strip().startswith(code)


def test_a_tree_that_has_it_is_judged_as_it_is() -> None:
    reliance = noted(OLD, IN_LOOP, patched=True)
    assert told(reliance, IN_LOOP) == ()
    (point,) = told(reliance, edited(IN_LOOP, (MODEL, EMBED, f"{EMBED}{BYPASS}")))
    assert (point.status, point.condition) == ("error", "forward_batch.can_run_tbo")


def test_answers_of_two_patches_are_kept_apart(tmp_path: Path) -> None:
    """Both add a statement at the same place of the same tree; only one adds a way past it."""
    head = "        pass\n        pass\n"
    one = edited(IN_LOOP, (MODEL, EMBED, f"{head}{EMBED}"))
    other = edited(
        IN_LOOP,
        (
            MODEL,
            EMBED,
            "        if forward_batch.can_run_tbo:\n"
            "            return run_all(self.layers, input_ids), []\n" + EMBED,
        ),
    )
    means = Means(cache=Cache(tmp_path / "answers"))
    assert told(noted(OLD, other, name="a"), OLD, means=means) == ()
    assert told(noted(OLD, one, name="b"), OLD, means=means) == ()
    assert told(noted(OLD, other, name="a"), OLD, means=means) == ()


def test_what_ran_on_some_paths_must_run_on_one() -> None:
    old = edited(OLD, (MODEL, EMBED, f"{EMBED}{IDLE}"))
    new = edited(old, (MODEL, NORM, f"{NORM}        aux.append(states)\n"))
    reliance = noted(old, new)
    assert paths(reliance) == [("aux.append(states)", "some", ("when forward_batch.is_empty",))]
    assert told(reliance, old) == ()
    (point,) = told(reliance, edited(old, (MODEL, "        if forward_batch.is_empty:\n    ", "")))
    assert point.text == f"adds `aux.append(states)`, which runs on no path of {NAME} here"
