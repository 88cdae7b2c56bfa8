"""``gathers``: what is made of rows that ranks share is gathered as its siblings are."""

from textwrap import indent

import pytest

from pathaudit.results import Finding, Severity
from pathaudit.ruleset import Ruleset, load_ruleset, rules_directory
from tests.labels import audit_model

RULES: Ruleset = load_ruleset(rules_directory() / "sglang", only=("ungathered-aux",))

MODEL = """\
import torch
from torch import nn

from sglang.srt.utils import make_layers


class Aux(list):
    def capture(self, hidden):
        self.append(hidden)


class Layer(nn.Module):
    def forward(self, hidden, batch, captured=None):
        return hidden


class Model(nn.Module):
    def __init__(self, config):
        self.layers, self.start_layer, self.end_layer = make_layers(
            config.num_hidden_layers, lambda idx, prefix: Layer()
        )
        self.layers_to_capture = []

    def forward(self, hidden, batch):
MODEL_BODY


class Wrapper(nn.Module):
    def __init__(self, config):
        self.model = Model(config)
        self.capture_aux = False

    def forward(self, ids, batch):
        return self.model(ids, batch)

    def set_eagle3_layers_to_capture(self, layer_ids):
        self.capture_aux = True
        self.model.layers_to_capture = list(layer_ids)


EntryClass = Wrapper
"""


def found(body: str, old: str = "", new: str = "") -> list[Finding]:
    source = MODEL.replace("MODEL_BODY", indent(body, " " * 8)).replace(old or "\0", new)
    return list(audit_model("example", source, RULES).findings)


SPLIT = "hidden = cp_split_and_rebuild_data(batch, hidden)\n"
GATHER = "hidden = cp_all_gather_rerange_output(hidden, batch)\n"
COLLECT = """\
aux = []
for i in range(self.start_layer, self.end_layer):
    if i in self.layers_to_capture:
        aux.append(hidden)
    hidden = self.layers[i](hidden, batch)
"""
HANDED = """\
aux = Aux()
for i in range(self.start_layer, self.end_layer):
    hidden = self.layers[i](hidden, batch, aux if i in self.layers_to_capture else None)
"""
END = "return hidden, aux"

ROWS = {
    "left out": (f"{SPLIT}{COLLECT}{GATHER}{END}", ["aux"]),
    "under a test": (
        f"if batch.cp:\n    {SPLIT}{COLLECT}if batch.cp:\n    {GATHER}{END}",
        ["aux"],
    ),
    "handed to the layers": (f"{SPLIT}{HANDED}{GATHER}{END}", ["aux"]),
    "finished": (f"{SPLIT}{HANDED}{GATHER}return hidden, aux.finalize()", ["aux"]),
    "neither is gathered": (f"{SPLIT}{COLLECT}{END}", []),
    "nothing was split": (f"{COLLECT}{GATHER}{END}", []),
    "another thing was split": (
        f"positions = cp_split_and_rebuild_data(batch, batch.p)\n{COLLECT}{GATHER}{END}",
        [],
    ),
    "both are gathered": (
        f"{SPLIT}{COLLECT}{GATHER}aux = [cp_all_gather_rerange_output(x, batch) for x in aux]\n"
        f"{END}",
        [],
    ),
    "one by one": (
        f"{SPLIT}{COLLECT}{GATHER}whole = []\nfor x in aux:\n"
        "    whole.append(cp_all_gather_rerange_output(x, batch))\nreturn hidden, whole",
        [],
    ),
    "packed and gathered": (
        f"{SPLIT}{COLLECT}{GATHER}aux = cp_all_gather_rerange_output(torch.cat(aux), batch)\n{END}",
        [],
    ),
    "gathered where it is collected": (
        f"{SPLIT}{COLLECT.replace('append(hidden)', 'append(GATHER)')}{GATHER}{END}".replace(
            "GATHER", "cp_all_gather_rerange_output(hidden, batch)"
        ),
        [],
    ),
    "gathered before it is collected": (
        f"{SPLIT}"
        + COLLECT.replace(
            "aux.append(hidden)",
            "whole = cp_all_gather_rerange_output(hidden, batch)\n        aux.append(whole)",
        )
        + f"{GATHER}{END}",
        [],
    ),
    "gathered by a closure": (
        f"{SPLIT}aux = Aux()\ndef keep(x):\n"
        "    aux.capture(cp_all_gather_rerange_output(x, batch))\n"
        f"{HANDED.partition(chr(10))[2].replace('aux if', 'keep if')}{GATHER}{END}",
        [],
    ),
    "gathered over other ranks": (
        f"{SPLIT}"
        + COLLECT.replace("append(hidden)", "append(self.group.all_gather(hidden))")
        + f"{GATHER}{END}",
        ["aux"],
    ),
    "of another kind": (
        f"{SPLIT}{COLLECT}hidden = sp_exit_gather(hidden)\n{END}",
        [],
    ),
    "not split while it captures": (
        f"cp = batch.cp and not self.layers_to_capture\nif cp:\n    {SPLIT}{COLLECT}"
        f"if cp:\n    {GATHER}{END}",
        [],
    ),
    "it is not returned": (f"{SPLIT}{COLLECT}{GATHER}return hidden", []),
    "for no feature": (
        f"{SPLIT}{COLLECT.replace('i in self.layers_to_capture', 'batch.wide')}{GATHER}{END}",
        [],
    ),
}


