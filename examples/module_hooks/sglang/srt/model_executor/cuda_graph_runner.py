"""Replays the graph of a forward that was recorded for batches of one size."""


class CudaGraphRunner:
    def replay(self, forward_batch):
        self.copy_inputs(forward_batch)
        self.graphs[forward_batch.batch_size].replay()
        return self.output_buffers[forward_batch.batch_size]
