"""The labelled example of `premature-capture`: three violations and four forms that hold."""

from torch import nn

from sglang.srt.distributed import tensor_model_parallel_all_reduce
from sglang.srt.layers.communicator import LayerCommunicator
from sglang.srt.layers.layernorm import RMSNorm
from sglang.srt.layers.logits_processor import LogitsProcessor
from sglang.srt.layers.radix_attention import RadixAttention
from sglang.srt.model_executor.forward_batch_info import ForwardBatch
from sglang.srt.utils import make_layers


class ExampleAttention(nn.Module):
    def __init__(self, config, layer_id: int) -> None:
        super().__init__()
        self.qkv_proj = nn.Linear(config.hidden_size, 3 * config.hidden_size)
        self.attn = RadixAttention(
            config.num_heads, config.head_dim, config.head_dim**-0.5, config.num_heads, layer_id
        )

    def forward(self, hidden_states, forward_batch: ForwardBatch):
        q, k, v = self.qkv_proj(hidden_states).chunk(3, dim=-1)
        return self.attn(q, k, v, forward_batch)


class FusingDecoderLayer(nn.Module):
    """With all-reduce fusion on, the next layer's communicator reduces what this one returns."""

    def __init__(self, config, layer_id: int) -> None:
        super().__init__()
        self.self_attn = ExampleAttention(config, layer_id)
        self.mlp = nn.Linear(config.hidden_size, config.hidden_size)
        self.layer_communicator = LayerCommunicator(
            input_layernorm=RMSNorm(config.hidden_size),
            post_attention_layernorm=RMSNorm(config.hidden_size),
            is_last_layer=layer_id == config.num_hidden_layers - 1,
        )

    def forward(self, hidden_states, residual, forward_batch, captured_last_layer_outputs=None):
        hidden_states, residual = (
            self.layer_communicator.prepare_attn_and_capture_last_layer_outputs(
                hidden_states, residual, forward_batch, captured_last_layer_outputs
            )
        )
        hidden_states = self.self_attn(hidden_states, forward_batch)
        hidden_states, residual = self.layer_communicator.prepare_mlp(
            hidden_states, residual, forward_batch
        )
        fuse = self.layer_communicator.should_fuse_mlp_allreduce_with_next_layer(forward_batch)
        hidden_states = self.mlp(hidden_states)
        if fuse:
            hidden_states._sglang_needs_allreduce_fusion = True
        else:
            hidden_states, residual = self.layer_communicator.postprocess_layer(
                hidden_states, residual, forward_batch
            )
        return hidden_states, residual


class PlainDecoderLayer(nn.Module):
    """Shares the attention of a layer that fuses; it leaves nothing to the next layer itself."""

    def __init__(self, config, layer_id: int) -> None:
        super().__init__()
        self.input_layernorm = RMSNorm(config.hidden_size)
        self.self_attn = ExampleAttention(config, layer_id)
        self.mlp = nn.Linear(config.hidden_size, config.hidden_size)

    def forward(self, hidden_states, residual, forward_batch: ForwardBatch):
        if residual is None:
            residual = hidden_states
            hidden_states = self.input_layernorm(hidden_states)
        else:
            hidden_states, residual = self.input_layernorm(hidden_states, residual)
        hidden_states = self.mlp(self.self_attn(hidden_states, forward_batch))
        return tensor_model_parallel_all_reduce(hidden_states), residual


class ExampleModel(nn.Module):
    layer_class = FusingDecoderLayer

    def __init__(self, config) -> None:
        super().__init__()
        self.embed_tokens = nn.Embedding(config.vocab_size, config.hidden_size)
        self.layers, self.start_layer, self.end_layer = make_layers(
            config.num_hidden_layers,
            lambda idx, prefix: self.layer_class(config, layer_id=idx),
        )
        self.norm = RMSNorm(config.hidden_size)
        self.layers_to_capture = []

    def finish(self, hidden_states, residual, aux_hidden_states):
        hidden_states, _ = self.norm(hidden_states, residual)
        return hidden_states, aux_hidden_states


class PrematureModel(ExampleModel):
    """Between two layers the sum over the ranks may not have run."""

    def forward(self, input_ids, forward_batch: ForwardBatch, deepstack=None):
        hidden_states, residual = self.embed_tokens(input_ids), None
        aux_hidden_states = []
        for i in range(self.start_layer, self.end_layer):
            if i in self.layers_to_capture:
                # expect: premature-capture
                aux_hidden_states.append(
                    hidden_states + residual if residual is not None else hidden_states
                )
            layer = self.layers[i]
            hidden_states, residual = layer(hidden_states, residual, forward_batch)
            if deepstack is not None and i < len(deepstack):
                # expect: premature-capture
                hidden_states.add_(deepstack[i])
        # The last layer has no next one, and reduces what it returns.
        if self.end_layer in self.layers_to_capture:
            # ok: premature-capture
            aux_hidden_states.append(hidden_states + residual)
        return self.finish(hidden_states, residual, aux_hidden_states)


