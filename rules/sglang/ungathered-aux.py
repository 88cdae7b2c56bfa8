"""The labelled example of `ungathered-aux`: rows that ranks share, and who gathers them."""

from torch import nn

from sglang.srt.layers.attention.cp_utils import (
    cp_all_gather_rerange_output,
    cp_split_and_rebuild_data,
)
from sglang.srt.layers.communicator import LayerScatterModes
from sglang.srt.layers.logits_processor import LogitsProcessor
from sglang.srt.model_executor.forward_batch_info import ForwardBatch
from sglang.srt.two_batch_overlap import run_rest
from sglang.srt.utils import make_layers


class ExampleDecoderLayer(nn.Module):
    def __init__(self, config, layer_id: int) -> None:
        super().__init__()
        self.layer_scatter_modes = LayerScatterModes.init_new(layer_id=layer_id)
        self.mlp = nn.Linear(config.hidden_size, config.hidden_size)

    def forward(self, hidden_states, forward_batch, captured=None):
        if captured is not None:
            captured.append(hidden_states)
        return hidden_states + self.mlp(hidden_states)


class ExampleModel(nn.Module):
    def __init__(self, config) -> None:
        super().__init__()
        self.embed_tokens = nn.Embedding(config.vocab_size, config.hidden_size)
        self.layers, self.start_layer, self.end_layer = make_layers(
            config.num_hidden_layers,
            lambda idx, prefix: ExampleDecoderLayer(config, layer_id=idx),
        )
        self.norm = nn.RMSNorm(config.hidden_size)
        self.group = config.group
        self.layers_to_capture = []


class PartialModel(ExampleModel):
    """The hidden states are whole again when they leave, what was captured is not."""

    def forward(self, input_ids, forward_batch: ForwardBatch):
        hidden_states = self.embed_tokens(input_ids)
        if forward_batch.splits_rows:
            hidden_states = cp_split_and_rebuild_data(forward_batch, hidden_states)
        aux_hidden_states = []
        for i in range(self.start_layer, self.end_layer):
            if i in self.layers_to_capture:
                aux_hidden_states.append(hidden_states)
            hidden_states = self.layers[i](hidden_states, forward_batch)
        hidden_states = self.norm(hidden_states)
        if forward_batch.splits_rows:
            # expect: ungathered-aux
            hidden_states = cp_all_gather_rerange_output(hidden_states, forward_batch)
        if not self.layers_to_capture:
            return hidden_states
        return hidden_states, aux_hidden_states


class WholeModel(ExampleModel):
    """What was captured is gathered in the same way, one by one."""

    def forward(self, input_ids, forward_batch: ForwardBatch):
        hidden_states = self.embed_tokens(input_ids)
        if forward_batch.splits_rows:
            hidden_states = cp_split_and_rebuild_data(forward_batch, hidden_states)
        aux_hidden_states = []
        for i in range(self.start_layer, self.end_layer):
            hidden_states = self.layers[i](
                hidden_states,
                forward_batch,
                captured=aux_hidden_states if i in self.layers_to_capture else None,
            )
        hidden_states = self.norm(hidden_states)
        if forward_batch.splits_rows:
            # ok: ungathered-aux
            hidden_states = cp_all_gather_rerange_output(hidden_states, forward_batch)
            aux_hidden_states = [
                cp_all_gather_rerange_output(aux, forward_batch) for aux in aux_hidden_states
            ]
        if not self.layers_to_capture:
            return hidden_states
        return hidden_states, aux_hidden_states


class ExcludedModel(ExampleModel):
    """Rows are not split while somebody wants to see them."""

    def forward(self, input_ids, forward_batch: ForwardBatch):
        hidden_states = self.embed_tokens(input_ids)
        splits_rows = forward_batch.splits_rows and not self.layers_to_capture
        if splits_rows:
            hidden_states = cp_split_and_rebuild_data(forward_batch, hidden_states)
        aux_hidden_states = []
        for i in range(self.start_layer, self.end_layer):
            if i in self.layers_to_capture:
                aux_hidden_states.append(hidden_states)
            hidden_states = self.layers[i](hidden_states, forward_batch)
        if splits_rows:
            # ok: ungathered-aux
            hidden_states = cp_all_gather_rerange_output(hidden_states, forward_batch)
        return hidden_states, aux_hidden_states


class GatheredByCallerModel(ExampleModel):
    """Nothing is gathered here: the caller gathers both."""

    def forward(self, input_ids, forward_batch: ForwardBatch):
        # ok: ungathered-aux
        hidden_states = cp_split_and_rebuild_data(forward_batch, self.embed_tokens(input_ids))
        aux_hidden_states = []
        for i in range(self.start_layer, self.end_layer):
            if i in self.layers_to_capture:
                aux_hidden_states.append(hidden_states)
            hidden_states = self.layers[i](hidden_states, forward_batch)
        return hidden_states, aux_hidden_states


class CollectedModel(ExampleModel):
    """Knows that layers leave rows scattered, and gathers what is captured between such layers."""

    def forward(self, input_ids, forward_batch: ForwardBatch):
        hidden_states = self.embed_tokens(input_ids)
        aux_hidden_states = []
        for i in range(self.start_layer, self.end_layer):
            if i in self.layers_to_capture:
                if i > forward_batch.first_sparse:
                    whole = self.group.all_gather(hidden_states, dim=0)
                    # ok: ungathered-aux
                    aux_hidden_states.append(whole)
                else:
                    # ok: ungathered-aux
                    aux_hidden_states.append(hidden_states)
            hidden_states = self.layers[i](hidden_states, forward_batch)
        layout = self.layers[self.end_layer - 1].layer_scatter_modes.layer_output_mode
        return run_rest(hidden_states, layout), aux_hidden_states


class PartialForCausalLM(nn.Module):
    def __init__(self, config) -> None:
        super().__init__()
        self.model = self.build(config)
        self.lm_head = nn.Linear(config.hidden_size, config.vocab_size)
        self.logits_processor = LogitsProcessor(config)
        self.capture_aux_hidden_states = False

    def build(self, config):
        return PartialModel(config)

    def forward(self, input_ids, positions, forward_batch):
        hidden_states = self.model(input_ids, forward_batch)
        aux_hidden_states = None
        if self.capture_aux_hidden_states:
            hidden_states, aux_hidden_states = hidden_states
        return self.logits_processor(
            input_ids, hidden_states, self.lm_head, forward_batch, aux_hidden_states
        )

    def set_eagle3_layers_to_capture(self, layer_ids) -> None:
        self.capture_aux_hidden_states = True
        self.model.layers_to_capture = [layer_id + 1 for layer_id in layer_ids]


class WholeForCausalLM(PartialForCausalLM):
    def build(self, config):
        return WholeModel(config)


class ExcludedForCausalLM(PartialForCausalLM):
    def build(self, config):
        return ExcludedModel(config)


class GatheredByCallerForCausalLM(PartialForCausalLM):
    def build(self, config):
        return GatheredByCallerModel(config)


class CollectedForCausalLM(PartialForCausalLM):
    def build(self, config):
        return CollectedModel(config)


EntryClass = [
    PartialForCausalLM,
    WholeForCausalLM,
    ExcludedForCausalLM,
    GatheredByCallerForCausalLM,
    CollectedForCausalLM,
]
