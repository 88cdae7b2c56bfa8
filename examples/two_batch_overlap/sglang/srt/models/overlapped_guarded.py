"""The same forward, which takes the overlap arm only while nothing is asked for."""

from torch import nn

from sglang.srt.batch_overlap.two_batch_overlap import run_overlapped
from sglang.srt.utils import make_layers


class OverlappedGuardedDecoderLayer(nn.Module):
    def __init__(self, config, layer_id: int) -> None:
        super().__init__()
        self.layer_id = layer_id
        self.norm = nn.RMSNorm(config.hidden_size)
        self.mlp = nn.Linear(config.hidden_size, config.hidden_size)

    def forward(self, hidden_states, residual, forward_batch):
        residual = hidden_states if residual is None else hidden_states + residual
        return self.mlp(self.norm(residual)), residual


class OverlappedGuardedModel(nn.Module):
    def __init__(self, config) -> None:
        super().__init__()
        self.embed_tokens = nn.Embedding(config.vocab_size, config.hidden_size)
        self.layers, self.start_layer, self.end_layer = make_layers(
            config.num_hidden_layers,
            lambda idx: OverlappedGuardedDecoderLayer(config, layer_id=idx),
        )
        self.norm = nn.RMSNorm(config.hidden_size)
        self.first_k_dense_replace = config.first_k_dense_replace
        self.layers_to_capture = []

    def forward(self, input_ids, positions, forward_batch):
        hidden_states = self.embed_tokens(input_ids)
        residual = None

        # The overlap is for the sparse layers, so the loop ends where they begin.
        dense_end = self.end_layer
        if forward_batch.can_run_tbo and not self.layers_to_capture:
            if self.start_layer < self.first_k_dense_replace < self.end_layer:
                dense_end = self.first_k_dense_replace

        aux_hidden_states = []
        for i in range(self.start_layer, dense_end):
            if i in self.layers_to_capture:
                aux_hidden_states.append(hidden_states + residual)
            hidden_states, residual = self.layers[i](hidden_states, residual, forward_batch)

        if dense_end != self.end_layer:
            hidden_states, residual = run_overlapped(
                self.layers[dense_end : self.end_layer], hidden_states, residual, forward_batch
            )

        hidden_states = self.norm(hidden_states + residual)
        if len(aux_hidden_states) == 0:
            return hidden_states
        return hidden_states, aux_hidden_states


class OverlappedGuardedForCausalLM(nn.Module):
    def __init__(self, config) -> None:
        super().__init__()
        self.model = OverlappedGuardedModel(config)
        self.lm_head = nn.Linear(config.hidden_size, config.vocab_size, bias=False)
        self.capture_aux_hidden_states = False

    def forward(self, input_ids, positions, forward_batch):
        hidden_states = self.model(input_ids, positions, forward_batch)
        aux_hidden_states = None
        if self.capture_aux_hidden_states:
            hidden_states, aux_hidden_states = hidden_states
        return self.lm_head(hidden_states), aux_hidden_states

    def set_eagle3_layers_to_capture(self, layer_ids: list[int]) -> None:
        """Ask for the states that these layers leave, seen at the top of the next one."""
        self.capture_aux_hidden_states = True
        self.model.layers_to_capture = [layer_id + 1 for layer_id in layer_ids]


EntryClass = OverlappedGuardedForCausalLM
