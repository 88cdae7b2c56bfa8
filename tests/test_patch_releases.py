"""Patches of SGLang 0.5.6, noted there and checked on later releases.

Each is what a user would carry; what is said of it was read against the sources.
"""

from functools import cache

import pytest

from pathaudit.index import Index, build_index
from pathaudit.relies.judging import Judged, judge_patch
from pathaudit.relies.record import record_patch
from pathaudit.ruleset.patches import Reliance
from pathaudit.sources import open_source
from tests.patches import PROFILE, faults, patch_of
from tests.releases import release

MADE_FOR = "0.5.6"
DEEPSEEK = "sglang/srt/models/deepseek_v2.py"
OVERLAP = "sglang/srt/batch_overlap/two_batch_overlap.py"
QWEN = "sglang/srt/models/qwen3_moe.py"
LOGITS = "sglang/srt/layers/logits_processor.py"
OURS = "sglang/srt/models/our_patch.py"

Edit = tuple[str, str, str]

EMBEDDING: tuple[Edit, ...] = (
    (
        DEEPSEEK,
        "        aux_hidden_states = []\n        for i in range(normal_start",
        "        aux_hidden_states = []\n"
        "        if -1 in self.layers_to_capture:\n"
        "            aux_hidden_states.append(\n"
        "                hidden_states if residual is None else hidden_states + residual\n"
        "            )\n"
        "        for i in range(normal_start",
    ),
)
RUNNER: tuple[Edit, ...] = (
    (
        OVERLAP,
        "    zero_allocator: Optional[BumpAllocator] = None,\n):\n    inputs = dict(",
        "    zero_allocator: Optional[BumpAllocator] = None,\n"
        "    layers_to_capture: Optional[List[int]] = None,\n):\n    inputs = dict(",
    ),
    (
        DEEPSEEK,
        "                ].layer_scatter_modes.layer_output_mode,\n"
        "                zero_allocator=zero_allocator,\n",
        "                ].layer_scatter_modes.layer_output_mode,\n"
        "                zero_allocator=zero_allocator,\n"
        "                layers_to_capture=self.layers_to_capture,\n",
    ),
)
HOOK: tuple[Edit, ...] = (
    (
        QWEN,
        "            hidden_states, forward_batch, should_allreduce_fusion, use_reduce_scatter\n"
        "        )\n\n        if should_allreduce_fusion:\n",
        "            hidden_states, forward_batch, should_allreduce_fusion, use_reduce_scatter\n"
        "        )\n"
        "        if self.tap is not None:\n"
        "            self.tap(self.layer_id, hidden_states, residual)\n\n"
        "        if should_allreduce_fusion:\n",
    ),
    (
        QWEN,
        "        self.layer_id = layer_id\n\n        self.attn_tp_size",
        "        self.layer_id = layer_id\n        self.tap = None\n\n        self.attn_tp_size",
    ),
)
PARAMETER: tuple[Edit, ...] = (
    (
        LOGITS,
        "        aux_hidden_states: Optional[torch.Tensor] = None,\n"
        "    ) -> LogitsProcessorOutput:\n        if isinstance(",
        "        aux_hidden_states: Optional[torch.Tensor] = None,\n"
        "        hidden_states_before_norm: Optional[torch.Tensor] = None,\n"
        "    ) -> LogitsProcessorOutput:\n        if isinstance(",
    ),
)
REPLACEMENT = """\
from sglang.srt.batch_overlap.two_batch_overlap import model_forward_maybe_tbo
from sglang.srt.models.deepseek_v2 import DeepseekV2Model


def forward(self, input_ids, positions, forward_batch, input_embeds=None, pp_proxy_tensors=None):
    hidden_states, residual = model_forward_maybe_tbo(
        layers=self.layers,
        enable_tbo=True,
        positions=positions,
        forward_batch=forward_batch,
        hidden_states=self.embed_tokens(input_ids),
        residual=None,
        input_data_scatter_mode=self.layers[0].layer_scatter_modes.layer_output_mode,
    )
    return self.norm(hidden_states, residual)[0]


DeepseekV2Model.forward = forward
"""


@cache
def index_of(version: str) -> Index:
    return build_index(open_source(str(release(version)), "sglang"), PROFILE)


