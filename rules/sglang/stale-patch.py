"""The labelled example of `stale-patch`: two patches, noted in an older version of this file.

`stale-patch.patches.json` is what they rely on there. Both still fit.
"""

import torch
from torch import nn


class TappedModel(nn.Module):
    """What the patch calls has another name now, and is elsewhere in the class."""

    def __init__(self, config) -> None:
        super().__init__()
        self.embed_tokens = nn.Embedding(config.vocab_size, config.hidden_size)
        self.layers = nn.ModuleList([nn.Identity() for _ in range(config.num_hidden_layers)])
        self.totals: list[int] = []

    # expect: stale-patch
    def forward(self, input_ids, positions, forward_batch):
        hidden_states = self.embed_tokens(input_ids)
        aux_hidden_states: list[torch.Tensor] = []
        for layer in self.layers:
            hidden_states = layer(hidden_states)
        return hidden_states, aux_hidden_states

    def count_tokens(self, states: torch.Tensor) -> None:
        self.totals.append(int(states.shape[0]))


class KeptModel(nn.Module):
    """What the patch calls is there, and takes what it is given."""

    def __init__(self, config) -> None:
        super().__init__()
        self.embed_tokens = nn.Embedding(config.vocab_size, config.hidden_size)
        self.layers = nn.ModuleList([nn.Identity() for _ in range(config.num_hidden_layers)])

    # ok: stale-patch
    def forward(self, input_ids, positions, forward_batch):
        hidden_states = self.embed_tokens(input_ids)
        captured: list[torch.Tensor] = []
        for layer in self.layers:
            hidden_states = layer(hidden_states)
        return hidden_states, captured

    def keep(self, captured: list[torch.Tensor], states: torch.Tensor, *, at: int = -1) -> None:
        captured.append(states)


class TappedForCausalLM(nn.Module):
    def __init__(self, config) -> None:
        super().__init__()
        self.model = TappedModel(config)
        self.other = KeptModel(config)

    def forward(self, input_ids, positions, forward_batch):
        hidden_states, _ = self.model(input_ids, positions, forward_batch)
        return self.other(hidden_states, positions, forward_batch)


EntryClass = TappedForCausalLM
