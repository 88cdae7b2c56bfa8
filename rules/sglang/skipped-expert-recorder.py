"""The labelled example of `skipped-expert-recorder`: two violations and forms that hold."""

from contextlib import nullcontext

from torch import nn

from sglang.srt.eplb.expert_distribution import get_global_expert_distribution_recorder
from sglang.srt.eplb.expert_location import ModelConfigForExpertLocation
from sglang.srt.layers.logits_processor import LogitsProcessor
from sglang.srt.layers.moe.fused_moe import fused_experts
from sglang.srt.layers.radix_attention import RadixAttention
from sglang.srt.model_executor.forward_batch_info import ForwardBatch
from sglang.srt.server_args import get_global_server_args
from sglang.srt.utils import make_layers


class ExampleRouter(nn.Module):
    """Chooses the experts of each row, and tells the recorder."""

    def __init__(self, config) -> None:
        super().__init__()
        self.top_k = config.num_experts_per_tok

    def forward(self, router_logits):
        weights, topk_ids = router_logits.softmax(dim=-1).topk(self.top_k)
        get_global_expert_distribution_recorder().on_select_experts(topk_ids=topk_ids)
        return weights, topk_ids


class ExampleMoE(nn.Module):
    def __init__(self, config, layer_id: int) -> None:
        super().__init__()
        self.layer_id = layer_id
        self.gate = nn.Linear(config.hidden_size, config.num_experts, bias=False)
        self.router = ExampleRouter(config)
        self.experts = nn.Linear(config.hidden_size, config.hidden_size)

    def forward(self, hidden_states):
        return fused_experts(self.experts, hidden_states, self.router(self.gate(hidden_states)))

    def op_select_experts(self, state):
        with get_global_expert_distribution_recorder().with_current_layer(self.layer_id):
            state.topk_output = self.router(self.gate(state.hidden_states))

    def op_experts(self, state):
        state.hidden_states = fused_experts(self.experts, state.hidden_states, state.topk_output)


class ExampleDecoderLayer(nn.Module):
    def __init__(self, config, layer_id: int) -> None:
        super().__init__()
        self.norm = nn.RMSNorm(config.hidden_size)
        self.attn = RadixAttention(
            config.num_heads, config.head_dim, config.head_dim**-0.5, config.num_heads, layer_id
        )
        self.mlp = ExampleMoE(config, layer_id)

    def forward(self, hidden_states, forward_batch):
        hidden_states = hidden_states + self.attn(self.norm(hidden_states), forward_batch)
        return hidden_states + self.mlp(self.norm(hidden_states))

    def op_attn(self, state):
        state.hidden_states = self.attn(self.norm(state.hidden_states), state.forward_batch)


class DenseLayer(nn.Module):
    """No experts, nothing to record."""

    def __init__(self, config) -> None:
        super().__init__()
        self.mlp = nn.Linear(config.hidden_size, config.hidden_size)

    def forward(self, hidden_states, forward_batch):
        return self.mlp(hidden_states)


def run_staged(layers, state):
    """Run the operations of each layer in turn; the one that routes tells its layer itself."""
    operations = []
    for layer in layers:
        operations += [layer.op_attn, layer.mlp.op_select_experts, layer.mlp.op_experts]
    for operation in operations:
        operation(state)
    return state.hidden_states


class ExampleModel(nn.Module):
    """The loop was copied from a model that has no experts."""

    def __init__(self, config) -> None:
        super().__init__()
        self.embed_tokens = nn.Embedding(config.vocab_size, config.hidden_size)
        self.layers, self.start_layer, self.end_layer = make_layers(
            config.num_hidden_layers,
            lambda idx, prefix: ExampleDecoderLayer(config, layer_id=idx),
        )

    def forward(self, input_ids, forward_batch: ForwardBatch):
        hidden_states = self.embed_tokens(input_ids)
        # expect: skipped-expert-recorder
        for i in range(self.start_layer, self.end_layer):
            hidden_states = self.layers[i](hidden_states, forward_batch)
        return hidden_states


