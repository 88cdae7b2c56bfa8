"""What the models use."""

from torch import nn


def make_layers(num_hidden_layers, layer_fn):
    layers = nn.ModuleList([layer_fn(idx=idx) for idx in range(num_hidden_layers)])
    return layers, 0, num_hidden_layers


def count_capture(layer_id, rows):
    """Count the rows that are captured of a layer."""
    totals = _totals.setdefault(layer_id, 0)
    _totals[layer_id] = totals + rows
    return _totals[layer_id]


_totals: dict[int, int] = {}
