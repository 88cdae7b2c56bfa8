"""Where hooks on modules fire, and where they do not."""

import textwrap
from pathlib import Path

import pytest

from pathaudit.audit import hooks_of
from pathaudit.errors import UsageError
from pathaudit.hooks.request import fits_path
from pathaudit.results.hooks import HookCell, HookModule, HooksReport
from pathaudit.sources import from_text, open_source
from tests.labels import SUPPORT, shipped_rules
from tests.releases import release

ROOT = Path(__file__).parent.parent
EXAMPLE = ROOT / "examples" / "module_hooks"
MODEL = """
import torch
from functools import partial
from torch import nn
from sglang.srt.elsewhere import outside, Strange
from sglang.srt.helpers import Boundary, Kept, head, run_with, weigh
from sglang.srt.utils import make_layers


class Part(nn.Module):
    def forward(self, x):
        return x


class Inner(nn.Module):
    def __init__(self):
        super().__init__()
        self.part = Part()
        self.weight = nn.Parameter()

    def forward(self, x):
        return self.core(x)

    def core(self, x):
        return self.part(x) + self.weight

    def forward_fast(self, x):
        return x

    def name(self):
        return "inner"


class M(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.inner = Inner()
        self.linear = nn.Linear(2, 2)
        self.made = outside(config)
        self.boundary = Boundary(self.inner)
        self.layers = nn.ModuleList([Inner() for _ in range(config.num_hidden_layers)])

    def forward(self, x, positions, forward_batch):
{body}

    def helper(self, module, x):
        return module(x)

    def op_first(self, x):
        return self.inner(x)


EntryClass = M
"""
HELPERS = """
import torch
from torch import nn


class Boundary:
    def __init__(self, norm):
        self.norm = norm

    def prepare(self, x):
        return self.norm(x)


class Kept:
    def __init__(self, run):
        self.run = run

    def later(self, x):
        return self.run(x)


def run_with(module, x, *, direct=False):
    if direct:
        return module.forward(x)
    return module(x)


def head(module, x):
    return torch.matmul(x, module.weight.t())


def weigh(module):
    if module.weight.dtype == torch.uint8 or hasattr(module, "weight"):
        return module.weight.shape
    return 0
"""
CALLED, PATCH, NO, PART, UNKNOWN = "fires", "patch only", "no", "partly", "unknown"
# What the body of a forward makes of hooks on `self.inner`.
BODIES = {
    "return self.inner(x)": CALLED,
    "return self.inner.forward(x)": PATCH,
    "inner = self.inner\nreturn inner.forward(x)": PATCH,
    "return self.inner.forward_fast(x)": NO,
    "return self.inner.core(x)": NO,
    "return self.inner.name()": UNKNOWN,
    "return self.inner(x) if x else self.inner.forward(x)": PART,
    "if x:\n    return self.inner(x)\nreturn self.inner.core(x)": PART,
    # through helpers, by position and by name
    "return self.helper(self.inner, x)": CALLED,
    "return run_with(self.inner, x)": CALLED,
    "return run_with(self.inner, x, direct=True)": PATCH,
    "return run_with(x=x, module=self.inner, direct=x)": PART,
    "run = partial(run_with, self.inner)\nreturn self.inner(x)": CALLED,
    "return self.boundary.prepare(x)": CALLED,
    "return Kept(self.inner).later(x)": CALLED,
    "return Kept(self.inner.core).later(x)": NO,
    "return (lambda y: self.inner(y))(x)": CALLED,
    "def run(y):\n    return self.inner(y)\nreturn run(x)": CALLED,
    'return getattr(self, "inner")(x)': CALLED,
    # weights are read, or only looked at
    "return x @ self.inner.weight": NO,
    "return head(self.inner, x)": NO,
    "weight = self.inner.weight\nreturn x @ weight": NO,
    "if self.inner.weight is not None:\n    return self.inner(x)": CALLED,
    "return self.inner(x.to(self.inner.weight.dtype))": CALLED,
    "w = self.inner.weight\nif w.dtype == 1:\n    return self.inner(x)": CALLED,
    "weigh(self.inner)\nreturn self.inner(x)": CALLED,
    "return self.inner.quant_method.apply(self.inner, x)": NO,
    # what cannot be followed
    "return outside(self.inner, x)": UNKNOWN,
    "return self.made(self.inner, x)": UNKNOWN,
    # lists of methods, which something runs later
    "return execute([self.inner.core])": NO,
    "return x": UNKNOWN,
}


