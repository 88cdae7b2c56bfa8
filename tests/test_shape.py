"""The kind ``shape``: what models return, against what their callers unpack."""

import pytest

from pathaudit.audit import audit
from pathaudit.results import Finding, Reach, Report
from pathaudit.ruleset import load_ruleset, rules_directory
from pathaudit.sources import from_text
from tests.labels import SUPPORT, model_path

RULES = load_ruleset(rules_directory() / "sglang", only=("mismatched-return",))
FILE = model_path("example")

# What a framework without a check for the parameter of a pipeline would lack.
RUNNER = {
    "sglang/srt/model_executor/model_runner.py": """
class ModelRunner:
    def load(self):
        return "pp_proxy_tensors" in inspect.signature(self.model.forward).parameters
""",
    "sglang/srt/model_executor/forward_batch_info.py": """
class PPProxyTensors:
    def __init__(self, tensors):
        self.tensors = tensors

    def __getitem__(self, key):
        return self.tensors[key]


def to_pp(hidden_states):
    return PPProxyTensors({"hidden_states": hidden_states})
""",
}

MODEL = """\
from torch import nn
from sglang.srt.distributed import get_pp_group
from sglang.srt.model_executor.forward_batch_info import PPProxyTensors, to_pp
from sglang.srt.utils import make_layers


class Layer(nn.Module):
    def forward(self, states, residual):
        return states, residual


def run_elsewhere(layers, states, residual):
    for layer in layers:
        states, residual = layer(states, residual)
    return states, residual


def routine(language_model, batch, **kwargs):
    with recorded("prefill"):
        result = language_model(batch, **kwargs)
    return result


class Model(nn.Module):
    def __init__(self, config):
        self.pp_group = get_pp_group()
        self.layers, self.start_layer, self.end_layer = make_layers(
            config.num_hidden_layers, lambda idx, prefix: Layer()
        )
        self.norm = nn.RMSNorm()
        self.layers_to_capture = []

    def forward(self, batch, pp_proxy_tensors=None):
        states, residual = batch.states, None
        aux = []
MODEL_BODY


class ModelForCausalLM(nn.Module):
    def __init__(self, config):
        self.pp_group = get_pp_group()
        self.model = Model(config)
        self.capture_aux = False

    def set_eagle3_layers_to_capture(self, layer_ids):
        self.capture_aux = True
        self.model.layers_to_capture = [x + 1 for x in layer_ids]

    def forward(self, batch, pp_proxy_tensors=None):
CALLER_BODY


EntryClass = ModelForCausalLM
"""

LOOP = """
for i in range(self.start_layer, self.end_layer):
    if i in self.layers_to_capture:
        aux.append(states)
    states, residual = self.layers[i](states, residual)
"""
BYPASSED = """
if batch.can_run_tbo:
    states, residual = run_elsewhere(self.layers, states, residual)
else:
    for i in range(self.start_layer, self.end_layer):
        if i in self.layers_to_capture:
            aux.append(states)
        states, residual = self.layers[i](states, residual)
"""
PROXY = """
if not self.pp_group.is_last_rank:
    return PPProxyTensors({"states": states})
"""
BY_CONTENTS = """
if len(aux) == 0:
    return states
return states, aux
"""
BY_SWITCH = """
if self.layers_to_capture:
    return states, aux
return states
"""
PAIR = "return states, residual"
CALL = "result = self.model(batch, pp_proxy_tensors)\n"
BY_FLAG = f"{CALL}if self.capture_aux:\n    states, aux = result\nreturn result"
UNPACKED = f"{CALL}states, extra = result\nreturn states"
GUARDED = f"{CALL}if not self.pp_group.is_last_rank:\n    return result\nstates, extra = result"


def indented(body: str) -> str:
    return "\n".join(f"        {line}" for line in body.strip("\n").splitlines())


def report(model: str, caller: str, *changes: tuple[str, str]) -> Report:
    text = MODEL.replace("MODEL_BODY", indented(model)).replace("CALLER_BODY", indented(caller))
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return audit(from_text({**SUPPORT, **RUNNER, FILE: text}), RULES)


def found(model: str, caller: str, *changes: tuple[str, str]) -> list[str]:
    """What is found, as ``method: what came for how many``."""
    return [_told(item) for item in report(model, caller, *changes).findings]


def _told(finding: Finding) -> str:
    for word in ("one tensor", "a PPProxyTensors", "2 values", "3 values"):
        if f"returns {word}" in finding.message:
            return f"{finding.symbol}: {word}"
    return finding.message


AT_CALLER = "ModelForCausalLM.forward"
AT_MODEL = "Model.forward"


