"""Two-batch overlap: while one half of the batch computes, the other half communicates."""

import torch


def run_overlapped(layers, hidden_states, residual, forward_batch, capture=None):
    """Run the layers on both halves of the batch, one layer of each in turn.

    ``capture``, where it is given, gets each layer and the state that enters it.
    """
    left, right = forward_batch.tbo_children
    middle = left.num_tokens
    first = (hidden_states[:middle], residual[:middle])
    second = (hidden_states[middle:], residual[middle:])
    for layer in layers:
        if capture is not None:
            capture(layer, torch.cat([first[0] + first[1], second[0] + second[1]]))
        first = layer(first[0], first[1], left)
        second = layer(second[0], second[1], right)
    return torch.cat([first[0], second[0]]), torch.cat([first[1], second[1]])
