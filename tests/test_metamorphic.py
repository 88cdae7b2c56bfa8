"""Mutations of real forward methods: those that keep the meaning change no verdict, those that
lose a capture give one finding.
"""

import ast
import re
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache

import pytest
from msgspec import Struct

from pathaudit.audit import audit
from pathaudit.index.outline import outline_module
from pathaudit.results import Finding, Report, Verdict
from pathaudit.sources import from_text
from tests import mutations as to
from tests.labels import MODELS, capture_rules
from tests.mutations import Edit, Mutation
from tests.trees import with_models

TreeMutation = Callable[[dict[str, bytes]], dict[str, bytes]]


class Model(Struct, frozen=True):
    """A method of a released file, and a served class that runs it."""

    version: str
    file: str
    cls: str
    entry: str
    method: str = "forward"

    def __str__(self) -> str:
        return f"{self.version}-{self.file}"

    @property
    def path(self) -> str:
        return f"{MODELS}/{self.file}.py"


LLAMA = Model("0.5.6", "llama", "LlamaModel", "LlamaForCausalLM")
LLAMA4 = Model("0.5.6", "llama4", "Llama4Model", "Llama4ForCausalLM")
APERTUS = Model("0.5.6", "apertus", "ApertusModel", "ApertusForCausalLM")
DEEPSEEK = Model("0.5.6", "deepseek_v2", "DeepseekV2Model", "DeepseekV3ForCausalLM")
GLM4_MOE = Model("0.5.6", "glm4_moe", "Glm4MoeModel", "Glm4MoeForCausalLM")
GPT_OSS = Model("0.5.6", "gpt_oss", "GptOssModel", "GptOssForCausalLM")
LONGCAT = Model("0.5.6", "longcat_flash", "LongcatFlashModel", "LongcatFlashForCausalLM")
MINIMAX = Model("0.5.6", "minimax_m2", "MiniMaxM2Model", "MiniMaxM2ForCausalLM")
QWEN2 = Model("0.5.6", "qwen2", "Qwen2Model", "Qwen2ForCausalLM")
QWEN_MOE = Model("0.5.6", "qwen2_moe", "Qwen2MoeModel", "Qwen3MoeForCausalLM")
BAILING = Model("0.5.12", "bailing_moe", "BailingMoEModel", "BailingMoeForCausalLM")
EXAONE = Model("0.5.12", "exaone_moe", "ExaoneMoEModel", "ExaoneMoEForCausalLM")
GEMMA3 = Model("0.5.12", "gemma3_causal", "Gemma3TextModel", "Gemma3ForCausalLM")
QWEN_NEXT = Model("0.5.12", "qwen3_next", "Qwen3NextModel", "Qwen3NextForCausalLM")
QWEN_VL = Model("0.5.12", "qwen3_vl", "Qwen3LLMModel", "Qwen3VLForConditionalGeneration")
BEAM = Model("0.5.23", "beam", "BeamModel", "BeamForCausalLM")
DEEPSEEK_NEW = Model("0.5.23", "deepseek_v2", "DeepseekV2Model", "DeepseekV3ForCausalLM")
DEEPSEEK_V4 = Model(
    "0.5.23", "deepseek_v4", "DeepseekV4Model", "DeepseekV4ForCausalLM", "_forward_impl"
)
LAGUNA = Model("0.5.23", "laguna", "LagunaModel", "LagunaForCausalLM")
MIMO = Model("0.5.23", "mimo_v2", "MiMoV2Model", "MiMoV2ForCausalLM")
MINIMAX_M3 = Model("0.5.23", "minimax_m3", "MiniMaxM3Model", "MiniMaxM3SparseForCausalLM")
MUSE = Model("0.5.23", "muse_glimmer", "MuseGlimmerModel", "MuseGlimmerForCausalLM")
NEMOTRON = Model("0.5.23", "nemotron_h", "NemotronHModel", "NemotronHForCausalLM")

TBO = "forward_batch.can_run_tbo"
DECODE = "forward_batch.forward_mode.is_decode()"

# ---- the audit --------------------------------------------------------------------------------


@pytest.fixture(autouse=True, scope="module")
def parse_each_text_once() -> Iterator[None]:
    """Most files are the same in all trees, and to parse them takes half of the time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pathaudit.index.reads.outline_module", cache(outline_module))
        yield


def files_of(model: Model) -> dict[str, bytes]:
    """The files of a release, with those model files only that the class comes from."""
    return with_models(model.version, model.file, entry_file(model))


def entry_file(model: Model) -> str:
    """The file that serves the class; another one than the method's where it is inherited."""
    return "qwen3_moe" if model is QWEN_MOE else model.file


