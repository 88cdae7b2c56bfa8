"""``covers`` with the scope ``around``: tables of loops and drafts, each with what is found."""

import pytest

from pathaudit.audit import audit
from pathaudit.results import Finding, Severity
from pathaudit.ruleset import RUNS_LAYERS, CoversRule, Ruleset, load_ruleset, rules_directory
from pathaudit.sources import from_text
from tests.labels import MODELS, SUPPORT

RECORDER = load_ruleset(rules_directory() / "sglang", only=("skipped-expert-recorder",))
DRAFTS = load_ruleset(rules_directory() / "sglang", only=("unisolated-draft",))

MODEL = f"{MODELS}/example.py"
DRAFT = f"{MODELS}/example_nextn.py"
TOPK = "sglang/srt/layers/moe/topk.py"
LOOP = "for i in range(len(self.layers)):"
TELL = "recorder().with_current_layer(i)"

# The router of the framework picks a forward at run time, and makes an empty answer of its own.
FRAMEWORK = {
    TOPK: """
from torch import nn
from sglang.srt.eplb import recorder

def select_experts(logits):
    recorder().on_select_experts(logits)
    return logits

class Dispatched(nn.Module):
    def forward(self, *args):
        return self._forward_method(*args)

class TopK(Dispatched):
    def forward_native(self, logits):
        return select_experts(logits)
    def forward_cuda(self, logits):
        return select_experts(logits)
    def empty_output(self):
        return None
""",
}

LAYERS = """
from contextlib import ExitStack, contextmanager, nullcontext
from torch import nn
from sglang.srt.eplb import recorder
from sglang.srt.layers.moe.topk import TopK

class Dense(nn.Module):
    def forward(self, x):
        return x

class MoE(nn.Module):
    def __init__(self, config):
        self.topk = TopK()
        self.layer_id = config.layer_id
    def forward(self, x):
        return self.topk(x)
    def op_told(self, state):
        with recorder().with_current_layer(self.layer_id):
            return self.topk(state)
    def op_bare(self, state):
        return self.topk(state)
    def op_idle(self, state):
        return self.topk.empty_output()

class Layer(nn.Module):
    def __init__(self, config):
        self.mlp = MoE(config)
    def forward(self, x, forward_batch):
        return self.mlp(x)

class Mixed(nn.Module):
    def __init__(self, config, sparse):
        if sparse:
            self.mlp = MoE(config)
        else:
            self.mlp = Dense()
    def forward(self, x, forward_batch):
        return self.mlp(x)

class Told(nn.Module):
    def __init__(self, config):
        self.mlp = MoE(config)
    def forward(self, x, forward_batch):
        return self.mlp.op_told(x)

class DenseLayer(nn.Module):
    def __init__(self, config):
        self.mlp = Dense()
    def forward(self, x, forward_batch):
        return self.mlp(x)

@contextmanager
def tell(i):
    with recorder().with_current_layer(i):
        yield

def runs_moe(layer, x):
    return layer.mlp(x)
"""

SERVED = """
class Model(nn.Module):
    def __init__(self, config):
        self.layers = nn.ModuleList([{layer} for _ in range(config.num_hidden_layers)])
    def region(self, i):
        return recorder().with_current_layer(i)
    def forward(self, x, forward_batch):
{body}
        return x

class ExampleForCausalLM(nn.Module):
    def __init__(self, config):
        self.model = Model(config)
    def forward(self, x, forward_batch):
        return self.model(x, forward_batch)
    {declaration}

EntryClass = ExampleForCausalLM
"""

DECLARED = "def get_model_config_for_expert_location(cls, config): return 1"


def indent(body: str) -> str:
    return "\n".join(f"        {line}" for line in body.splitlines())


def model(body: str, layer: str = "Layer(config)", declaration: str = DECLARED) -> str:
    return LAYERS + SERVED.format(layer=layer, body=indent(body), declaration=declaration)


def recorded(source: str) -> tuple[Finding, ...]:
    return audit(from_text({**SUPPORT, **FRAMEWORK, MODEL: source}), RECORDER).findings