def tree_of(body: str, **files: str) -> HooksReport:
    """The answer about a model whose forward has a body."""
    named = {f"sglang/srt/{name}.py": textwrap.dedent(text) for name, text in files.items()}
    model = MODEL.format(body=textwrap.indent(body, " " * 8))
    tree = {**SUPPORT, "sglang/srt/models/m.py": model, "sglang/srt/helpers.py": HELPERS, **named}
    return hooks_of(from_text(tree, version="1"), shipped_rules())


def module_of(report: HooksReport, path: str, name: str = "") -> HookModule:
    (group,) = report.groups
    found = [x for x in group.modules if x.path == path and name in ("", x.name)]
    assert len(found) == 1, [(x.path, x.name) for x in group.modules]
    return found[0]


def cell(report: HooksReport, path: str, variant: str = "forward") -> HookCell:
    (found,) = (x for x in module_of(report, path).cells if x.variant == variant)
    return found


@pytest.mark.parametrize("body", BODIES)
def test_bodies(body: str) -> None:
    assert cell(tree_of(body), "inner").answer == BODIES[body]


KINDS = {
    CALLED: ("fires", "fires", "fires"),
    PATCH: ("no", "fires", "fires"),
    NO: ("no", "no", "fires"),
    PART: ("partly", "fires", "fires"),
    UNKNOWN: ("unknown", "unknown", "unknown"),
}


@pytest.mark.parametrize(
    "body",
    [
        "return self.inner(x)",
        "return self.inner.forward(x)",
        "return self.inner.core(x)",
        "return self.inner(x) + self.inner.forward(x)",
        "return x",
    ],
)
def test_kinds_of_hooks(body: str) -> None:
    found = cell(tree_of(body), "inner")
    assert (found.registered, found.patched, found.around) == KINDS[found.answer]


def test_a_module_outside_of_the_tree() -> None:
    report = tree_of("return self.linear.forward(self.linear(x))")
    assert cell(report, "linear").answer == PART
    assert module_of(report, "linear").name == "torch.nn.Linear"


def test_what_a_module_does_with_itself_is_no_bypass() -> None:
    report = tree_of("return self.inner(x)")
    assert [x.how for x in cell(report, "inner").places] == ["called"]
    assert cell(report, "inner.part").answer == CALLED


def test_an_open_cell_says_where_a_module_goes() -> None:
    found = cell(tree_of("outside(self.inner)\nreturn self.inner(x)"), "inner")
    assert (found.answer, found.open) == (CALLED, True)
    assert {(x.how, x.line) for x in found.places} == {("called", 45), ("handed", 44)}


LOOPS = {
    "for layer in self.layers:\n    x = layer(x)": CALLED,
    "for i in range(len(self.layers)):\n    x = self.layers[i].forward(x)": PATCH,
    "for i, layer in enumerate(self.layers[1:]):\n    x = layer.core(x)": NO,
    "for layer, y in zip(self.layers, x):\n    x = layer(y)": CALLED,
    "x = [layer(x) for layer in self.layers]": CALLED,
}


@pytest.mark.parametrize("body", LOOPS)
def test_layers(body: str) -> None:
    assert cell(tree_of(body), "layers.*").answer == LOOPS[body]


# ---- variants ---------------------------------------------------------------------------------

