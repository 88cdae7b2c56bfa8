"""``bounds``: the first and the last layer that can be asked for."""

from textwrap import indent

import pytest

from pathaudit.results import Finding, Severity
from pathaudit.ruleset import Ruleset, load_ruleset, rules_directory
from tests.labels import SUPPORT, audit_model

SHIPPED = rules_directory() / "sglang"
LAST: Ruleset = load_ruleset(SHIPPED, only=("uncapturable-boundary",))
FIRST: Ruleset = load_ruleset(SHIPPED, only=("none-residual-capture",))

MODEL = """\
from torch import nn

from sglang.srt.utils import make_layers


class Layer(nn.Module):
    def forward(self, hidden, residual, batch, captured=None):
        return hidden, residual


class Model(nn.Module):
    def __init__(self, config):
        self.layers, self.start_layer, self.end_layer = make_layers(
            config.num_hidden_layers, lambda idx, prefix: Layer()
        )
        self.layers_to_capture = []

    def set_layers(self, ids):
        self.layers_to_capture = ids

    def forward(self, hidden, batch):
        residual = None
        aux = []
BODY
        return hidden, aux


class Wrapper(nn.Module):
    def __init__(self, config):
        self.config = config
        self.model = Model(config)

    def forward(self, ids, batch):
        return self.model(ids, batch)

    def set_dflash_layers_to_capture(self, layer_ids):
SETTER


EntryClass = Wrapper
"""

LOOP = """\
for i in range(self.start_layer, self.end_layer):
    if i in self.layers_to_capture:
        aux.append(hidden + residual)
    hidden, residual = self.layers[i](hidden, residual, batch)
"""
CHECK = """\
if any(x < 0 or x >= self.config.num_hidden_layers for x in layer_ids):
    raise ValueError
"""
SHIFTED = "self.model.layers_to_capture = [x + 1 for x in layer_ids]"
PLAIN = "self.model.layers_to_capture = list(layer_ids)"


def findings(rules: Ruleset, body: str, setter: str) -> list[Finding]:
    source = MODEL.replace("BODY", indent(body, " " * 8))
    source = source.replace("SETTER", indent(setter, " " * 8))
    return list(audit_model("example", source, rules).findings)


LOOPS = {
    "range": (LOOP, True),
    "range to a local": (LOOP.replace("for i", "end = self.end_layer\nfor i"), True),
    "enumerate": (
        LOOP.replace(
            "range(self.start_layer, self.end_layer)",
            "enumerate(self.layers[self.start_layer : self.end_layer], start=self.start_layer)",
        ).replace("for i in", "for i, layer in"),
        True,
    ),
    "enumerate from one": (
        LOOP.replace(
            "range(self.start_layer, self.end_layer)", "enumerate(self.layers, 1)"
        ).replace("for i in", "for i, layer in"),
        False,
    ),
    "handed to the layer": (
        "for i in range(self.start_layer, self.end_layer):\n"
        "    hidden, residual = self.layers[i](\n"
        "        hidden, residual, batch, captured=aux if i in self.layers_to_capture else None\n"
        "    )",
        True,
    ),
    "another name for it": (
        "wanted = self.layers_to_capture\n"
        + LOOP.replace("in self.layers_to_capture", "in wanted"),
        True,
    ),
    "or nothing": (
        LOOP.replace("self.layers_to_capture:", "(self.layers_to_capture or ()):"),
        True,
    ),
    "the end after the loop": (
        f"{LOOP}if self.end_layer in self.layers_to_capture:\n    aux.append(hidden)",
        False,
    ),
    "the next one below the layer": (
        LOOP.replace("if i in", "if i + 1 in"),
        False,
    ),
    "one more": (LOOP.replace("self.end_layer)", "self.end_layer + 1)"), False),
    "one more, by a local": (
        LOOP.replace("for i", "end = self.end_layer + 1\nfor i").replace(
            ", self.end_layer)", ", end)"
        ),
        False,
    ),
    "another number": (
        LOOP.replace("    if i in", "    i = i + self.offset\n    if i in"),
        False,
    ),
    "used for more": (f"collector = Collector(self.layers_to_capture)\n{LOOP}", False),
    "counted, and asked if there are any": (
        f"if self.layers_to_capture and len(self.layers_to_capture) > 3:\n    pass\n{LOOP}",
        True,
    ),
}