def audit_files(model: Model, files: dict[str, bytes]) -> Report:
    report = audit(from_text(files), capture_rules(), entry=model.entry)
    assert report.gaps == ()
    assert report.summary.sites
    return report


@cache
def original(model: Model) -> Report:
    return audit_files(model, files_of(model))


def mutated(model: Model, mutation: Mutation) -> Report:
    files = files_of(model)
    edit = Edit(files[model.path].decode(), model.cls, model.method)
    before = edit.text()
    mutation(edit)
    after = edit.text()
    assert after != before
    ast.parse(after)
    return audit_files(model, {**files, model.path: after.encode()})


# ---- what must stay ---------------------------------------------------------------------------

Facts = tuple[Counter[object], Counter[object]]


def all_facts(report: Report) -> Facts:
    """Everything that an equivalent method must have in common with the original."""
    sites: Counter[object] = Counter(
        (item.entry, *item.receivers, str(site.verdict))
        for item in report.entries
        for site in item.sites
    )
    findings: Counter[object] = Counter(
        (x.fingerprint, x.symbol, str(x.verdict), str(x.reach), x.condition, x.layers)
        for x in report.findings
    )
    return sites, findings


def verdicts(report: Report) -> Facts:
    """The same without what names the stack, or the frame and number of the loops."""
    sites: Counter[object] = Counter(
        {(x.entry, str(site.verdict)) for x in report.entries for site in x.sites}
    )
    findings: Counter[object] = Counter(
        (x.entry, str(x.verdict), str(x.reach), x.condition) for x in report.findings
    )
    return sites, findings


SAME = [
    (LLAMA, to.rename("aux_hidden_states", "tapped")),
    (DEEPSEEK, to.rename("aux_hidden_states", "x")),
    (MIMO, to.rename("aux_hidden_states", "packer")),
    (MINIMAX_M3, to.rename("aux_hidden_states", "sink")),
    (GPT_OSS, to.rename("i", "layer_id")),
    (GEMMA3, to.rename("layer", "block")),
    (BEAM, to.rename("layer_id", "i")),
    (DEEPSEEK, to.rename("normal_end_layer", "split")),
    (DEEPSEEK_NEW, to.rename("normal_end_layer", "split")),
    (DEEPSEEK, to.alias_stack),
    (QWEN_VL, to.alias_stack),
    (NEMOTRON, to.alias_stack),
    (LLAMA4, to.alias_stack),
    (APERTUS, to.alias_slice),
    (GPT_OSS, to.stack_by_property),
    (DEEPSEEK, to.stack_by_property),
    (LONGCAT, to.list_of_range),
    (NEMOTRON, to.ask_or_empty),
    (LAGUNA, to.ask_or_empty),
    (LLAMA, to.always),
    (DEEPSEEK_NEW, to.always),
    (LONGCAT, to.in_context),
    (EXAONE, to.in_try),
    (QWEN2, to.negate),
    (DEEPSEEK, to.negate),
    (MIMO, to.negate),
    (QWEN_MOE, to.negate),
    (LLAMA, to.count_with_while),
    (LLAMA4, to.count_with_while),
    (DEEPSEEK, to.count_with_while),
    (NEMOTRON, to.enumerate_slice),
    (BAILING, to.enumerate_slice),
    (DEEPSEEK, to.enumerate_rebased),
    (GPT_OSS, to.enumerate_rebased),
    (QWEN2, to.ask_before),
    (NEMOTRON, to.ask_before),
    (LONGCAT, to.ask_copy),
    (MINIMAX, to.ask_copy),
    (LAGUNA, to.ask_copy),
    (DEEPSEEK_NEW, to.ask_copy),
    (APERTUS, to.as_expression),
    (MUSE, to.as_expression),
    (EXAONE, to.call_forward),
    (DEEPSEEK, to.call_forward),
    (LLAMA, to.collect_in_class),
    (GEMMA3, to.collect_in_class),
    (BEAM, to.collect_in_class),
    (QWEN_NEXT, to.collect_in_class),
    (QWEN_MOE, to.collect_in_class),
    (DEEPSEEK, to.keep_in_function),
    (MUSE, to.keep_in_function),
    (GLM4_MOE, to.keep_in_method),
    (QWEN2, to.keep_two_calls_deep),
    (QWEN_VL, to.keep_in_closure),
    (NEMOTRON, to.keep_in_closure),
    (BEAM, to.keep_by_bound_method),
    (EXAONE, to.keep_by_bound_method),
    (LLAMA4, to.ask_in_method),
    (MINIMAX, to.ask_in_method),
    (DEEPSEEK, to.both(to.alias_stack, to.keep_in_closure, to.negate)),
    (LLAMA, to.both(to.collect_in_class, to.always, to.count_with_while)),
    (QWEN2, to.both(to.enumerate_rebased, to.ask_before, to.keep_in_function)),
]
SAME_VERDICTS = [
    (LLAMA, to.body_in_method),
    (DEEPSEEK, to.body_in_method),
    (BAILING, to.body_in_method),
    (EXAONE, to.body_in_closure),
    (DEEPSEEK_NEW, to.body_in_closure),
    (APERTUS, to.unroll_last),
    (LAGUNA, to.unroll_last),
    (BEAM, to.unroll_last),
    (LLAMA, to.layer_by_method),
    (DEEPSEEK, to.layer_by_method),
    (MUSE, to.body_in_method),
    (QWEN_NEXT, to.body_in_method),
    (MINIMAX_M3, to.body_in_closure),
    (APERTUS, to.loop_in_method),
    (DEEPSEEK_NEW, to.loop_in_method),
    (QWEN_NEXT, to.loop_in_method),
    (GPT_OSS, to.both(to.keep_in_function, to.loop_in_method)),
    (DEEPSEEK, to.everything_in_method),
    (DEEPSEEK_V4, to.everything_in_method),
    (LAGUNA, to.everything_by_keywords),
    (QWEN_MOE, to.everything_by_keywords),
    (DEEPSEEK, to.forward_in_base),
    (MINIMAX_M3, to.forward_in_base),
    (QWEN2, to.split_loop),
    (NEMOTRON, to.split_loop),
]