OVERLAP = """
if forward_batch.can_run_tbo:
    return self.inner.forward(x)
return self.inner(x)
"""
BATCH = "class ForwardBatch:\n    def can_run_tbo(self):\n        return self.split is not None\n"


def test_each_variant_has_its_arm() -> None:
    report = tree_of(OVERLAP, **{"model_executor/forward_batch_info": BATCH})
    assert cell(report, "inner").answer == CALLED
    assert cell(report, "inner", "two-batch-overlap").answer == PATCH


def test_a_variant_without_its_code_is_not_told() -> None:
    report = tree_of(OVERLAP)
    assert "two-batch overlap" in report.void
    assert "two-batch-overlap" not in {x.name for x in report.groups[0].variants}


def test_a_variant_that_runs_the_same_is_no_column() -> None:
    report = tree_of("return self.inner(x)", **{"model_executor/forward_batch_info": BATCH})
    assert "two-batch overlap" in report.groups[0].alike


def test_an_inner_stage_does_not_run_the_ends() -> None:
    body = "if self.pp_group.is_last_rank:\n    return self.inner(x)\nreturn self.linear(x)"
    report = tree_of(body)
    assert cell(report, "inner", "inner-stage").answer == "not run"
    assert cell(report, "linear", "inner-stage").answer == CALLED


OUTER = """
class Outer(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.model = M(config)
        self.head = nn.Linear(2, 2)

    def forward(self, x, positions, forward_batch):
        return self.head({call}(x, positions, forward_batch))


EntryClass = Outer
"""
RUNNER = """
class Runner:
    def replay(self):
        self.layer_model.forward = replay_layer_forward
"""
PREFILL = {
    ("self.model", "head"): ("fires", "fires", "fires", "fires"),
    ("self.model", "model"): ("hook only", "fires", "no", "fires"),
    ("self.model.forward", "model"): ("replay", "no", "no", "fires"),
    ("self.model", "model.layers.*"): ("replay", "no", "no", "fires"),
}


@pytest.mark.parametrize(("call", "path"), PREFILL)
def test_a_prefill_graph_replays_what_holds_the_layers(call: str, path: str) -> None:
    body = "        for layer in self.layers:\n            x = layer(x)\n        return x"
    model = MODEL.format(body=body).replace("EntryClass = M\n", OUTER.format(call=call))
    files = {
        **SUPPORT,
        "sglang/srt/models/m.py": model,
        "sglang/srt/model_executor/runner.py": RUNNER,
    }
    report = hooks_of(from_text(files, version="1"), shipped_rules())
    found = cell(report, path, "prefill-graph")
    assert (found.answer, found.registered, found.patched, found.around) == PREFILL[call, path]


def test_what_a_prefill_graph_records_may_not_be_known() -> None:
    model = MODEL.format(body="        return self.inner(x)")
    model = model.replace("[Inner() for _ in range(config.num_hidden_layers)]", "[Inner()]")
    files = {"sglang/srt/models/m.py": model, "sglang/srt/model_executor/runner.py": RUNNER}
    report = hooks_of(from_text(files, version="1"), shipped_rules())
    assert cell(report, "inner").answer == "fires"
    assert cell(report, "inner", "prefill-graph").answer == "unknown"


TWO_MODELS = """
from torch import nn


class Part(nn.Module):
    def forward(self, x):
        return x


class Called(nn.Module):
    def __init__(self):
        super().__init__()
        self.part = Part()

    def forward(self, x):
        return self.part(x)


class Passed(Called):
    def forward(self, x):
        return self.part.forward(x)


class M(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.inner = Called() if config.called else Passed()

    def forward(self, x):
        return self.inner(x)


EntryClass = M
"""


def test_parts_of_several_classes_are_told_apart() -> None:
    tree = from_text({"sglang/srt/models/m.py": TWO_MODELS}, version="1")
    (group,) = hooks_of(tree, shipped_rules(), "inner.part").groups
    assert {x.holder: x.cells[0].answer for x in group.modules} == {
        "Called": "fires",
        "Passed": "patch only",
    }


