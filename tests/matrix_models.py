"""Small models, put together from parts, whose cells the tests of the matrix look at."""

from pathaudit.audit import matrix_of
from pathaudit.results.matrices import Cell, Matrix
from pathaudit.sources import from_text
from tests.labels import MODELS, SUPPORT, shipped_rules

HEAD = """
from torch import nn
from sglang.srt.layers.logits_processor import LogitsProcessor
from sglang.srt.recording import get_recorder, route, run_stages
from sglang.srt.utils import make_layers


class Layer(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.mlp = nn.Linear(8, 8)

    def forward(self, hidden_states, forward_batch, collect=None):
        if collect is not None:
            collect.append(hidden_states)
        return self.mlp(hidden_states)


class ExpertLayer(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.router = Router()

    def forward(self, hidden_states, forward_batch):
        return self.router(hidden_states)


class Router(nn.Module):
    def forward(self, hidden_states):
        get_recorder().on_select_experts(hidden_states)
        return hidden_states


class Model(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.layers, self.start_layer, self.end_layer = make_layers(
            config.num_hidden_layers, lambda idx, prefix: LAYER(config), pp_rank=0, pp_size=1
        )
        self.layers_to_capture = []
"""

# What the tree holds besides: a recorder, and a runner that knows one class of layers.
RECORDING = """
def get_recorder():
    return _recorder

def run_stages(layers, hidden_states, forward_batch):
    if layers[0].__class__.__name__ != "ExpertLayer":
        raise NotImplementedError(layers)
    for layer in layers:
        hidden_states = layer(hidden_states, forward_batch)
    return hidden_states
"""

PLAIN = """
    def forward(self, hidden_states, forward_batch):
        for i in range(self.start_layer, self.end_layer):
            hidden_states = self.layers[i](hidden_states, forward_batch)
        return hidden_states
"""

CAPTURES = """
    def forward(self, hidden_states, forward_batch):
        aux = []
        for i in range(self.start_layer, self.end_layer):
            if i in self.layers_to_capture:
                aux.append(hidden_states)
            hidden_states = self.layers[i](hidden_states, forward_batch)
        return hidden_states, aux
"""

FAST = """
    def forward(self, hidden_states, forward_batch):
        aux = []
        if forward_batch.fast:
            for i in range(self.start_layer, self.end_layer):
                hidden_states = self.layers[i](hidden_states, forward_batch)
            return hidden_states, aux
        for i in range(self.start_layer, self.end_layer):
            if i in self.layers_to_capture:
                aux.append(hidden_states)
            hidden_states = self.layers[i](hidden_states, forward_batch)
        return hidden_states, aux
"""

OVERLAPS = """
    def forward(self, hidden_states, forward_batch):
        aux = []
        if forward_batch.can_run_tbo GUARD:
            return run_stages(self.layers, hidden_states, forward_batch), aux
        for i in range(self.start_layer, self.end_layer):
            if i in self.layers_to_capture:
                aux.append(hidden_states)
            hidden_states = self.layers[i](hidden_states, forward_batch)
        return hidden_states, aux
"""

NAMED = """
    def forward(self, hidden_states, forward_batch):
        for i in range(self.start_layer, self.end_layer):
            with get_recorder().with_current_layer(i):
                hidden_states = self.layers[i](hidden_states, forward_batch)
        return hidden_states
"""

STAGED = """
    def forward(self, hidden_states, forward_batch, pp_proxy_tensors=None):
        if not self.pp_group.is_first_rank:
            hidden_states = pp_proxy_tensors["hidden_states"]
        for i in range(self.start_layer, self.end_layer):
            hidden_states = self.layers[i](hidden_states, forward_batch)
        if not self.pp_group.is_last_rank:
            return PPProxyTensors({"hidden_states": hidden_states})
        return hidden_states
"""

SERVED = """

class ForCausalLM(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.model = Model(config)
        self.logits_processor = LogitsProcessor(config)
"""

USES = """
    def forward(self, hidden_states, forward_batch):
        return self.model(hidden_states, forward_batch)
"""

STAGED_USES = """
    def forward(self, hidden_states, forward_batch, pp_proxy_tensors=None):
        hidden_states = self.model(hidden_states, forward_batch, pp_proxy_tensors)
        if self.pp_group.is_last_rank:
            return self.logits_processor(hidden_states)
        return hidden_states
"""

