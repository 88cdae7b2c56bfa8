"""The matrix on small models: one of each answer in each column."""

import pytest

from pathaudit.audit import matrix_of
from pathaudit.errors import UsageError
from pathaudit.reporters.cells import summary
from pathaudit.results.matrices import Support
from pathaudit.sources import from_text
from tests.labels import MODELS, SUPPORT, shipped_rules
from tests.matrix_models import (
    AFTER,
    AS_IT_IS,
    AT_THE_END,
    BALANCER,
    BY_NAME,
    CAPTURES,
    DECLARES,
    EITHER,
    FAILS,
    FAST,
    GUARDED,
    HELPED,
    HIDDEN,
    LOST,
    MARKS,
    NAMED,
    NO_RESIDUAL,
    PLAIN,
    PREFILL,
    REBASED,
    REFUSES,
    SCHEDULER,
    SETTER,
    STAGED,
    STAGED_USES,
    TOLD,
    USES,
    WORKER,
    cell,
    source,
    table,
)


@pytest.mark.parametrize(
    ("model", "served", "said", "detail"),
    [
        pytest.param(CAPTURES, USES + SETTER, "yes E", "on every path", id="captures"),
        pytest.param(FAST, USES + SETTER, "no E", "when forward_batch.fast", id="loses"),
        pytest.param(PLAIN, USES, "-", "no setter", id="no-setter"),
        pytest.param(CAPTURES, USES + FAILS, "blocked E", "has no set_eagle3", id="setter-fails"),
        pytest.param(PLAIN, USES + HIDDEN, "unknown", "__getattr__", id="hidden"),
        pytest.param(
            CAPTURES,
            USES + SETTER.partition("    def get_embed")[0],
            "blocked E",
            "not get_embed_and_head",
            id="no-companion",
        ),
    ],
)
def test_capture(model: str, served: str, said: str, detail: str) -> None:
    found = cell(source(model, served), "capture", WORKER)
    assert (summary(found.parts, MARKS), detail in found.parts[0].detail) == (said, True)


def test_a_model_that_could_capture_and_is_not_armed_has_no_setter() -> None:
    other = source(CAPTURES, USES + SETTER).replace("ForCausalLM", "Other")
    first, _ = table(source(CAPTURES, USES), {f"{MODELS}/other.py": other}).rows
    (found,) = first.cells[0].parts
    assert (found.support, found.rule) == (Support.NONE, "skipped-aux-capture")
    assert "nothing arms" in found.detail


def test_a_setter_that_nothing_calls_is_none() -> None:
    framework = {"sglang/srt/model_executor/runner.py": "def run(model):\n    model.forward()\n"}
    found = cell(source(CAPTURES, USES + SETTER), "capture", framework)
    assert (found.support, found.parts[0].detail) == (Support.NONE, "nothing calls its setter")


@pytest.mark.parametrize(
    ("model", "served", "layer", "said"),
    [
        pytest.param(NAMED, USES + DECLARES, "ExpertLayer", "yes", id="named"),
        pytest.param(PLAIN, USES + DECLARES, "ExpertLayer", "no", id="not-named"),
        pytest.param(PLAIN, USES, "ExpertLayer", "-", id="not-declared"),
        pytest.param(PLAIN, USES + DECLARES, "Layer", "unknown", id="no-experts"),
        pytest.param(PLAIN, USES + HIDDEN, "ExpertLayer", "unknown", id="hidden"),
    ],
)
def test_recorder(model: str, served: str, layer: str, said: str) -> None:
    assert cell(source(model, served, layer), "recorder").support == said


def test_what_the_capability_lacks_is_a_remark() -> None:
    served = USES + DECLARES.partition("    def routed")[0]
    found = cell(source(NAMED, served, "ExpertLayer"), "recorder", BALANCER)
    assert (found.support, [x.rule for x in found.remarks]) == ("yes", ["incomplete-capability"])


