"""Runs the served model: a decode batch by its graph, any other as it is."""


class ModelRunner:
    def forward(self, forward_batch):
        if self.graph_runner.can_run(forward_batch):
            return self.graph_runner.replay(forward_batch)
        return self.model.forward(forward_batch.input_ids, forward_batch.positions, forward_batch)
