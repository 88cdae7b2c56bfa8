"""The labelled example of `uncapturable-boundary`: the output of the last layer, asked for."""

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

    def forward(self, hidden_states, forward_batch):
        q, k, v = self.qkv_proj(self.input_norm(hidden_states)).chunk(3, dim=-1)
        return hidden_states + self.attn(q, k, v, forward_batch)


class ShortModel(nn.Module):
    """Captures at the top of each layer, and nothing after the last one."""

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
        aux_hidden_states = []
        # expect: uncapturable-boundary
        for i in range(self.start_layer, self.end_layer):
            if i in self.layers_to_capture:
                aux_hidden_states.append(hidden_states)
            hidden_states = self.layers[i](hidden_states, forward_batch)
        hidden_states = self.norm(hidden_states)
        if len(aux_hidden_states) == 0:
            return hidden_states
        return hidden_states, aux_hidden_states


class BoundaryModel(ShortModel):
    """Asks for the end once more after the loop."""

    def forward(self, input_ids, forward_batch: ForwardBatch):
        hidden_states = self.embed_tokens(input_ids)
        aux_hidden_states = []
        # ok: uncapturable-boundary
        for i in range(self.start_layer, self.end_layer):
            if i in self.layers_to_capture:
                aux_hidden_states.append(hidden_states)
            hidden_states = self.layers[i](hidden_states, forward_batch)
        if self.end_layer in self.layers_to_capture:
            aux_hidden_states.append(hidden_states)
        return self.norm(hidden_states), aux_hidden_states


class RefusingModel(ShortModel):
    """The same loop; its setter refuses the last layer."""

    def forward(self, input_ids, forward_batch: ForwardBatch):
        hidden_states = self.embed_tokens(input_ids)
        aux_hidden_states = []
        # ok: uncapturable-boundary
        for i in range(self.start_layer, self.end_layer):
            if i in self.layers_to_capture:
                aux_hidden_states.append(hidden_states)
            hidden_states = self.layers[i](hidden_states, forward_batch)
        return self.norm(hidden_states), aux_hidden_states


class OutputModel(ShortModel):
    """Captures below each layer what it leaves: ids are stored as they are asked for."""

    def forward(self, input_ids, forward_batch: ForwardBatch):
        hidden_states = self.embed_tokens(input_ids)
        aux_hidden_states = []
        # ok: uncapturable-boundary
        for i in range(self.start_layer, self.end_layer):
            hidden_states = self.layers[i](hidden_states, forward_batch)
            if i in self.layers_to_capture:
                aux_hidden_states.append(hidden_states)
        return self.norm(hidden_states), aux_hidden_states


class ShortForCausalLM(nn.Module):
    def __init__(self, config) -> None:
        super().__init__()
        self.config = config
        self.model = ShortModel(config)
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

    def set_dflash_layers_to_capture(self, layer_ids: list[int]) -> None:
        if any(layer_id < 0 or layer_id >= self.config.num_hidden_layers for layer_id in layer_ids):
            raise ValueError(f"there are no such layers: {layer_ids}")
        self.capture_aux_hidden_states = True
        # The state that layer n leaves is seen at the top of layer n + 1.
        self.model.layers_to_capture = [layer_id + 1 for layer_id in layer_ids]

    def set_eagle3_layers_to_capture(self, layer_ids: list[int] | None = None) -> None:
        num_layers = self.config.num_hidden_layers
        self.capture_aux_hidden_states = True
        self.model.layers_to_capture = layer_ids or [2, num_layers // 2, num_layers - 3]


class BoundaryForCausalLM(ShortForCausalLM):
    def __init__(self, config) -> None:
        super().__init__(config)
        self.model = BoundaryModel(config)


class RefusingForCausalLM(ShortForCausalLM):
    def __init__(self, config) -> None:
        super().__init__(config)
        self.model = RefusingModel(config)

    def set_dflash_layers_to_capture(self, layer_ids: list[int]) -> None:
        if any(layer_id >= self.config.num_hidden_layers - 1 for layer_id in layer_ids):
            raise ValueError("the output of the last layer is not captured")
        self.capture_aux_hidden_states = True
        self.model.layers_to_capture = [layer_id + 1 for layer_id in layer_ids]


class OutputForCausalLM(ShortForCausalLM):
    def __init__(self, config) -> None:
        super().__init__(config)
        self.model = OutputModel(config)

    def set_dflash_layers_to_capture(self, layer_ids: list[int]) -> None:
        self.capture_aux_hidden_states = True
        self.model.layers_to_capture = list(layer_ids)


EntryClass = [ShortForCausalLM, BoundaryForCausalLM, RefusingForCausalLM, OutputForCausalLM]