@pytest.mark.parametrize(
    ("model", "caller", "expected"),
    [
        pytest.param(LOOP + PROXY + PAIR, UNPACKED, [f"{AT_CALLER}: a PPProxyTensors"], id="proxy"),
        pytest.param(LOOP + PROXY + PAIR, GUARDED, [], id="guarded"),
        pytest.param(
            LOOP + "if not get_pp_group().is_last_rank:\n    return to_pp(states)\n" + PAIR,
            UNPACKED,
            [f"{AT_CALLER}: a PPProxyTensors"],
            id="proxy made by a function",
        ),
        pytest.param(
            LOOP + PROXY.replace("self.pp_group", "get_pp_group()") + PAIR,
            GUARDED,
            [],
            id="the group is one object",
        ),
        pytest.param(
            LOOP + PROXY + PAIR,
            UNPACKED.replace("self.model(", "self.model.forward("),
            [f"{AT_CALLER}: a PPProxyTensors"],
            id="forward by name",
        ),
        pytest.param(
            LOOP + PROXY + PAIR,
            "states, extra = routine(language_model=self.model, batch=batch)",
            [f"{AT_CALLER}: a PPProxyTensors"],
            id="through a function",
        ),
        pytest.param(
            LOOP + "return states, residual, aux", UNPACKED, [f"{AT_CALLER}: 3 values"], id="three"
        ),
        pytest.param(LOOP + "return states", UNPACKED, [f"{AT_CALLER}: one tensor"], id="one"),
        pytest.param(LOOP + "return self.norm(states)", UNPACKED, [], id="unknown call"),
        pytest.param(
            LOOP + "return states, residual, aux",
            UNPACKED.replace("states, extra =", "states, *extra ="),
            [],
            id="starred",
        ),
        pytest.param(
            LOOP + "return (states, residual), aux",
            f"{CALL}inner, aux = result\nstates, residual = inner",
            [],
            id="nested",
        ),
        pytest.param(
            LOOP + "return states if batch.short else (states, residual)",
            "result = self.model(batch)\nif not batch.short:\n    states, extra = result",
            [],
            id="same test on both sides",
        ),
        pytest.param(
            LOOP + "return states if batch.short else (states, residual)",
            "result = self.model(batch)\nif batch.short:\n    states, extra = result",
            [f"{AT_CALLER}: one tensor"],
            id="the other side of the test",
        ),
        pytest.param(LOOP + PROXY + BY_CONTENTS, BY_FLAG, [], id="everything is collected"),
        pytest.param(
            BYPASSED + PROXY + BY_CONTENTS, BY_FLAG, [f"{AT_MODEL}: one tensor"], id="bypass"
        ),
        pytest.param(
            BYPASSED + "if not aux:\n    return states\nreturn states, aux",
            BY_FLAG,
            [f"{AT_MODEL}: one tensor"],
            id="bypass, by truth",
        ),
        pytest.param(
            BYPASSED + "return states if not aux else (states, aux)",
            BY_FLAG,
            [f"{AT_MODEL}: one tensor"],
            id="bypass, in an expression",
        ),
        pytest.param(BYPASSED + PROXY + BY_SWITCH, BY_FLAG, [], id="one family of switches"),
        pytest.param(
            BYPASSED + BY_CONTENTS,
            f"{CALL}if isinstance(result, tuple):\n    states, aux = result",
            [],
            id="narrowed",
        ),
        pytest.param(
            BYPASSED.replace("can_run_tbo", "can_run_tbo and not self.layers_to_capture")
            + BY_CONTENTS,
            BY_FLAG,
            [],
            id="no bypass while layers are asked for",
        ),
        pytest.param(LOOP + BY_CONTENTS, UNPACKED, [], id="hangs on a list, no feature"),
    ],
)
def test_what_is_found(model: str, caller: str, expected: list[str]) -> None:
    assert found(model, caller) == expected


def test_a_model_that_is_not_split_has_one_stage() -> None:
    parameter = (
        "def forward(self, batch, pp_proxy_tensors=None):\n        result",
        "def forward(self, batch):\n        result",
    )
    caller = UNPACKED.replace("(batch, pp_proxy_tensors)", "(batch)")
    assert found(LOOP + PROXY + PAIR, caller, parameter) == []


def test_a_switch_that_nothing_sets_is_off() -> None:
    renamed = ("set_eagle3_layers_to_capture", "ask_for_layers")
    init = ("        self.capture_aux = True\n", "")
    assert found(BYPASSED + BY_CONTENTS, BY_FLAG, renamed, init) == []


def test_an_inherited_forward_is_followed_through_super() -> None:
    source = (
        "    def forward(self, batch, pp_proxy_tensors=None):\n        states",
        "    def run(self, batch, pp_proxy_tensors=None):\n        states",
    )
    outer = (
        "class ModelForCausalLM(",
        "class Outer(Model):\n    def forward(self, batch, pp_proxy_tensors=None):\n"
        "        return super().run(batch, pp_proxy_tensors)\n\n\nclass ModelForCausalLM(",
    )
    made = ("self.model = Model(config)", "self.model = Outer(config)")
    told = found(LOOP + PROXY + PAIR, UNPACKED, source, outer, made)
    assert told == [f"{AT_CALLER}: a PPProxyTensors"]


def test_a_bypass_that_raises_first_is_blocked() -> None:
    raising = (
        "    for layer in layers:\n        states, residual = layer(states, residual)\n"
        "    return states, residual\n\n\ndef routine",
        "    raise NotImplementedError\n\n\ndef routine",
    )
    (finding,) = report(BYPASSED + BY_CONTENTS, BY_FLAG, raising).findings
    assert finding.reach is Reach.BLOCKED
    assert "NotImplementedError" in finding.paths[0].proof


def test_a_finding_says_when_and_for_whom() -> None:
    (finding,) = report(BYPASSED + BY_CONTENTS, BY_FLAG).findings
    assert finding.condition == "batch.can_run_tbo"
    assert finding.features == ("set_eagle3_layers_to_capture",)
    assert finding.entries == ("ModelForCausalLM",)
    assert "example.py:" in finding.message
    (finding,) = report(LOOP + PROXY + PAIR, UNPACKED).findings
    assert finding.condition == "not pp_group.is_last_rank"
    assert finding.features == ()
