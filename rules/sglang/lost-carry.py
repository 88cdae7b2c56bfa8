"""The labelled example of `lost-carry`: what stages hand over, and what they forget."""

import torch
from torch import nn

from sglang.srt.distributed import get_pp_group
from sglang.srt.layers.logits_processor import LogitsProcessor
from sglang.srt.model_executor.forward_batch_info import ForwardBatch, PPProxyTensors
from sglang.srt.utils import make_layers


class SharingLayer(nn.Module):
    """Every other layer takes over the chosen tokens of the one before it."""

    def __init__(self, config, layer_id: int) -> None:
        super().__init__()
        self.shares = layer_id % 2 == 1
        self.select = nn.Linear(config.hidden_size, config.topk)
        self.norm = nn.RMSNorm(config.hidden_size)
        self.mlp = nn.Linear(config.hidden_size, config.hidden_size)

    def forward(self, hidden_states, residual, forward_batch, chosen=None):
        if not self.shares:
            chosen = self.select(hidden_states)
        residual = hidden_states if residual is None else hidden_states + residual
        return self.mlp(self.norm(residual) + chosen.mean()), residual, chosen

    def forward_fused(self, normed, stream, forward_batch, next_norm):
        stream = stream + self.mlp(normed)
        return next_norm(stream), stream


class ExampleModel(nn.Module):
    def __init__(self, config) -> None:
        super().__init__()
        self.pp_group = get_pp_group()
        self.embed_tokens = nn.Embedding(config.vocab_size, config.hidden_size)
        self.layers, self.start_layer, self.end_layer = make_layers(
            config.num_hidden_layers,
            lambda idx, prefix: SharingLayer(config, layer_id=idx),
            pp_rank=self.pp_group.rank_in_group,
            pp_size=self.pp_group.world_size,
        )
        self.norm = nn.RMSNorm(config.hidden_size)


class ForgetfulModel(ExampleModel):
    """The tokens that the last layer of a stage chose are unknown to the first of the next."""

    def forward(self, input_ids, forward_batch: ForwardBatch, pp_proxy_tensors=None):
        if self.pp_group.is_first_rank:
            hidden_states = self.embed_tokens(input_ids)
            residual = None
        else:
            hidden_states = pp_proxy_tensors["hidden_states"]
            residual = pp_proxy_tensors["residual"]
        chosen = None
        for i in range(self.start_layer, self.end_layer):
            hidden_states, residual, chosen = self.layers[i](
                hidden_states, residual, forward_batch, chosen=chosen
            )
        if not self.pp_group.is_last_rank:
            # expect: lost-carry
            return PPProxyTensors({"hidden_states": hidden_states, "residual": residual})
        return self.norm(hidden_states + residual)


class RelayingModel(ExampleModel):
    """What is missing from the first stage alone was never there; the rest is handed over."""

    def forward(self, input_ids, forward_batch: ForwardBatch, pp_proxy_tensors=None):
        if self.pp_group.is_first_rank:
            hidden_states = self.embed_tokens(input_ids)
            residual = chosen = None
        else:
            hidden_states = pp_proxy_tensors["hidden_states"]
            residual = pp_proxy_tensors["residual"]
            chosen = pp_proxy_tensors.tensors.get("chosen")
        for i in range(self.start_layer, self.end_layer):
            hidden_states, residual, chosen = self.layers[i](
                hidden_states, residual, forward_batch, chosen=chosen
            )
        if not self.pp_group.is_last_rank:
            proxy = PPProxyTensors({"hidden_states": hidden_states, "residual": residual})
            if chosen is not None:
                proxy.tensors["chosen"] = chosen
            # ok: lost-carry
            return proxy
        return self.norm(hidden_states + residual)


