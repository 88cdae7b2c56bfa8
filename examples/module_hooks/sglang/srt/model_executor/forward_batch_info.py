"""What the runner knows of a batch."""


class ForwardBatch:
    tbo_split_seq_index = None

    @property
    def can_run_tbo(self):
        return self.tbo_split_seq_index is not None
