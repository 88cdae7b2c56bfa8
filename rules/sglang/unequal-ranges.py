"""The labelled example of `unequal-ranges`: two sites of a model that is split over stages."""

from torch import nn

from sglang.srt.utils import make_layers


class Layer(nn.Module):
    def forward(self, positions, hidden_states, forward_batch):
        return self.mlp(hidden_states)

    def op_attention(self, state): ...

    def op_mlp(self, state): ...


def run_stages(layers, hidden_states, forward_batch):
    operations = []
    for layer in layers:
        operations += [layer.op_attention, layer.op_mlp]
    return execute(operations, hidden_states, forward_batch)


class WholeModel(nn.Module):
    """One branch keeps to its stage, the other takes all layers."""

    def __init__(self, config, pp_group):
        super().__init__()
        self.pp_group = pp_group
        self.first_k_dense_replace = config.first_k_dense_replace
        self.layers, self.start_layer, self.end_layer = make_layers(
            config.num_hidden_layers,
            lambda idx, prefix: Layer(),
            pp_rank=pp_group.rank_in_group,
            pp_size=pp_group.world_size,
        )

    def forward(self, input_ids, positions, forward_batch):
        hidden_states = self.embed(input_ids)
        if forward_batch.can_run_tbo:
            # expect: unequal-ranges
            hidden_states = run_stages(self.layers, hidden_states, forward_batch)
        else:
            # ok: unequal-ranges
            for i in range(self.start_layer, self.end_layer):
                hidden_states = self.layers[i](positions, hidden_states, forward_batch)
        return hidden_states


class SliceModel(WholeModel):
    """Past the dense prefix the slice begins at layer 0."""

    def forward(self, input_ids, positions, forward_batch):
        hidden_states = self.embed(input_ids)
        normal_start_layer = self.start_layer
        normal_end_layer = self.end_layer
        if forward_batch.can_run_tbo:
            if (
                self.first_k_dense_replace > normal_start_layer
                and self.first_k_dense_replace < normal_end_layer
            ):
                normal_end_layer = self.first_k_dense_replace
            elif self.first_k_dense_replace < normal_start_layer:
                normal_end_layer = normal_start_layer = 0
        # ok: unequal-ranges
        for i in range(normal_start_layer, normal_end_layer):
            hidden_states = self.layers[i](positions, hidden_states, forward_batch)
        if normal_end_layer != self.end_layer:
            # expect: unequal-ranges
            hidden_states = run_stages(
                self.layers[normal_end_layer : self.end_layer], hidden_states, forward_batch
            )
        return hidden_states


class KeptModel(WholeModel):
    """The same, and the bound is never moved below that of the stage."""

    def forward(self, input_ids, positions, forward_batch):
        hidden_states = self.embed(input_ids)
        normal_end_layer = self.end_layer
        if forward_batch.can_run_tbo and self.first_k_dense_replace < normal_end_layer:
            normal_end_layer = self.start_layer
            if self.first_k_dense_replace > self.start_layer:
                normal_end_layer = self.first_k_dense_replace
        # ok: unequal-ranges
        for i in range(self.start_layer, normal_end_layer):
            hidden_states = self.layers[i](positions, hidden_states, forward_batch)
        # ok: unequal-ranges
        return run_stages(
            self.layers[normal_end_layer : self.end_layer], hidden_states, forward_batch
        )


class GuardedModel(WholeModel):
    """Layer 0 runs by itself where this stage owns it, and all layers where it is the only one."""

    def forward(self, input_ids, positions, forward_batch):
        hidden_states = self.embed(input_ids)
        if forward_batch.can_run_tbo:
            start = self.start_layer
            if self.start_layer == 0:
                # ok: unequal-ranges
                hidden_states = self.layers[0](positions, hidden_states, forward_batch)
                start = start + 1
            layers = self.layers[start : self.end_layer]
            # ok: unequal-ranges
            return run_stages(layers, hidden_states, forward_batch)
        if self.pp_group.is_first_rank:
            for layer in self.layers[: self.end_layer]:
                # ok: unequal-ranges
                hidden_states = layer(positions, hidden_states, forward_batch)
            return hidden_states
        for i in range(self.start_layer, self.end_layer):
            # ok: unequal-ranges
            hidden_states = self.layers[i](positions, hidden_states, forward_batch)
        return hidden_states


class UnsplitModel(nn.Module):
    """No stage owns a part of these layers."""

    def __init__(self, config, pp_group):
        super().__init__()
        self.layers = nn.ModuleList([Layer() for _ in range(config.num_hidden_layers)])

    def forward(self, input_ids, positions, forward_batch):
        hidden_states = self.embed(input_ids)
        if forward_batch.can_run_tbo:
            # ok: unequal-ranges
            return run_stages(self.layers, hidden_states, forward_batch)
        for i in range(len(self.layers)):
            # ok: unequal-ranges
            hidden_states = self.layers[i](positions, hidden_states, forward_batch)
        return hidden_states


class WholeForCausalLM(nn.Module):
    def __init__(self, config, pp_group):
        super().__init__()
        self.model = WholeModel(config, pp_group)

    def forward(self, input_ids, positions, forward_batch):
        return self.model(input_ids, positions, forward_batch)


class SliceForCausalLM(WholeForCausalLM):
    def __init__(self, config, pp_group):
        super().__init__(config, pp_group)
        self.model = SliceModel(config, pp_group)


class KeptForCausalLM(WholeForCausalLM):
    def __init__(self, config, pp_group):
        super().__init__(config, pp_group)
        self.model = KeptModel(config, pp_group)


class GuardedForCausalLM(WholeForCausalLM):
    def __init__(self, config, pp_group):
        super().__init__(config, pp_group)
        self.model = GuardedModel(config, pp_group)


class UnsplitForCausalLM(WholeForCausalLM):
    def __init__(self, config, pp_group):
        super().__init__(config, pp_group)
        self.model = UnsplitModel(config, pp_group)


EntryClass = [
    WholeForCausalLM,
    SliceForCausalLM,
    KeptForCausalLM,
    GuardedForCausalLM,
    UnsplitForCausalLM,
]