@pytest.mark.parametrize("name", ROWS)
def test_rows(name: str) -> None:
    body, expected = ROWS[name]
    assert [item.message.split()[0] for item in found(body)] == expected


LAYOUT = "mode = self.layers[0].layer_scatter_modes.layer_output_mode\n"
SCATTERED = {
    "as they are": (f"{LAYOUT}{COLLECT}{END}", ["aux"]),
    "in one arm": (
        LAYOUT
        + COLLECT.replace(
            "aux.append(hidden)",
            "if batch.a2a:\n            aux.append(group.all_gather(hidden))\n"
            "        else:\n            aux.append(hidden)",
        )
        + END,
        [],
    ),
    "by the name of another": (
        LAYOUT
        + COLLECT.replace(
            "aux.append(hidden)",
            "x = tensor_model_parallel_all_gather(hidden)\n        aux.append(x)",
        )
        + END,
        [],
    ),
    "gathered later": (f"{LAYOUT}{COLLECT}aux = group.all_gather(torch.cat(aux))\n{END}", []),
    "by the layers": (f"{LAYOUT}{HANDED}{END}", []),
    "nobody knows the layout": (f"{COLLECT}{END}", []),
    "after the last layer": (
        f"{LAYOUT}aux = []\nfor layer in self.layers:\n    hidden = layer(hidden, batch)\n"
        f"if self.layers_to_capture:\n    aux.append(hidden)\n{END}",
        [],
    ),
}


@pytest.mark.parametrize("name", SCATTERED)
def test_rows_that_layers_scatter(name: str) -> None:
    body, expected = SCATTERED[name]
    assert [item.message.split()[0] for item in found(body)] == expected


def test_a_finding_stands_where_the_sibling_is_gathered() -> None:
    (finding,) = found(f"{SPLIT}{COLLECT}{GATHER}{END}")
    assert (finding.symbol, finding.entries, finding.severity) == (
        "Model.forward",
        ("Wrapper",),
        Severity.ERROR,
    )
    assert finding.features == ("set_eagle3_layers_to_capture",)
    assert finding.message.endswith("hidden is gathered here, and it is not")
    assert [step.text for step in finding.steps] == [
        "each rank takes a part of the rows",
        "aux is filled from these rows",
    ]


def test_what_depends_on_how_the_server_is_started_is_a_warning() -> None:
    (finding,) = found(f"{LAYOUT}{COLLECT}{END}")
    assert finding.severity is Severity.WARNING


def test_a_class_that_captures_nothing_owes_nothing() -> None:
    assert found(f"{SPLIT}{COLLECT}{GATHER}{END}", "def set_eagle3", "def use_eagle3") == []
