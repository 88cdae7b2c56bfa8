"""Which layers the sites of a model run on a pipeline stage that is not the first."""

import textwrap

import pytest

from pathaudit.ruleset import load_ruleset, rules_directory
from tests.labels import audit_model

RULES = load_ruleset(rules_directory() / "sglang", only=("unequal-ranges",))
MODEL = """
from torch import nn
from sglang.srt.utils import make_layers


class Layer(nn.Module):
    def forward(self, x):
        return x

    def op_all(self): ...


def run(layers, x):
    operations = []
    for layer in layers:
        operations += [layer.op_all]
    return operations


class M(nn.Module):
    def __init__(self, config, pp):
        super().__init__()
        self.layers, self.start_layer, self.end_layer = make_layers(
            config.n, lambda idx, prefix: Layer(), pp_rank=pp.rank, pp_size=pp.size
        )

    def forward(self, x, forward_batch):
{body}


EntryClass = M
"""
OWN = "for i in range(self.start_layer, self.end_layer):\n    x = self.layers[i](x)\n"
BODIES = {
    "all": ("return run(self.layers, x)", ["[0:len(layers)]"]),
    "a slice from the first": ("return run(self.layers[: self.end_layer], x)", ["[0:end_layer]"]),
    "a slice to the last": (
        "return run(self.layers[self.start_layer :], x)",
        ["[start_layer:len(layers)]"],
    ),
    "a loop over all": ("for layer in self.layers:\n    x = layer(x)", ["[0:len(layers)]"]),
    "those of the stage": ("return run(self.layers[self.start_layer : self.end_layer], x)", []),
    "one more of the stage": (
        "return run(self.layers[self.start_layer + 1 : self.end_layer], x)",
        [],
    ),
    "one too many": (
        "return run(self.layers[self.start_layer - 1 : self.end_layer], x)",
        ["[start_layer - 1:end_layer]"],
    ),
    "on the first stage": ("if self.start_layer == 0:\n    return run(self.layers[:4], x)", []),
    "a number that is not known": ("return run(self.layers[x.low : self.end_layer], x)", []),
    "only looked at": ("x.note(self.layers)\nx.count = len(self.layers)", []),
}


def found(body: str) -> list[str]:
    source = MODEL.format(body=textwrap.indent(body, " " * 8))
    report = audit_model("m", source, RULES)
    assert report.gaps == ()
    return [x.message.partition("layers")[2].partition(",")[0] for x in report.findings]


@pytest.mark.parametrize("name", BODIES)
def test_bodies(name: str) -> None:
    body, expected = BODIES[name]
    arms = [textwrap.indent(arm, " " * 4) for arm in (body, OWN)]
    assert found(f"if forward_batch.can_run_tbo:\n{arms[0]}\nelse:\n{arms[1]}") == expected


def test_without_a_sibling_that_keeps_to_its_stage() -> None:
    assert found("return run(self.layers, x)") == []
