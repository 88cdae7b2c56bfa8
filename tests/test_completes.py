"""What is read of a layer's output between layers: the residual, and a reduction that is owed."""

from functools import cache
from textwrap import indent

import pytest

from pathaudit.audit import audit
from pathaudit.results import Finding, Reach, Severity
from pathaudit.ruleset import Ruleset, load_ruleset, rules_directory
from pathaudit.sources import from_text
from tests.labels import MODELS, SUPPORT

BARE, EARLY = "capture-without-residual", "premature-capture"
MARK = "_sglang_needs_allreduce_fusion"

# `{layer}` is the end of the layer's forward, `{body}` the forward of the model.
MODEL = """
from torch import nn
from torch.distributed import all_gather, all_reduce

from sglang.srt.utils import make_layers


def summed(hidden, residual):
    return hidden if residual is None else hidden + residual


def finished(hidden):
    if getattr(hidden, "{mark}", False):
        hidden = all_reduce(hidden)
    return hidden


def is_owed(hidden):
    return getattr(hidden, "{mark}", False)


class Layer(nn.Module):
    def forward(self, hidden, residual):
        hidden, residual = self.run(hidden, residual)
{layer}

    def marked(self, hidden):
        hidden.{mark} = True
        return hidden


class Model(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.layers = make_layers(config.num_hidden_layers, lambda idx, prefix: Layer())
        self.layers_to_capture = []
        self.norm = nn.Module()

    def bare(self, hidden, residual):
        return hidden

    def collect(self, aux, hidden):
        aux.append(hidden)

    def forward(self, hidden, batch, extra=None):
        residual = None
        aux = []
{body}
        return hidden, aux


class Served(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.model = Model(config)

    def forward(self, hidden, batch):
        return self.model(hidden, batch)

    {setter}


EntryClass = Served
"""
SETTER = """def set_eagle3_layers_to_capture(self, layer_ids=None):
        self.model.layers_to_capture = [1, 2]"""
PAIR = "return hidden, residual"
FUSED = f"if self.fuse:\n    hidden.{MARK} = True\nreturn hidden, residual"
NORM = "hidden, _ = self.norm(hidden, residual)"


def loop(*, top: str = "pass", after: str = "pass", end: str = NORM) -> str:
    """A forward that does something before and after each layer, and at the end."""
    lines = [
        "for i, layer in enumerate(self.layers):",
        "    if i in self.layers_to_capture:",
        indent(top, " " * 8),
        "    hidden, residual = layer(hidden, residual)",
        indent(after, " " * 4),
        end,
    ]
    return "\n".join(lines)


@cache
def rules(rule: str) -> Ruleset:
    return load_ruleset(rules_directory() / "sglang", only=(rule,))


def findings(
    rule: str, layer: str, body: str, *, setter: str = SETTER, **more: str
) -> tuple[Finding, ...]:
    text = MODEL.format(
        mark=MARK, layer=indent(layer, " " * 8), body=indent(body, " " * 8), setter=setter
    )
    files = {f"{MODELS}/{name}.py": code for name, code in more.items()}
    return audit(
        from_text({**SUPPORT, f"{MODELS}/example.py": text, **files}), rules(rule)
    ).findings


def places(found: tuple[Finding, ...]) -> int:
    return len({(finding.line, finding.column) for finding in found})


# ---- the residual -----------------------------------------------------------------------------

