"""The labelled example of `unequal-siblings`: two ways to run the same layers."""

import torch
from torch import nn

from sglang.srt.utils import make_layers


def run_stages(layers, positions, hidden_states, forward_batch, zero_allocator=None):
    operations = []
    for layer in layers:
        operations += [layer.op_attention, layer.op_mlp]
    return execute(operations, positions, hidden_states, forward_batch, zero_allocator)


class Layer(nn.Module):
    def forward(
        self,
        positions,
        hidden_states,
        forward_batch,
        zero_allocator=None,
        scaling=None,
        unused=None,
        capture=None,
    ):
        hidden_states = self.self_attn(positions, hidden_states, zero_allocator, scaling)
        if capture is not None:
            capture.append(hidden_states)
        return hidden_states, hidden_states + 1

    def op_attention(self, state): ...

    def op_mlp(self, state): ...


class BaseModel(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.layers, self.start_layer, self.end_layer = make_layers(
            config.num_hidden_layers, lambda idx, prefix: Layer(), pp_rank=0, pp_size=1
        )


class ScaledModel(BaseModel):
    """The scaling was added to the loop only."""

    def forward(self, input_ids, positions, forward_batch):
        hidden_states = self.embed(input_ids)
        scaling = None
        if self.scaling_config is not None:
            scaling = scale(positions, self.scaling_config)
        for i in range(self.start_layer, self.first_k_dense_replace):
            hidden_states, residual = self.layers[i](
                positions, hidden_states, forward_batch, None, scaling
            )
        # expect: unequal-siblings
        return run_stages(
            self.layers[self.first_k_dense_replace :], positions, hidden_states, forward_batch
        )


class EqualModel(BaseModel):
    """What the other site gets by another way, what no layer reads, what each layer has its own."""

    def forward(self, input_ids, positions, forward_batch):
        hidden_states = self.embed(input_ids)
        unused = torch.zeros(1)
        aux = []
        scaling = scale(positions, self.scaling_config)
        forward_batch.scaling = scaling
        for i in range(self.start_layer, self.first_k_dense_replace):
            hidden_states, residual = self.layers[i](
                positions,
                hidden_states,
                forward_batch,
                scaling=scaling,
                unused=unused,
                zero_allocator=self.allocators.get(i),
                capture=aux if i in self.layers_to_capture else None,
            )
        # ok: unequal-siblings
        return run_stages(
            self.layers[self.first_k_dense_replace :], positions, hidden_states, forward_batch
        )


class SteppedModel(BaseModel):
    def forward(self, input_ids, positions, forward_batch):
        hidden_states = self.embed(input_ids)
        normalizer = torch.tensor(self.scale, dtype=hidden_states.dtype)
        hidden_states = hidden_states * normalizer
        scaling = scale(positions, self.scaling_config)
        for i in range(len(self.layers)):
            hidden_states, residual = self.layers[i](
                positions, hidden_states, forward_batch, scaling=scaling
            )
        return self.norm(hidden_states, residual)


class ScaledForCausalLM(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.model = ScaledModel(config)

    def forward(self, input_ids, positions, forward_batch):
        return self.model(input_ids, positions, forward_batch)


class EqualForCausalLM(ScaledForCausalLM):
    def __init__(self, config):
        super().__init__(config)
        self.model = EqualModel(config)


class SteppedForCausalLM(ScaledForCausalLM):
    """Split prefill runs some layers at a time, and has forgotten the scaling."""

    def __init__(self, config):
        super().__init__(config)
        self.model = SteppedModel(config)

    def forward_split_prefill(self, input_ids, positions, forward_batch, split_interval):
        start, end = split_interval
        if start == 0:
            hidden_states = self.model.embed(input_ids)
            normalizer = torch.tensor(self.model.scale, dtype=hidden_states.dtype)
            forward_batch.hidden_states = hidden_states * normalizer
        for i in range(start, end):
            # expect: unequal-siblings
            forward_batch.hidden_states, forward_batch.residual = self.model.layers[i](
                positions, forward_batch.hidden_states, forward_batch
            )


class WholeSteppedForCausalLM(ScaledForCausalLM):
    """The same, with all that forward has."""

    def __init__(self, config):
        super().__init__(config)
        self.model = SteppedModel(config)

    def forward_split_prefill(self, input_ids, positions, forward_batch, split_interval):
        start, end = split_interval
        if start == 0:
            hidden_states = self.model.embed(input_ids)
            # ok: unequal-siblings
            normalizer = torch.tensor(self.model.scale, dtype=hidden_states.dtype)
            forward_batch.hidden_states = hidden_states * normalizer
            forward_batch.scaling = scale(positions, self.model.scaling_config)
        for i in range(start, end):
            # ok: unequal-siblings
            forward_batch.hidden_states, forward_batch.residual = self.model.layers[i](
                positions,
                forward_batch.hidden_states,
                forward_batch,
                scaling=forward_batch.scaling,
            )


EntryClass = [
    ScaledForCausalLM,
    EqualForCausalLM,
    SteppedForCausalLM,
    WholeSteppedForCausalLM,
]