def name_of(value: object) -> str:
    if isinstance(value, Model):
        return str(value)
    name = getattr(value, "__qualname__", "")
    return name.partition(".")[0] if name else str(value)


@pytest.mark.parametrize(("model", "mutation"), SAME, ids=name_of)
def test_an_equivalent_method_changes_nothing(model: Model, mutation: Mutation) -> None:
    assert all_facts(original(model)) == all_facts(mutated(model, mutation))


@pytest.mark.parametrize(("model", "mutation"), SAME_VERDICTS, ids=name_of)
def test_a_moved_loop_changes_no_verdict(model: Model, mutation: Mutation) -> None:
    assert verdicts(original(model)) == verdicts(mutated(model, mutation))


# ---- renames in the whole tree ----------------------------------------------------------------


def everywhere(old: str, new: str, under: str = "") -> TreeMutation:
    def mutate(files: dict[str, bytes]) -> dict[str, bytes]:
        pattern, to = re.compile(old.encode()), new.encode()
        return {
            path: pattern.sub(to, data) if path.startswith(under) else data
            for path, data in files.items()
        }

    return mutate


RUNNER = everywhere(r"\bmodel_forward_(maybe_tbo|stages)\b", "run_stages")
STACK = everywhere(r"\b(self|model)\.layers\b", r"\1.blocks", MODELS)
SWITCH = everywhere(r"\blayers_to_capture\b", "taps", MODELS)
FLAG = everywhere(r"\b_is_layer_to_capture\b", "tapped", MODELS)
ARGUMENT = everywhere(r"\bcaptured_last_layer_outputs\b", "sink")


@pytest.mark.parametrize("model", [DEEPSEEK, QWEN_MOE, DEEPSEEK_NEW, MIMO], ids=str)
def test_a_renamed_runner_changes_only_the_message(model: Model) -> None:
    before, after = original(model), audit_files(model, RUNNER(files_of(model)))
    assert all_facts(before) == all_facts(after)
    names = [x.message.rpartition(" in ")[2] for x in after.findings if " in " in x.message]
    assert set(names) <= {"run_stages"}


@pytest.mark.parametrize(
    ("model", "mutation"),
    [
        pytest.param(LLAMA, STACK, id="llama-stack"),
        pytest.param(DEEPSEEK, STACK, id="deepseek-stack"),
        pytest.param(LLAMA4, STACK, id="llama4-stack"),
        pytest.param(MIMO, STACK, id="mimo-stack"),
        pytest.param(LLAMA, SWITCH, id="llama-switch"),
        pytest.param(MIMO, SWITCH, id="mimo-switch"),
        pytest.param(NEMOTRON, SWITCH, id="nemotron-switch"),
        pytest.param(QWEN_NEXT, FLAG, id="qwen-next-flag"),
        pytest.param(QWEN_MOE, FLAG, id="qwen-moe-flag"),
        pytest.param(BAILING, ARGUMENT, id="bailing-argument"),
        pytest.param(DEEPSEEK_NEW, ARGUMENT, id="deepseek-argument"),
    ],
)
def test_a_consistent_rename_changes_no_verdict(model: Model, mutation: TreeMutation) -> None:
    files = files_of(model)
    changed = mutation(files)
    assert changed != files
    assert verdicts(original(model)) == verdicts(audit_files(model, changed))


# ---- lost captures ----------------------------------------------------------------------------

