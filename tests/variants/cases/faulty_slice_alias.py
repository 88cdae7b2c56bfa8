"""The sparse layers are first put into a local, and the loop over that local does not capture."""

import torch
from torch import nn

from sglang.srt.distributed import get_pp_group
from sglang.srt.layers.logits_processor import LogitsProcessor
from sglang.srt.layers.radix_attention import RadixAttention
from sglang.srt.layers.rotary_embedding import get_rope
from sglang.srt.model_executor.forward_batch_info import ForwardBatch
from sglang.srt.utils import make_layers


class DemoDecoderLayer(nn.Module):
    def __init__(self, config, layer_id: int) -> None:
        super().__init__()
        self.layer_id = layer_id
        self.is_sparse = layer_id >= config.first_k_dense_replace
        self.input_norm = nn.RMSNorm(config.hidden_size)
        self.qkv_proj = nn.Linear(config.hidden_size, 3 * config.hidden_size)
        self.rotary_emb = get_rope(
            config.head_dim, config.head_dim, config.max_position_embeddings, config.rope_theta
        )
        self.attn = RadixAttention(
            config.num_heads, config.head_dim, config.head_dim**-0.5, config.num_heads, layer_id
        )
        self.post_norm = nn.RMSNorm(config.hidden_size)
        self.mlp = nn.Linear(config.hidden_size, config.hidden_size)

    def forward(self, positions, hidden_states, residual, forward_batch):
        residual = hidden_states if residual is None else hidden_states + residual
        q, k, v = self.qkv_proj(self.input_norm(residual)).chunk(3, dim=-1)
        q, k = self.rotary_emb(positions, q, k)
        residual = residual + self.attn(q, k, v, forward_batch)
        return self.mlp(self.post_norm(residual)), residual


class DemoModel(nn.Module):
    def __init__(self, config) -> None:
        super().__init__()
        self.pp_group = get_pp_group()
        self.embed_tokens = nn.Embedding(config.vocab_size, config.hidden_size)
        self.layers, self.start_layer, self.end_layer = make_layers(
            config.num_hidden_layers,
            lambda idx, prefix: DemoDecoderLayer(config, layer_id=idx),
            pp_rank=self.pp_group.rank_in_group,
            pp_size=self.pp_group.world_size,
            prefix="model.layers",
        )
        self.norm = nn.RMSNorm(config.hidden_size)
        self.first_k_dense_replace = config.first_k_dense_replace
        self.layers_to_capture = []

    def forward(
        self,
        input_ids: torch.Tensor,
        positions: torch.Tensor,
        forward_batch: ForwardBatch,
        input_embeds: torch.Tensor | None = None,
    ):
        if input_embeds is None:
            hidden_states = self.embed_tokens(input_ids)
        else:
            hidden_states = input_embeds
        residual = None

        dense_end = self.end_layer
        if forward_batch.can_run_tbo:
            if self.start_layer < self.first_k_dense_replace < self.end_layer:
                dense_end = self.first_k_dense_replace

        aux_hidden_states = []
        # ok: skipped-aux-capture
        for i in range(self.start_layer, dense_end):
            if i in self.layers_to_capture:
                aux_hidden_states.append(hidden_states + residual)
            hidden_states, residual = self.layers[i](
                positions, hidden_states, residual, forward_batch
            )

        if dense_end != self.end_layer:
            sparse = self.layers[dense_end : self.end_layer]
            # expect: skipped-aux-capture
            for block in sparse:
                hidden_states, residual = block(positions, hidden_states, residual, forward_batch)

        hidden_states = self.norm(hidden_states + residual)
        if len(aux_hidden_states) == 0:
            return hidden_states
        return hidden_states, aux_hidden_states


class DemoForCausalLM(nn.Module):
    def __init__(self, config) -> None:
        super().__init__()
        self.config = config
        self.model = DemoModel(config)
        self.lm_head = nn.Linear(config.hidden_size, config.vocab_size, bias=False)
        self.logits_processor = LogitsProcessor(config)
        self.capture_aux_hidden_states = False

    def forward(
        self,
        input_ids: torch.Tensor,
        positions: torch.Tensor,
        forward_batch: ForwardBatch,
        input_embeds: torch.Tensor | None = None,
    ):
        hidden_states = self.model(input_ids, positions, forward_batch, input_embeds)
        aux_hidden_states = None
        if self.capture_aux_hidden_states:
            hidden_states, aux_hidden_states = hidden_states
        return self.logits_processor(
            input_ids, hidden_states, self.lm_head, forward_batch, aux_hidden_states
        )

    def set_eagle3_layers_to_capture(self, layer_ids: list[int] | None = None) -> None:
        if layer_ids is None:
            num_layers = self.config.num_hidden_layers
            layer_ids = [1, num_layers // 2 - 1, num_layers - 4]
        self.capture_aux_hidden_states = True
        # The state that layer n leaves is seen at the top of layer n + 1.
        self.model.layers_to_capture = [layer_id + 1 for layer_id in layer_ids]


EntryClass = DemoForCausalLM