RESIDUALS = [
    pytest.param(PAIR, loop(top="aux.append(hidden)"), 1, id="the output alone"),
    pytest.param(PAIR, loop(top="aux.append(hidden.clone())"), 1, id="a copy of it"),
    pytest.param(PAIR, loop(after="aux.append(hidden)"), 1, id="after the layer"),
    pytest.param(
        PAIR, loop(end=f"aux.append(hidden)\n{NORM}"), 1, id="after the last layer"
    ),
    pytest.param(PAIR, loop(top="kept = hidden\naux.append(kept)"), 1, id="through a local"),
    pytest.param(PAIR, loop(top="self.collect(aux, hidden)"), 1, id="collected by a method"),
    pytest.param(
        PAIR, loop(top="aux.append(self.bare(hidden, residual))"), 1, id="a bare helper"
    ),
    pytest.param(PAIR, loop(top="put = aux.append\nput(hidden)"), 1, id="a method that is named"),
    pytest.param(PAIR, loop(top="aux += [hidden]"), 1, id="a list that is added"),
    pytest.param(
        PAIR,
        loop(top="aux.append(hidden)", end="hidden = self.norm(hidden + residual)"),
        1,
        id="the sum is made before the norm",
    ),
    pytest.param(
        "out = (hidden, residual)\nreturn out",
        "for i, layer in enumerate(self.layers):\n"
        "    aux.append(hidden)\n"
        "    out = layer(hidden, residual)\n"
        "    hidden, residual = out[0], out[1]\n" + NORM,
        1,
        id="a tuple by its items",
    ),
    pytest.param(PAIR, loop(top="aux.append(hidden + residual)"), 0, id="the sum"),
    pytest.param(
        PAIR,
        loop(top="aux.append(hidden if residual is None else hidden + residual)"),
        0,
        id="the sum where there is a residual",
    ),
    pytest.param(
        PAIR,
        loop(top="if residual is not None:\n    aux.append(hidden + residual)\n"
                 "else:\n    aux.append(hidden)"),
        0,
        id="in arms",
    ),
    pytest.param(PAIR, loop(top="aux.append(summed(hidden, residual))"), 0, id="a helper"),
    pytest.param(
        PAIR, loop(top="kept = all_gather(hidden + residual)\naux.append(kept)"), 0, id="gathered"
    ),
    pytest.param(
        PAIR, loop(top="aux.append(hidden)", end="hidden = self.norm(hidden)"), 0,
        id="the norm takes no residual",
    ),
    pytest.param(
        "return hidden + residual, None",
        loop(top="aux.append(hidden)", end="if residual is None:\n    hidden = self.norm(hidden)\n"
                                           f"else:\n    {NORM}"),
        0,
        id="the layer returns none",
    ),
    pytest.param(
        PAIR, loop(top="aux.append(lookup(hidden, residual))"), 0, id="a callee that is not known"
    ),
    pytest.param(PAIR, "aux.append(hidden)\n" + loop(), 0, id="before the first layer"),
    pytest.param(PAIR, loop(top="aux.slot(hidden).copy(hidden)"), 0, id="a shape, not a value"),
]  # fmt: skip


@pytest.mark.parametrize(("layer", "body", "expected"), RESIDUALS)
def test_captures_with_the_residual(layer: str, body: str, expected: int) -> None:
    assert places(findings(BARE, layer, body)) == expected


# ---- the reduction ----------------------------------------------------------------------------

