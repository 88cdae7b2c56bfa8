"""The labelled example of `mismatched-return`: two violations and four forms that hold."""

from torch import nn

from sglang.srt.distributed import get_pp_group
from sglang.srt.layers.logits_processor import LogitsProcessor
from sglang.srt.layers.radix_attention import RadixAttention
from sglang.srt.model_executor.forward_batch_info import ForwardBatch, PPProxyTensors
from sglang.srt.utils import make_layers


def run_overlapped(layers, hidden_states, residual, forward_batch):
    for layer in layers:
        hidden_states, residual = layer(hidden_states, residual, forward_batch)
    return hidden_states, residual


class ExampleDecoderLayer(nn.Module):
    def __init__(self, config, layer_id: int) -> None:
        super().__init__()
        self.input_norm = nn.RMSNorm(config.hidden_size)
        self.attn = RadixAttention(config.num_heads, config.head_dim, 1.0, 1, layer_id)

    def forward(self, hidden_states, residual, forward_batch):
        residual = hidden_states if residual is None else hidden_states + residual
        states = self.input_norm(residual)
        return self.attn(states, states, states, forward_batch), residual


class StagedModel(nn.Module):
    """Returns two values on the last pipeline stage, and a proxy on every other one."""

    def __init__(self, config) -> None:
        super().__init__()
        self.pp_group = get_pp_group()
        self.embed_tokens = nn.Embedding(config.vocab_size, config.hidden_size)
        self.layers, self.start_layer, self.end_layer = make_layers(
            config.num_hidden_layers,
            lambda idx, prefix: ExampleDecoderLayer(config, layer_id=idx),
        )
        self.norm = nn.RMSNorm(config.hidden_size)
        self.layers_to_capture = []

    def embed(self, input_ids, pp_proxy_tensors):
        if self.pp_group.is_first_rank:
            return self.embed_tokens(input_ids)
        return pp_proxy_tensors["hidden_states"]

    def forward(self, input_ids, forward_batch: ForwardBatch, pp_proxy_tensors=None):
        hidden_states, residual = self.embed(input_ids, pp_proxy_tensors), None
        for i in range(self.start_layer, self.end_layer):
            hidden_states, residual = self.layers[i](hidden_states, residual, forward_batch)
        if not self.pp_group.is_last_rank:
            return PPProxyTensors({"hidden_states": hidden_states, "residual": residual})
        before_norm = hidden_states + residual
        hidden_states = self.norm(before_norm)
        return hidden_states, before_norm


class StagedForCausalLM(nn.Module):
    """Takes apart what every stage returns."""

    def __init__(self, config) -> None:
        super().__init__()
        self.pp_group = get_pp_group()
        self.model = StagedModel(config)
        self.lm_head = nn.Linear(config.hidden_size, config.vocab_size, bias=False)
        self.logits_processor = LogitsProcessor(config)

    def forward(self, input_ids, positions, forward_batch, pp_proxy_tensors=None):
        # expect: mismatched-return
        hidden_states, before_norm = self.model(input_ids, forward_batch, pp_proxy_tensors)
        if not self.pp_group.is_last_rank:
            return hidden_states
        return self.logits_processor(input_ids, hidden_states, self.lm_head, before_norm)


class StagedGuardedForCausalLM(StagedForCausalLM):
    """The same, with the stage asked first. The two groups are one object."""

    def forward(self, input_ids, positions, forward_batch, pp_proxy_tensors=None):
        result = self.model(input_ids, forward_batch, pp_proxy_tensors)
        if not get_pp_group().is_last_rank:
            return result
        # ok: mismatched-return
        hidden_states, before_norm = result
        return self.logits_processor(input_ids, hidden_states, self.lm_head, before_norm)


class CollectingModel(StagedModel):
    """What it returns hangs on whether something was collected; one path collects nothing."""

    def forward(self, input_ids, forward_batch: ForwardBatch, pp_proxy_tensors=None):
        hidden_states, residual = self.embed(input_ids, pp_proxy_tensors), None
        aux_hidden_states = []
        if forward_batch.can_run_tbo:
            hidden_states, residual = run_overlapped(
                self.layers, hidden_states, residual, forward_batch
            )
        else:
            for i in range(self.start_layer, self.end_layer):
                if i in self.layers_to_capture:
                    aux_hidden_states.append(hidden_states)
                hidden_states, residual = self.layers[i](hidden_states, residual, forward_batch)
        if not self.pp_group.is_last_rank:
            return PPProxyTensors({"hidden_states": hidden_states, "residual": residual})
        hidden_states = self.norm(hidden_states + residual)
        if len(aux_hidden_states) == 0:
            # expect: mismatched-return
            return hidden_states
        return hidden_states, aux_hidden_states