@pytest.fixture(scope="module")
def example() -> HooksReport:
    return hooks_of(open_source(str(EXAMPLE), "sglang"), shipped_rules())


EXAMPLE_CELLS = [
    ("", "forward", "patch only"),
    ("", "cuda-graph", "replay"),
    ("model", "forward", "fires"),
    ("model.layers.*", "forward", "fires"),
    ("model.layers.*", "two-batch-overlap", "partly"),
    ("model.layers.*", "cuda-graph", "replay"),
    ("model.layers.*.mixer", "two-batch-overlap", "patch only"),
    ("model.layers.*.mlp", "forward", "fires"),
    ("model.layers.*.mlp", "two-batch-overlap", "partly"),
    ("model.layers.*.mlp.gate", "two-batch-overlap", "fires"),
    ("lm_head", "forward", "no"),
    ("lm_head", "cuda-graph", "no"),
]


@pytest.mark.parametrize(("path", "variant", "answer"), EXAMPLE_CELLS)
def test_the_example(example: HooksReport, path: str, variant: str, answer: str) -> None:
    assert cell(example, path, variant).answer == answer


def test_a_recipe_is_shown_with_its_lines(example: HooksReport) -> None:
    places = cell(example, "model.layers.*", "two-batch-overlap").places
    (recipe,) = (place for place in places if place.how == "recipe")
    assert (recipe.line, recipe.end_line) == (17, 19)
    assert recipe.via == "sglang/srt/models/probed.py:60"
    assert recipe.layers == "[first_k_dense_replace, end_layer)"


def test_operations_are_followed(example: HooksReport) -> None:
    places = cell(example, "model.layers.*.mlp.gate", "two-batch-overlap").places
    assert [(x.how, x.line, x.within) for x in places] == [
        ("called", 17, "ProbedMoE.forward"),
        ("called", 20, "ProbedMoE.op_gate"),
    ]


def test_nothing_passes_a_replayed_graph(example: HooksReport) -> None:
    found = cell(example, "model.layers.*", "cuda-graph")
    assert (found.registered, found.patched, found.around) == ("no", "no", "no")


def test_an_order_of_rounds_changes_nothing(example: HooksReport) -> None:
    again = hooks_of(open_source(str(EXAMPLE), "sglang"), shipped_rules())
    assert again == example


# ---- what is asked ----------------------------------------------------------------------------

PATHS = [
    ("model.layers.*.mlp", "model.layers.*.mlp", True),
    ("model.layers.3.mlp", "model.layers.*.mlp", True),
    ("model.layers.*", "model.layers.*.mlp", False),
    ("*.layers.*.m*", "model.layers.*.mlp", True),
    ("model.3", "model.norm", False),
    ("lm_head", "lm_head", True),
    ("[", "lm_head", False),
]


@pytest.mark.parametrize(("pattern", "path", "fits"), PATHS)
def test_paths(pattern: str, path: str, fits: bool) -> None:
    assert fits_path(pattern, path) is fits


REQUESTS = {
    "ProbedMoE": ["model.layers.*.mlp"],
    "Linear": ["lm_head", "model.layers.*.mixer", "model.layers.*.mlp.experts"],
    "model.layers.0.mixer": ["model.layers.*.mixer"],
    "models/probed.py:31": ["model.layers.*.mixer"],
    "sglang/srt/models/probed.py:31": ["model.layers.*.mixer"],
}


@pytest.mark.parametrize("request_", REQUESTS)
def test_requests(request_: str) -> None:
    report = hooks_of(open_source(str(EXAMPLE), "sglang"), shipped_rules(), request_)
    found = {module.path for group in report.groups for module in group.modules}
    assert set(REQUESTS[request_]) <= found
    assert "model" not in found