SUM = "aux.append(hidden + residual)"
GUARD = f'if residual is not None and getattr(hidden, "{MARK}", False):'
REDUCTIONS = [
    pytest.param(FUSED, loop(top=SUM), 1, id="before the next layer"),
    pytest.param(FUSED, loop(after=SUM), 1, id="after the layer"),
    pytest.param(f'setattr(hidden, "{MARK}", True)\n{PAIR}', loop(top=SUM), 1, id="setattr"),
    pytest.param(f"return self.marked(hidden), {'residual'}", loop(top=SUM), 1, id="in a method"),
    pytest.param(
        "hidden = self.marked(hidden)\nreturn hidden, residual", loop(top=SUM), 1, id="by a call"
    ),
    pytest.param(FUSED, loop(top="aux.append(all_gather(hidden + residual))"), 1, id="gathered"),
    pytest.param(FUSED, loop(top="aux.append(summed(hidden, residual))"), 1, id="by a helper"),
    pytest.param(FUSED, loop(after="hidden.add_(extra)"), 1, id="added in place"),
    pytest.param(FUSED, loop(after="hidden[:2] += extra"), 1, id="added to a part"),
    pytest.param(FUSED, loop(after="hidden = hidden + extra"), 1, id="added, and the mark lost"),
    pytest.param(
        FUSED,
        "if self.tuned and extra is not None:\n    raise ValueError\n"
        + loop(after="if extra is not None:\n    hidden.add_(extra)"),
        1,
        id="a check before that narrows an argument",
    ),
    pytest.param(FUSED, loop(end=f"{SUM}\n{NORM}"), 0, id="after the last layer"),
    pytest.param(PAIR, loop(top=SUM), 0, id="nothing is owed"),
    pytest.param(f"hidden.{MARK} = False\n{PAIR}", loop(top=SUM), 0, id="the mark is taken off"),
    pytest.param(
        f"other = self.run(hidden)\nother.{MARK} = True\n{PAIR}",
        loop(top=SUM), 0, id="another tensor is marked",
    ),
    pytest.param(
        FUSED, loop(top=f"{GUARD}\n    hidden = all_reduce(hidden)\n{SUM}"), 0, id="reduced first"
    ),
    pytest.param(
        FUSED, loop(top=f"{GUARD}\n    all_reduce(hidden)\n{SUM}"), 0, id="reduced in place"
    ),
    pytest.param(
        FUSED, loop(top=f"if is_owed(hidden):\n    hidden = all_reduce(hidden)\n{SUM}"), 0,
        id="a function asks for the mark",
    ),
    pytest.param(
        FUSED, loop(top=f'owed = getattr(hidden, "{MARK}", False)\n'
                        f"if owed:\n    hidden = all_reduce(hidden)\n{SUM}"),
        0, id="a local keeps the answer",
    ),
    pytest.param(FUSED, loop(top=f"hidden = finished(hidden)\n{SUM}"), 0, id="by a function"),
    pytest.param(FUSED, loop(top="aux.append(lookup(hidden))"), 0, id="a callee that is not known"),
    pytest.param(FUSED, loop(after="hidden.mul_(2)"), 0, id="a factor commutes with the sum"),
    pytest.param(FUSED, loop(after="residual.add_(extra)"), 0, id="the residual is whole"),
]  # fmt: skip


@pytest.mark.parametrize(("layer", "body", "expected"), REDUCTIONS)
def test_reads_after_the_reduction(layer: str, body: str, expected: int) -> None:
    assert places(findings(EARLY, layer, body)) == expected


def test_an_imported_part_of_a_layer_that_fuses_owes_nothing() -> None:
    other = f"class Other:\n    def forward(self, hidden):\n        hidden.{MARK} = True\n"
    layer = "from sglang.srt.models.other import Other\n" + PAIR
    assert findings(EARLY, layer, loop(top=SUM), other=other) == ()


# ---- how it is told ---------------------------------------------------------------------------


def test_a_capture_is_told_with_the_layer_and_what_it_marks() -> None:
    (finding,) = findings(EARLY, FUSED, loop(top=SUM))
    assert finding.message == (
        "hidden states are captured while the all-reduce of Layer may still be owed"
    )
    assert (finding.severity, finding.reach) == (Severity.ERROR, Reach.REACHABLE)
    assert (finding.symbol, finding.entry) == ("Model.forward", "Model.forward")
    assert finding.entries == ("Served",)
    assert [step.text for step in finding.steps] == ["leaves the reduction to the next layer"]


def test_what_nothing_captures_for_is_dormant() -> None:
    """Another model's setter makes the switch a switch; this one has no setter."""
    other = MODEL.format(
        mark=MARK, layer=indent(PAIR, " " * 8), body=" " * 8 + "pass", setter=SETTER
    )
    body = loop(top=SUM, after="hidden.add_(extra)")
    found = findings(EARLY, FUSED, body, setter="pass", other=other)
    assert [(x.message.split(" while")[0], x.severity, x.reach) for x in found] == [
        ("hidden states are captured", Severity.NOTE, Reach.DORMANT),
        ("hidden is added to", Severity.ERROR, Reach.REACHABLE),
    ]
