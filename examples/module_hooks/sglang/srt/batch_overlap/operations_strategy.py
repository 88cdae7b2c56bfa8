"""The recipe of each class of layers: the operations that stand for its forward."""


class OperationsStrategy:
    def __init__(self, operations) -> None:
        self.operations = operations

    @staticmethod
    def init_new_tbo(layers):
        if layers[0].__class__.__name__ == "ProbedDecoderLayer":
            return OperationsStrategy([_probed_operations(layer) for layer in layers])
        raise NotImplementedError


def _probed_operations(layer):
    return [
        layer.op_mixer,
        layer.mlp.op_gate,
        layer.mlp.op_experts,
    ]