class CollectingForCausalLM(nn.Module):
    """Decides by a switch of its own."""

    def __init__(self, config) -> None:
        super().__init__()
        self.pp_group = get_pp_group()
        self.model = CollectingModel(config)
        self.lm_head = nn.Linear(config.hidden_size, config.vocab_size, bias=False)
        self.logits_processor = LogitsProcessor(config)
        self.capture_aux_hidden_states = False

    def set_eagle3_layers_to_capture(self, layer_ids) -> None:
        self.capture_aux_hidden_states = True
        self.model.layers_to_capture = [layer_id + 1 for layer_id in layer_ids]

    def forward(self, input_ids, positions, forward_batch, pp_proxy_tensors=None):
        hidden_states = self.model(input_ids, forward_batch, pp_proxy_tensors)
        aux_hidden_states = None
        if self.capture_aux_hidden_states:
            hidden_states, aux_hidden_states = hidden_states
        if not self.pp_group.is_last_rank:
            return hidden_states
        return self.logits_processor(input_ids, hidden_states, self.lm_head, aux_hidden_states)


class SwitchedModel(CollectingModel):
    """The same model, which returns two values whenever its switch is on."""

    def forward(self, input_ids, forward_batch: ForwardBatch, pp_proxy_tensors=None):
        hidden_states, residual = self.embed(input_ids, pp_proxy_tensors), None
        aux_hidden_states = []
        if forward_batch.can_run_tbo:
            hidden_states, residual = run_overlapped(
                self.layers, hidden_states, residual, forward_batch
            )
        else:
            for i in range(self.start_layer, self.end_layer):
                if i in self.layers_to_capture:
                    aux_hidden_states.append(hidden_states)
                hidden_states, residual = self.layers[i](hidden_states, residual, forward_batch)
        if not self.pp_group.is_last_rank:
            return PPProxyTensors({"hidden_states": hidden_states, "residual": residual})
        hidden_states = self.norm(hidden_states + residual)
        # ok: mismatched-return
        return (hidden_states, aux_hidden_states) if self.layers_to_capture else hidden_states


class SwitchedForCausalLM(CollectingForCausalLM):
    def __init__(self, config) -> None:
        super().__init__(config)
        self.model = SwitchedModel(config)


class NarrowedModel(CollectingModel):
    """A near miss: it returns as its base does, to a caller that looks at what it got."""

    def forward(self, input_ids, forward_batch: ForwardBatch, pp_proxy_tensors=None):
        hidden_states, residual = self.embed(input_ids, pp_proxy_tensors), None
        aux_hidden_states = []
        if forward_batch.can_run_tbo:
            hidden_states, residual = run_overlapped(
                self.layers, hidden_states, residual, forward_batch
            )
        else:
            for i in range(self.start_layer, self.end_layer):
                if i in self.layers_to_capture:
                    aux_hidden_states.append(hidden_states)
                hidden_states, residual = self.layers[i](hidden_states, residual, forward_batch)
        hidden_states = self.norm(hidden_states + residual)
        if not aux_hidden_states:
            # ok: mismatched-return
            return hidden_states
        return hidden_states, aux_hidden_states


class NarrowedForCausalLM(CollectingForCausalLM):
    def __init__(self, config) -> None:
        super().__init__(config)
        self.model = NarrowedModel(config)

    def forward(self, input_ids, positions, forward_batch, pp_proxy_tensors=None):
        hidden_states = self.model(input_ids, forward_batch, pp_proxy_tensors)
        aux_hidden_states = None
        if isinstance(hidden_states, tuple):
            # ok: mismatched-return
            hidden_states, aux_hidden_states = hidden_states
        return self.logits_processor(input_ids, hidden_states, self.lm_head, aux_hidden_states)


EntryClass = [
    StagedForCausalLM,
    StagedGuardedForCausalLM,
    CollectingForCausalLM,
    SwitchedForCausalLM,
    NarrowedForCausalLM,
]