class AfterModel(ExampleModel):
    """Captured after the layer and not before the next one: it is the same value."""

    def forward(self, input_ids, forward_batch: ForwardBatch):
        hidden_states, residual = self.embed_tokens(input_ids), None
        aux_hidden_states = []
        for i in range(self.start_layer, self.end_layer):
            hidden_states, residual = self.layers[i](hidden_states, residual, forward_batch)
            if i + 1 in self.layers_to_capture:
                stream = hidden_states + residual
                # expect: premature-capture
                aux_hidden_states.append(stream)
        return self.finish(hidden_states, residual, aux_hidden_states)


class HandedModel(ExampleModel):
    """The correct form: the layer captures, after its norm has run the all-reduce."""

    def forward(self, input_ids, forward_batch: ForwardBatch):
        hidden_states, residual = self.embed_tokens(input_ids), None
        aux_hidden_states = []
        for i in range(self.start_layer, self.end_layer):
            # ok: premature-capture
            hidden_states, residual = self.layers[i](
                hidden_states,
                residual,
                forward_batch,
                captured_last_layer_outputs=(
                    aux_hidden_states if i in self.layers_to_capture else None
                ),
            )
        return self.finish(hidden_states, residual, aux_hidden_states)


class GuardedModel(ExampleModel):
    """Where the value is marked, the all-reduce is run first."""

    def forward(self, input_ids, forward_batch: ForwardBatch):
        hidden_states, residual = self.embed_tokens(input_ids), None
        aux_hidden_states = []
        for i in range(self.start_layer, self.end_layer):
            if i in self.layers_to_capture:
                if residual is not None and getattr(
                    hidden_states, "_sglang_needs_allreduce_fusion", False
                ):
                    hidden_states = tensor_model_parallel_all_reduce(hidden_states)
                    hidden_states._sglang_needs_allreduce_fusion = False
                # ok: premature-capture
                aux_hidden_states.append(
                    hidden_states if residual is None else hidden_states + residual
                )
            hidden_states, residual = self.layers[i](hidden_states, residual, forward_batch)
        return self.finish(hidden_states, residual, aux_hidden_states)


class PlainModel(ExampleModel):
    """A near miss: the file holds a layer that fuses, and this model runs another."""

    layer_class = PlainDecoderLayer

    def forward(self, input_ids, forward_batch: ForwardBatch):
        hidden_states, residual = self.embed_tokens(input_ids), None
        aux_hidden_states = []
        for i in range(self.start_layer, self.end_layer):
            if i in self.layers_to_capture:
                # ok: premature-capture
                aux_hidden_states.append(hidden_states + residual)
            hidden_states, residual = self.layers[i](hidden_states, residual, forward_batch)
        return self.finish(hidden_states, residual, aux_hidden_states)


class ExampleForCausalLM(nn.Module):
    model_class = PrematureModel

    def __init__(self, config) -> None:
        super().__init__()
        self.model = self.model_class(config)
        self.lm_head = nn.Linear(config.hidden_size, config.vocab_size, bias=False)
        self.logits_processor = LogitsProcessor(config)

    def forward(self, input_ids, positions, forward_batch: ForwardBatch):
        hidden_states, aux_hidden_states = self.model(input_ids, forward_batch)
        return self.logits_processor(
            input_ids, hidden_states, self.lm_head, forward_batch, aux_hidden_states
        )

    def set_eagle3_layers_to_capture(self, layer_ids: list[int]) -> None:
        # The state that layer n leaves is seen at the top of layer n + 1.
        self.model.layers_to_capture = [layer_id + 1 for layer_id in layer_ids]


class AfterForCausalLM(ExampleForCausalLM):
    model_class = AfterModel


class HandedForCausalLM(ExampleForCausalLM):
    model_class = HandedModel


class GuardedForCausalLM(ExampleForCausalLM):
    model_class = GuardedModel


class PlainForCausalLM(ExampleForCausalLM):
    model_class = PlainModel


EntryClass = [
    ExampleForCausalLM,
    AfterForCausalLM,
    HandedForCausalLM,
    GuardedForCausalLM,
    PlainForCausalLM,
]