def under(manager: str) -> str:
    return f"""{LOOP}
    with {manager}:
        x = self.layers[i](x, forward_batch)"""


BARE = f"""{LOOP}
    x = self.layers[i](x, forward_batch)"""

RIGHT = {
    "with": under(TELL),
    "second-item": under(f"open('a') as a, {TELL}"),
    "name": f"""{LOOP}
    ctx = {TELL}
    with ctx:
        x = self.layers[i](x, forward_batch)""",
    "helper": under("tell(i)"),
    "method": under("self.region(i)"),
    "piecewise": under(f"(nullcontext() if args().enable_piecewise_cuda_graph else {TELL})"),
    "in-a-function": (
        f"{LOOP}\n    def run(y):\n        return self.layers[i](y, forward_batch)\n"
        f"    with {TELL}:\n        x = run(x)"
    ),
    "around-branches": f"""{LOOP}
    with {TELL}:
        if forward_batch.is_decode:
            x = self.layers[i](x, forward_batch)
            continue
        x = self.layers[i](x, forward_batch)""",
    "operations-that-tell": """
operations = []
for layer in self.layers:
    operations += [layer.mlp.op_told, layer.mlp.op_idle]
forward_batch.run(operations)""",
}


@pytest.mark.parametrize("name", RIGHT)
def test_what_stands_around(name: str) -> None:
    assert recorded(model(RIGHT[name])) == ()


WRONG = {
    "bare": BARE,
    "slice": "for layer in self.layers[1:]:\n    x = layer(x, forward_batch)",
    "before": f"{LOOP}\n    with {TELL}:\n        pass\n    x = self.layers[i](x, forward_batch)",
    "another-manager": under("recorder().with_debug_name('a')"),
    "not-entered": f"{LOOP}\n    {TELL}\n    x = self.layers[i](x, forward_batch)",
    "one-arm": under(f"(nullcontext() if forward_batch.is_decode else {TELL})"),
    "left-by-continue": f"""{LOOP}
    if forward_batch.is_decode:
        x = self.layers[i](x, forward_batch)
        continue
    with {TELL}:
        x = self.layers[i](x, forward_batch)""",
    "operations": """
operations = []
for layer in self.layers:
    operations += [layer.mlp.op_bare, layer.mlp.op_idle]
forward_batch.run(operations)""",
}


@pytest.mark.parametrize("name", WRONG)
def test_what_does_not_stand_around(name: str) -> None:
    (finding,) = recorded(model(WRONG[name]))
    assert (finding.rule, finding.symbol) == ("skipped-expert-recorder", "Model.forward")


def test_the_condition_of_an_arm_is_told() -> None:
    (finding,) = recorded(model(WRONG["one-arm"]))
    assert finding.condition == "forward_batch.is_decode"
    assert finding.effect.startswith("loud")


@pytest.mark.parametrize(
    ("layer", "count"),
    [
        pytest.param("Layer(config)", 1, id="experts"),
        pytest.param("Mixed(config, config.sparse)", 1, id="experts-or-not"),
        pytest.param("DenseLayer(config)", 0, id="dense"),
        pytest.param("Told(config)", 0, id="told-inside"),
        pytest.param("config.layer()", 0, id="unknown"),
    ],
)
def test_only_layers_that_lead_to_the_event_count(layer: str, count: int) -> None:
    assert len(recorded(model(BARE, layer))) == count


@pytest.mark.parametrize(
    ("layer", "count"), [("Layer(config)", 1), ("Mixed(config, config.sparse)", 0)]
)
def test_a_single_layer_may_be_one_without_experts(layer: str, count: int) -> None:
    assert len(recorded(model("x = self.layers[0](x, forward_batch)", layer))) == count


def test_without_the_declaration_nothing_is_asked() -> None:
    assert recorded(model(BARE, declaration="")) == ()


