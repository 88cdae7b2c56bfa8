"""The labelled example of `shadowed-hook`: hooks that are defined twice, and forms that are fine."""

from typing import overload

import torch
from torch import nn

from sglang.srt.utils import is_npu


class ExampleBase(nn.Module):
    """The norm that the model was written with."""

    def __init__(self, hidden_size: int, eps: float = 1e-6) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(hidden_size))
        self.eps = eps

    def forward(self, hidden_states):
        variance = hidden_states.pow(2).mean(-1, keepdim=True)
        return self.weight * hidden_states * torch.rsqrt(variance + self.eps)


class ShadowedForCausalLM(nn.Module):
    """Two pull requests added the same hook; the range check of the first is gone."""

    def __init__(self, config) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(config.hidden_size)
        self.layers_to_capture = []

    # ok: shadowed-hook
    def set_eagle3_layers_to_capture(self, layer_ids=None):
        if any(not 0 <= layer_id < len(self.layers) - 1 for layer_id in layer_ids):
            raise ValueError(f"layer ids out of range: {layer_ids}")
        self.layers_to_capture = [layer_id + 1 for layer_id in layer_ids]

    def forward(self, input_ids, positions, forward_batch):
        return self.norm(self.embed(input_ids))

    # expect: shadowed-hook
    def set_eagle3_layers_to_capture(self, layer_ids=None):
        self.layers_to_capture = layer_ids or [2, 20, 37]


# A base that is defined again: whoever reads the first one takes it for what runs.
# expect: shadowed-hook
class ExampleBase(nn.Module):
    def __init__(self, hidden_size: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(hidden_size)

    def forward(self, hidden_states):
        return self.norm(hidden_states)


class OnceForCausalLM(ExampleBase):
    """Each name is defined once, or the later definition builds on the earlier one."""

    def __init__(self, config) -> None:
        super().__init__()
        self.start = 0

    if is_npu():
        # ok: shadowed-hook
        def forward(self, input_ids, positions, forward_batch):
            return self.forward_npu(input_ids, positions, forward_batch)

    else:
        # ok: shadowed-hook
        def forward(self, input_ids, positions, forward_batch):
            return self.forward_native(input_ids, positions, forward_batch)

    @property
    def start_layer(self) -> int:
        return self.start

    @start_layer.setter
    # ok: shadowed-hook
    def start_layer(self, value: int) -> None:
        self.start = value

    @overload
    def get_embed_and_head(self) -> tuple: ...

    @overload
    def get_embed_and_head(self, rank: int) -> tuple: ...

    # ok: shadowed-hook
    def get_embed_and_head(self, rank=None):
        return self.embed, self.head

    def set_dflash_layers_to_capture(self, layer_ids):
        self.layers_to_capture = layer_ids

    # ok: shadowed-hook
    set_dflash_layers_to_capture = torch.no_grad()(set_dflash_layers_to_capture)

    # A helper that nobody calls by name is no hook, if it is defined twice or not.
    def helper_of_this_model(self):
        return 1

    # ok: shadowed-hook
    def helper_of_this_model(self):
        return 2


EntryClass = [ShadowedForCausalLM, OnceForCausalLM]