@pytest.mark.parametrize(
    ("served", "framework", "said"),
    [
        pytest.param(USES + SETTER + PREFILL, {}, "no E", id="loses"),
        pytest.param(
            USES + SETTER + PREFILL,
            {"sglang/srt/managers/scheduler.py": SCHEDULER},
            "gated E",
            id="no-draft-step",
        ),
        pytest.param(USES + PREFILL, {}, "yes", id="nothing-to-lose"),
        pytest.param(USES + SETTER + REFUSES, {}, "blocked", id="only-raises"),
        pytest.param(USES + SETTER, {}, "-", id="none"),
        pytest.param(USES + HIDDEN, {}, "unknown", id="hidden"),
    ],
)
def test_prefill(served: str, framework: dict[str, str], said: str) -> None:
    found = cell(source(CAPTURES, served), "prefill", framework)
    assert summary(found.parts, MARKS) == said


@pytest.mark.parametrize(
    ("model", "served", "layer", "said"),
    [
        pytest.param(LOST, USES + SETTER, "ExpertLayer", "no E", id="loses"),
        pytest.param(GUARDED, USES + SETTER, "ExpertLayer", "gated E", id="guarded"),
        pytest.param(LOST, USES, "ExpertLayer", "yes", id="no-setter"),
        pytest.param(LOST, USES + SETTER, "Layer", "blocked", id="not-known-to-the-runner"),
        pytest.param(CAPTURES, USES + SETTER, "ExpertLayer", "-", id="no-path"),
        pytest.param(PLAIN, USES + HIDDEN, "ExpertLayer", "unknown", id="hidden"),
    ],
)
def test_overlap(model: str, served: str, layer: str, said: str) -> None:
    found = cell(source(model, served, layer), "overlap")
    assert summary(found.parts, MARKS) == said


def test_a_path_that_is_chosen_by_a_method_of_the_model_overlaps() -> None:
    method = "\n    def overlaps(self, batch):\n        return batch.can_run_tbo and batch.big\n"
    model = LOST.replace("forward_batch.can_run_tbo", "self.overlaps(forward_batch)") + method
    assert cell(source(model, USES, "ExpertLayer"), "overlap").support == "yes"


@pytest.mark.parametrize(
    ("text", "said", "detail"),
    [
        pytest.param(source(STAGED, STAGED_USES), "yes", "handed on", id="whole"),
        pytest.param(source(PLAIN, USES), "-", "does not offer", id="not-offered"),
        pytest.param(
            source(
                PLAIN, USES.replace("forward_batch):", "forward_batch, pp_proxy_tensors=None):")
            ),
            "unknown",
            "reads nothing of the stage before",
            id="not-read",
        ),
        pytest.param(
            source(STAGED, STAGED_USES.replace("if self.pp_group.is_last_rank:", "if True:")),
            "no",
            "logits on every stage",
            id="logits-on-every-stage",
        ),
        pytest.param(
            source(STAGED, STAGED_USES).replace(", self.start_layer, self.end_layer = ", " = "),
            "unknown",
            "splits no layers",
            id="not-split",
        ),
        pytest.param(
            source(STAGED, "").replace(
                "        self.model = Model(config)\n",
                "        self.model = Model(config)\n        self.forward = self.model.forward\n",
            ),
            "yes",
            "handed on",
            id="takes-the-forward-of-its-model",
        ),
        pytest.param(source(PLAIN, ""), "unknown", "not to be seen", id="no-forward"),
    ],
)
def test_stages(text: str, said: str, detail: str) -> None:
    found = cell(text, "stages")
    assert (found.support, detail in found.parts[0].detail) == (said, True)