def test_split_prefill_of_the_served_class_is_judged() -> None:
    method = f"""def forward_split_prefill(self, x, forward_batch):
        for i in range(3):
            x = self.model.layers[i](x, forward_batch)
        return x
    {DECLARED}"""
    (finding,) = recorded(model(under(TELL), declaration=method))
    assert finding.symbol == "ExampleForCausalLM.forward_split_prefill"


@pytest.mark.parametrize(
    ("body", "count"),
    [
        pytest.param(under("region(i)"), 0, id="with"),
        pytest.param(under("other(i)"), 1, id="other"),
        pytest.param(
            f"with region(0):\n    {LOOP}\n        x = self.layers[i](x, 1)", 0, id="outer"
        ),
        pytest.param(BARE, 1, id="bare"),
    ],
)
def test_a_rule_of_ones_own_asks_it_of_every_layer(body: str, count: int) -> None:
    rule = CoversRule(
        id="own",
        title="own",
        severity=Severity.ERROR,
        message="{layers}",
        subject="layers",
        trigger=RUNS_LAYERS,
        require="region(...)",
        scope="around",
    )
    rules = Ruleset(profile=RECORDER.profile, rules=(rule,), directory="")
    tree = from_text({**SUPPORT, **FRAMEWORK, MODEL: model(body, "DenseLayer(config)")})
    assert len(audit(tree, rules).findings) == count


# ---- drafts -----------------------------------------------------------------------------------

DRAFTED = """
from torch import nn
from sglang.srt.eplb import recorder
from sglang.srt.models.example import DenseLayer, ExampleForCausalLM, Layer, Model, runs_moe

class ModelNextN(nn.Module):
    def __init__(self, config):
        self.decoder = {decoder}
    def forward(self, x, forward_batch):
{body}
        return x

class ExampleForCausalLMNextN(nn.Module):
    def __init__(self, config):
        self.model = ModelNextN(config)
    def forward(self, x, forward_batch):
        return self.model(x, forward_batch)

EntryClass = ExampleForCausalLMNextN
"""
ISOLATE = "recorder().disable_this_region()"
RUN = "x = self.decoder(x, forward_batch)"


def drafted(
    body: str, decoder: str = "Layer(config)", declaration: str = DECLARED
) -> list[Finding]:
    source = DRAFTED.format(decoder=decoder, body=indent(body))
    target = model(under(TELL), declaration=declaration)
    tree = from_text({**SUPPORT, **FRAMEWORK, MODEL: target, DRAFT: source})
    return list(audit(tree, DRAFTS).findings)


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(f"with {ISOLATE}:\n    {RUN}", id="with"),
        pytest.param(f"region = {ISOLATE}\nwith region:\n    {RUN}", id="name"),
        pytest.param(
            f"with ExitStack() as stack:\n    stack.enter_context({ISOLATE})\n    {RUN}", id="stack"
        ),
        pytest.param(
            f"def run():\n    return self.decoder(x, None)\nwith {ISOLATE}:\n    x = run()",
            id="nested",
        ),
    ],
)
def test_an_isolated_draft(body: str) -> None:
    assert drafted(body) == []


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(RUN, id="bare"),
        pytest.param(f"with {ISOLATE}:\n    pass\n{RUN}", id="too-early"),
        pytest.param("x = runs_moe(self.decoder, x)", id="function"),
        pytest.param("layer = self.decoder\nx = layer(x, forward_batch)", id="name"),
    ],
)
def test_an_unisolated_draft(body: str) -> None:
    (finding,) = drafted(body)
    assert (finding.file, finding.symbol) == (DRAFT, "ModelNextN.forward")
    assert "draft of ExampleForCausalLM" in finding.message


@pytest.mark.parametrize(
    ("decoder", "effect"), [("Layer(config)", "loud"), ("Model(config)", "silent")]
)
def test_what_a_draft_does_to_the_counts(decoder: str, effect: str) -> None:
    (finding,) = drafted(RUN, decoder)
    assert finding.effect.startswith(effect)


def test_a_dense_draft_and_one_of_a_silent_target_are_fine() -> None:
    assert drafted(RUN, "DenseLayer(config)") == []
    assert drafted(RUN, declaration="") == []
