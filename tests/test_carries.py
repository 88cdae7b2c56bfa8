"""``carries``: what a model collects reaches the logits processor, through every return."""

from textwrap import indent

import pytest

from pathaudit.results import Finding, Reach, Severity
from pathaudit.ruleset import Ruleset, load_ruleset, rules_directory
from tests.labels import audit_model

RULES: Ruleset = load_ruleset(rules_directory() / "sglang", only=("dropped-aux",))

MODEL = """\
import torch
from torch import nn

from sglang.srt.utils import make_layers


class AuxList(list):
    def capture(self, hidden):
        self.append(hidden.clone())


class Layer(nn.Module):
    def forward(self, hidden, batch, captured=None):
        return hidden


class Model(nn.Module):
    def __init__(self, config):
        self.layers, self.start_layer, self.end_layer = make_layers(
            config.num_hidden_layers, lambda idx, prefix: Layer()
        )
        self.layers_to_capture = []

    def run(self, hidden, batch):
        aux = []
        for i in range(self.start_layer, self.end_layer):
            if i in self.layers_to_capture:
                aux.append(hidden)
            hidden = self.layers[i](hidden, batch)
        return hidden, aux

    @property
    def capturing(self):
        return len(self.layers_to_capture) > 0

    def forward(self, hidden, batch):
MODEL_BODY


class Wrapper(nn.Module):
    def __init__(self, config):
        self.model = Model(config)
        self.capture_aux = False
        self.logits_processor = Logits(config)

    def finish(self, ids, hidden, aux=None):
        return self.logits_processor(ids, hidden, aux)

    def forward(self, ids, batch, get_embedding=False):
WRAPPER_BODY

    def set_eagle3_layers_to_capture(self, layer_ids):
        self.capture_aux = True
        self.model.layers_to_capture = [x + 1 for x in layer_ids]


EntryClass = Wrapper
"""

LOOP = """\
for i in range(self.start_layer, self.end_layer):
    if i in self.layers_to_capture:
        aux.append(hidden)
    hidden = self.layers[i](hidden, batch)
"""
HANDED = """\
for i in range(self.start_layer, self.end_layer):
    hidden = self.layers[i](hidden, batch, captured=aux if i in self.layers_to_capture else None)
"""
COLLECT = f"aux = []\n{LOOP}"
UNPACK = """\
hidden = self.model(ids, batch)
if self.capture_aux:
    hidden, aux = hidden
"""
GOOD_MODEL = f"{COLLECT}return hidden, aux"
GOOD_WRAPPER = f"{UNPACK}return self.logits_processor(ids, hidden, aux)"


def findings(body: str = GOOD_MODEL, wrapper: str = GOOD_WRAPPER, tail: str = "") -> list[Finding]:
    source = MODEL.replace("MODEL_BODY", indent(body, " " * 8))
    source = source.replace("WRAPPER_BODY", indent(wrapper, " " * 8)) + tail
    return list(audit_model("example", source, RULES).findings)


def lost(found: list[Finding]) -> list[str]:
    """How the findings say that something is lost."""
    return [item.message.partition("are lost: ")[2] for item in found]


