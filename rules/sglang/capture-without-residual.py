"""The labelled example of `capture-without-residual`: two violations and three forms that hold."""

import torch
from torch import nn

from sglang.srt.layers.layernorm import RMSNorm
from sglang.srt.layers.logits_processor import LogitsProcessor
from sglang.srt.layers.radix_attention import RadixAttention
from sglang.srt.model_executor.forward_batch_info import ForwardBatch
from sglang.srt.utils import make_layers


class ExampleDecoderLayer(nn.Module):
    """Returns its output and the residual apart: the next norm adds one to the other."""

    def __init__(self, config, layer_id: int) -> None:
        super().__init__()
        self.input_layernorm = RMSNorm(config.hidden_size)
        self.qkv_proj = nn.Linear(config.hidden_size, 3 * config.hidden_size)
        self.attn = RadixAttention(
            config.num_heads, config.head_dim, config.head_dim**-0.5, config.num_heads, layer_id
        )
        self.post_attention_layernorm = RMSNorm(config.hidden_size)
        self.mlp = nn.Linear(config.hidden_size, config.hidden_size)

    def forward(self, hidden_states, residual, forward_batch: ForwardBatch):
        if residual is None:
            residual = hidden_states
            hidden_states = self.input_layernorm(hidden_states)
        else:
            hidden_states, residual = self.input_layernorm(hidden_states, residual)
        q, k, v = self.qkv_proj(hidden_states).chunk(3, dim=-1)
        hidden_states = self.attn(q, k, v, forward_batch)
        hidden_states, residual = self.post_attention_layernorm(hidden_states, residual)
        outputs = (self.mlp(hidden_states), residual)
        return outputs


class CompleteDecoderLayer(ExampleDecoderLayer):
    """Adds the residual itself; what it returns beside its output is there for the kernel only."""

    def forward(self, hidden_states, residual, forward_batch: ForwardBatch):
        residual = hidden_states
        q, k, v = self.qkv_proj(self.input_layernorm(hidden_states)).chunk(3, dim=-1)
        hidden_states = self.attn(q, k, v, forward_batch) + residual
        hidden_states = hidden_states + self.mlp(self.post_attention_layernorm(hidden_states))
        return hidden_states, residual


class ExampleModel(nn.Module):
    layer_class = ExampleDecoderLayer

    def __init__(self, config) -> None:
        super().__init__()
        self.embed_tokens = nn.Embedding(config.vocab_size, config.hidden_size)
        self.layers = make_layers(
            config.num_hidden_layers,
            lambda idx, prefix: self.layer_class(config, layer_id=idx),
        )
        self.norm = RMSNorm(config.hidden_size)
        self.layers_to_capture = []


class BareModel(ExampleModel):
    """The final norm gets the residual, what is captured does not have it."""

    def forward(self, input_ids, forward_batch: ForwardBatch):
        hidden_states, residual = self.embed_tokens(input_ids), None
        aux_hidden_states = []
        for i, layer in enumerate(self.layers):
            if i in self.layers_to_capture:
                # expect: capture-without-residual
                aux_hidden_states.append(hidden_states)
            hidden_states, residual = layer(hidden_states, residual, forward_batch)
        if len(self.layers) in self.layers_to_capture:
            # expect: capture-without-residual
            aux_hidden_states.append(hidden_states.clone())
        hidden_states, _ = self.norm(hidden_states, residual)
        return hidden_states, aux_hidden_states


class SummedModel(ExampleModel):
    """The correct form: before the first layer there is no residual, after it there is."""

    def forward(self, input_ids, forward_batch: ForwardBatch):
        hidden_states, residual = self.embed_tokens(input_ids), None
        aux_hidden_states = []
        for i, layer in enumerate(self.layers):
            if i in self.layers_to_capture:
                # ok: capture-without-residual
                aux_hidden_states.append(
                    hidden_states if residual is None else hidden_states + residual
                )
            hidden_states, residual = layer(hidden_states, residual, forward_batch)
        hidden_states, _ = self.norm(hidden_states, residual)
        return hidden_states, aux_hidden_states


class GuardedModel(ExampleModel):
    """Bare only where there is no residual; the sum is made by a helper, and gathered."""

    def _stream(self, hidden_states, residual):
        if residual is not None:
            hidden_states = hidden_states + residual
        return hidden_states

    def forward(self, input_ids, forward_batch: ForwardBatch):
        hidden_states, residual = self.embed_tokens(input_ids), None
        aux_hidden_states = []
        for i, layer in enumerate(self.layers):
            if i in self.layers_to_capture:
                if residual is None:
                    # ok: capture-without-residual
                    aux_hidden_states.append(hidden_states)
                else:
                    stream = self._stream(hidden_states, residual)
                    stream = torch.distributed.all_gather(stream)
                    # ok: capture-without-residual
                    aux_hidden_states.append(stream)
            hidden_states, residual = layer(hidden_states, residual, forward_batch)
        hidden_states, _ = self.norm(hidden_states, residual)
        return hidden_states, aux_hidden_states


class CompleteModel(ExampleModel):
    """A near miss: a residual is carried, but nothing is left to be added, nor does the norm."""

    layer_class = CompleteDecoderLayer

    def forward(self, input_ids, forward_batch: ForwardBatch):
        hidden_states, residual = self.embed_tokens(input_ids), None
        aux_hidden_states = []
        for i, layer in enumerate(self.layers):
            if i in self.layers_to_capture:
                # ok: capture-without-residual
                aux_hidden_states.append(hidden_states)
            hidden_states, residual = layer(hidden_states, residual, forward_batch)
        return self.norm(hidden_states), aux_hidden_states


class ExampleForCausalLM(nn.Module):
    model_class = BareModel

    def __init__(self, config) -> None:
        super().__init__()
        self.model = self.model_class(config)
        self.lm_head = nn.Linear(config.hidden_size, config.vocab_size, bias=False)
        self.logits_processor = LogitsProcessor(config)

    def forward(self, input_ids, positions, forward_batch: ForwardBatch):
        hidden_states, aux_hidden_states = self.model(input_ids, forward_batch)
        return self.logits_processor(
            input_ids, hidden_states, self.lm_head, forward_batch, aux_hidden_states
        )

    def set_eagle3_layers_to_capture(self, layer_ids: list[int]) -> None:
        # The state that layer n leaves is seen at the top of layer n + 1.
        self.model.layers_to_capture = [layer_id + 1 for layer_id in layer_ids]


class SummedForCausalLM(ExampleForCausalLM):
    model_class = SummedModel


class GuardedForCausalLM(ExampleForCausalLM):
    model_class = GuardedModel


class CompleteForCausalLM(ExampleForCausalLM):
    model_class = CompleteModel


EntryClass = [ExampleForCausalLM, SummedForCausalLM, GuardedForCausalLM, CompleteForCausalLM]
