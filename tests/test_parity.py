"""What two ways to run the same layers give them."""

import textwrap

import pytest

from pathaudit.ruleset import load_ruleset, rules_directory
from tests.labels import audit_model

RULES = load_ruleset(rules_directory() / "sglang", only=("unequal-siblings",))
MODEL = """
import torch
from torch import nn
from sglang.srt.utils import make_layers


class Layer(nn.Module):
    def forward(self, x, batch, scale=None, zero_allocator=None, unused=None):
        return self.mlp(x, scale, zero_allocator), batch

    def op_all(self): ...


def run(layers, x, batch, scale=None):
    operations = []
    for layer in layers:
        operations += [layer.op_all]
    return operations


class M(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.layers, self.start_layer, self.end_layer = make_layers(
            config.n, lambda idx, prefix: Layer(), pp_rank=0, pp_size=1
        )

    def forward(self, x, batch):
        scale = torch.tensor(2, dtype=x.dtype)
        y = torch.zeros(1)
        y.data = x
        norm = torch.tensor(3, dtype=y.dtype)
        for i in range(self.start_layer, self.k):
{loop}
{after}

    def forward_split_prefill(self, x, batch):
        y = x
{split}


EntryClass = M
"""
LOOP = "x, r = self.layers[i](x, batch, scale)"
RUN = "run(self.layers[self.k :], x, batch)"
CASES = {
    "an argument": (LOOP, RUN, "", [("error", "no scale")]),
    "given": (LOOP, "run(self.layers[self.k :], x, batch, scale)", "", []),
    "given by name": (LOOP, "run(self.layers[self.k :], x, batch, scale=scale)", "", []),
    "given on the batch": (LOOP, f"batch.scale = scale\n{RUN}", "", []),
    "an allocator": (
        "x, r = self.layers[i](x, batch, zero_allocator=y)",
        RUN,
        "",
        [("note", "no zero_allocator")],
    ),
    "what no layer reads": ("x, r = self.layers[i](x, batch, unused=y)", RUN, "", []),
    "a constant": ("x, r = self.layers[i](x, batch, 1)", RUN, "", []),
    "what is chosen": ("x, r = self.layers[i](x, batch, y if i in x else None)", RUN, "", []),
    "what each layer has": ("s = y[i]\nx, r = self.layers[i](x, batch, s)", RUN, "", []),
    "a result of a layer": (
        "x, y = self.layers[i](x, batch, y)",
        RUN,
        "",
        [("error", "no scale")],
    ),
    "a step": (
        LOOP,
        "",
        "for i in range(3):\n    x, r = self.layers[i](x, batch)",
        [("error", "no scale")],
    ),
    "a step that throws away": (
        LOOP,
        "",
        "for i in range(3):\n    x, _ = self.layers[i](x, batch, x)",
        [("error", "r is thrown away")],
    ),
    "a step with all": (LOOP, "", "for i in range(3):\n    x, r = self.layers[i](x, batch, x)", []),
    "a value that is fixed": (
        LOOP,
        "",
        "norm = torch.tensor(3, dtype=torch.float16)",
        [("note", "norm has dtype=torch.float16")],
    ),
    "a value that follows": (LOOP, "", "norm = torch.tensor(3, dtype=y.dtype)", []),
}


@pytest.mark.parametrize("name", CASES)
def test_cases(name: str) -> None:
    loop, after, split, expected = CASES[name]
    source = MODEL.format(
        loop=textwrap.indent(loop, " " * 12),
        after=textwrap.indent(after or "return x", " " * 8),
        split=textwrap.indent(split or "return x", " " * 8),
    )
    report = audit_model("m", source, RULES)
    assert report.gaps == ()
    assert len(report.findings) == len(expected)
    for finding, (severity, text) in zip(report.findings, expected, strict=True):
        assert str(finding.severity) == severity
        assert text in finding.message