LOST = [
    (LLAMA, to.delete_capture, None),
    (LLAMA4, to.delete_capture, None),
    (GPT_OSS, to.delete_capture, None),
    (DEEPSEEK, to.delete_capture, None),
    (GEMMA3, to.delete_capture, None),
    (QWEN_VL, to.delete_capture, None),
    (BEAM, to.delete_capture, None),
    (NEMOTRON, to.delete_capture, None),
    (MUSE, to.delete_capture, None),
    (LLAMA, to.guard_capture(TBO), f"not {TBO}"),
    (QWEN2, to.guard_capture(f"not {TBO}"), TBO),
    (LONGCAT, to.guard_capture(TBO), f"not {TBO}"),
    (EXAONE, to.guard_capture(DECODE), f"not {DECODE}"),
    (MUSE, to.guard_append("positions.is_cuda"), "not positions.is_cuda"),
    (LLAMA4, to.guard_append("i % 2 == 0"), None),
    (APERTUS, to.second_loop, None),
    (QWEN2, to.second_loop, None),
    (MIMO, to.second_loop, None),
    (LAGUNA, to.second_loop, None),
    (MINIMAX, to.second_loop, f"not {TBO}"),
    (GPT_OSS, to.fast_path(TBO), TBO),
    (DEEPSEEK_NEW, to.fast_path(DECODE), None),
    (QWEN_NEXT, to.fast_path(DECODE), DECODE),
    (EXAONE, to.fast_path_in_method(TBO), TBO),
    (LAGUNA, to.fast_path_in_method(TBO), TBO),
    (APERTUS, to.skip_capture(DECODE), DECODE),
    (QWEN_VL, to.skip_capture(TBO), TBO),
    (DEEPSEEK_NEW, to.drop_argument, None),
    (MIMO, to.drop_argument, None),
    (LAGUNA, to.drop_argument, None),
    (QWEN_NEXT, to.drop_argument, None),
    (QWEN_NEXT, to.none_as_argument, None),
    (MINIMAX_M3, to.drop_argument, None),
    (LAGUNA, to.guard_argument(TBO), f"not {TBO}"),
    (QWEN_NEXT, to.guard_argument(TBO), f"not {TBO}"),
    (LONGCAT, to.invert_question, "always"),
    (LLAMA, to.ask_another_list, "i not in noted_layers"),
    (MIMO, to.ask_another_list, "i not in noted_layers"),
    (QWEN2, to.capture_elsewhere, "always"),
    (LLAMA, to.return_early(TBO), TBO),
    (LAGUNA, to.return_early(DECODE), DECODE),
    (EXAONE, to.hand_off(TBO), TBO),
    (LAGUNA, to.hand_off_partial(DECODE), DECODE),
    pytest.param(
        LLAMA,
        to.both(to.layer_by_method, to.delete_capture),
        "always",
    ),
    (LLAMA, to.both(to.delete_capture, to.count_with_while), None),
    (LLAMA, to.both(to.guard_capture(TBO), to.keep_in_function, to.negate), f"not {TBO}"),
    (QWEN2, to.both(to.collect_in_class, to.delete_capture, to.alias_stack), None),
    (GPT_OSS, to.both(to.guard_capture(TBO), to.loop_in_method), f"not {TBO}"),
]


@pytest.mark.parametrize(("model", "mutation", "condition"), LOST, ids=name_of)
def test_a_lost_capture_is_one_new_finding(
    model: Model, mutation: Mutation, condition: str | None
) -> None:
    known = {finding.fingerprint for finding in original(model).findings}
    found = {finding.fingerprint: finding for finding in mutated(model, mutation).findings}
    assert known <= found.keys()
    (new,) = [finding for print_, finding in found.items() if print_ not in known]
    assert (new.file, new.verdict) == (model.path, Verdict.VIOLATED), describe(new)
    assert condition in (None, without_length(new.condition))


def without_length(condition: str) -> str:
    """A loop over all layers runs one only if there is one: that says nothing."""
    always = condition.replace("len(layers) >= 1", "always")
    return always.removesuffix(" and always")


def test_a_guard_removed_gives_each_run_behind_it() -> None:
    report = mutated(MIMO, to.drop_guard("not self.layers_to_capture"))
    assert original(MIMO).findings == ()
    assert [x.layers for x in report.findings] == ["[0, 1)", "[start_layer + 1, end_layer)"]
    assert all(x.condition.startswith(TBO) for x in report.findings[1:])
    first, rest = report.findings[1].paths
    assert (first.condition, rest.condition) == (
        f"{TBO} and start_layer <= 0",
        f"{TBO} and start_layer >= 1",
    )


def describe(finding: Finding) -> str:
    return f"{finding.file}:{finding.line}: {finding.verdict}, when {finding.condition}"
