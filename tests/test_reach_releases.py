"""Targets in real releases: each answer was read against the source by hand."""

from functools import cache

import pytest

from pathaudit.audit import reach_of
from pathaudit.cli.options import load_rules
from pathaudit.reporters.reaches import answer_of
from pathaudit.results.reaches import Extent, ReachReport
from pathaudit.sources import SourceTree, from_text
from pathaudit.sources.fitting import Standing, fit_patch
from pathaudit.sources.patches import read_patch
from tests.trees import with_models

RULES = load_rules((), ())
DEEPSEEK = "sglang/srt/models/deepseek_v2.py"
TBO = (
    "bypassed by two-batch overlap, for layers [first_k_dense_replace, end_layer), "
    "when forward_batch.can_run_tbo and start_layer < first_k_dense_replace < end_layer "
    "(--enable-two-batch-overlap, default off)"
)


@cache
def tree(version: str, *models: str) -> SourceTree:
    return from_text(with_models(version, *models), version=version)


def line_of(source: SourceTree, file: str, text: str) -> int:
    """The first line of a file that holds a text."""
    return next(n for n, x in enumerate(source.text(file).splitlines(), 1) if text in x)


def sentence(report: ReachReport) -> tuple[Extent, str]:
    extent, text = answer_of(report)
    return extent, text.replace("\xa0", " ")


def test_the_line_that_captures_is_bypassed_by_two_batch_overlap() -> None:
    source = tree("0.5.6", "deepseek_v2")
    line = line_of(source, DEEPSEEK, "aux_hidden_states.append(")
    report = reach_of(source, RULES, f"deepseek_v2.py:{line}", entry="DeepseekV3ForCausalLM")
    assert sentence(report) == (Extent.SOME, f"on some paths of forward: {TBO}")
    (entry,) = report.targets[0].entries
    (runs,) = entry.runs
    assert runs.condition == "i in layers_to_capture"
    assert runs.layers == "[start_layer, end_layer) or [start_layer, first_k_dense_replace)"
    (bypass,) = (item for item in entry.bypasses if not item.beside)
    assert (bypass.by, bypass.variant) == ("model_forward_maybe_tbo", "two-batch overlap")
    assert [hop.symbol for hop in entry.chain] == [
        "DeepseekV2ForCausalLM.forward",
        "DeepseekV2Model.forward",
    ]
    assert [note.title for note in report.variants] == ["captured CUDA graph"]


CAPTURE = """\
--- a/python/sglang/srt/models/{file}
+++ b/python/sglang/srt/models/{file}
@@ -{line},3 +{line},5 @@
         aux_hidden_states = []
+        if -1 in self.layers_to_capture:
+            aux_hidden_states.append(hidden_states)
         for i in range({first}, {last}):
{next}
"""


@pytest.mark.parametrize(
    ("model", "entry", "first", "expected"),
    [
        ("deepseek_v2", "DeepseekV3ForCausalLM", "normal_{}_layer", "on every path of forward"),
        (
            "qwen2",
            "Qwen2ForCausalLM",
            "self.{}_layer",
            "on every path of forward; absent from forward_split_prefill",
        ),
    ],
)
def test_a_patch_that_captures_the_embedding(
    model: str, entry: str, first: str, expected: str
) -> None:
    source = tree("0.5.6", model)
    file = f"sglang/srt/models/{model}.py"
    line = line_of(source, file, "        aux_hidden_states = []")
    text = CAPTURE.format(
        file=f"{model}.py",
        line=line,
        first=first.format("start"),
        last=first.format("end"),
        next=" " + source.text(file).splitlines()[line + 1],
    )
    fitted = fit_patch(source, read_patch(text.encode(), "fix.diff"))
    assert fitted.standing is Standing.UNPATCHED
    report = reach_of(source, RULES, "fix.diff", entry=entry, patch=fitted)
    assert sentence(report) == (Extent.EVERY, expected)
    inner = report.targets[1]
    assert (inner.extent, inner.within) == (Extent.SOME, line + 1)
    assert inner.entries[0].runs[0].condition == "-1 in layers_to_capture"


@pytest.mark.parametrize(
    ("version", "model", "target", "entry", "expected"),
    [
        pytest.param(
            "0.5.6",
            "deepseek_v2",
            "DeepseekV2MoE.forward_deepep",
            "DeepseekV3ForCausalLM",
            f"on some paths of forward: {TBO}",
            id="experts",
        ),
        pytest.param(
            "0.5.6",
            "deepseek_v2",
            "DeepseekV2AttentionMLA.forward_absorb_core",
            "DeepseekV3ForCausalLM",
            "on some paths of forward: only where s[3] is not None "
            "and s[1] == AttnForwardMethod.MLA",
            id="attention-runs-on-both-ways",
        ),
        pytest.param(
            "0.5.6",
            "glm4_moe",
            "model_forward_maybe_tbo",
            "Glm4MoeForCausalLM",
            "on no path: every path that runs it raises",
            id="a-class-that-two-batch-overlap-refuses",
        ),
        pytest.param(
            "0.5.6",
            "deepseek_v2",
            "DeepseekV3ForCausalLM.set_eagle3_layers_to_capture",
            "DeepseekV3ForCausalLM",
            "on no path: no forward leads there",
            id="setter",
        ),
        pytest.param(
            "0.5.6",
            "deepseek_v2",
            "Scheduler.run_batch",
            "DeepseekV3ForCausalLM",
            "on no path: no forward leads there",
            id="scheduler",
        ),
        pytest.param(
            "0.5.23",
            "qwen3",
            "LogitsProcessor.forward",
            "Qwen3ForCausalLM",
            "on some paths of forward: bypassed when get_embedding "
            "or not pp_group.is_last_rank (--pp-size, default 1)",
            id="last-stage",
        ),
        pytest.param(
            "0.5.23",
            "llama",
            "sglang/srt/models/llama.py:LlamaModel.final_norm",
            "LlamaForCausalLM",
            "on some paths of forward: bypassed by pipeline stages, when "
            "not pp_group.is_last_rank (--pp-size, default 1); absent from forward_split_prefill",
            id="final-norm",
        ),
    ],
)
def test_targets_of_releases(
    version: str, model: str, target: str, entry: str, expected: str
) -> None:
    source = tree(version, model)
    if target.endswith("final_norm"):
        file = target.partition(":")[0]
        target = f"{file}:{line_of(source, file, 'final_norm(')}"
    assert sentence(reach_of(source, RULES, target, entry=entry))[1] == expected