RETURNS = {
    "returned": (GOOD_MODEL, []),
    "left out": (f"{COLLECT}return hidden", ["this return gives hidden without them"]),
    "left out of one return": (
        f"{COLLECT}if batch.wide:\n    return hidden, hidden\nreturn hidden, aux",
        ["this return gives (hidden, hidden) without them"],
    ),
    "nothing was collected": (
        f"{COLLECT}if len(aux) == 0:\n    return hidden\nreturn hidden, aux",
        [],
    ),
    "asked as a truth": (f"{COLLECT}if not aux:\n    return hidden\nreturn hidden, aux", []),
    "chosen": (f"{COLLECT}return (hidden, aux) if aux else hidden", []),
    "nothing is asked for": (
        f"{COLLECT}if not self.layers_to_capture:\n    return hidden\nreturn hidden, aux",
        [],
    ),
    "a property says so": (
        f"{COLLECT}if not self.capturing:\n    return hidden\nreturn hidden, aux",
        [],
    ),
    "a local says so": (
        f"on = self.layers_to_capture is not None\n{COLLECT}"
        "if on:\n    return hidden, aux\nreturn hidden",
        [],
    ),
    "an idle batch": (
        f"{COLLECT}if batch.forward_mode.is_idle():\n    return hidden\nreturn hidden, aux",
        [],
    ),
    "every batch that is not idle": (
        f"{COLLECT}if not batch.forward_mode.is_idle():\n    return hidden\nreturn hidden, aux",
        ["this return gives hidden without them"],
    ),
    "another pipeline stage": (
        f"{COLLECT}if not self.pp_group.is_last_rank:\n    return hidden\nreturn hidden, aux",
        [],
    ),
    "handed to the layers": (
        f"aux = []\n{HANDED}return hidden",
        ["this return gives hidden without them"],
    ),
    "handed as a method": (
        "aux = AuxList()\n"
        + HANDED.replace("captured=aux", "captured=aux.capture")
        + "return hidden",
        ["this return gives hidden without them"],
    ),
    "in a closure": (
        "aux = []\ndef keep(i, x):\n    if i in self.layers_to_capture:\n        aux.append(x)\n"
        "for i in range(self.start_layer, self.end_layer):\n    keep(i, hidden)\n"
        "    hidden = self.layers[i](hidden, batch)\nreturn hidden",
        ["this return gives hidden without them"],
    ),
    "made into a tensor": (f"{COLLECT}packed = torch.cat(aux, dim=-1)\nreturn hidden, packed", []),
    "gathered one by one": (f"{COLLECT}aux = [gather(x) for x in aux]\nreturn hidden, aux", []),
    "finished": (f"aux = AuxList()\n{LOOP}return hidden, aux.finalize()", []),
    "in a mapping": (f"{COLLECT}return Proxy({{'hidden': hidden, 'aux': aux}})", []),
    "stored": (f"{COLLECT}batch.aux = aux\nreturn hidden", []),
    "handed to what is not known": (f"{COLLECT}batch.keep(aux)\nreturn hidden", []),
    "added to another list": (f"rest = []\n{COLLECT}rest.extend(aux)\nreturn hidden, rest", []),
    "another list": (
        f"sizes = []\n{COLLECT}sizes.append(hidden.shape)\nreturn hidden, aux",
        [],
    ),
    "a helper's list is returned": ("return self.run(hidden, batch)", []),
    "a helper's list is unpacked": (
        "hidden, aux = self.run(hidden, batch)\nreturn self.norm(hidden), aux",
        [],
    ),
    "a helper's list is dropped": (
        "hidden, _ = self.run(hidden, batch)\nreturn hidden",
        ["this return gives hidden without them"],
    ),
    "a helper's list is not taken": (
        "return self.run(hidden, batch)[0]",
        ["this return gives self.run(hidden, batch)[0] without them"],
    ),
    "a path that raises": (
        f"{COLLECT}if batch.wide:\n    raise ValueError\nreturn hidden, aux",
        [],
    ),
    "one test, twice": (
        f"aux = []\non = batch.wide\nif on:\n{indent(LOOP, '    ')}"
        "if not on:\n    return hidden\nreturn hidden, aux",
        [],
    ),
    "in a try": (
        f"aux = []\ntry:\n{indent(LOOP, '    ')}finally:\n    batch.clear()\nreturn hidden",
        ["this return gives hidden without them"],
    ),
}


@pytest.mark.parametrize("name", RETURNS)
def test_returns(name: str) -> None:
    body, expected = RETURNS[name]
    assert lost(findings(body)) == expected