class FoldingModel(ExampleModel):
    """The residual is not handed over under its name: it is in the hidden states already."""

    def forward(self, input_ids, forward_batch: ForwardBatch, pp_proxy_tensors=None):
        chosen = residual = None
        if self.pp_group.is_first_rank:
            hidden_states = self.embed_tokens(input_ids)
        else:
            hidden_states = pp_proxy_tensors["hidden_states"]
            chosen = pp_proxy_tensors["chosen"]
        for i in range(self.start_layer, self.end_layer):
            hidden_states, residual, chosen = self.layers[i](
                hidden_states, residual, forward_batch, chosen=chosen
            )
        hidden_states = hidden_states + residual
        if not self.pp_group.is_last_rank:
            # ok: lost-carry
            return PPProxyTensors({"hidden_states": hidden_states, "chosen": chosen})
        return self.norm(hidden_states)


class RecomputingModel(ExampleModel):
    """The normalised stream is carried from layer to layer, and made anew on every stage."""

    def forward(self, input_ids, forward_batch: ForwardBatch, pp_proxy_tensors=None):
        if self.pp_group.is_first_rank:
            stream = self.embed_tokens(input_ids)
        else:
            stream = pp_proxy_tensors["hidden_states"]
        normed = self.layers[self.start_layer].norm(stream)
        for i in range(self.start_layer, self.end_layer):
            following = self.layers[i + 1].norm if i + 1 < self.end_layer else self.norm
            normed, stream = self.layers[i].forward_fused(normed, stream, forward_batch, following)
        if not self.pp_group.is_last_rank:
            # ok: lost-carry
            return PPProxyTensors({"hidden_states": stream})
        return normed


class WholeModel(ExampleModel):
    """Not made for stages: nothing asks which stage this is, and nothing is owed."""

    def forward(self, input_ids, forward_batch: ForwardBatch):
        hidden_states, residual, chosen = self.embed_tokens(input_ids), None, None
        for layer in self.layers:
            hidden_states, residual, chosen = layer(hidden_states, residual, forward_batch, chosen)
        # ok: lost-carry
        return self.norm(hidden_states + residual)


class EmptyTensorModel(ExampleModel):
    """Every stage begins with an empty choice, which is nothing as well."""

    def forward(self, input_ids, forward_batch: ForwardBatch, pp_proxy_tensors=None):
        chosen = torch.empty((0,), device=input_ids.device)
        if self.pp_group.is_first_rank:
            hidden_states, residual = self.embed_tokens(input_ids), None
        else:
            hidden_states = pp_proxy_tensors["hidden_states"]
            residual = pp_proxy_tensors["residual"]
        for layer in self.layers[self.start_layer : self.end_layer]:
            hidden_states, residual, chosen = layer(hidden_states, residual, forward_batch, chosen)
        if self.pp_group.is_last_rank:
            return self.norm(hidden_states + residual)
        # expect: lost-carry
        return PPProxyTensors({"hidden_states": hidden_states, "residual": residual})


class ForgetfulForCausalLM(nn.Module):
    def __init__(self, config) -> None:
        super().__init__()
        self.pp_group = get_pp_group()
        self.model = self.build(config)
        self.lm_head = nn.Linear(config.hidden_size, config.vocab_size)
        self.logits_processor = LogitsProcessor(config)

    def build(self, config):
        return ForgetfulModel(config)

    def forward(self, input_ids, positions, forward_batch, pp_proxy_tensors=None):
        hidden_states = self.model(input_ids, forward_batch, pp_proxy_tensors=pp_proxy_tensors)
        if not self.pp_group.is_last_rank:
            return hidden_states
        return self.logits_processor(input_ids, hidden_states, self.lm_head, forward_batch)


class RelayingForCausalLM(ForgetfulForCausalLM):
    def build(self, config):
        return RelayingModel(config)


class FoldingForCausalLM(ForgetfulForCausalLM):
    def build(self, config):
        return FoldingModel(config)


class RecomputingForCausalLM(ForgetfulForCausalLM):
    def build(self, config):
        return RecomputingModel(config)


class WholeForCausalLM(ForgetfulForCausalLM):
    def build(self, config):
        return WholeModel(config)


class EmptyTensorForCausalLM(ForgetfulForCausalLM):
    def build(self, config):
        return EmptyTensorModel(config)


EntryClass = [
    ForgetfulForCausalLM,
    RelayingForCausalLM,
    FoldingForCausalLM,
    RecomputingForCausalLM,
    WholeForCausalLM,
    EmptyTensorForCausalLM,
]
