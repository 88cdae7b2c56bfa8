"""The labelled example of `dropped-aux`: ways to lose what was captured, and forms that hold."""

import torch
from torch import nn

from sglang.srt.distributed import get_pp_group
from sglang.srt.layers.logits_processor import LogitsProcessor
from sglang.srt.layers.pooler import Pooler
from sglang.srt.layers.radix_attention import RadixAttention
from sglang.srt.model_executor.forward_batch_info import ForwardBatch, PPProxyTensors
from sglang.srt.utils import make_layers


class ExampleDecoderLayer(nn.Module):
    def __init__(self, config, layer_id: int) -> None:
        super().__init__()
        self.input_norm = nn.RMSNorm(config.hidden_size)
        self.qkv_proj = nn.Linear(config.hidden_size, 3 * config.hidden_size)
        self.attn = RadixAttention(
            config.num_heads, config.head_dim, config.head_dim**-0.5, config.num_heads, layer_id
        )
        self.mlp = nn.Linear(config.hidden_size, config.hidden_size)

    def forward(self, hidden_states, forward_batch, captured=None):
        if captured is not None:
            captured.append(hidden_states)
        q, k, v = self.qkv_proj(self.input_norm(hidden_states)).chunk(3, dim=-1)
        return hidden_states + self.mlp(self.attn(q, k, v, forward_batch))


class StreamsModel(nn.Module):
    """The return for batches with rows was written for another feature and forgets this one."""

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
        self.layers_to_capture = []

    def forward(self, input_ids, forward_batch: ForwardBatch):
        hidden_states = self.embed_tokens(input_ids)
        aux_hidden_states = []
        for i in range(self.start_layer, self.end_layer):
            hidden_states = self.layers[i](
                hidden_states,
                forward_batch,
                captured=aux_hidden_states if i in self.layers_to_capture else None,
            )

        if not self.pp_group.is_last_rank:
            # Aux hidden states leave the model on the last pipeline stage.
            # ok: dropped-aux
            return PPProxyTensors({"hidden_states": hidden_states})

        streams = hidden_states
        hidden_states = self.norm(hidden_states)
        if not forward_batch.forward_mode.is_idle():
            # expect: dropped-aux
            return hidden_states, streams
        if len(aux_hidden_states) == 0:
            return hidden_states
        return hidden_states, aux_hidden_states


class SplitModel(StreamsModel):
    """A helper runs the layers and returns what it captured; one path forgets to pass it on."""

    def run_layers(self, hidden_states, forward_batch):
        aux_hidden_states = []
        for i in range(self.start_layer, self.end_layer):
            if i in self.layers_to_capture:
                aux_hidden_states.append(hidden_states)
            hidden_states = self.layers[i](hidden_states, forward_batch)
        return hidden_states, aux_hidden_states

    def forward(self, input_ids, forward_batch: ForwardBatch):
        hidden_states = self.embed_tokens(input_ids)
        hidden_states, aux_hidden_states = self.run_layers(hidden_states, forward_batch)
        if forward_batch.forward_mode.is_target_verify():
            # expect: dropped-aux
            return self.norm(hidden_states)
        # ok: dropped-aux
        return self.norm(hidden_states), torch.cat(aux_hidden_states, dim=-1)


class GuardedModel(StreamsModel):
    """The early return is taken only where nothing is to be captured."""

    def forward(self, input_ids, forward_batch: ForwardBatch):
        hidden_states = self.embed_tokens(input_ids)
        aux_hidden_states = []
        for i in range(self.start_layer, self.end_layer):
            if i in self.layers_to_capture:
                aux_hidden_states.append(hidden_states)
            hidden_states = self.layers[i](hidden_states, forward_batch)

        streams = hidden_states
        hidden_states = self.norm(hidden_states)
        capturing = self.layers_to_capture is not None and len(self.layers_to_capture) > 0
        if not forward_batch.forward_mode.is_idle() and not capturing:
            # ok: dropped-aux
            return hidden_states, streams
        if not aux_hidden_states:
            # ok: dropped-aux
            return hidden_states
        # ok: dropped-aux
        return hidden_states, aux_hidden_states


class StreamsForCausalLM(nn.Module):
    """Hands over what it unpacked; a request for an embedding has no draft."""

    def __init__(self, config) -> None:
        super().__init__()
        self.model = StreamsModel(config)
        self.lm_head = nn.Linear(config.hidden_size, config.vocab_size, bias=False)
        self.logits_processor = LogitsProcessor(config)
        self.pooler = Pooler(normalize=True)
        self.capture_aux_hidden_states = False

    def forward(self, input_ids, positions, forward_batch: ForwardBatch, get_embedding=False):
        hidden_states = self.model(input_ids, forward_batch)
        aux_hidden_states = None
        if self.capture_aux_hidden_states:
            hidden_states, aux_hidden_states = hidden_states
        if get_embedding:
            # ok: dropped-aux
            return self.pooler(hidden_states, forward_batch)
        # ok: dropped-aux
        return self.logits_processor(
            input_ids, hidden_states, self.lm_head, forward_batch, aux_hidden_states
        )

    def set_eagle3_layers_to_capture(self, layer_ids: list[int]) -> None:
        self.capture_aux_hidden_states = True
        self.model.layers_to_capture = [layer_id + 1 for layer_id in layer_ids]


class SplitForCausalLM(StreamsForCausalLM):
    def __init__(self, config) -> None:
        super().__init__(config)
        self.model = SplitModel(config)


class GuardedForCausalLM(StreamsForCausalLM):
    """Unpacks what was captured, and calls the logits processor without it."""

    def __init__(self, config) -> None:
        super().__init__(config)
        self.model = GuardedModel(config)

    def forward(self, input_ids, positions, forward_batch: ForwardBatch, get_embedding=False):
        hidden_states = self.model(input_ids, forward_batch)
        if self.capture_aux_hidden_states:
            hidden_states, aux_hidden_states = hidden_states
        # expect: dropped-aux
        return self.logits_processor(input_ids, hidden_states, self.lm_head, forward_batch)


EntryClass = [StreamsForCausalLM, SplitForCausalLM, GuardedForCausalLM]
