"""Which layer a requested id means, beside what it usually means."""

import textwrap

import pytest

from pathaudit.ruleset import load_ruleset, rules_directory
from tests.labels import audit_model

RULES = load_ruleset(rules_directory() / "sglang", only=("capture-offset",))
USUAL = """
from torch import nn


class Layer(nn.Module):
    def forward(self, x):
        return x


class Base(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.layers = nn.ModuleList([Layer() for _ in range(config.num_hidden_layers)])

    def forward(self, x):
        aux = []
        for i, layer in enumerate(self.layers):
            if i in self.ids:
                aux.append(x)
            x = layer(x)
        return x, aux


class A(Base):
    def set_eagle3_layers_to_capture(self, ids):
        self.ids = [x + 1 for x in ids]


class B(Base):
    def set_eagle3_layers_to_capture(self, ids):
        self.ids = [x + 1 for x in ids]

    def set_dflash_layers_to_capture(self, ids):
        self.ids = [x + 1 for x in ids]

"""
MODEL = """
class M(Base):
    def forward(self, x):
        aux = []
        for i, layer in enumerate(self.layers):
{loop}
        return x, aux

    def set_dflash_layers_to_capture(self, ids):
{setter}


EntryClass = [A, B, M]
"""
BEFORE = "if i in self.ids:\n    aux.append(x)\nx = layer(x)"
AFTER = "x = layer(x)\nif i in self.ids:\n    aux.append(x)"
INSIDE = "x = layer(x, aux if i in self.ids else None)"
KEPT, SHIFTED = "self.ids = list(ids)", "self.ids = [x + 1 for x in ids]"
CASES = {
    "before, shifted": (BEFORE, SHIFTED, ""),
    "before, kept": (BEFORE, KEPT, "takes the output of the layer before it"),
    "after, kept": (AFTER, KEPT, ""),
    "after, shifted": (AFTER, SHIFTED, "takes the output of the layer after it"),
    "inside": (INSIDE, KEPT, ""),
    "branches": (
        BEFORE,
        f"if ids[0]:\n    {KEPT}\nelse:\n    {SHIFTED}",
        "as they are in one branch, shifted by 1 in another",
    ),
    "a default": (BEFORE, f"if ids is None:\n    self.ids = [2, 4]\nelse:\n    {SHIFTED}", ""),
    "filtered": (BEFORE, "self.ids = [x for x in ids if x]", ""),
}  # fmt: skip


def found(source: str) -> list[str]:
    report = audit_model("m", source, RULES)
    assert report.gaps == ()
    return [item.message for item in report.findings]


@pytest.mark.parametrize("name", CASES)
def test_cases(name: str) -> None:
    loop, setter, text = CASES[name]
    arms = textwrap.indent(loop, " " * 12), textwrap.indent(setter, " " * 8)
    messages = found(USUAL + MODEL.format(loop=arms[0], setter=arms[1]))
    assert len(messages) == bool(text)
    assert all(text in message for message in messages)


def test_nothing_is_unusual_where_nothing_is_usual() -> None:
    model = MODEL.format(
        loop=textwrap.indent(BEFORE, " " * 12), setter=textwrap.indent(KEPT, " " * 8)
    )
    assert found(USUAL + model.replace("[A, B, M]", "[A, M]")) == []