LOGITS = "self.logits_processor is called without them"
READERS = {
    "given": (GOOD_WRAPPER, []),
    "by keyword": (f"{UNPACK}return self.logits_processor(ids, hidden, aux_states=aux)", []),
    "not given": (f"{UNPACK}return self.logits_processor(ids, hidden)", [LOGITS]),
    "none given": (f"{UNPACK}return self.logits_processor(ids, hidden, None)", [LOGITS]),
    "not given on one path": (
        f"{UNPACK}if batch.wide:\n    return self.logits_processor(ids, hidden)\n"
        "return self.logits_processor(ids, hidden, aux)",
        [LOGITS],
    ),
    "packed": (f"{UNPACK}aux = pack(aux)\nreturn self.logits_processor(ids, hidden, aux)", []),
    "an embedding": (
        f"{UNPACK}if get_embedding:\n    return self.pooler(hidden)\n"
        "return self.logits_processor(ids, hidden, aux)",
        [],
    ),
    "in a method": (f"{UNPACK}return self.finish(ids, hidden, aux)", []),
    "not in a method": (
        f"{UNPACK}return self.finish(ids, hidden)",
        ["this return gives self.finish(ids, hidden) without them"],
    ),
    "a model that is not known": (
        "hidden = routine(ids, batch)\nif self.capture_aux:\n    hidden, aux = hidden\n"
        "return self.logits_processor(ids, hidden)",
        [LOGITS],
    ),
    "a pair of something else": (
        "hidden = routine(ids, batch)\nif self.deferred:\n    hidden, residual = hidden\n"
        "return self.logits_processor(ids, hidden)",
        [],
    ),
    "no reader": (f"{UNPACK}return self.pooler(hidden)", []),
}


@pytest.mark.parametrize("name", READERS)
def test_readers(name: str) -> None:
    wrapper, expected = READERS[name]
    wrapper = wrapper.replace("if self.capture_aux:", "aux = None\nif self.capture_aux:")
    assert lost(findings(wrapper=wrapper)) == expected


def test_a_flag_of_layers_that_a_setter_turns_off_is_no_switch() -> None:
    body = (
        f"partial = []\n{COLLECT}for layer in self.layers:\n    if layer.fused:\n"
        "        partial.append(hidden)\nreturn hidden, aux"
    )
    off = """
        for layer in self.model.layers:
            layer.fused = layer.fusable and layer.number not in layer_ids
"""
    source = MODEL.replace("MODEL_BODY", indent(body, " " * 8))
    source = source.replace("WRAPPER_BODY", indent(GOOD_WRAPPER, " " * 8))
    source = source.replace("x in layer_ids]\n", f"x in layer_ids]{off}")
    assert audit_model("example", source, RULES).findings == ()


def test_where_nothing_arms_the_feature_it_is_a_note() -> None:
    """The switch of the one is read by the other, and nothing sets it there."""
    dormant = """

class Other(nn.Module):
    def __init__(self, config):
        self.model = Model(config)
        self.capture_aux = False

    def forward(self, ids, batch):
        hidden = routine(ids, batch)
        if self.capture_aux:
            hidden, aux = hidden
        return self.logits_processor(ids, hidden)


EntryClass = [Wrapper, Other]
"""
    (finding,) = findings(tail=dormant)
    assert (finding.symbol, finding.severity, finding.reach) == (
        "Other.forward",
        Severity.NOTE,
        Reach.DORMANT,
    )
    assert finding.paths[0].proof.endswith("No setter of the served class arms the feature.")


def test_a_finding_says_where_for_whom_and_for_which_feature() -> None:
    (finding,) = findings(f"{COLLECT}return hidden")
    assert (finding.symbol, finding.entry, finding.entries) == (
        "Model.forward",
        "Wrapper.forward",
        ("Wrapper",),
    )
    assert finding.features == ("set_eagle3_layers_to_capture",)
    assert finding.message.startswith("captured aux hidden states (aux) are lost")


def test_a_jump_outside_a_loop_parses_and_ends_nothing() -> None:
    assert lost(findings(f"{COLLECT}if batch.idle:\n    continue\nreturn hidden")) == lost(
        findings(f"{COLLECT}return hidden")
    )


CUT = {
    "many ways": "".join(f"if batch.a{n}:\n    x{n} = []\n" for n in range(12)),
    "a deep expression": f"total = {' + '.join(['hidden'] * 900)}\n",
}


@pytest.mark.parametrize("name", CUT)
def test_what_is_not_followed_is_a_gap_and_no_finding(name: str) -> None:
    source = MODEL.replace("MODEL_BODY", indent(f"{CUT[name]}{COLLECT}return hidden", " " * 8))
    source = source.replace("WRAPPER_BODY", indent(GOOD_WRAPPER, " " * 8))
    report = audit_model("example", source, RULES)
    assert report.findings == ()
    assert [gap.kind for gap in report.gaps if gap.kind == "budget"] == ["budget"]
