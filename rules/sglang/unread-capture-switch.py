"""The labelled example of `unread-capture-switch`: one violation and three forms that hold."""

from torch import nn

from sglang.srt.layers.logits_processor import LogitsProcessor
from sglang.srt.layers.radix_attention import RadixAttention
from sglang.srt.model_executor.forward_batch_info import ForwardBatch


class ExampleDecoderLayer(nn.Module):
    def __init__(self, config, layer_id: int) -> None:
        super().__init__()
        self.input_norm = nn.RMSNorm(config.hidden_size)
        self.attn = RadixAttention(
            config.num_heads, config.head_dim, config.head_dim**-0.5, config.num_heads, layer_id
        )
        self.mlp = nn.Linear(config.hidden_size, config.hidden_size)

    def forward(self, hidden_states, residual, forward_batch, captured=None):
        residual = hidden_states if residual is None else hidden_states + residual
        if captured is not None:
            captured.append(residual)
        hidden_states = self.attn(self.input_norm(residual), forward_batch)
        return self.mlp(hidden_states), residual


class MarkedModel(nn.Module):
    """Asks each layer whether it is to be captured; only its own setter marks the layers."""

    def __init__(self, config) -> None:
        super().__init__()
        self.embed_tokens = nn.Embedding(config.vocab_size, config.hidden_size)
        self.layers = nn.ModuleList(
            [ExampleDecoderLayer(config, i) for i in range(config.num_hidden_layers)]
        )
        self.norm = nn.RMSNorm(config.hidden_size)
        self.layers_to_capture = []

    def set_dflash_layers_to_capture(self, layers_to_capture: list[int]) -> None:
        self.layers_to_capture = layers_to_capture
        for layer_id in self.layers_to_capture:
            setattr(self.layers[layer_id], "_is_layer_to_capture", True)

    def forward(self, input_ids, forward_batch: ForwardBatch):
        hidden_states, residual = self.embed_tokens(input_ids), None
        aux_hidden_states = []
        for layer in self.layers:
            # expect: unread-capture-switch
            hidden_states, residual = layer(
                hidden_states,
                residual,
                forward_batch,
                captured=(
                    aux_hidden_states if getattr(layer, "_is_layer_to_capture", False) else None
                ),
            )
        hidden_states = self.norm(hidden_states + residual)
        if len(aux_hidden_states) == 0:
            return hidden_states
        return hidden_states, aux_hidden_states


class MarkedForCausalLM(nn.Module):
    """EAGLE-3 stores a list on the model that its forward never looks at; DFlash marks layers."""

    def __init__(self, config) -> None:
        super().__init__()
        self.model = MarkedModel(config)
        self.lm_head = nn.Linear(config.hidden_size, config.vocab_size, bias=False)
        self.logits_processor = LogitsProcessor(config)
        self.capture_aux_hidden_states = False

    def forward(self, input_ids, positions, forward_batch: ForwardBatch):
        hidden_states = self.model(input_ids, forward_batch)
        aux_hidden_states = None
        # ok: unread-capture-switch
        if self.capture_aux_hidden_states:
            hidden_states, aux_hidden_states = hidden_states
        return self.logits_processor(
            input_ids, hidden_states, self.lm_head, forward_batch, aux_hidden_states
        )

    def set_dflash_layers_to_capture(self, layer_ids: list[int]) -> None:
        self.capture_aux_hidden_states = True
        self.model.set_dflash_layers_to_capture([layer_id + 1 for layer_id in layer_ids])

    def set_eagle3_layers_to_capture(self, layer_ids: list[int]) -> None:
        self.capture_aux_hidden_states = True
        # ok: unread-capture-switch
        self.model.layers_to_capture = [layer_id + 1 for layer_id in layer_ids]


