"""The labelled example of `late-configuration`: runners that configure too late, or in time."""

from torch import nn

from sglang.srt.model_executor.hook_manager import register_forward_hooks


class ExampleForCausalLM(nn.Module):
    def set_eagle3_layers_to_capture(self, layer_ids=None):
        self.layers_to_capture = layer_ids or [2, 20, 37]

    def forward(self, input_ids, positions, forward_batch):
        return self.layers(input_ids)


class LateRunner:
    """The graphs are captured before the draft's layer ids are known to the model."""

    def initialize(self):
        self.load_model()
        if self.device == "cuda":
            self.init_attention_backend()
            self.init_device_graphs()
        elif self.device in ["npu", "cpu"]:
            self.init_device_graphs()
        else:
            self.graph_runner = None

        if self.spec_algorithm.is_eagle3() and not self.is_draft_worker:
            try:
                layer_ids = self.draft_config.layer_ids
            except AttributeError:
                layer_ids = None
            # expect: late-configuration
            self.model.set_eagle3_layers_to_capture(layer_ids)

    def init_device_graphs(self):
        self.graph_runner = None
        if self.server_args.disable_cuda_graph:
            return
        self.graph_runner = self.graph_runners[self.device](self)


class LateHelperRunner:
    """The same through two methods: what counts is when the call is made."""

    def initialize(self):
        self.capture_all()
        self.configure_capture()

    def capture_all(self):
        self.init_cuda_graphs()

    def configure_capture(self):
        # expect: late-configuration
        self.model.set_eagle3_layers_to_capture(self.layer_ids)

    def init_cuda_graphs(self):
        self.graph_runner = self.graph_runners[self.device](self)


class EarlyRunner:
    """The call that configures stands further down in the file, and is made first."""

    def initialize(self):
        self.load_model()
        self.configure_capture()
        self.init_device_graphs()
        # A draft needs nothing of it, and captures graphs of its own.
        for runner in self.draft_runners:
            runner.init_device_graphs()

    def init_device_graphs(self):
        self.graph_runner = self.graph_runners[self.device](self)

    def configure_capture(self):
        if self.eagle_use_aux_hidden_state:
            # ok: late-configuration
            self.model.set_eagle3_layers_to_capture(self.layer_ids)


class GuardedRunner:
    """Only one of the two is done: with capture on, graphs are off."""

    def initialize(self):
        use_graphs = not self.use_aux_hidden_state and self.device == "cuda"
        if use_graphs:
            self.init_device_graphs()
        if self.use_aux_hidden_state:
            # ok: late-configuration
            self.model.set_eagle3_layers_to_capture(self.layer_ids)

    def update_weights(self, recapture):
        if recapture:
            self.init_device_graphs()
            return True
        # ok: late-configuration
        self.model.set_eagle3_layers_to_capture(self.layer_ids)
        return False


class RecapturingRunner:
    """Configured late, and then captured again; or set once more to what it was."""

    def reconfigure(self, all_layer_ids):
        for layer_ids in all_layer_ids:
            # ok: late-configuration
            self.model.set_eagle3_layers_to_capture(layer_ids)
            self.init_device_graphs()

    def initialize(self):
        self.model.set_eagle3_layers_to_capture(self.layer_ids)
        self.init_device_graphs()
        # ok: late-configuration
        self.model.set_eagle3_layers_to_capture(self.layer_ids)

    def start_draft(self, draft):
        self.init_device_graphs()
        # Another model, whose graphs come after it.
        # ok: late-configuration
        draft.model.set_eagle3_layers_to_capture(self.layer_ids)


def finalize(model_runner, hooks):
    # Hooks are a note: they never run on a replay.
    # ok: late-configuration
    register_forward_hooks(model_runner.model, hooks)


def start(model_runner, hooks):
    """Nothing is frozen on the way to this call of it."""
    finalize(model_runner, hooks)
    model_runner.init_device_graphs()


EntryClass = ExampleForCausalLM
