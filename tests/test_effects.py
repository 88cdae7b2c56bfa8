"""What happens when layers ran without capture: from what the code around them does."""

from textwrap import indent

import pytest

from tests.labels import audit_model

MODEL = """
from torch import nn

from sglang.srt.utils import make_layers


class Packer:
    def __init__(self, count):
        self.count = count
        self.items = []

    def append(self, item):
        self.items.append(item)

    def __len__(self):
        return len(self.items)

    def finalize(self):
        {finalize}
        return self.items


class Model(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.layers, self.start_layer, self.end_layer = make_layers(
            config.num_hidden_layers, lambda idx, prefix: nn.Linear(1, 1)
        )
        self.layers_to_capture = []

    def forward(self, hidden):
        aux = {made}
{body}
        {returned}


class ModelForCausalLM(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.model = Model(config)
        self.capture_aux_hidden_states = False

    def forward(self, hidden):
        hidden = self.model(hidden)
        {caller}
        return hidden

    def set_eagle3_layers_to_capture(self, layer_ids=None):
        self.capture_aux_hidden_states = True
        self.model.layers_to_capture = layer_ids or [1, 2]


EntryClass = ModelForCausalLM
"""
NONE = "for layer in self.layers:\n    hidden = layer(hidden)"
SOME = """
for i in range(self.start_layer, self.end_layer):
    aux.append(hidden)
    hidden = self.layers[i](hidden)
for layer in self.layers:
    hidden = layer(hidden)
"""
BARE = "if len(aux) == 0:\n            return hidden\n        return hidden, aux"
PAIR = "return hidden, aux"
UNPACKS = "if self.capture_aux_hidden_states:\n            hidden, aux = hidden"
COUNTS = "if len(self.items) != self.count:\n            raise ValueError"
CASES = {
    "one tensor is unpacked": (NONE, "[]", BARE, UNPACKS, "pass", "loud: nothing is collected"),
    "nothing unpacks": (NONE, "[]", BARE, "pass", "pass", "silent: the draft gets none"),
    "always a pair": (NONE, "[]", PAIR, UNPACKS, "pass", "silent: the draft gets none"),
    "some are there": (SOME, "[]", BARE, UNPACKS, "pass", "silent: the draft gets fewer"),
    "they are counted": (
        SOME, "Packer(3)", "return hidden, aux.finalize()", UNPACKS, COUNTS,
        "loud: Packer.finalize counts",
    ),
    "none, and they are counted": (
        NONE, "Packer(3)", "return hidden, aux.finalize()", UNPACKS, COUNTS,
        "loud: Packer.finalize counts",
    ),
    "they are not counted": (
        SOME, "Packer(3)", "return hidden, aux.finalize()", UNPACKS, "pass",
        "silent: the draft gets fewer",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_effects(name: str) -> None:
    body, made, returned, caller, finalize, expected = CASES[name]
    text = MODEL.format(
        body=indent(body, " " * 8),
        made=made,
        returned=returned,
        caller=caller,
        finalize=finalize,
    )
    (finding,) = audit_model("demo", text).findings
    assert finding.effect.startswith(expected)