@pytest.mark.parametrize(
    ("model", "setter", "first", "last"),
    [
        pytest.param(CAPTURES, SETTER, "yes", "no", id="before"),
        pytest.param(REBASED, SETTER, "yes", "no", id="counted-from-the-stage"),
        pytest.param(AFTER, AS_IT_IS, "yes", "yes", id="after"),
        pytest.param(AT_THE_END, SETTER, "yes", "yes", id="asked-after-the-loop"),
        pytest.param(NO_RESIDUAL, AS_IT_IS, "no", "no", id="nothing-to-add-yet"),
        pytest.param(NO_RESIDUAL, EITHER, "no", "no", id="shifted-or-not"),
        pytest.param(TOLD, SETTER, "yes", "no", id="the-layer-collects"),
        pytest.param(TOLD, AS_IT_IS, "unknown", "no", id="the-first-layer-collects"),
        pytest.param(BY_NAME + HELPED, SETTER, "unknown", "unknown", id="asked-elsewhere"),
    ],
)
def test_boundary(model: str, setter: str, first: str, last: str) -> None:
    found = cell(source(model, USES + setter), "boundary")
    ends = {"last" if "last layer" in x.detail else "first": x.support for x in found.parts}
    if len(found.parts) == 1:
        ends = dict.fromkeys(("first", "last"), found.support)
    assert ends == {"first": first, "last": last}


def test_a_layer_may_catch_what_it_is_told_to_collect_in() -> None:
    text = source(TOLD, USES + SETTER)
    caught = text.replace("collect=None", "**kwargs").replace(
        "collect is not None", 'kwargs.get("collect") is not None'
    )
    assert caught != text
    assert cell(caught, "boundary").parts == cell(text, "boundary").parts


def test_a_class_without_a_setter_asks_for_no_layer() -> None:
    assert cell(source(CAPTURES, USES), "boundary").support == "-"


def test_drafts_have_no_row() -> None:
    text = source(PLAIN, USES).replace("ForCausalLM", "ForCausalLMNextN")
    other = source(PLAIN, USES)
    found = table(text, {f"{MODELS}/other.py": other})
    assert [row.name for row in found.rows] == ["ForCausalLM"]
    assert found.drafts == ("ForCausalLMNextN",)


def test_a_draft_is_refused_by_name() -> None:
    text = source(PLAIN, USES).replace("ForCausalLM", "ForCausalLMNextN")
    tree = from_text({**SUPPORT, f"{MODELS}/small.py": text})
    with pytest.raises(UsageError, match="is a draft model"):
        matrix_of(tree, shipped_rules(), entry="ForCausalLMNextN")


SHORTER = """
    def forward(self, hidden_states, forward_batch):
        end = self.end_layer
        if forward_batch.can_run_tbo:
            if self.start_layer < self.first_k_dense_replace < self.end_layer:
                end = self.first_k_dense_replace
        for i in range(self.start_layer, end):
            hidden_states = self.layers[i](hidden_states, forward_batch)
        if end != self.end_layer:
            hidden_states = run_stages(self.layers[end:], hidden_states, forward_batch)
        return hidden_states
"""


def test_what_runs_either_way_is_not_on_the_path_of_two_batches() -> None:
    text = source(SHORTER, USES, "ExpertLayer")
    (found,) = cell(text, "overlap").parts
    lines = text.splitlines()
    assert ["run_stages" in lines[x.line - 1] for x in found.evidence] == [True]


def test_an_object_that_answers_to_any_name_does_not_fail_a_setter() -> None:
    found = cell(source(CAPTURES + HIDDEN, USES + FAILS), "capture", WORKER)
    assert found.support is not Support.BLOCKED


def test_a_setter_that_fails_asks_for_no_layer() -> None:
    assert cell(source(CAPTURES, USES + FAILS), "boundary").support == "-"


FAST_OR_OVERLAPPED = GUARDED.replace(
    "        for i in",
    """        if forward_batch.fast:
            for i in range(self.start_layer, self.end_layer):
                hidden_states = self.layers[i](hidden_states, forward_batch)
            return hidden_states, aux
        for i in""",
    1,
)


def test_what_is_lost_elsewhere_is_not_lost_on_the_path_of_two_batches() -> None:
    text = source(FAST_OR_OVERLAPPED, USES + SETTER, "ExpertLayer")
    answers = {name: cell(text, name).support for name in ("capture", "overlap")}
    assert answers == {"capture": "no", "overlap": "gated"}


def test_a_setter_that_arms_what_is_not_known_is_unknown() -> None:
    text = source(CAPTURES, USES + SETTER).replace("Model(config)", "made_elsewhere(config)")
    assert cell(text, "capture").support == "unknown"
