"""A model whose layers are called, run by a recipe, and entered past their call."""

from torch import nn

from sglang.srt.batch_overlap.two_batch_overlap import model_forward_maybe_tbo
from sglang.srt.layers.logits_processor import LogitsProcessor
from sglang.srt.utils import make_layers


class ProbedMoE(nn.Module):
    def __init__(self, config) -> None:
        super().__init__()
        self.gate = nn.Linear(config.hidden_size, config.n_routed_experts, bias=False)
        self.experts = nn.Linear(config.hidden_size, config.hidden_size)

    def forward(self, hidden_states):
        return self.experts(hidden_states) * self.gate(hidden_states).max()

    def op_gate(self, state):
        state.scores = self.gate(state.hidden_states)

    def op_experts(self, state):
        state.hidden_states = self.experts(state.hidden_states) * state.scores.max()


class ProbedDecoderLayer(nn.Module):
    def __init__(self, config, layer_id: int) -> None:
        super().__init__()
        self.layer_id = layer_id
        self.norm = nn.RMSNorm(config.hidden_size)
        self.mixer = nn.Linear(config.hidden_size, config.hidden_size)
        self.mlp = ProbedMoE(config)

    def forward(self, hidden_states, forward_batch):
        hidden_states = self.mixer.forward(self.norm(hidden_states))
        return self.mlp(hidden_states)

    def op_mixer(self, state):
        state.hidden_states = self.mixer.forward(self.norm(state.hidden_states))


class ProbedModel(nn.Module):
    def __init__(self, config) -> None:
        super().__init__()
        self.embed_tokens = nn.Embedding(config.vocab_size, config.hidden_size)
        self.layers, self.start_layer, self.end_layer = make_layers(
            config.num_hidden_layers, lambda idx: ProbedDecoderLayer(config, layer_id=idx)
        )
        self.first_k_dense_replace = config.first_k_dense_replace

    def forward(self, input_ids, positions, forward_batch):
        hidden_states = self.embed_tokens(input_ids)
        normal_end = self.end_layer
        if forward_batch.can_run_tbo:
            if self.start_layer < self.first_k_dense_replace < self.end_layer:
                normal_end = self.first_k_dense_replace
        for i in range(self.start_layer, normal_end):
            hidden_states = self.layers[i](hidden_states, forward_batch)
        if normal_end != self.end_layer:
            hidden_states = model_forward_maybe_tbo(
                self.layers[normal_end : self.end_layer], hidden_states, forward_batch
            )
        return hidden_states


class ProbedForCausalLM(nn.Module):
    def __init__(self, config) -> None:
        super().__init__()
        self.model = ProbedModel(config)
        self.lm_head = nn.Linear(config.hidden_size, config.vocab_size, bias=False)
        self.logits_processor = LogitsProcessor(config)

    def forward(self, input_ids, positions, forward_batch):
        hidden_states = self.model(input_ids, positions, forward_batch)
        return self.logits_processor(hidden_states, self.lm_head)


EntryClass = ProbedForCausalLM
