"""The labelled example of `skipped-aux-capture`: one violation and three forms that hold."""

import torch
from torch import nn

from sglang.srt.distributed import get_pp_group
from sglang.srt.layers.logits_processor import LogitsProcessor
from sglang.srt.layers.radix_attention import RadixAttention
from sglang.srt.model_executor.forward_batch_info import ForwardBatch
from sglang.srt.utils import make_layers


def run_overlapped(layers, hidden_states, residual, forward_batch, capture=None):
    """Run the layers on the two halves of the batch, one layer of each in turn."""
    left, right = forward_batch.tbo_children
    middle = left.num_tokens
    first = (hidden_states[:middle], residual[:middle])
    second = (hidden_states[middle:], residual[middle:])
    # A finding stands at the call that hands the layers over, so this loop has no label.
    for layer in layers:
        if capture is not None:
            capture(layer, torch.cat([first[0] + first[1], second[0] + second[1]]))
        first = layer(first[0], first[1], left)
        second = layer(second[0], second[1], right)
    return torch.cat([first[0], second[0]]), torch.cat([first[1], second[1]])


class ExampleDecoderLayer(nn.Module):
    def __init__(self, config, layer_id: int) -> None:
        super().__init__()
        self.layer_id = layer_id
        self.input_norm = nn.RMSNorm(config.hidden_size)
        self.qkv_proj = nn.Linear(config.hidden_size, 3 * config.hidden_size)
        self.attn = RadixAttention(
            config.num_heads, config.head_dim, config.head_dim**-0.5, config.num_heads, layer_id
        )
        self.post_norm = nn.RMSNorm(config.hidden_size)
        self.mlp = nn.Linear(config.hidden_size, config.hidden_size)

    def forward(self, hidden_states, residual, forward_batch):
        residual = hidden_states if residual is None else hidden_states + residual
        q, k, v = self.qkv_proj(self.input_norm(residual)).chunk(3, dim=-1)
        residual = residual + self.attn(q, k, v, forward_batch)
        return self.mlp(self.post_norm(residual)), residual


class OverlappedModel(nn.Module):
    """With two-batch overlap on, the sparse layers go to a runner that captures nothing."""

    def __init__(self, config) -> None:
        super().__init__()
        self.pp_group = get_pp_group()
        self.embed_tokens = nn.Embedding(config.vocab_size, config.hidden_size)
        self.layers, self.start_layer, self.end_layer = make_layers(
            config.num_hidden_layers,
            lambda idx, prefix: ExampleDecoderLayer(config, layer_id=idx),
            pp_rank=self.pp_group.rank_in_group,
            pp_size=self.pp_group.world_size,
        )
        self.norm = nn.RMSNorm(config.hidden_size)
        self.first_k_dense_replace = config.first_k_dense_replace
        self.layers_to_capture = []

    def forward(self, input_ids, forward_batch: ForwardBatch):
        hidden_states, residual = self.embed_tokens(input_ids), None

        dense_end = self.end_layer
        if forward_batch.can_run_tbo:
            if self.start_layer < self.first_k_dense_replace < self.end_layer:
                dense_end = self.first_k_dense_replace

        aux_hidden_states = []
        # ok: skipped-aux-capture
        for i in range(self.start_layer, dense_end):
            if i in self.layers_to_capture:
                aux_hidden_states.append(hidden_states + residual)
            hidden_states, residual = self.layers[i](hidden_states, residual, forward_batch)

        if dense_end != self.end_layer:
            # expect: skipped-aux-capture
            hidden_states, residual = run_overlapped(
                self.layers[dense_end : self.end_layer], hidden_states, residual, forward_batch
            )

        hidden_states = self.norm(hidden_states + residual)
        if len(aux_hidden_states) == 0:
            return hidden_states
        return hidden_states, aux_hidden_states


class OverlappedForCausalLM(nn.Module):
    def __init__(self, config) -> None:
        super().__init__()
        self.model = OverlappedModel(config)
        self.lm_head = nn.Linear(config.hidden_size, config.vocab_size, bias=False)
        self.logits_processor = LogitsProcessor(config)
        self.capture_aux_hidden_states = False

    def forward(self, input_ids, positions, forward_batch: ForwardBatch, input_embeds=None):
        hidden_states = self.model(input_ids, forward_batch)
        aux_hidden_states = None
        if self.capture_aux_hidden_states:
            hidden_states, aux_hidden_states = hidden_states
        return self.logits_processor(
            input_ids, hidden_states, self.lm_head, forward_batch, aux_hidden_states
        )

    def set_eagle3_layers_to_capture(self, layer_ids: list[int]) -> None:
        self.capture_aux_hidden_states = True
        # The state that layer n leaves is seen at the top of layer n + 1.
        self.model.layers_to_capture = [layer_id + 1 for layer_id in layer_ids]