class ToldModel(ExampleModel):
    """Every layer is told of, on either path; the recorder turns piecewise graphs off."""

    def forward(self, input_ids, forward_batch: ForwardBatch):
        hidden_states = self.embed_tokens(input_ids)
        if forward_batch.can_run_tbo:
            # ok: skipped-expert-recorder
            return run_staged(self.layers, forward_batch.state)
        # ok: skipped-expert-recorder
        for i in range(self.start_layer, self.end_layer):
            ctx = (
                nullcontext()
                if get_global_server_args().enable_piecewise_cuda_graph
                else get_global_expert_distribution_recorder().with_current_layer(i)
            )
            with ctx:
                hidden_states = self.layers[i](hidden_states, forward_batch)
        return hidden_states


class LateModel(ExampleModel):
    """A near miss: what follows the layers is inside, the layers themselves are not always."""

    def forward(self, input_ids, forward_batch: ForwardBatch):
        hidden_states = self.embed_tokens(input_ids)
        # expect: skipped-expert-recorder
        for i in range(self.start_layer, self.end_layer):
            if forward_batch.forward_mode.is_decode():
                hidden_states = self.layers[i](hidden_states, forward_batch)
            with get_global_expert_distribution_recorder().with_current_layer(i):
                if not forward_batch.forward_mode.is_decode():
                    hidden_states = self.layers[i](hidden_states, forward_batch)
        return hidden_states


class DenseModel(ExampleModel):
    def __init__(self, config) -> None:
        super().__init__(config)
        self.layers = nn.ModuleList([DenseLayer(config) for _ in range(config.num_hidden_layers)])

    def forward(self, input_ids, forward_batch: ForwardBatch):
        hidden_states = self.embed_tokens(input_ids)
        # ok: skipped-expert-recorder
        for layer in self.layers:
            hidden_states = layer(hidden_states, forward_batch)
        return hidden_states


class SilentModel(ExampleModel):
    """Served by a class without the declaration, for which no recorder can be started."""

    def forward(self, input_ids, forward_batch: ForwardBatch):
        hidden_states = self.embed_tokens(input_ids)
        # ok: skipped-expert-recorder
        for i in range(self.start_layer, self.end_layer):
            hidden_states = self.layers[i](hidden_states, forward_batch)
        return hidden_states


class SilentForCausalLM(nn.Module):
    def __init__(self, config) -> None:
        super().__init__()
        self.model = SilentModel(config)
        self.lm_head = nn.Linear(config.hidden_size, config.vocab_size, bias=False)
        self.logits_processor = LogitsProcessor(config)

    def forward(self, input_ids, positions, forward_batch: ForwardBatch):
        hidden_states = self.model(input_ids, forward_batch)
        return self.logits_processor(input_ids, hidden_states, self.lm_head, forward_batch)


class ExampleForCausalLM(SilentForCausalLM):
    """The split prefill tells of each layer, the loop of the model does not."""

    def __init__(self, config) -> None:
        super().__init__(config)
        self.model = ExampleModel(config)

    def forward_split_prefill(self, input_ids, positions, forward_batch, split_interval):
        # ok: skipped-expert-recorder
        for i in range(*split_interval):
            with get_global_expert_distribution_recorder().with_current_layer(i):
                forward_batch.hidden_states = self.model.layers[i](
                    forward_batch.hidden_states, forward_batch
                )

    @classmethod
    def get_model_config_for_expert_location(cls, config):
        return ModelConfigForExpertLocation(
            num_layers=config.num_hidden_layers, num_logical_experts=config.num_experts
        )


class ToldForCausalLM(ExampleForCausalLM):
    def __init__(self, config) -> None:
        super().__init__(config)
        self.model = ToldModel(config)


class LateForCausalLM(ExampleForCausalLM):
    def __init__(self, config) -> None:
        super().__init__(config)
        self.model = LateModel(config)


class DenseForCausalLM(ExampleForCausalLM):
    def __init__(self, config) -> None:
        super().__init__(config)
        self.model = DenseModel(config)


EntryClass = [
    SilentForCausalLM,
    ExampleForCausalLM,
    ToldForCausalLM,
    LateForCausalLM,
    DenseForCausalLM,
]
