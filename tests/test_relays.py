"""``relays``: what a pipeline stage owes the next one is in what it hands over."""

from textwrap import indent

import pytest

from pathaudit.audit import audit
from pathaudit.results import Finding, Reach, Severity
from pathaudit.ruleset import Ruleset, load_ruleset, rules_directory
from pathaudit.sources import from_text
from tests.labels import MODELS, SUPPORT

RULES: Ruleset = load_ruleset(rules_directory() / "sglang", only=("lost-carry",))

CHECKS = "sglang/srt/arg_groups/validation_hook.py"
STAGED = 'assert prefill, "Pipeline parallel DSPARK requires disaggregation-mode=prefill"\n'

MODEL = """\
import torch
from torch import nn

from sglang.srt.utils import make_layers


class Aux(list):
    def capture(self, hidden):
        self.append(hidden)

    def finish(self):
        if len(self) != 3:
            raise RuntimeError("too few")
        return torch.cat(self)


class State:
    def __init__(self, given):
        self.topk = given

    def update(self, topk):
        self.topk = topk


class Layer(nn.Module):
    def forward(self, hidden, residual, batch, topk=None, captured=None):
LAYER

    def end(self, hidden):
        return hidden, hidden, None

    def fused(self, normed, hidden):
        return self.norm(hidden + normed), hidden


class Model(nn.Module):
    def __init__(self, config):
        self.layers, self.start_layer, self.end_layer = make_layers(
            config.num_hidden_layers, lambda idx, prefix: Layer()
        )
        self.layers_to_capture = None

    def forward(self, ids, forward_batch, pp_proxy_tensors=None):
        batch = forward_batch
MODEL_BODY

    def deep(self, hidden, aux):
        for layer in self.layers:
            hidden, _, _ = layer(hidden, None, None)
        return hidden

    def fold(self, hidden, aux):
        return hidden + sum(aux)


class Wrapper(nn.Module):
    def __init__(self, config):
        self.model = Model(config)
        self.capture_aux = False

    def forward(self, ids, positions, forward_batch, pp_proxy_tensors=None):
        return self.model(ids, forward_batch, pp_proxy_tensors)

    def SETTER(self, layer_ids):
        self.capture_aux = True
        self.model.layers_to_capture = list(layer_ids)


EntryClass = Wrapper
"""

SELECTS = "topk = hidden if topk is None else topk\nreturn hidden + topk, residual, topk"


def found(
    body: str, layer: str = SELECTS, setter: str = "set_dspark_layers_to_capture"
) -> list[Finding]:
    source = MODEL.replace("MODEL_BODY", indent(body, " " * 8)).replace("SETTER", setter)
    source = source.replace("LAYER", indent(layer, " " * 8))
    tree = from_text({**SUPPORT, f"{MODELS}/example.py": source, CHECKS: STAGED})
    return list(audit(tree, RULES).findings)


def lost(body: str, layer: str = SELECTS) -> list[str]:
    return [item.message.split()[0] for item in found(body, layer)]


BEGIN = """\
if self.pp_group.is_first_rank:
    hidden, residual = self.embed(ids), None
else:
    hidden, residual = pp_proxy_tensors["hidden"], pp_proxy_tensors["residual"]
"""
LOOP = """\
for i in range(self.start_layer, self.end_layer):
    hidden, residual, topk = self.layers[i](hidden, residual, batch, topk=topk)
"""
BOTH = 'Proxy({"hidden": hidden, "residual": residual})'
END = f"if not self.pp_group.is_last_rank:\n    return {BOTH}\nreturn self.norm(hidden, residual)"
KEEP = 'proxy.tensors["topk"] = topk'
HANDED = """\
if not self.pp_group.is_last_rank:
    proxy = to_stage(hidden, residual)
    KEEP
    return proxy
return self.norm(hidden, residual)"""