MISTAKES = [
    ("ProbdMoE", None, "no served class of .* has a module 'ProbdMoE'", "'ProbedMoE'"),
    ("model.layer", "ProbedForCausalLM", "ProbedForCausalLM has no module", "'model.layers.*'"),
    ("", "ProbdForCausalLM", "serves no class 'ProbdForCausalLM'", "'ProbedForCausalLM'"),
]


@pytest.mark.parametrize(("module", "entry", "message", "hint"), MISTAKES)
def test_mistakes(module: str, entry: str | None, message: str, hint: str) -> None:
    tree = open_source(str(EXAMPLE), "sglang")
    with pytest.raises(UsageError, match=message) as raised:
        hooks_of(tree, shipped_rules(), module, entry=entry)
    assert hint in (raised.value.hint or "")


NO_FORWARD = "from torch import nn\n\n\nclass N(nn.Module):\n    pass\n\n\nEntryClass = N\n"


KEPT = """
from torch import nn


class Inner(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(2, 2)

    def forward(self, x):
        return self.linear(x)


class M(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.inner = Inner()
        self.forward = self.inner.forward


EntryClass = M
"""


def test_a_forward_that_is_kept() -> None:
    report = hooks_of(from_text({"sglang/srt/models/m.py": KEPT}, version="1"), shipped_rules())
    assert cell(report, "inner").answer == PATCH
    assert [x.line for x in cell(report, "inner").places] == [18]
    assert cell(report, "inner.linear").answer == CALLED


def test_a_class_without_a_forward_is_a_gap() -> None:
    files = {
        "sglang/srt/models/m.py": MODEL.format(body="        return self.inner(x)"),
        "sglang/srt/models/n.py": NO_FORWARD,
    }
    tree = from_text(files, version="1")
    report = hooks_of(tree, shipped_rules())
    assert [group.entries for group in report.groups] == [("M",)]
    assert [(gap.file, gap.line) for gap in report.gaps] == [("sglang/srt/models/n.py", 4)]
    with pytest.raises(UsageError, match="the forward of N was not found"):
        hooks_of(tree, shipped_rules(), entry="N")


# ---- releases ---------------------------------------------------------------------------------


def released(version: str, module: str, entry: str) -> HooksReport:
    tree = open_source(str(release(version)), "sglang")
    return hooks_of(tree, shipped_rules(), module, entry=entry)


def test_no_hook_of_a_decoder_layer_fires_on_two_batch_overlap() -> None:
    report = released("0.5.6", "DeepseekV2DecoderLayer", "DeepseekV3ForCausalLM")
    assert report.answer.startswith("Hooks on DeepseekV2DecoderLayer fire on forward")
    assert "nothing fires on the two-batch-overlap path" in report.answer
    places = cell(report, "model.layers.*", "two-batch-overlap").places
    recipes = {(x.file, x.line, x.end_line, x.within) for x in places if x.how == "recipe"}
    file = "sglang/srt/batch_overlap/operations_strategy.py"
    assert recipes == {
        (file, 91, 106, "_compute_moe_deepseek_blog_prefill"),
        (file, 116, 134, "_compute_moe_deepseek_blog_decode"),
    }
    assert cell(report, "model.layers.*").answer == CALLED


def test_the_mixer_of_nemotron_h_is_entered_by_its_forward() -> None:
    report = released("0.5.23", "model.layers.*.mixer", "NemotronHForCausalLM")
    for module in report.groups[0].modules:
        assert module.cells[0].answer == PATCH, module.name
    lines = {x.line for m in report.groups[0].modules for x in m.cells[0].places}
    assert {525, 595, 786} <= lines


def test_a_head_is_never_called() -> None:
    report = released("0.5.6", "lm_head", "DeepseekV3ForCausalLM")
    assert cell(report, "lm_head").answer == NO
    assert {x.how for x in cell(report, "lm_head").places} == {"fused"}
