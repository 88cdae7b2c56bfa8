"""Which ways to run a module pass its call."""

import textwrap

import pytest

from pathaudit.ruleset import load_ruleset, rules_directory
from tests.labels import audit_model

RULES = load_ruleset(rules_directory() / "sglang", only=("bypassed-module-call",))
MODEL = """
from torch import nn


class Inner(nn.Module):
    def forward(self, x):
        return x

    def forward_fast(self, x):
        return x

    def helper(self, x):
        return x


class Hooked(Inner):
    def __call__(self, x):
        return self.forward(x)


class Plain:
    def forward(self, x):
        return x


class M(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.inner, self.hooked, self.plain = Inner(), Hooked(), Plain()
        self.layers = nn.ModuleList([Inner() for _ in range(config.num_hidden_layers)])

    def forward(self, x):
{body}

    def forward_other(self, x):
        return x


EntryClass = M
"""
BODIES = {
    "self.inner(x)": 0,
    "self.inner.forward(x)": 1,
    "self.inner.forward_fast(x)": 1,
    "self.inner.forward_unknown(x)": 0,
    "self.inner.helper(x)": 0,
    "self.hooked.forward(x)": 0,
    "self.plain.forward(x)": 0,
    "self.unknown.forward(x)": 0,
    "self.forward_other(x)": 0,
    "super().forward(x)": 0,
    "Inner.forward(self, x)": 0,
    "inner = self.inner\ninner.forward(x)": 1,
    "for layer in self.layers:\n    layer.forward(x)": 1,
    "for i, layer in enumerate(self.layers):\n    layer.forward(x)": 1,
    "for layer in self.layers:\n    layer(x)": 0,
    "self.layers[0].forward_fast(x)": 1,
}


@pytest.mark.parametrize("body", BODIES)
def test_bodies(body: str) -> None:
    report = audit_model("m", MODEL.format(body=textwrap.indent(body, " " * 8)), RULES)
    assert report.gaps == ()
    assert len(report.findings) == BODIES[body]