class ListedModel(nn.Module):
    """Asks its own list, which the setter of its holder writes."""

    def __init__(self, config) -> None:
        super().__init__()
        self.embed_tokens = nn.Embedding(config.vocab_size, config.hidden_size)
        self.layers = nn.ModuleList(
            [ExampleDecoderLayer(config, i) for i in range(config.num_hidden_layers)]
        )
        self.norm = nn.RMSNorm(config.hidden_size)
        self.layers_to_capture = []

    def forward(self, input_ids, forward_batch: ForwardBatch):
        hidden_states, residual = self.embed_tokens(input_ids), None
        aux_hidden_states = []
        for i, layer in enumerate(self.layers):
            # ok: unread-capture-switch
            if i in self.layers_to_capture:
                aux_hidden_states.append(hidden_states + residual)
            hidden_states, residual = layer(hidden_states, residual, forward_batch)
        hidden_states = self.norm(hidden_states + residual)
        if len(aux_hidden_states) == 0:
            return hidden_states
        return hidden_states, aux_hidden_states


class ListedForCausalLM(nn.Module):
    def __init__(self, config) -> None:
        super().__init__()
        self.model = ListedModel(config)
        self.lm_head = nn.Linear(config.hidden_size, config.vocab_size, bias=False)
        self.logits_processor = LogitsProcessor(config)
        self.capture_aux_hidden_states = False

    def forward(self, input_ids, positions, forward_batch: ForwardBatch):
        hidden_states = self.model(input_ids, forward_batch)
        aux_hidden_states = None
        # ok: unread-capture-switch
        if self.capture_aux_hidden_states:
            hidden_states, aux_hidden_states = hidden_states
        return self.logits_processor(
            input_ids, hidden_states, self.lm_head, forward_batch, aux_hidden_states
        )

    def set_eagle3_layers_to_capture(self, layer_ids: list[int]) -> None:
        self.capture_aux_hidden_states = True
        self.model.layers_to_capture = [layer_id + 1 for layer_id in layer_ids]


class DelegatingModel(MarkedModel):
    """Marks its layers for EAGLE-3 too."""

    def set_eagle3_layers_to_capture(self, layers_to_capture: list[int]) -> None:
        self.layers_to_capture = layers_to_capture
        for layer_id in self.layers_to_capture:
            setattr(self.layers[layer_id], "_is_layer_to_capture", True)


class GuardedForCausalLM(MarkedForCausalLM):
    """The list is stored from outside only where the model has no setter of its own."""

    def __init__(self, config) -> None:
        super().__init__(config)
        self.model = DelegatingModel(config)

    def set_eagle3_layers_to_capture(self, layer_ids: list[int]) -> None:
        self.capture_aux_hidden_states = True
        layers_to_capture = [layer_id + 1 for layer_id in layer_ids]
        if hasattr(self.model, "set_eagle3_layers_to_capture"):
            self.model.set_eagle3_layers_to_capture(layers_to_capture)
        else:
            # ok: unread-capture-switch
            self.model.layers_to_capture = layers_to_capture


def wanted(model, layer_id: int) -> bool:
    # ok: unread-capture-switch
    return layer_id in model.layers_to_capture


class NearMissModel(ListedModel):
    """Its own forward never names the list: a helper in this file reads it."""

    def forward(self, input_ids, forward_batch: ForwardBatch):
        hidden_states, residual = self.embed_tokens(input_ids), None
        aux_hidden_states = []
        for i, layer in enumerate(self.layers):
            # ok: unread-capture-switch
            hidden_states, residual = layer(
                hidden_states,
                residual,
                forward_batch,
                captured=aux_hidden_states if wanted(self, i) else None,
            )
        hidden_states = self.norm(hidden_states + residual)
        if len(aux_hidden_states) == 0:
            return hidden_states
        return hidden_states, aux_hidden_states


class NearMissForCausalLM(ListedForCausalLM):
    def __init__(self, config) -> None:
        super().__init__(config)
        self.model = NearMissModel(config)


EntryClass = [
    MarkedForCausalLM,
    ListedForCausalLM,
    GuardedForCausalLM,
    NearMissForCausalLM,
]
