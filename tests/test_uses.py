"""``uses``: a forward that declares a parameter of the protocol reads it."""

from textwrap import indent

import pytest

from pathaudit.audit import audit
from pathaudit.results import Finding, Reach, Report, Severity
from pathaudit.ruleset import Ruleset, load_ruleset, rules_directory
from pathaudit.sources import from_text
from tests.labels import MODELS, SUPPORT

RULES: Ruleset = load_ruleset(rules_directory() / "sglang", only=("ignored-parameter",))

RUNNER = "sglang/srt/model_executor/model_runner.py"
ASKS = """\
self.support_pp = (
    "pp_proxy_tensors" in inspect.signature(self.model.forward).parameters
)
"""

MODEL = """\
from torch import nn

from sglang.srt.utils import make_layers


class Layer(nn.Module):
    def forward(self, hidden, forward_batch, pp_proxy_tensors=None):
        return hidden


class Model(nn.Module):
    def __init__(self, config):
        self.layers, _, _ = make_layers(config.num_hidden_layers, lambda idx, prefix: Layer())

    def forward(self, ids, forward_batch, PARAMETER=None, **kwargs):
MODEL_BODY
        return self.run(ids, forward_batch)

    def run(self, hidden, forward_batch):
        for layer in self.layers:
            hidden = layer(hidden, forward_batch)
        return hidden


class Wrapper(nn.Module):
    def __init__(self, config):
        self.model = Model(config)

    def forward(self, ids, positions, forward_batchWRAPPER):
        return self.model(ids, forward_batchHANDED)


EntryClass = Wrapper
"""


def report(
    body: str = "pass",
    parameter: str = "pp_proxy_tensors",
    wrapper: str = ", pp_proxy_tensors=None",
    handed: str = ", pp_proxy_tensors=pp_proxy_tensors",
    runner: str = ASKS,
    tail: str = "",
    name: str = "example",
) -> Report:
    source = MODEL.replace("MODEL_BODY", indent(body, " " * 8)).replace("PARAMETER", parameter)
    source = source.replace("WRAPPER", wrapper).replace("HANDED", handed) + tail
    files = {**SUPPORT, f"{MODELS}/{name}.py": source}
    return audit(from_text({**files, RUNNER: runner} if runner else files), RULES)


def found(*args: str, **options: str) -> list[Finding]:
    return list(report(*args, **options).findings)


BODIES = {
    "never": ("pass", ["pp_proxy_tensors"]),
    "deleted": ("del pp_proxy_tensors", ["pp_proxy_tensors"]),
    "bound anew": ("pp_proxy_tensors = None", ["pp_proxy_tensors"]),
    "named in text": ('"""Takes pp_proxy_tensors."""', ["pp_proxy_tensors"]),
    "read": ("ids = pp_proxy_tensors['hidden']", []),
    "asked": ("if pp_proxy_tensors is not None:\n    raise NotImplementedError", []),
    "in a function": ("def late():\n    return pp_proxy_tensors\nids = late()", []),
    "with all locals": ("ids = start(**locals())", []),
}


@pytest.mark.parametrize("name", BODIES)
def test_bodies(name: str) -> None:
    body, expected = BODIES[name]
    assert [x.message.split()[2] for x in found(body)] == expected


def test_a_finding_stands_at_the_parameter_and_says_what_comes_of_it() -> None:
    (finding,) = found()
    assert (finding.symbol, finding.severity, finding.reach, finding.entries) == (
        "Model.forward",
        Severity.ERROR,
        Reach.REACHABLE,
        ("Wrapper",),
    )
    assert MODEL.splitlines()[finding.line - 1].strip().startswith("def forward(self, ids, forw")
    assert "computes from the token ids again" in finding.effect


def test_where_the_served_class_promises_nothing_it_is_blocked() -> None:
    (finding,) = found(wrapper="", handed="")
    assert (finding.reach, finding.severity) == (Reach.BLOCKED, Severity.NOTE)
    assert "Wrapper.forward does not declare pp_proxy_tensors" in finding.paths[0].proof


def test_a_served_class_keeps_what_is_inferred_from_its_signature() -> None:
    (finding,) = found("ids = pp_proxy_tensors['hidden']", handed="")
    assert (finding.symbol, finding.reach) == ("Wrapper.forward", Reach.REACHABLE)


def test_what_nothing_infers_is_asked_of_the_inner_model_alone() -> None:
    options = {"parameter": "input_embeds", "wrapper": ", input_embeds=None", "handed": ""}
    (finding,) = found(**options)
    assert (finding.symbol, finding.severity) == ("Model.forward", Severity.ERROR)
    (finding,) = found(**{**options, "parameter": "input_deepstack_embeds"})
    assert finding.severity is Severity.WARNING


def test_a_parameter_that_is_no_protocol_is_nobodys_promise() -> None:
    assert found(parameter="get_embedding") == []


def test_a_tree_that_no_longer_asks_leaves_a_gap() -> None:
    gone = report("ids = pp_proxy_tensors", handed="", runner="supports = True\n")
    assert gone.findings == ()
    assert [(gap.kind, gap.file) for gap in gone.gaps] == [("profile", RUNNER)]
    assert report("ids = pp_proxy_tensors", handed="", runner="").gaps == ()


OWN = """

class Body(Model):
    def forward(self, ids, forward_batch, pp_proxy_tensors=None):
        return super().forward(ids, forward_batch, pp_proxy_tensors)


class Over(Wrapper):
    def __init__(self, config):
        self.model = Body(config)


EntryClass = Over
"""


def test_what_a_base_is_handed_it_must_read() -> None:
    assert [x.symbol for x in found(tail=OWN)] == ["Model.forward"]


@pytest.mark.parametrize(("old", "new"), [("Wrapper", "WrapperNextN"), ("Model", "EagleModel")])
def test_drafts_are_not_asked(old: str, new: str) -> None:
    text = MODEL.replace(old, new).replace("MODEL_BODY", "        pass")
    text = text.replace("PARAMETER", "pp_proxy_tensors").replace(
        "WRAPPER", ", pp_proxy_tensors=None"
    )
    text = text.replace("HANDED", ", pp_proxy_tensors=pp_proxy_tensors")
    tree = from_text({**SUPPORT, f"{MODELS}/example.py": text, RUNNER: ASKS})
    assert audit(tree, RULES).findings == ()


def test_a_body_that_only_refuses_ignores_nothing() -> None:
    tail = """

class Refusing(Wrapper):
    def forward(self, ids, positions, forward_batch, pp_proxy_tensors=None):
        raise NotImplementedError


EntryClass = Refusing
"""
    assert found("ids = pp_proxy_tensors", tail=tail) == []