SETTER = """
    def set_eagle3_layers_to_capture(self, layer_ids):
        self.model.layers_to_capture = [val + 1 for val in layer_ids]

    def get_embed_and_head(self):
        return self.model.embed, self.lm_head
"""

FAILS = """
    def set_eagle3_layers_to_capture(self, layer_ids):
        self.capture_aux_hidden_states = True
        self.model.set_eagle3_layers_to_capture(layer_ids)

    def get_embed_and_head(self):
        return self.model.embed, self.lm_head
"""

HIDDEN = """
    def __getattr__(self, name):
        return getattr(self.model, name)
"""

DECLARES = """
    @classmethod
    def get_model_config_for_expert_location(cls, config):
        return config

    def routed_experts_weights_of_layer(self):
        return {}
"""

PREFILL = """
    def forward_split_prefill(self, hidden_states, forward_batch):
        for i in range(self.model.start_layer, self.model.end_layer):
            hidden_states = self.model.layers[i](hidden_states, forward_batch)
        return hidden_states
"""

REFUSES = '''
    def forward_split_prefill(self, hidden_states, forward_batch):
        """Not for this model."""
        assert False, "no split prefill"
'''

# Who calls the hooks of a served class.
WORKER = {
    "sglang/srt/speculative/worker.py": """
def share(model):
    model.set_eagle3_layers_to_capture([1])
    return model.get_embed_and_head()
"""
}
BALANCER = {
    "sglang/srt/eplb/manager.py": """
def move(model):
    return model.routed_experts_weights_of_layer
"""
}

# The framework that says that split prefill runs no draft step.
SCHEDULER = """
if self.enable_pdmux and batch.forward_mode.is_split_prefill():
    run()
"""


def source(model: str, served: str, layer: str = "Layer") -> str:
    return f"{HEAD.replace('LAYER', layer)}{model}{SERVED}{served}\n\nEntryClass = ForCausalLM\n"


def table(text: str, more: dict[str, str] | None = None) -> Matrix:
    files = {"sglang/srt/recording.py": RECORDING, f"{MODELS}/small.py": text}
    return matrix_of(from_text({**SUPPORT, **files, **(more or {})}), shipped_rules())


def cell(text: str, column: str, more: dict[str, str] | None = None) -> Cell:
    (row,) = table(text, more).rows
    return next(item for item in row.cells if item.column == column)


MARKS = {"set_eagle3_layers_to_capture": "E", "set_dflash_layers_to_capture": "D"}
GUARDED = OVERLAPS.replace("GUARD", "and not self.layers_to_capture")
LOST = OVERLAPS.replace(" GUARD", "")

NO_RESIDUAL = CAPTURES.replace("aux = []", "residual = None\n        aux = []").replace(
    "aux.append(hidden_states)", "aux.append(hidden_states + residual)"
)
AS_IT_IS = SETTER.replace("[val + 1 for val in layer_ids]", "list(layer_ids)")
EITHER = SETTER.replace(
    "[val + 1 for val in layer_ids]",
    "list(layer_ids) if self.old else [val + 1 for val in layer_ids]",
)
AFTER = CAPTURES.replace(
    """            if i in self.layers_to_capture:
                aux.append(hidden_states)
            hidden_states = self.layers[i](hidden_states, forward_batch)
""",
    """            hidden_states = self.layers[i](hidden_states, forward_batch)
            if i in self.layers_to_capture:
                aux.append(hidden_states)
""",
)
AT_THE_END = CAPTURES.replace(
    "        return hidden_states, aux",
    """        if self.end_layer in self.layers_to_capture:
            aux.append(hidden_states)
        return hidden_states, aux""",
)
TOLD = """
    def forward(self, hidden_states, forward_batch):
        aux = []
        for i in range(self.start_layer, self.end_layer):
            collect = aux if i in self.layers_to_capture else None
            hidden_states = self.layers[i](hidden_states, forward_batch, collect=collect)
        return hidden_states, aux
"""
BY_NAME = CAPTURES.replace("if i in self.layers_to_capture:", "if self.wanted(i):")
REBASED = """
    def forward(self, hidden_states, forward_batch):
        aux = []
        for i, layer in enumerate(self.layers[self.start_layer : self.end_layer]):
            i += self.start_layer
            if i in self.layers_to_capture:
                aux.append(hidden_states)
            hidden_states = layer(hidden_states, forward_batch)
        return hidden_states, aux
"""
HELPED = """
    def wanted(self, number):
        return number in self.layers_to_capture
"""