@pytest.mark.parametrize("name", LOOPS)
def test_the_last_layer(name: str) -> None:
    body, expected = LOOPS[name]
    assert bool(findings(LAST, body, CHECK + SHIFTED)) is expected


SETTERS = {
    "checked": (CHECK + SHIFTED, True),
    "nothing is checked": (SHIFTED, False),
    "the last one is refused": (
        CHECK.replace("num_hidden_layers", "num_hidden_layers - 1") + SHIFTED,
        False,
    ),
    "stored as they are": (CHECK + PLAIN, False),
    "by a method of the model": (
        f"{CHECK}self.model.set_layers([x + 1 for x in layer_ids])",
        True,
    ),
    "a set": (f"{CHECK}self.model.layers_to_capture = {{x + 1 for x in layer_ids}}", True),
    "by way of a local": (
        f"{CHECK}ids = sorted(layer_ids)\nids = tuple(x + 1 for x in ids)\n"
        "self.model.layers_to_capture = ids",
        True,
    ),
    "in one arm": (
        f"{CHECK}if layer_ids[0] == 1:\n    {SHIFTED}\nelse:\n    {PLAIN}",
        True,
    ),
    "filtered": (
        f"{CHECK}self.model.layers_to_capture = [x + 1 for x in layer_ids if x < self.depth]",
        False,
    ),
}


@pytest.mark.parametrize("name", SETTERS)
def test_what_a_setter_stores(name: str) -> None:
    setter, expected = SETTERS[name]
    assert bool(findings(LAST, LOOP, setter)) is expected


def test_what_the_framework_accepts_is_told_with_its_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    check = "def resolve(ids, count):\n    for val in ids:\n        if val < 0 or val >= count:\n"
    file = "sglang/srt/speculative/dflash_utils.py"
    monkeypatch.setitem(SUPPORT, file, f"{check}            raise ValueError\n")
    (finding,) = findings(LAST, LOOP, SHIFTED)
    assert finding.severity is Severity.WARNING
    assert finding.paths[0].proof.endswith(f"up to that of the last layer ({file}:3).")


FIRSTS = {
    "added": (LOOP, True),
    "in an arm for the first stage": (
        "if self.pp_group.is_first_rank:\n    residual = None\n"
        f"else:\n    residual = batch.residual\n{LOOP}",
        True,
    ),
    "asked for": (
        LOOP.replace("(hidden + residual)", "(hidden if residual is None else hidden + residual)"),
        False,
    ),
    "asked for before": (LOOP.replace("if i in", "if residual is not None and i in"), False),
    "below the layer": (
        "for i in range(self.start_layer, self.end_layer):\n"
        "    hidden, residual = self.layers[i](hidden, residual, batch)\n"
        "    if i in self.layers_to_capture:\n        aux.append(hidden + residual)",
        False,
    ),
    "from the second layer on": (LOOP.replace("self.start_layer, ", "1, "), False),
    "from a local": (
        LOOP.replace("for i", "first = self.start_layer\nfor i").replace(
            "(self.start_layer,", "(first,"
        ),
        True,
    ),
    "no residual": (LOOP.replace("hidden + residual", "hidden"), False),
}


@pytest.mark.parametrize("name", FIRSTS)
def test_the_first_layer(name: str) -> None:
    body, expected = FIRSTS[name]
    assert bool(findings(FIRST, body, PLAIN)) is expected


def test_a_setter_that_adds_one_never_asks_for_the_first_layer() -> None:
    assert findings(FIRST, LOOP, SHIFTED) == []


def test_a_finding_says_which_setter_and_what_happens() -> None:
    (finding,) = findings(FIRST, LOOP, PLAIN)
    assert finding.message == "asking for layer 0 fails: residual is None there (a TypeError)"
    assert (finding.symbol, finding.entries) == ("Model.forward", ("Wrapper",))
    assert finding.features == ("set_dflash_layers_to_capture",)