THREADED = {
    "reset for all": (f"{BEGIN}topk = None\n{LOOP}{END}", ["topk"]),
    "reset in both arms": (
        f"{BEGIN}if self.pp_group.is_first_rank:\n    topk = None\nelse:\n    topk = 0\n"
        f"{LOOP}{END}",
        ["topk"],
    ),
    "an empty tensor": (f"{BEGIN}topk = ids.new_zeros((0,))\n{LOOP}{END}", ["topk"]),
    "taken over and handed over": (
        f"{BEGIN}topk = None\nif not self.pp_group.is_first_rank:\n"
        f"    topk = pp_proxy_tensors['topk']\n{LOOP}{HANDED.replace('KEEP', KEEP)}",
        [],
    ),
    "taken over": (f"{BEGIN}topk = pp_proxy_tensors and pp_proxy_tensors['topk']\n{LOOP}{END}", []),
    "handed over by a method": (
        f"{BEGIN}topk = None\n{LOOP}{HANDED.replace('KEEP', 'proxy.put(topk)')}",
        [],
    ),
    "handed over within another": (
        f"{BEGIN}topk = None\n{LOOP}hidden = pack(hidden, topk)\n{END}",
        [],
    ),
    "stored too late": (f"{BEGIN}topk = None\n{LOOP}{END}\nhidden = pack(hidden, topk)", ["topk"]),
    "only a layer folds it": (
        f"{BEGIN}topk = None\n{LOOP}hidden, _, _ = run(self.layers[2:], hidden, topk)\n{END}",
        ["topk"],
    ),
    "asserted to be nothing": (
        f"{BEGIN}topk = None\n{LOOP}assert topk is None or self.pp_group.is_last_rank\n{END}",
        [],
    ),
    "made anew from what is given": (
        f"{BEGIN}topk = select(hidden)\n{LOOP}{END}",
        [],
    ),
    "no layer is given it": (
        f"{BEGIN}topk = None\nfor layer in self.layers:\n"
        f"    hidden, residual, topk = layer(hidden, residual, batch)\n{END}",
        [],
    ),
    "anew in each iteration": (
        f"{BEGIN}for layer in self.layers:\n    topk = None\n"
        f"    hidden, residual, topk = layer(hidden, residual, batch, topk)\n{END}",
        [],
    ),
    "the other way round": (
        f"{BEGIN}topk = None\n{LOOP}if self.pp_group.is_last_rank:\n"
        f"    return self.norm(hidden, residual)\nreturn {BOTH}",
        ["topk"],
    ),
    "by a name": (
        f"last = self.pp_group.is_last_rank\n{BEGIN}topk = None\n{LOOP}"
        f"if last:\n    return self.norm(hidden)\nreturn {BOTH}",
        ["topk"],
    ),
    "by the proxy": (
        f"topk = None\nif pp_proxy_tensors is None:\n    hidden, residual = self.embed(ids), None\n"
        "else:\n    hidden, residual = pp_proxy_tensors['hidden'], pp_proxy_tensors['residual']\n"
        f"    topk = pp_proxy_tensors['topk']\n{LOOP}{END}",
        [],
    ),
    "the residual": (
        "hidden, residual = self.start(ids, pp_proxy_tensors), None\n"
        "for layer in self.layers:\n    hidden, residual, _ = layer(hidden, residual, batch)\n"
        "if not self.pp_group.is_last_rank:\n    return Proxy({'hidden': hidden})\nreturn hidden",
        ["residual"],
    ),
    "no stages": (f"hidden = residual = topk = None\n{LOOP}return hidden, residual", []),
    "recomputed": (
        f"{BEGIN}normed = self.layers[0].norm(hidden)\nfor layer in self.layers:\n"
        "    normed, hidden = layer.fused(normed, hidden)\n"
        f"{END}",
        [],
    ),
    "in an object": (
        f"{BEGIN}state = None\nfor layer in self.layers:\n"
        "    hidden, residual, topk = layer(hidden, residual, batch, topk=state)\n"
        f"    state = topk\n{END}",
        ["state"],
    ),
    "in an object that is taken over": (
        f"{BEGIN}given = None\nif not self.pp_group.is_first_rank:\n"
        "    given = pp_proxy_tensors.get('topk')\nstate = State(given)\n"
        "for layer in self.layers:\n"
        "    hidden, residual, topk = layer(hidden, residual, batch, topk=state.topk)\n"
        f"    state.update(topk)\n{END}",
        [],
    ),
    "within with": (
        f"{BEGIN}topk = None\nfor i in range(self.start_layer, self.end_layer):\n"
        "    with recorder(i):\n        layer = self.layers[i]\n"
        f"        hidden, residual, topk = layer(hidden, residual, batch, topk)\n{END}",
        ["topk"],
    ),
}


@pytest.mark.parametrize("name", THREADED)
def test_threaded(name: str) -> None:
    body, expected = THREADED[name]
    assert lost(body) == expected


LAYERS = {
    "gives and reads it": (SELECTS, ["topk"]),
    "gives none": ("return hidden + topk, residual, None", []),
    "gives none through a method": (
        "return self.end(hidden + topk)",
        [],
    ),
    "gives some in one return": (
        "if batch.wide:\n    return hidden, residual, topk\nreturn hidden, residual, None",
        ["topk"],
    ),
    "does not read it": ("topk = hidden\nreturn hidden, residual, hidden", []),
    "cannot be looked up": ("return self.inner(hidden, residual, topk)", ["topk"]),
}


@pytest.mark.parametrize("name", LAYERS)
def test_layers(name: str) -> None:
    layer, expected = LAYERS[name]
    assert lost(f"{BEGIN}topk = None\n{LOOP}{END}", layer) == expected


