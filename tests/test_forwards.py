"""The kind ``forwards``: tables of wrappers, each with the hooks that it lacks."""

import pytest

from pathaudit.audit import audit
from pathaudit.results import Finding, Reach
from pathaudit.ruleset import Ruleset, load_ruleset, rules_directory
from pathaudit.sources import from_text
from tests.labels import MODELS

RULE = "unforwarded-hook"
RULES: Ruleset = load_ruleset(rules_directory() / "sglang", only=(RULE,))

MODEL = """
from torch import nn
from sglang.srt.layers.logits_processor import LogitsProcessor

class Layer(nn.Module):
    def forward(self, x):
        return x

class Model(nn.Module):
    def __init__(self, config):
        self.layers = nn.ModuleList([Layer() for _ in range(config.num_hidden_layers)])
        self.layers_to_capture = []
    def forward(self, x):
        aux = []
        for i, layer in enumerate(self.layers):
            if i in self.layers_to_capture: aux.append(x)
            x = layer(x)
        return x, aux

class TextForCausalLM(nn.Module):
    def __init__(self, config):
        self.model = Model(config)
        self.logits_processor = LogitsProcessor(config)
    def forward(self, x):
        return self.logits_processor(self.model(x))
    def get_embed_and_head(self):
        return 1, 2
    def set_eagle3_layers_to_capture(self, ids):
        self.model.layers_to_capture = [i + 1 for i in ids]
"""
EAGLE = """
    def set_eagle3_layers_to_capture(self, ids):
        self.language_model.set_eagle3_layers_to_capture(ids)
"""
HEAD = "\n    def get_embed_and_head(self): return 1, 2\n"
DFLASH = """
    def set_dflash_layers_to_capture(self, ids):
        self.model.layers_to_capture = [i + 1 for i in ids]
"""
BOTH = ("set_eagle3_layers_to_capture", "get_embed_and_head")


def tree(
    methods: str = "",
    *,
    held: str = "self.language_model = TextForCausalLM(config)",
    name: str = "Wrapper",
    base: str = "nn.Module",
    text: str = MODEL,
    more: str = "",
) -> dict[str, str]:
    """A text model, and a wrapper that holds it and has ``methods``."""
    wrapper = f"""
class {name}({base}):
    def __init__(self, config):
        {held}
    def forward(self, x):
        return self.language_model(x)
{methods}
{more}
EntryClass = [TextForCausalLM, {name}]
"""
    return {f"{MODELS}/example.py": text + wrapper}


def findings(files: dict[str, str], entry: str | None = None) -> tuple[Finding, ...]:
    return audit(from_text(files), RULES, entry=entry).findings


def told(files: dict[str, str]) -> list[tuple[str, str, str]]:
    """Severity, class, and the hooks that it lacks."""
    return [(str(x.severity), x.symbol, lacking(x.message)) for x in findings(files)]


def lacking(message: str) -> str:
    """The hooks that a message names as missing."""
    after = message.partition(" not ")[2].removeprefix("offer ")
    return " ".join(after.partition(",")[0].split(" and "))


NOTE = [("note", "Wrapper", " ".join(BOTH))]


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        pytest.param(tree(), NOTE, id="no-hook"),
        pytest.param(tree(EAGLE + HEAD), [], id="both-forwarded"),
        pytest.param(
            tree(EAGLE), [("warning", "Wrapper", "get_embed_and_head")], id="half-of-a-feature"
        ),
        pytest.param(
            tree(EAGLE + HEAD, text=MODEL + DFLASH),
            [("note", "Wrapper", "set_dflash_layers_to_capture")],
            id="one-feature-of-two",
        ),
        pytest.param(
            tree("\n    def set_eagle3_layers_to_capture(self, ids): pass\n" + HEAD),
            [],
            id="a-hook-that-does-nothing-is-for-other-rules",
        ),
        pytest.param(
            tree(held="self.language_model = Model(config)\n        self.out = LogitsProcessor()"),
            NOTE,
            id="a-bare-model-with-a-switch",
        ),
        pytest.param(tree(held="self.language_model = Model(config)"), [], id="makes-no-logits"),
        pytest.param(
            tree("\n    def __getattr__(self, name): return getattr(self.language_model, name)\n"),
            [],
            id="answers-to-any-name",
        ),
        pytest.param(tree(name="WrapperEagle"), [], id="a-draft"),
        pytest.param(tree(base="Missing"), [], id="a-base-that-is-not-known"),
        pytest.param(tree(base="TextForCausalLM"), [], id="hooks-that-are-inherited"),
        pytest.param(tree(held="self.language_model = config.model"), [], id="nothing-is-known"),
        pytest.param(
            tree(text=MODEL.replace("if i in self.layers_to_capture: ", "")),
            [],
            id="the-inner-model-has-no-switch",
        ),
    ],
)
def test_what_a_wrapper_lacks(files: dict[str, str], expected: list[tuple[str, str, str]]) -> None:
    assert told(files) == expected


RUNNER = "sglang/srt/model_executor/runner.py"
CALLS = "def start(model, ids):\n    model.{}(ids)\n"


@pytest.mark.parametrize(
    ("called", "expected"),
    [
        pytest.param(BOTH[0], [("note", "Wrapper", BOTH[0])], id="one-is-called"),
        pytest.param("set_other", [], id="none-is-called"),
    ],
)
def test_hooks_that_the_framework_never_calls_are_not_missed(
    called: str, expected: list[tuple[str, str, str]]
) -> None:
    assert told({**tree(), RUNNER: CALLS.format(called)}) == expected


def test_a_subclass_that_inherits_the_gap_is_told_at_its_base() -> None:
    (found,) = findings(
        tree(more="\nclass Derived(Wrapper): pass\nEntryClass = [Derived, Wrapper]")
    )
    assert found.symbol == "Wrapper"
    assert found.entries == ("Derived", "Wrapper")


def test_a_subclass_with_a_model_of_its_own_is_told_itself() -> None:
    more = """
class OwnModel(Model): pass

class OwnText(TextForCausalLM):
    def __init__(self, config):
        super().__init__(config)
        self.model = OwnModel(config)

class Derived(Wrapper):
    def __init__(self, config):
        self.language_model = OwnText(config)
"""
    (found,) = findings(tree(more=more), "Wrapper")
    assert found.symbol == "Wrapper"
    files = tree(more=more)
    text = files[f"{MODELS}/example.py"].replace("Wrapper]", "Wrapper, Derived]")
    assert [x.symbol for x in findings({f"{MODELS}/example.py": text})] == ["Wrapper", "Derived"]


def test_the_finding_is_reachable_and_stands_at_the_class() -> None:
    (found,) = findings(tree())
    assert found.reach is Reach.REACHABLE
    assert (found.line, found.end_line) == (MODEL.count("\n") + 2, MODEL.count("\n") + 2)
    assert "self.language_model.model (Model)" in found.message


def test_a_comment_above_the_class_accepts_it() -> None:
    path = f"{MODELS}/example.py"
    allow = f"# pathaudit: allow[{RULE}] nobody drafts for it\n"
    text = tree()[path].replace("class Wrapper", f"{allow}class Wrapper")
    assert [item.suppressed for item in findings({path: text})] == ["nobody drafts for it"]