class CapturedModel(nn.Module):
    """The runner of the sparse layers is given a closure that captures."""

    def __init__(self, config) -> None:
        super().__init__()
        self.pp_group = get_pp_group()
        self.embed_tokens = nn.Embedding(config.vocab_size, config.hidden_size)
        self.layers, self.start_layer, self.end_layer = make_layers(
            config.num_hidden_layers,
            lambda idx, prefix: ExampleDecoderLayer(config, layer_id=idx),
            pp_rank=self.pp_group.rank_in_group,
            pp_size=self.pp_group.world_size,
        )
        self.norm = nn.RMSNorm(config.hidden_size)
        self.first_k_dense_replace = config.first_k_dense_replace
        self.layers_to_capture = []

    def forward(self, input_ids, forward_batch: ForwardBatch):
        hidden_states, residual = self.embed_tokens(input_ids), None

        dense_end = self.end_layer
        if forward_batch.can_run_tbo:
            if self.start_layer < self.first_k_dense_replace < self.end_layer:
                dense_end = self.first_k_dense_replace

        aux_hidden_states = []
        # ok: skipped-aux-capture
        for i in range(self.start_layer, dense_end):
            if i in self.layers_to_capture:
                aux_hidden_states.append(hidden_states + residual)
            hidden_states, residual = self.layers[i](hidden_states, residual, forward_batch)

        if dense_end != self.end_layer:

            def keep(layer, state):
                if layer.layer_id in self.layers_to_capture:
                    aux_hidden_states.append(state)

            # ok: skipped-aux-capture
            hidden_states, residual = run_overlapped(
                self.layers[dense_end : self.end_layer],
                hidden_states,
                residual,
                forward_batch,
                capture=keep,
            )

        hidden_states = self.norm(hidden_states + residual)
        if len(aux_hidden_states) == 0:
            return hidden_states
        return hidden_states, aux_hidden_states


class CapturedForCausalLM(nn.Module):
    def __init__(self, config) -> None:
        super().__init__()
        self.model = CapturedModel(config)
        self.lm_head = nn.Linear(config.hidden_size, config.vocab_size, bias=False)
        self.logits_processor = LogitsProcessor(config)
        self.capture_aux_hidden_states = False

    def forward(self, input_ids, positions, forward_batch: ForwardBatch, input_embeds=None):
        hidden_states = self.model(input_ids, forward_batch)
        aux_hidden_states = None
        if self.capture_aux_hidden_states:
            hidden_states, aux_hidden_states = hidden_states
        return self.logits_processor(
            input_ids, hidden_states, self.lm_head, forward_batch, aux_hidden_states
        )

    def set_eagle3_layers_to_capture(self, layer_ids: list[int]) -> None:
        self.capture_aux_hidden_states = True
        # The state that layer n leaves is seen at the top of layer n + 1.
        self.model.layers_to_capture = [layer_id + 1 for layer_id in layer_ids]


class GuardedModel(nn.Module):
    """The stack is split only while nothing is asked for."""

    def __init__(self, config) -> None:
        super().__init__()
        self.pp_group = get_pp_group()
        self.embed_tokens = nn.Embedding(config.vocab_size, config.hidden_size)
        self.layers, self.start_layer, self.end_layer = make_layers(
            config.num_hidden_layers,
            lambda idx, prefix: ExampleDecoderLayer(config, layer_id=idx),
            pp_rank=self.pp_group.rank_in_group,
            pp_size=self.pp_group.world_size,
        )
        self.norm = nn.RMSNorm(config.hidden_size)
        self.first_k_dense_replace = config.first_k_dense_replace
        self.layers_to_capture = []

    def forward(self, input_ids, forward_batch: ForwardBatch):
        hidden_states, residual = self.embed_tokens(input_ids), None

        dense_end = self.end_layer
        if forward_batch.can_run_tbo and not self.layers_to_capture:
            if self.start_layer < self.first_k_dense_replace < self.end_layer:
                dense_end = self.first_k_dense_replace

        aux_hidden_states = []
        # ok: skipped-aux-capture
        for i in range(self.start_layer, dense_end):
            if i in self.layers_to_capture:
                aux_hidden_states.append(hidden_states + residual)
            hidden_states, residual = self.layers[i](hidden_states, residual, forward_batch)

        if dense_end != self.end_layer:
            # ok: skipped-aux-capture
            hidden_states, residual = run_overlapped(
                self.layers[dense_end : self.end_layer], hidden_states, residual, forward_batch
            )

        hidden_states = self.norm(hidden_states + residual)
        if len(aux_hidden_states) == 0:
            return hidden_states
        return hidden_states, aux_hidden_states


