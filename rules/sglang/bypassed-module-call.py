"""The labelled example of `bypassed-module-call`: modules that are called, and that are not."""

from torch import nn

from sglang.srt.utils import make_layers


class Recipe:
    @staticmethod
    def for_layers(layers):
        if layers[0].__class__.__name__ == "StagedLayer":
            return [operations_of(layer) for layer in layers]
        raise NotImplementedError


def operations_of(layer):
    # expect: bypassed-module-call
    return [
        layer.op_attention,
        layer.mlp.op_experts,
    ]


def run_stages(layers, hidden_states):
    return execute(Recipe.for_layers(layers), hidden_states)


class Experts(nn.Module):
    def forward(self, hidden_states, scores):
        return self.combine(self.run_core(hidden_states, scores))

    def run_core(self, hidden_states, scores):
        return self.quant_method.apply(hidden_states, scores)

    def combine(self, hidden_states):
        return hidden_states

    def size(self):
        return self.num_experts


class SparseMLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.experts = Experts()

    def forward(self, hidden_states):
        # ok: bypassed-module-call
        return self.experts(hidden_states, self.gate(hidden_states))

    def op_experts(self, state):
        if self.experts.size() > 1:
            # expect: bypassed-module-call
            state.hidden_states = self.experts.run_core(state.hidden_states, state.scores)


class Backend:
    """No module: nothing can be hooked onto it."""

    def forward(self, hidden_states):
        return hidden_states


class StagedLayer(nn.Module):
    def __init__(self):
        super().__init__()
        self.mlp = SparseMLP()
        self.backend = Backend()

    def forward(self, positions, hidden_states, forward_batch):
        # ok: bypassed-module-call
        hidden_states = self.backend.forward(hidden_states)
        # expect: bypassed-module-call
        hidden_states = self.mlp.forward(hidden_states)
        return hidden_states

    def forward_fused(self, positions, hidden_states, forward_batch):
        return self.mlp(hidden_states)

    def op_attention(self, state): ...


class StagedModel(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.layers, self.start_layer, self.end_layer = make_layers(
            config.num_hidden_layers, lambda idx, prefix: StagedLayer(), pp_rank=0, pp_size=1
        )

    def forward(self, input_ids, positions, forward_batch):
        hidden_states = self.embed(input_ids)
        if forward_batch.can_run_tbo:
            # ok: bypassed-module-call
            return run_stages(self.layers, hidden_states)
        for i in range(self.start_layer, self.end_layer):
            if self.fused:
                # expect: bypassed-module-call
                hidden_states = self.layers[i].forward_fused(
                    positions, hidden_states, forward_batch
                )
            else:
                # ok: bypassed-module-call
                hidden_states = self.layers[i](positions, hidden_states, forward_batch)
        return hidden_states


class StagedForCausalLM(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.model = StagedModel(config)

    def forward(self, input_ids, positions, forward_batch):
        # expect: bypassed-module-call
        return self.model.forward(input_ids, positions, forward_batch)


class InheritedForCausalLM(StagedForCausalLM):
    def forward(self, input_ids, positions, forward_batch):
        # ok: bypassed-module-call
        hidden_states = super().forward(input_ids, positions, forward_batch)
        # ok: bypassed-module-call
        return self.forward_logits(hidden_states)

    def forward_logits(self, hidden_states):
        return self.lm_head(hidden_states)


EntryClass = [StagedForCausalLM, InheritedForCausalLM]
