"""Helpers shared by the models."""

from torch import nn


def make_layers(num_hidden_layers, layer_fn, pp_rank=0, pp_size=1):
    """Return the stack, and where the layers of this pipeline stage begin and end."""
    start_layer = pp_rank * num_hidden_layers // pp_size
    end_layer = (pp_rank + 1) * num_hidden_layers // pp_size
    stack = nn.ModuleList(
        [
            layer_fn(idx) if start_layer <= idx < end_layer else nn.Identity()
            for idx in range(num_hidden_layers)
        ]
    )
    return stack, start_layer, end_layer