def noted(*edits: Edit, new: dict[str, str] | None = None) -> Reliance:
    tree = open_source(str(release(MADE_FOR)), "sglang")
    before = {path: tree.text(path) for path, _, _ in edits}
    after = {**before, **(new or {})}
    for path, old, changed in edits:
        assert after[path].count(old) == 1
        after[path] = after[path].replace(old, changed)
    return record_patch(tree, PROFILE, patch_of(before, after), name="fix")


@cache
def kept(name: str) -> Reliance:
    edits = {"embedding": EMBEDDING, "runner": RUNNER, "hook": HOOK, "parameter": PARAMETER}
    if name == "replacement":
        return noted(new={OURS: REPLACEMENT})
    return noted(*edits[name])


def checked(name: str, version: str) -> Judged:
    return judge_patch(index_of(version), kept(name))


NAMES = ("embedding", "runner", "hook", "parameter", "replacement")


@pytest.mark.parametrize("name", NAMES)
def test_where_it_was_made_for_nothing_is_said(name: str) -> None:
    found = checked(name, MADE_FOR)
    assert (found.standing, faults(found.points)) == ("unpatched", [])
    assert not [point for point in found.points if point.doubtful]


STAGES = (
    "model_forward_stages seems to be what it is here: "
    "4 of the 4 functions that called it call that"
)
RECORDER = "get_global_expert_distribution_recorder().with_curre...`"
BODY = "replaces DeepseekV2Model.forward, whose body is another here: what differs is lost"
FITS = "does not fit in DeepseekV2Model.forward: "
LATER = [
    pytest.param(
        "embedding",
        "0.5.9",
        [
            (
                "warning",
                f"{FITS}there is no line `with {RECORDER}, but `else {RECORDER}",
            )
        ],
        id="embedding 0.5.9: the recorder is chosen before",
    ),
    pytest.param(
        "embedding",
        "0.5.21",
        [
            ("error", "needs `residual`, which DeepseekV2Model.forward does not bind"),
            ("warning", f"{FITS}there is no line `aux_hidden_states = []`"),
        ],
        id="embedding 0.5.21: the residual travels elsewhere",
    ),
    pytest.param("runner", "0.5.16", [], id="runner 0.5.16"),
    pytest.param(
        "runner",
        "0.5.21",
        [
            ("error", f"changes model_forward_maybe_tbo, which is not there; {STAGES}"),
            ("warning", f"{FITS}there is no line `normal_end_layer - 1`"),
        ],
        id="runner 0.5.21: it is called otherwise",
    ),
    pytest.param("hook", "0.5.12", [], id="hook 0.5.12"),
    pytest.param(
        "parameter",
        "0.5.9",
        [("note", "is in this tree already")],
        id="parameter 0.5.9: SGLang has one of that name",
    ),
    pytest.param(
        "replacement",
        "0.5.9",
        [
            (
                "warning",
                BODY,
            )
        ],
        id="replacement 0.5.9: what it replaces has changed",
    ),
    pytest.param(
        "replacement",
        "0.5.23",
        [
            (
                "error",
                "imports `model_forward_maybe_tbo`, which sglang.srt.batch_overlap."
                f"two_batch_overlap does not have; {STAGES}",
            ),
            (
                "warning",
                BODY,
            ),
            (
                "error",
                "needs `self.layers[0].layer_scatter_modes`, which DeepseekV2DecoderLayer "
                "does not have",
            ),
        ],
        id="replacement 0.5.23: what it calls has another name",
    ),
]


@pytest.mark.parametrize(("name", "version", "expected"), LATER)
def test_on_a_later_release(name: str, version: str, expected: list[tuple[str, str]]) -> None:
    assert expected == faults(checked(name, version).points)


def test_a_hook_in_a_layer_is_passed_by_two_batch_overlap() -> None:
    """The runner calls other methods of the layer, so that its forward does not run."""
    (function,) = [x for x in kept("hook").files[0].functions if x.symbol.endswith(".forward")]
    told = {path.entries: (path.runs, path.missed) for path in function.paths}
    assert told == {
        ("Qwen3MoeForCausalLM.forward",): (
            "some",
            ("layers [0, len(layers)) in model_forward_maybe_tbo, when forward_batch.can_run_tbo",),
        ),
        ("Qwen3MoeForCausalLM.forward_split_prefill",): ("every", ()),
    }


def test_the_embedding_is_captured_on_every_path() -> None:
    (function,) = kept("embedding").files[0].functions
    assert [(path.code, path.runs) for path in function.paths] == [
        ("if -1 in self.layers_to_capture:", "every")
    ]
