"""Two-batch overlap: the operations of both halves of a batch take turns."""

from sglang.srt.batch_overlap.operations_strategy import OperationsStrategy


def model_forward_maybe_tbo(layers, hidden_states, forward_batch):
    strategy = OperationsStrategy.init_new_tbo(layers)
    return execute_overlapped_operations(strategy.operations, hidden_states, forward_batch)


def execute_overlapped_operations(operations, hidden_states, forward_batch):
    for operation in operations:
        for child in forward_batch.tbo_children:
            operation(child.state)
    return forward_batch.merged(hidden_states)
