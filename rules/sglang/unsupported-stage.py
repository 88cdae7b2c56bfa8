"""The labelled example of `unsupported-stage`: a runner for stages, and models that use it."""

from torch import nn

from sglang.srt.utils import make_layers


class Recipe:
    """What runs instead of a layer: its operations, for two half batches in turn."""

    @staticmethod
    def for_layers(layers, forward_mode):
        layer_name = layers[0].__class__.__name__
        if layer_name == "KnownDecoderLayer":
            return [recipe_of_known(layer, forward_mode) for layer in layers]
        elif layer_name in ("HalfDecoderLayer", "OtherDecoderLayer"):
            return [recipe_of_half(layer) for layer in layers]
        if isinstance(layers[0], FamilyDecoderLayer):
            return [recipe_of_family(layer) for layer in layers]
        raise NotImplementedError(f"no stages for {layer_name}")


def recipe_of_known(layer, forward_mode):
    if forward_mode.is_extend():
        return [layer.op_prepare, layer.mlp.op_gate, layer.op_output]
    return [layer.op_prepare, layer.mlp.op_gate, layer.mlp.op_experts, layer.op_output]


def recipe_of_half(layer):
    return [layer.op_prepare, layer.op_output]


def recipe_of_family(layer):
    return [layer.op_attention, layer.op_mlp]


def run_stages(layers, enable, positions, hidden_states, forward_batch):
    recipe = Recipe.for_layers(layers, forward_batch.forward_mode)
    return execute(recipe, enable, positions, hidden_states)


class DenseMLP(nn.Module):
    def forward(self, hidden_states):
        return hidden_states


class SparseMLP(nn.Module):
    def forward(self, hidden_states):
        return hidden_states

    def op_gate(self, state):
        state.logits = self.gate(state.hidden_states)

    def op_experts(self, state):
        state.hidden_states = self.experts(state.hidden_states)


class KnownDecoderLayer(nn.Module):
    """Its recipe needs operations of a sparse MLP, which some of these layers have."""

    def __init__(self, config, layer_id):
        super().__init__()
        if layer_id < config.first_k_dense_replace:
            self.mlp = DenseMLP()
        else:
            self.mlp = SparseMLP()

    def forward(self, positions, hidden_states, forward_batch):
        return self.mlp(hidden_states)

    def op_prepare(self, state): ...

    def op_output(self, state): ...


class SubDecoderLayer(KnownDecoderLayer):
    """A subclass has another name."""


class HalfDecoderLayer(nn.Module):
    """The runner knows it, and lists an operation that it has not."""

    def forward(self, positions, hidden_states, forward_batch):
        return hidden_states

    def op_prepare(self, state): ...


class FamilyDecoderLayer(nn.Module):
    def forward(self, positions, hidden_states, forward_batch):
        return hidden_states

    def op_attention(self, state): ...

    def op_mlp(self, state): ...


class FamilyCudaDecoderLayer(FamilyDecoderLayer):
    """Asked with isinstance, a subclass is known as well."""


class NewDecoderLayer(nn.Module):
    """Its operations are there, and no recipe lists them."""

    def forward(self, positions, hidden_states, forward_batch):
        return hidden_states

    def op_prepare(self, state): ...

    def op_output(self, state): ...


class KnownModel(nn.Module):
    def __init__(self, config, layer_type=KnownDecoderLayer):
        super().__init__()
        self.layers, self.start_layer, self.end_layer = make_layers(
            config.num_hidden_layers,
            lambda idx, prefix: layer_type(config, idx),
            pp_rank=0,
            pp_size=1,
        )

    def forward(self, input_ids, positions, forward_batch):
        hidden_states = self.embed(input_ids)
        if forward_batch.can_run_tbo:
            # ok: unsupported-stage
            return run_stages(
                layers=self.layers[self.start_layer : self.end_layer],
                enable=True,
                positions=positions,
                hidden_states=hidden_states,
                forward_batch=forward_batch,
            )
        for i in range(self.start_layer, self.end_layer):
            hidden_states = self.layers[i](positions, hidden_states, forward_batch)
        return hidden_states


# An inherited forward, and layers of another class: the fault is brought in here.
# expect: unsupported-stage
class SubModel(KnownModel):
    def __init__(self, config):
        super().__init__(config, layer_type=SubDecoderLayer)


class NewModel(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.layers = nn.ModuleList(
            [NewDecoderLayer() for _ in range(config.num_hidden_layers)]
        )

    def forward(self, input_ids, positions, forward_batch):
        hidden_states = self.embed(input_ids)
        if forward_batch.can_run_tbo:
            # expect: unsupported-stage
            return run_stages(self.layers, True, positions, hidden_states, forward_batch)
        for layer in self.layers:
            hidden_states = layer(positions, hidden_states, forward_batch)
        return hidden_states


class HalfModel(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.layers = nn.ModuleList(
            [HalfDecoderLayer() for _ in range(config.num_hidden_layers)]
        )

    def forward(self, input_ids, positions, forward_batch):
        hidden_states = self.embed(input_ids)
        # expect: unsupported-stage
        return run_stages(self.layers[1:], True, positions, hidden_states, forward_batch)


class FamilyModel(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.layers = nn.ModuleList(
            [FamilyCudaDecoderLayer() for _ in range(config.num_hidden_layers)]
        )

    def forward(self, input_ids, positions, forward_batch):
        hidden_states = self.embed(input_ids)
        layers = [self.layers[i] for i in range(len(self.layers))]
        # ok: unsupported-stage
        recipe = Recipe.for_layers(layers, forward_batch.forward_mode)
        return execute(recipe, True, positions, hidden_states)


class ProfiledModel(NewModel):
    """A function that only looks at the layers knows every class."""

    def forward(self, input_ids, positions, forward_batch):
        # ok: unsupported-stage
        note_layers(self.layers, forward_batch)
        hidden_states = self.embed(input_ids)
        for layer in self.layers:
            hidden_states = layer(positions, hidden_states, forward_batch)
        return hidden_states


def note_layers(layers, forward_batch):
    if layers[0].__class__.__name__ == "KnownDecoderLayer":
        forward_batch.known = True


class KnownForCausalLM(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.model = KnownModel(config)

    def forward(self, input_ids, positions, forward_batch):
        return self.model(input_ids, positions, forward_batch)


class SubForCausalLM(KnownForCausalLM):
    def __init__(self, config):
        super().__init__(config)
        self.model = SubModel(config)


class NewForCausalLM(KnownForCausalLM):
    def __init__(self, config):
        super().__init__(config)
        self.model = NewModel(config)


class HalfForCausalLM(KnownForCausalLM):
    def __init__(self, config):
        super().__init__(config)
        self.model = HalfModel(config)


class FamilyForCausalLM(KnownForCausalLM):
    def __init__(self, config):
        super().__init__(config)
        self.model = FamilyModel(config)


class ProfiledForCausalLM(KnownForCausalLM):
    def __init__(self, config):
        super().__init__(config)
        self.model = ProfiledModel(config)


EntryClass = [
    KnownForCausalLM,
    SubForCausalLM,
    NewForCausalLM,
    HalfForCausalLM,
    FamilyForCausalLM,
    ProfiledForCausalLM,
]