COLLECT = """\
aux = []
for i in range(self.start_layer, self.end_layer):
    hidden, residual, _ = self.layers[i](hidden, residual, batch)
    if i in self.layers_to_capture:
        aux.append(hidden)
"""
COLLECTED = {
    "left behind": (f"{BEGIN}{COLLECT}{END}", ["aux"]),
    "handed over": (
        f"{BEGIN}{COLLECT}{HANDED.replace('KEEP', KEEP.replace('topk', 'aux'))}",
        [],
    ),
    "an annotated name": (f"{BEGIN}{COLLECT.replace('aux = []', 'aux: list = []')}{END}", ["aux"]),
    "by a name for the test": (
        f"{BEGIN}on = self.layers_to_capture is not None\n"
        f"{COLLECT.replace('i in self.layers_to_capture', 'on')}{END}",
        ["aux"],
    ),
    "on the last stage only": (
        f"{BEGIN}on = self.pp_group.is_last_rank and self.layers_to_capture is not None\n"
        f"{COLLECT.replace('i in self.layers_to_capture', 'on')}{END}",
        ["aux"],
    ),
    "handed to the layers": (
        f"{BEGIN}aux = Aux()\nfor i in range(self.start_layer, self.end_layer):\n"
        "    hidden, residual, _ = self.layers[i](hidden, residual, batch, "
        f"captured=aux if i in self.layers_to_capture else None)\n{END}",
        ["aux"],
    ),
    "by a closure": (
        f"{BEGIN}aux = Aux()\ndef keep(x):\n    aux.capture(x)\n"
        "for i in range(self.start_layer, self.end_layer):\n"
        "    hidden, residual, _ = self.layers[i](hidden, residual, batch, "
        f"captured=keep if i in self.layers_to_capture else None)\n{END}",
        ["aux"],
    ),
    "no stage asks": (f"hidden = residual = None\n{COLLECT}return hidden, aux", []),
    "sizes": (
        f"{BEGIN}{COLLECT.replace('if i in self.layers_to_capture', 'if batch.wide')}{END}",
        [],
    ),
}


@pytest.mark.parametrize("name", COLLECTED)
def test_collected(name: str) -> None:
    body, expected = COLLECTED[name]
    assert lost(body) == expected


def test_features_that_never_run_in_stages_lose_nothing() -> None:
    assert found(f"{BEGIN}{COLLECT}{END}", setter="set_eagle3_layers_to_capture") == []


def test_a_helper_that_runs_layers_hands_nothing_on() -> None:
    assert lost(f"{BEGIN}{COLLECT}hidden = self.deep(hidden, aux)\n{END}") == ["aux"]
    assert lost(f"{BEGIN}{COLLECT}hidden = self.fold(hidden, aux)\n{END}") == []


def test_a_finding_shows_where_a_stage_begins_anew_and_for_whom() -> None:
    (finding,) = found(f"{BEGIN}topk = None\n{LOOP}{END}")
    assert (finding.symbol, finding.entries, finding.features) == (
        "Model.forward",
        ("Wrapper",),
        (),
    )
    assert [step.text for step in finding.steps] == [
        "every stage starts topk here",
        "layers are given topk",
    ]
    assert "is not in Proxy({" in finding.message
    assert "as if it were the first" in finding.effect


def test_it_says_whether_the_last_stage_notices() -> None:
    loud = f"{BEGIN}{COLLECT.replace('[]', 'Aux()')}{END}, aux.finish()"
    (finding,) = found(loud)
    assert finding.features == ("set_dspark_layers_to_capture",)
    assert "finish() may raise there" in finding.effect
    (finding,) = found(f"{BEGIN}{COLLECT}{END}, aux")
    assert "no check here says so" in finding.effect


def test_returns_that_lose_the_same_are_one_finding() -> None:
    ends = f"if not self.pp_group.is_last_rank:\n    if batch.wide:\n        return {BOTH}\n"
    assert lost(f"{BEGIN}topk = None\n{LOOP}{ends}    return {BOTH}\nreturn hidden") == ["topk"]


def test_a_served_class_that_takes_no_proxy_is_not_split() -> None:
    body = f"{BEGIN}topk = None\n{LOOP}{END}"
    source = MODEL.replace("MODEL_BODY", indent(body, " " * 8))
    source = source.replace("LAYER", indent(SELECTS, " " * 8))
    source = source.replace(", positions, forward_batch, pp_proxy_tensors=None", ", forward_batch")
    tree = from_text({**SUPPORT, f"{MODELS}/example.py": source})
    (finding,) = audit(tree, RULES).findings
    assert (finding.reach, finding.severity) == (Reach.BLOCKED, Severity.NOTE)
