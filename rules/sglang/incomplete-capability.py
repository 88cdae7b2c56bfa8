"""The labelled example of `incomplete-capability`: models whose experts can be rebalanced, or not.

The runner of the framework, which reads the weights, stands in the tree beside this file.
"""

from torch import nn


class Location:
    def __init__(self, num_layers, num_logical_experts):
        self.num_layers = num_layers
        self.num_logical_experts = num_logical_experts


# expect: incomplete-capability
class DeclaringForCausalLM(nn.Module):
    """It is recorded, and fails once experts are moved."""

    def forward(self, input_ids, positions, forward_batch):
        return self.model(input_ids, positions, forward_batch)

    @classmethod
    def get_model_config_for_expert_location(cls, config):
        return Location(config.num_hidden_layers, config.n_routed_experts)


# ok: incomplete-capability
class CompleteForCausalLM(DeclaringForCausalLM):
    """The weights are a property."""

    @property
    def routed_experts_weights_of_layer(self):
        return {i: layer.mlp.get_moe_weights() for i, layer in enumerate(self.model.layers)}


# ok: incomplete-capability
class LoadedForCausalLM(DeclaringForCausalLM):
    """The weights are stored when they are loaded, if nothing did so before."""

    def load_weights(self, weights):
        if not hasattr(self, "routed_experts_weights_of_layer"):
            self.routed_experts_weights_of_layer = {}


# expect: incomplete-capability
class WrapperForConditionalGeneration(nn.Module):
    """The model inside has the weights, and this class does not hand them on."""

    def __init__(self, config):
        super().__init__()
        self.language_model = CompleteForCausalLM(config)

    def forward(self, input_ids, positions, forward_batch):
        return self.language_model(input_ids, positions, forward_batch)

    @classmethod
    def get_model_config_for_expert_location(cls, config):
        return CompleteForCausalLM.get_model_config_for_expert_location(config.text_config)


# ok: incomplete-capability
class AnsweringForConditionalGeneration(WrapperForConditionalGeneration):
    """This one hands on every name."""

    def __getattr__(self, name):
        return getattr(super().__getattr__("language_model"), name)


# ok: incomplete-capability
class ForeignForCausalLM(nn.Module):
    """Whether the class inside can be rebalanced is only known when it runs."""

    def forward(self, input_ids, positions, forward_batch):
        return self.model(input_ids, positions, forward_batch)

    @classmethod
    def get_model_config_for_expert_location(cls, config):
        declare = getattr(find_class(config), "get_model_config_for_expert_location", None)
        return declare(config) if declare is not None else None


# ok: incomplete-capability
class PlainForCausalLM(nn.Module):
    """Nothing is declared, nothing is asked for."""

    def forward(self, input_ids, positions, forward_batch):
        return self.model(input_ids, positions, forward_batch)


EntryClass = [
    DeclaringForCausalLM,
    CompleteForCausalLM,
    LoadedForCausalLM,
    WrapperForConditionalGeneration,
    AnsweringForConditionalGeneration,
    ForeignForCausalLM,
    PlainForCausalLM,
]
