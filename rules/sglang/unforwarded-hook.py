"""The labelled example of `unforwarded-hook`: one violation and three forms that hold."""

from torch import nn

from sglang.srt.layers.logits_processor import LogitsProcessor
from sglang.srt.layers.pooler import Pooler
from sglang.srt.layers.radix_attention import RadixAttention
from sglang.srt.model_executor.forward_batch_info import ForwardBatch


class ExampleDecoderLayer(nn.Module):
    def __init__(self, config, layer_id: int) -> None:
        super().__init__()
        self.input_norm = nn.RMSNorm(config.hidden_size)
        self.attn = RadixAttention(
            config.num_heads, config.head_dim, config.head_dim**-0.5, config.num_heads, layer_id
        )
        self.mlp = nn.Linear(config.hidden_size, config.hidden_size)

    def forward(self, hidden_states, residual, forward_batch):
        residual = hidden_states if residual is None else hidden_states + residual
        return self.mlp(self.attn(self.input_norm(residual), forward_batch)), residual


class CapturingModel(nn.Module):
    """The language model: it collects the states of the layers that it is told to."""

    def __init__(self, config) -> None:
        super().__init__()
        self.embed_tokens = nn.Embedding(config.vocab_size, config.hidden_size)
        self.layers = nn.ModuleList(
            [ExampleDecoderLayer(config, i) for i in range(config.num_hidden_layers)]
        )
        self.norm = nn.RMSNorm(config.hidden_size)
        self.layers_to_capture = []

    def forward(self, input_ids, forward_batch: ForwardBatch, input_embeds=None):
        hidden_states = self.embed_tokens(input_ids) if input_embeds is None else input_embeds
        residual = None
        aux_hidden_states = []
        for i, layer in enumerate(self.layers):
            if i in self.layers_to_capture:
                aux_hidden_states.append(hidden_states + residual)
            hidden_states, residual = layer(hidden_states, residual, forward_batch)
        hidden_states = self.norm(hidden_states + residual)
        if len(aux_hidden_states) == 0:
            return hidden_states
        return hidden_states, aux_hidden_states


# ok: unforwarded-hook
class ExampleForCausalLM(nn.Module):
    """Text only, with every hook."""

    def __init__(self, config) -> None:
        super().__init__()
        self.model = CapturingModel(config)
        self.lm_head = nn.Linear(config.hidden_size, config.vocab_size, bias=False)
        self.logits_processor = LogitsProcessor(config)
        self.capture_aux_hidden_states = False

    def forward(self, input_ids, positions, forward_batch: ForwardBatch, input_embeds=None):
        hidden_states = self.model(input_ids, forward_batch, input_embeds)
        aux_hidden_states = None
        if self.capture_aux_hidden_states:
            hidden_states, aux_hidden_states = hidden_states
        return self.logits_processor(
            input_ids, hidden_states, self.lm_head, forward_batch, aux_hidden_states
        )

    def get_embed_and_head(self):
        return self.model.embed_tokens.weight, self.lm_head.weight

    def set_eagle3_layers_to_capture(self, layer_ids: list[int]) -> None:
        self.capture_aux_hidden_states = True
        self.model.layers_to_capture = [layer_id + 1 for layer_id in layer_ids]


class VisionTower(nn.Module):
    def __init__(self, config) -> None:
        super().__init__()
        self.proj = nn.Linear(config.patch_size, config.hidden_size)

    def forward(self, pixels):
        return self.proj(pixels)


# expect: unforwarded-hook
class ExampleForConditionalGeneration(nn.Module):
    """Images and text: the model runner finds no hook here, and never looks inside."""

    def __init__(self, config) -> None:
        super().__init__()
        self.visual = VisionTower(config.vision)
        self.language_model = ExampleForCausalLM(config.text)

    def forward(self, input_ids, positions, forward_batch: ForwardBatch, pixels=None):
        embeds = None if pixels is None else self.visual(pixels)
        return self.language_model(input_ids, positions, forward_batch, embeds)


# ok: unforwarded-hook
class ForwardingForConditionalGeneration(nn.Module):
    """Hands both hooks on."""

    def __init__(self, config) -> None:
        super().__init__()
        self.visual = VisionTower(config.vision)
        self.language_model = ExampleForCausalLM(config.text)

    def forward(self, input_ids, positions, forward_batch: ForwardBatch, pixels=None):
        embeds = None if pixels is None else self.visual(pixels)
        return self.language_model(input_ids, positions, forward_batch, embeds)

    def get_embed_and_head(self):
        return self.language_model.get_embed_and_head()

    def set_eagle3_layers_to_capture(self, layer_ids: list[int]) -> None:
        self.language_model.set_eagle3_layers_to_capture(layer_ids)


# ok: unforwarded-hook
class GuardedForConditionalGeneration(ForwardingForConditionalGeneration):
    """Says itself what is missing, where the language model cannot capture."""

    def set_eagle3_layers_to_capture(self, layer_ids: list[int]) -> None:
        if not hasattr(self.language_model, "set_eagle3_layers_to_capture"):
            raise AttributeError(f"{type(self.language_model).__name__} cannot be a target")
        self.language_model.set_eagle3_layers_to_capture(layer_ids)


# ok: unforwarded-hook
class NearMissForRewardModel(nn.Module):
    """Holds the same model, and generates nothing: no draft ever proposes tokens for it."""

    def __init__(self, config) -> None:
        super().__init__()
        self.model = CapturingModel(config)
        self.score = nn.Linear(config.hidden_size, config.num_labels)
        self.pooler = Pooler(pooling_type="last", normalize=False)

    def forward(self, input_ids, positions, forward_batch: ForwardBatch):
        hidden_states = self.model(input_ids, forward_batch)
        return self.pooler(self.score(hidden_states), forward_batch)


EntryClass = [
    ExampleForCausalLM,
    ExampleForConditionalGeneration,
    ForwardingForConditionalGeneration,
    GuardedForConditionalGeneration,
    NearMissForRewardModel,
]
