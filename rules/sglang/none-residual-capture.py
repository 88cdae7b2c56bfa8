"""The labelled example of `none-residual-capture`: layer 0, asked for by its own id."""

from torch import nn

from sglang.srt.layers.logits_processor import LogitsProcessor
from sglang.srt.layers.radix_attention import RadixAttention
from sglang.srt.model_executor.forward_batch_info import ForwardBatch
from sglang.srt.utils import make_layers


class ExampleDecoderLayer(nn.Module):
    def __init__(self, config, layer_id: int) -> None:
        super().__init__()
        self.input_norm = nn.RMSNorm(config.hidden_size)
        self.qkv_proj = nn.Linear(config.hidden_size, 3 * config.hidden_size)
        self.attn = RadixAttention(
            config.num_heads, config.head_dim, config.head_dim**-0.5, config.num_heads, layer_id
        )

    def forward(self, hidden_states, residual, forward_batch):
        residual = hidden_states if residual is None else hidden_states + residual
        q, k, v = self.qkv_proj(self.input_norm(residual)).chunk(3, dim=-1)
        return self.attn(q, k, v, forward_batch), residual


class AddingModel(nn.Module):
    """Adds the residual at the top of every layer, the first one too."""

    def __init__(self, config) -> None:
        super().__init__()
        self.embed_tokens = nn.Embedding(config.vocab_size, config.hidden_size)
        self.layers, self.start_layer, self.end_layer = make_layers(
            config.num_hidden_layers,
            lambda idx, prefix: ExampleDecoderLayer(config, layer_id=idx),
        )
        self.norm = nn.RMSNorm(config.hidden_size)
        self.layers_to_capture = []

    def forward(self, input_ids, forward_batch: ForwardBatch):
        hidden_states = self.embed_tokens(input_ids)
        residual = None
        aux_hidden_states = []
        for i in range(self.start_layer, self.end_layer):
            if i in self.layers_to_capture:
                # expect: none-residual-capture
                aux_hidden_states.append(hidden_states + residual)
            hidden_states, residual = self.layers[i](hidden_states, residual, forward_batch)
        hidden_states = self.norm(hidden_states + residual)
        if len(aux_hidden_states) == 0:
            return hidden_states
        return hidden_states, aux_hidden_states


class ChoosingModel(AddingModel):
    """Adds the residual where there is one."""

    def forward(self, input_ids, forward_batch: ForwardBatch):
        hidden_states = self.embed_tokens(input_ids)
        residual = None
        aux_hidden_states = []
        for i in range(self.start_layer, self.end_layer):
            if i in self.layers_to_capture:
                # ok: none-residual-capture
                aux_hidden_states.append(
                    hidden_states + residual if residual is not None else hidden_states
                )
            hidden_states, residual = self.layers[i](hidden_states, residual, forward_batch)
        return self.norm(hidden_states + residual), aux_hidden_states


class GuardedModel(AddingModel):
    """Captures only where there is a residual."""

    def forward(self, input_ids, forward_batch: ForwardBatch):
        hidden_states = self.embed_tokens(input_ids)
        residual = None
        aux_hidden_states = []
        for i in range(self.start_layer, self.end_layer):
            if residual is not None and i in self.layers_to_capture:
                # ok: none-residual-capture
                aux_hidden_states.append(hidden_states + residual)
            hidden_states, residual = self.layers[i](hidden_states, residual, forward_batch)
        return self.norm(hidden_states + residual), aux_hidden_states


class BelowModel(AddingModel):
    """Captures below the layer, which has left a residual by then."""

    def forward(self, input_ids, forward_batch: ForwardBatch):
        hidden_states = self.embed_tokens(input_ids)
        residual = None
        aux_hidden_states = []
        for i in range(self.start_layer, self.end_layer):
            hidden_states, residual = self.layers[i](hidden_states, residual, forward_batch)
            if i in self.layers_to_capture:
                # ok: none-residual-capture
                aux_hidden_states.append(hidden_states + residual)
        return self.norm(hidden_states + residual), aux_hidden_states


class ShiftedModel(AddingModel):
    """Adds like the first; its setter never asks for layer 0."""

    def forward(self, input_ids, forward_batch: ForwardBatch):
        hidden_states = self.embed_tokens(input_ids)
        residual = None
        aux_hidden_states = []
        for i in range(self.start_layer, self.end_layer):
            if i in self.layers_to_capture:
                # ok: none-residual-capture
                aux_hidden_states.append(hidden_states + residual)
            hidden_states, residual = self.layers[i](hidden_states, residual, forward_batch)
        return self.norm(hidden_states + residual), aux_hidden_states


class AddingForCausalLM(nn.Module):
    def __init__(self, config) -> None:
        super().__init__()
        self.model = AddingModel(config)
        self.lm_head = nn.Linear(config.hidden_size, config.vocab_size, bias=False)
        self.logits_processor = LogitsProcessor(config)
        self.capture_aux_hidden_states = False

    def forward(self, input_ids, positions, forward_batch: ForwardBatch):
        hidden_states = self.model(input_ids, forward_batch)
        aux_hidden_states = None
        if self.capture_aux_hidden_states:
            hidden_states, aux_hidden_states = hidden_states
        return self.logits_processor(
            input_ids, hidden_states, self.lm_head, forward_batch, aux_hidden_states
        )

    def set_eagle3_layers_to_capture(self, layer_ids: list[int]) -> None:
        self.capture_aux_hidden_states = True
        # Some drafts name the boundaries between layers: 0 is what the embeddings leave.
        if layer_ids and layer_ids[0] == 1:
            self.model.layers_to_capture = [layer_id + 1 for layer_id in layer_ids]
        else:
            self.model.layers_to_capture = list(layer_ids)


class ChoosingForCausalLM(AddingForCausalLM):
    def __init__(self, config) -> None:
        super().__init__(config)
        self.model = ChoosingModel(config)


class GuardedForCausalLM(AddingForCausalLM):
    def __init__(self, config) -> None:
        super().__init__(config)
        self.model = GuardedModel(config)


class BelowForCausalLM(AddingForCausalLM):
    def __init__(self, config) -> None:
        super().__init__(config)
        self.model = BelowModel(config)


class ShiftedForCausalLM(AddingForCausalLM):
    def __init__(self, config) -> None:
        super().__init__(config)
        self.model = ShiftedModel(config)

    def set_eagle3_layers_to_capture(self, layer_ids: list[int]) -> None:
        self.capture_aux_hidden_states = True
        self.model.layers_to_capture = [layer_id + 1 for layer_id in layer_ids]


EntryClass = [
    AddingForCausalLM,
    ChoosingForCausalLM,
    GuardedForCausalLM,
    BelowForCausalLM,
    ShiftedForCausalLM,
]
