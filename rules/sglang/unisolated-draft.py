"""The labelled example of `unisolated-draft`: one violation and forms that hold."""

from torch import nn

from sglang.srt.eplb.expert_distribution import get_global_expert_distribution_recorder
from sglang.srt.eplb.expert_location import ModelConfigForExpertLocation
from sglang.srt.layers.logits_processor import LogitsProcessor
from sglang.srt.layers.moe.fused_moe import fused_experts
from sglang.srt.layers.radix_attention import RadixAttention
from sglang.srt.model_executor.forward_batch_info import ForwardBatch
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
    def __init__(self, config) -> None:
        super().__init__()
        self.gate = nn.Linear(config.hidden_size, config.num_experts, bias=False)
        self.router = ExampleRouter(config)
        self.experts = nn.Linear(config.hidden_size, config.hidden_size)

    def forward(self, hidden_states):
        return fused_experts(self.experts, hidden_states, self.router(self.gate(hidden_states)))


class ExampleDecoderLayer(nn.Module):
    def __init__(self, config, layer_id: int) -> None:
        super().__init__()
        self.norm = nn.RMSNorm(config.hidden_size)
        self.attn = RadixAttention(
            config.num_heads, config.head_dim, config.head_dim**-0.5, config.num_heads, layer_id
        )
        self.mlp = ExampleMoE(config)

    def forward(self, hidden_states, forward_batch):
        hidden_states = hidden_states + self.attn(self.norm(hidden_states), forward_batch)
        return hidden_states + self.mlp(self.norm(hidden_states))


class DenseLayer(nn.Module):
    def __init__(self, config) -> None:
        super().__init__()
        self.mlp = nn.Linear(config.hidden_size, config.hidden_size)

    def forward(self, hidden_states, forward_batch):
        return self.mlp(hidden_states)


class ExampleModel(nn.Module):
    """The target: it tells the recorder which layer it is in."""

    def __init__(self, config) -> None:
        super().__init__()
        self.embed_tokens = nn.Embedding(config.vocab_size, config.hidden_size)
        self.layers, self.start_layer, self.end_layer = make_layers(
            config.num_hidden_layers,
            lambda idx, prefix: ExampleDecoderLayer(config, layer_id=idx),
        )

    def forward(self, input_ids, forward_batch: ForwardBatch):
        hidden_states = self.embed_tokens(input_ids)
        # ok: unisolated-draft
        for i in range(self.start_layer, self.end_layer):
            with get_global_expert_distribution_recorder().with_current_layer(i):
                hidden_states = self.layers[i](hidden_states, forward_batch)
        return hidden_states


class ExampleForCausalLM(nn.Module):
    def __init__(self, config) -> None:
        super().__init__()
        self.model = ExampleModel(config)
        self.lm_head = nn.Linear(config.hidden_size, config.vocab_size, bias=False)
        self.logits_processor = LogitsProcessor(config)

    def forward(self, input_ids, positions, forward_batch: ForwardBatch):
        hidden_states = self.model(input_ids, forward_batch)
        return self.logits_processor(input_ids, hidden_states, self.lm_head, forward_batch)

    @classmethod
    def get_model_config_for_expert_location(cls, config):
        return ModelConfigForExpertLocation(
            num_layers=config.num_hidden_layers, num_logical_experts=config.num_experts
        )


class ExampleModelNextN(nn.Module):
    """The draft runs a layer of the target's, and the recorder hears of it."""

    def __init__(self, config) -> None:
        super().__init__()
        self.embed_tokens = nn.Embedding(config.vocab_size, config.hidden_size)
        self.eh_proj = nn.Linear(2 * config.hidden_size, config.hidden_size, bias=False)
        self.decoder = ExampleDecoderLayer(config, 0)

    def forward(self, input_ids, forward_batch: ForwardBatch):
        hidden_states = self.eh_proj(self.embed_tokens(input_ids))
        # expect: unisolated-draft
        hidden_states = self.decoder(hidden_states, forward_batch)
        return hidden_states


class ExampleForCausalLMNextN(ExampleForCausalLM):
    def __init__(self, config) -> None:
        super().__init__(config)
        self.model = ExampleModelNextN(config)


class IsolatedModelNextN(ExampleModelNextN):
    def forward(self, input_ids, forward_batch: ForwardBatch):
        hidden_states = self.eh_proj(self.embed_tokens(input_ids))
        with get_global_expert_distribution_recorder().disable_this_region():
            # ok: unisolated-draft
            return self.decoder(hidden_states, forward_batch)


class IsolatedForCausalLMNextN(ExampleForCausalLM):
    def __init__(self, config) -> None:
        super().__init__(config)
        self.model = IsolatedModelNextN(config)


class OutsideForCausalLMNextN(ExampleForCausalLMNextN):
    """The class that holds the model isolates all of it."""

    def __init__(self, config) -> None:
        super().__init__(config)
        self.model = ExampleModel(config)

    def forward(self, input_ids, positions, forward_batch: ForwardBatch):
        region = get_global_expert_distribution_recorder().disable_this_region()
        with region:
            # ok: unisolated-draft
            hidden_states = self.model(input_ids, forward_batch)
        return self.logits_processor(input_ids, hidden_states, self.lm_head, forward_batch)


class DenseModelNextN(ExampleModelNextN):
    """A near miss: no isolation, but no experts either."""

    def __init__(self, config) -> None:
        super().__init__(config)
        self.decoder = DenseLayer(config)

    def forward(self, input_ids, forward_batch: ForwardBatch):
        # ok: unisolated-draft
        return self.decoder(self.embed_tokens(input_ids), forward_batch)


class DenseForCausalLMNextN(ExampleForCausalLM):
    def __init__(self, config) -> None:
        super().__init__(config)
        self.model = DenseModelNextN(config)


EntryClass = [
    ExampleForCausalLM,
    ExampleForCausalLMNextN,
    IsolatedForCausalLMNextN,
    OutsideForCausalLMNextN,
    DenseForCausalLMNextN,
]
