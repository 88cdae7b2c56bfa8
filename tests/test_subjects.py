"""What a setter arms: the methods that are judged, and what is said where none were found."""

import pytest

from tests.labels import audit_model

MODEL = """
from torch import nn

from sglang.srt.utils import make_layers


class Layer(nn.Module):
    def forward(self, hidden):
        return hidden


class Model(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.layers = {layers}
        self.layers_to_capture = []

    def forward(self, hidden):
        for layer in self.layers:
            hidden = layer(hidden)
        return hidden


class Text(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.model = Model(config)

    def forward(self, hidden):
        return self.model(hidden)

    def set_eagle3_layers_to_capture(self, layer_ids=None):
        {setter}


class Served(Text):
    def __init__(self, config):
        {init}


EntryClass = Served
"""
KNOWN = "make_layers(config.num_hidden_layers, lambda idx, prefix: Layer())"
WRITES = "self.model.layers_to_capture = [1, 2]"
JUDGED = ["Model.forward violated"]
UNKNOWN_CLASS = ["set_eagle3_layers_to_capture of Served arms self.model, whose class is not known"]
CASES: dict[str, tuple[str, str, str, list[str]]] = {
    "as the base makes it": (KNOWN, WRITES, "super().__init__(config)", JUDGED),
    "an arm makes another, of no known class": (
        KNOWN,
        WRITES,
        """if config.encoder_only:
            self.model = nn.Module()
        else:
            super().__init__(config)""",
        JUDGED,
    ),
    "another, of no known class": (
        KNOWN,
        WRITES,
        """super().__init__(config)
        self.model = config.make()""",
        UNKNOWN_CLASS,
    ),
    "asked to arm itself, and of no known class": (
        KNOWN,
        "self.model.set_eagle3_layers_to_capture([1, 2])",
        """super().__init__(config)
        self.model = config.make()""",
        UNKNOWN_CLASS,
    ),
    "asked to arm itself, and cannot": (
        KNOWN,
        "self.model.set_eagle3_layers_to_capture([1, 2])",
        "super().__init__(config)",
        [],
    ),
    "layers of unknown make": (
        "config.build()",
        WRITES,
        "super().__init__(config)",
        [
            "set_eagle3_layers_to_capture of Served arms self.model, "
            "where no stack of layers was found"
        ],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_subjects(name: str) -> None:
    layers, setter, init, expected = CASES[name]
    report = audit_model("demo", MODEL.format(layers=layers, setter=setter, init=init))
    found = [f"{entry.entry} {entry.verdict}" for entry in report.entries]
    assert [*found, *(gap.message for gap in report.gaps)] == expected
