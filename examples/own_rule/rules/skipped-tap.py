"""What `skipped-tap` finds, and what it leaves alone: `pathaudit rules test examples/own_rule/rules`."""

from torch import nn

from our_fork.taps import tap
from sglang.srt.utils import make_layers


class Layer(nn.Module):
    def forward(self, hidden_states, forward_batch):
        return self.mlp(hidden_states)


class TappedModel(nn.Module):
    def __init__(self, config) -> None:
        super().__init__()
        self.layers = make_layers(config.num_hidden_layers, lambda idx, prefix: Layer())

    def forward(self, hidden_states, forward_batch):
        if forward_batch.is_extend():
            # ok: skipped-tap
            for layer in self.layers:
                hidden_states = layer(hidden_states, forward_batch)
                tap(layer, hidden_states)
        else:
            # Added upstream, for decoding only; nobody told us.
            # expect: skipped-tap
            for layer in self.layers:
                hidden_states = layer(hidden_states, forward_batch)
        return hidden_states


class VisionTower(nn.Module):
    """Not given a batch: the layers of a vision tower are not those of the language model."""

    def __init__(self, config) -> None:
        super().__init__()
        self.blocks = nn.ModuleList([Layer() for _ in range(config.num_hidden_layers)])

    def forward(self, pixel_values):
        # ok: skipped-tap
        for block in self.blocks:
            pixel_values = block(pixel_values, None)
        return pixel_values


class TappedForCausalLM(nn.Module):
    def __init__(self, config) -> None:
        super().__init__()
        self.visual = VisionTower(config.vision_config)
        self.model = TappedModel(config)

    def forward(self, input_ids, positions, forward_batch):
        hidden_states = self.embed(input_ids, self.visual(forward_batch.pixel_values))
        return self.model(hidden_states, forward_batch)


EntryClass = TappedForCausalLM