class GuardedForCausalLM(nn.Module):
    def __init__(self, config) -> None:
        super().__init__()
        self.model = GuardedModel(config)
        self.lm_head = nn.Linear(config.hidden_size, config.vocab_size, bias=False)
        self.logits_processor = LogitsProcessor(config)
        self.capture_aux_hidden_states = False

    def forward(self, input_ids, positions, forward_batch: ForwardBatch, input_embeds=None):
        hidden_states = self.model(input_ids, forward_batch)
        aux_hidden_states = None
        if self.capture_aux_hidden_states:
            hidden_states, aux_hidden_states = hidden_states
        return self.logits_processor(
            input_ids, hidden_states, self.lm_head, forward_batch, aux_hidden_states
        )

    def set_eagle3_layers_to_capture(self, layer_ids: list[int]) -> None:
        self.capture_aux_hidden_states = True
        # The state that layer n leaves is seen at the top of layer n + 1.
        self.model.layers_to_capture = [layer_id + 1 for layer_id in layer_ids]


class NearMissModel(nn.Module):
    """The loop that captures nothing is never reached by an armed model, far as its guard is."""

    def __init__(self, config) -> None:
        super().__init__()
        self.pp_group = get_pp_group()
        self.embed_tokens = nn.Embedding(config.vocab_size, config.hidden_size)
        self.layers, self.start_layer, self.end_layer = make_layers(
            config.num_hidden_layers,
            lambda idx, prefix: ExampleDecoderLayer(config, layer_id=idx),
            pp_rank=self.pp_group.rank_in_group,
            pp_size=self.pp_group.world_size,
        )
        self.norm = nn.RMSNorm(config.hidden_size)
        self.first_k_dense_replace = config.first_k_dense_replace
        self.layers_to_capture = []

    def forward(self, input_ids, forward_batch: ForwardBatch):
        hidden_states, residual = self.embed_tokens(input_ids), None

        overlap = forward_batch.can_run_tbo
        if len(self.layers_to_capture) > 0:
            overlap = False
        dense_end = self.end_layer
        if overlap and self.start_layer < self.first_k_dense_replace < self.end_layer:
            dense_end = self.first_k_dense_replace

        aux_hidden_states = []
        # ok: skipped-aux-capture
        for i in range(self.start_layer, dense_end):
            if i in self.layers_to_capture:
                aux_hidden_states.append(hidden_states + residual)
            hidden_states, residual = self.layers[i](hidden_states, residual, forward_batch)

        if dense_end < self.end_layer:
            # ok: skipped-aux-capture
            hidden_states, residual = self._run_tail(
                dense_end, hidden_states, residual, forward_batch
            )

        hidden_states = self.norm(hidden_states + residual)
        if len(aux_hidden_states) == 0:
            return hidden_states
        return hidden_states, aux_hidden_states

    def _run_tail(self, first, hidden_states, residual, forward_batch):
        # ok: skipped-aux-capture
        for layer in self.layers[first : self.end_layer]:
            hidden_states, residual = layer(hidden_states, residual, forward_batch)
        return hidden_states, residual


class NearMissForCausalLM(nn.Module):
    def __init__(self, config) -> None:
        super().__init__()
        self.model = NearMissModel(config)
        self.lm_head = nn.Linear(config.hidden_size, config.vocab_size, bias=False)
        self.logits_processor = LogitsProcessor(config)
        self.capture_aux_hidden_states = False

    def forward(self, input_ids, positions, forward_batch: ForwardBatch, input_embeds=None):
        hidden_states = self.model(input_ids, forward_batch)
        aux_hidden_states = None
        if self.capture_aux_hidden_states:
            hidden_states, aux_hidden_states = hidden_states
        return self.logits_processor(
            input_ids, hidden_states, self.lm_head, forward_batch, aux_hidden_states
        )

    def set_eagle3_layers_to_capture(self, layer_ids: list[int]) -> None:
        self.capture_aux_hidden_states = True
        # The state that layer n leaves is seen at the top of layer n + 1.
        self.model.layers_to_capture = [layer_id + 1 for layer_id in layer_ids]


EntryClass = [
    OverlappedForCausalLM,
    CapturedForCausalLM,
    GuardedForCausalLM,
    NearMissForCausalLM,
]
