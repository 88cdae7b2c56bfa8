"""The guarded form under names that no regular expression would guess."""

import torch
from torch import nn

from sglang.srt.distributed import get_pp_group
from sglang.srt.layers.logits_processor import LogitsProcessor
from sglang.srt.layers.radix_attention import RadixAttention
from sglang.srt.layers.rotary_embedding import get_rope
from sglang.srt.model_executor.forward_batch_info import ForwardBatch
from sglang.srt.utils import make_layers


def drive(parts, positions, x, carry, forward_batch):
    """Run the parts on the two halves of the batch, one part of each in turn."""
    left, right = forward_batch.tbo_children
    middle = left.num_tokens
    first = (x[:middle], carry[:middle])
    second = (x[middle:], carry[middle:])
    for part in parts:
        first = part(positions[:middle], first[0], first[1], left)
        second = part(positions[middle:], second[0], second[1], right)
    return torch.cat([first[0], second[0]]), torch.cat([first[1], second[1]])


class Block(nn.Module):
    def __init__(self, config, layer_id: int) -> None:
        super().__init__()
        self.layer_id = layer_id
        self.routed = layer_id >= config.first_k_dense_replace
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

    def forward(self, positions, x, carry, forward_batch):
        carry = x if carry is None else x + carry
        q, k, v = self.qkv_proj(self.input_norm(carry)).chunk(3, dim=-1)
        q, k = self.rotary_emb(positions, q, k)
        carry = carry + self.attn(q, k, v, forward_batch)
        return self.mlp(self.post_norm(carry)), carry


class Trunk(nn.Module):
    def __init__(self, config) -> None:
        super().__init__()
        self.pp_group = get_pp_group()
        self.embed_tokens = nn.Embedding(config.vocab_size, config.hidden_size)
        self.blocks, self.lo, self.hi = make_layers(
            config.num_hidden_layers,
            lambda idx, prefix: Block(config, layer_id=idx),
            pp_rank=self.pp_group.rank_in_group,
            pp_size=self.pp_group.world_size,
            prefix="trunk.parts",
        )
        self.norm = nn.RMSNorm(config.hidden_size)
        self.num_plain = config.first_k_dense_replace
        self.hooks = []

    def forward(
        self,
        input_ids: torch.Tensor,
        positions: torch.Tensor,
        forward_batch: ForwardBatch,
        input_embeds: torch.Tensor | None = None,
    ):
        if input_embeds is None:
            x = self.embed_tokens(input_ids)
        else:
            x = input_embeds
        carry = None

        cut = self.hi
        if forward_batch.can_run_tbo and not self.hooks:
            if self.lo < self.num_plain < self.hi:
                cut = self.num_plain

        collected = []
        # ok: skipped-aux-capture
        for i in range(self.lo, cut):
            if i in self.hooks:
                collected.append(x + carry)
            x, carry = self.blocks[i](positions, x, carry, forward_batch)

        if cut != self.hi:
            # ok: skipped-aux-capture
            x, carry = drive(self.blocks[cut : self.hi], positions, x, carry, forward_batch)

        x = self.norm(x + carry)
        if len(collected) == 0:
            return x
        return x, collected


class Speaker(nn.Module):
    def __init__(self, config) -> None:
        super().__init__()
        self.config = config
        self.trunk = Trunk(config)
        self.lm_head = nn.Linear(config.hidden_size, config.vocab_size, bias=False)
        self.logits_processor = LogitsProcessor(config)
        self.returns_pair = False

    def forward(
        self,
        input_ids: torch.Tensor,
        positions: torch.Tensor,
        forward_batch: ForwardBatch,
        input_embeds: torch.Tensor | None = None,
    ):
        x = self.trunk(input_ids, positions, forward_batch, input_embeds)
        collected = None
        if self.returns_pair:
            x, collected = x
        return self.logits_processor(input_ids, x, self.lm_head, forward_batch, collected)

    def set_eagle3_layers_to_capture(self, layer_ids: list[int] | None = None) -> None:
        if layer_ids is None:
            num_layers = self.config.num_hidden_layers
            layer_ids = [1, num_layers // 2 - 1, num_layers - 4]
        self.returns_pair = True
        # The state that part n leaves is seen at the top of part n + 1.
        self.trunk.hooks = [layer_id + 1 for layer_id in layer_ids]


EntryClass = Speaker
