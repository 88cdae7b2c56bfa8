"""A model before an upgrade, without the patch."""

from torch import nn

from sglang.srt.utils import make_layers


class TappedDecoderLayer(nn.Module):
    def __init__(self, config, layer_id: int) -> None:
        super().__init__()
        self.layer_id = layer_id
        self.mlp = nn.Linear(config.hidden_size, config.hidden_size)

    def forward(self, positions, hidden_states, residual):
        residual = hidden_states if residual is None else hidden_states + residual
        return self.mlp(residual), residual


class TappedModel(nn.Module):
    def __init__(self, config) -> None:
        super().__init__()
        self.embed_tokens = nn.Embedding(config.vocab_size, config.hidden_size)
        self.layers, self.start_layer, self.end_layer = make_layers(
            config.num_hidden_layers, lambda idx: TappedDecoderLayer(config, layer_id=idx)
        )
        self.norm = nn.RMSNorm(config.hidden_size)
        self.layers_to_capture = []

    def forward(self, input_ids, positions, forward_batch):
        hidden_states = self.embed_tokens(input_ids)
        residual = None
        aux_hidden_states = []
        for i in range(self.start_layer, self.end_layer):
            hidden_states, residual = self.layers[i](positions, hidden_states, residual)
        hidden_states = self.norm(hidden_states + residual)
        return hidden_states, aux_hidden_states


class TappedForCausalLM(nn.Module):
    def __init__(self, config) -> None:
        super().__init__()
        self.model = TappedModel(config)
        self.lm_head = nn.Linear(config.hidden_size, config.vocab_size, bias=False)

    def forward(self, input_ids, positions, forward_batch):
        hidden_states, aux_hidden_states = self.model(input_ids, positions, forward_batch)
        return self.lm_head(hidden_states), aux_hidden_states

    def set_eagle3_layers_to_capture(self, layer_ids: list[int]) -> None:
        self.model.layers_to_capture = [layer_id + 1 for layer_id in layer_ids]


EntryClass = TappedForCausalLM
