"""The labelled example of `ignored-parameter`: promises of a signature, kept and not kept."""

from torch import nn

from sglang.srt.distributed import get_pp_group
from sglang.srt.layers.logits_processor import LogitsProcessor
from sglang.srt.model_executor.forward_batch_info import ForwardBatch, PPProxyTensors
from sglang.srt.utils import make_layers


class ExampleDecoderLayer(nn.Module):
    def __init__(self, config, layer_id: int) -> None:
        super().__init__()
        self.layer_id = layer_id
        self.mlp = nn.Linear(config.hidden_size, config.hidden_size)

    # A layer may take what it does not need: nobody infers anything from its signature.
    # ok: ignored-parameter
    def forward(self, hidden_states, forward_batch, input_embeds=None):
        return hidden_states + self.mlp(hidden_states)


class ExampleBase(nn.Module):
    def __init__(self, config) -> None:
        super().__init__()
        self.pp_group = get_pp_group()
        self.embed_tokens = nn.Embedding(config.vocab_size, config.hidden_size)
        self.layers, self.start_layer, self.end_layer = make_layers(
            config.num_hidden_layers,
            lambda idx, prefix: ExampleDecoderLayer(config, layer_id=idx),
            pp_rank=self.pp_group.rank_in_group,
            pp_size=self.pp_group.world_size,
        )
        self.norm = nn.RMSNorm(config.hidden_size)

    def run(self, hidden_states, forward_batch):
        for i in range(self.start_layer, self.end_layer):
            hidden_states = self.layers[i](hidden_states, forward_batch)
        return hidden_states


class StagesForShowModel(ExampleBase):
    """Each stage embeds the token ids again, whatever the stage before it computed."""

    # expect: ignored-parameter
    def forward(self, input_ids, positions, forward_batch: ForwardBatch, pp_proxy_tensors=None):
        hidden_states = self.run(self.embed_tokens(input_ids), forward_batch)
        return self.norm(hidden_states)


class EmbeddingsForShowModel(ExampleBase):
    """The embeddings of an image never get in; that they are deleted does not read them."""

    # expect: ignored-parameter
    def forward(self, input_ids, positions, forward_batch: ForwardBatch, input_embeds=None):
        del input_embeds
        hidden_states = self.run(self.embed_tokens(input_ids), forward_batch)
        return self.norm(hidden_states)


class StagedModel(ExampleBase):
    """Begins where the stage before it ended, and from embeddings where there are some."""

    # ok: ignored-parameter
    def forward(
        self,
        input_ids,
        positions,
        forward_batch: ForwardBatch,
        input_embeds=None,
        pp_proxy_tensors=None,
    ):
        if self.pp_group.is_first_rank:
            hidden_states = self.embed_tokens(input_ids) if input_embeds is None else input_embeds
        else:
            hidden_states = pp_proxy_tensors["hidden_states"]
        hidden_states = self.run(hidden_states, forward_batch)
        if not self.pp_group.is_last_rank:
            return PPProxyTensors({"hidden_states": hidden_states})
        return self.norm(hidden_states)


class RefusingModel(ExampleBase):
    """Says at once that it cannot: that is an answer to the parameter."""

    # ok: ignored-parameter
    def forward(self, input_ids, positions, forward_batch: ForwardBatch, pp_proxy_tensors=None):
        assert pp_proxy_tensors is None, "this model does not run in stages"
        return self.norm(self.run(self.embed_tokens(input_ids), forward_batch))


class HandingOverModel(StagedModel):
    """Reads nothing itself: it hands everything to the forward that does."""

    # ok: ignored-parameter
    def forward(
        self, input_ids, positions, forward_batch, input_embeds=None, pp_proxy_tensors=None
    ):
        def rest():
            return super().forward(
                input_ids, positions, forward_batch, input_embeds, pp_proxy_tensors
            )

        return rest()


class StagedForCausalLM(nn.Module):
    def __init__(self, config) -> None:
        super().__init__()
        self.pp_group = get_pp_group()
        self.model = self.build(config)
        self.lm_head = nn.Linear(config.hidden_size, config.vocab_size)
        self.logits_processor = LogitsProcessor(config)

    def build(self, config):
        return StagedModel(config)

    # ok: ignored-parameter
    def forward(
        self, input_ids, positions, forward_batch, input_embeds=None, pp_proxy_tensors=None
    ):
        hidden_states = self.model(
            input_ids,
            positions,
            forward_batch,
            input_embeds=input_embeds,
            pp_proxy_tensors=pp_proxy_tensors,
        )
        if not self.pp_group.is_last_rank:
            return hidden_states
        return self.logits_processor(input_ids, hidden_states, self.lm_head, forward_batch)


class StagesForShowForCausalLM(StagedForCausalLM):
    def build(self, config):
        return StagesForShowModel(config)


class EmbeddingsForShowForCausalLM(StagedForCausalLM):
    def build(self, config):
        return EmbeddingsForShowModel(config)


class RefusingForCausalLM(StagedForCausalLM):
    def build(self, config):
        return RefusingModel(config)


class HandingOverForCausalLM(StagedForCausalLM):
    def build(self, config):
        return HandingOverModel(config)


EntryClass = [
    StagedForCausalLM,
    StagesForShowForCausalLM,
    EmbeddingsForShowForCausalLM,
    RefusingForCausalLM,
    HandingOverForCausalLM,
]
