"""The labelled example of `capture-offset`: what a layer id means to setters of several models."""

from torch import nn

from sglang.srt.utils import make_layers


class Layer(nn.Module):
    def forward(self, positions, hidden_states, forward_batch):
        return self.mlp(hidden_states)


class BeforeModel(nn.Module):
    """Captures what goes into a layer."""

    def __init__(self, config):
        super().__init__()
        self.layers, self.start_layer, self.end_layer = make_layers(
            config.num_hidden_layers, lambda idx, prefix: Layer(), pp_rank=0, pp_size=1
        )
        self.layers_to_capture = []

    def forward(self, input_ids, positions, forward_batch):
        hidden_states = self.embed(input_ids)
        aux_hidden_states = []
        for i in range(self.start_layer, self.end_layer):
            if i in self.layers_to_capture:
                aux_hidden_states.append(hidden_states)
            hidden_states = self.layers[i](positions, hidden_states, forward_batch)
        return hidden_states, aux_hidden_states


class AfterModel(BeforeModel):
    """Captures what comes out of a layer."""

    def forward(self, input_ids, positions, forward_batch):
        hidden_states = self.embed(input_ids)
        aux_hidden_states = []
        for i, layer in enumerate(self.layers):
            hidden_states = layer(positions, hidden_states, forward_batch)
            if i in self.layers_to_capture:
                aux_hidden_states.append(hidden_states)
        return hidden_states, aux_hidden_states


class ShiftedForCausalLM(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.model = BeforeModel(config)

    def forward(self, input_ids, positions, forward_batch):
        return self.model(input_ids, positions, forward_batch)

    def set_eagle3_layers_to_capture(self, layer_ids=None):
        if layer_ids is None:
            self.model.layers_to_capture = [2, 16, 29]
        else:
            # ok: capture-offset
            self.model.layers_to_capture = [val + 1 for val in layer_ids]

    def set_dflash_layers_to_capture(self, layer_ids):
        # ok: capture-offset
        self.model.layers_to_capture = [val + 1 for val in layer_ids]


class AfterForCausalLM(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.model = AfterModel(config)

    def forward(self, input_ids, positions, forward_batch):
        return self.model(input_ids, positions, forward_batch)

    def set_dflash_layers_to_capture(self, layer_ids):
        # ok: capture-offset
        self.model.layers_to_capture = list(layer_ids)


class RawForCausalLM(ShiftedForCausalLM):
    """The ids are kept, though the forward looks before the layer."""

    def set_dflash_layers_to_capture(self, layer_ids):
        # expect: capture-offset
        self.model.layers_to_capture = list(layer_ids)


class BranchedForCausalLM(ShiftedForCausalLM):
    """What an id means depends on the first of them."""

    def set_dflash_layers_to_capture(self, layer_ids):
        if layer_ids[0] == 1:
            # expect: capture-offset
            self.model.layers_to_capture = [val + 1 for val in layer_ids]
        else:
            self.model.layers_to_capture = list(layer_ids)


class WrapperForConditionalGeneration(nn.Module):
    """Hands the ids on, and leaves their meaning to the model inside."""

    def __init__(self, config):
        super().__init__()
        self.language_model = ShiftedForCausalLM(config)

    def forward(self, input_ids, positions, forward_batch):
        return self.language_model(input_ids, positions, forward_batch)

    # ok: capture-offset
    def set_dflash_layers_to_capture(self, layer_ids):
        self.language_model.set_dflash_layers_to_capture(layer_ids)


EntryClass = [
    ShiftedForCausalLM,
    AfterForCausalLM,
    RawForCausalLM,
    BranchedForCausalLM,
    WrapperForConditionalGeneration,
]
