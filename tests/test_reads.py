"""The kind ``reads``: tables of models, each with what is said of its switches."""

import pytest

from pathaudit.audit import audit
from pathaudit.results import Finding, Reach, Report, Severity
from pathaudit.ruleset import Ruleset, load_ruleset, rules_directory
from pathaudit.sources import from_text
from tests.labels import MODELS

RULE = "unread-capture-switch"
RULES: Ruleset = load_ruleset(rules_directory() / "sglang", only=(RULE,))

LISTED = "if i in self.layers_to_capture: aux.append(x)"
KEEP = "aux.append(x)"
MARKED = "if getattr(layer, '_is_layer_to_capture', False): aux.append(x)"
EAGLE = """
    def set_eagle3_layers_to_capture(self, layer_ids):
        self.capture_aux_hidden_states = True
        self.model.layers_to_capture = [i + 1 for i in layer_ids]
"""
MARKS = """
    def set_dflash_layers_to_capture(self, layer_ids):
        self.capture_aux_hidden_states = True
        for i in layer_ids:
            self.model.layers[i]._is_layer_to_capture = True
"""
UNPACKS = "if self.capture_aux_hidden_states: x, aux = x"


def model(
    asks: str, setters: str = "", wrapper: str = UNPACKS, *, inner: str = "", top: str = ""
) -> str:
    """A served class over a model whose loop holds ``asks``."""
    return f"""
from torch import nn
{top}

class Layer(nn.Module):
    def forward(self, x, aux=None):
        return x

class Model(nn.Module):
    def __init__(self, config):
        self.layers = nn.ModuleList([Layer() for _ in range(config.num_hidden_layers)])
        self.layers_to_capture = []
    def forward(self, x):
        aux = []
        for i, layer in enumerate(self.layers):
            {asks}
            x = layer(x)
        return (x, aux) if aux else x
{inner}

class ModelForCausalLM(nn.Module):
    def __init__(self, config):
        self.model = Model(config)
        self.capture_aux_hidden_states = False
    def forward(self, x):
        x = self.model(x)
        {wrapper}
        return x
{setters}

EntryClass = [ModelForCausalLM]
"""


def judged(text: str, entry: str | None = None, **more: str) -> Report:
    files = {f"{MODELS}/{name}.py": code for name, code in {"example": text, **more}.items()}
    return audit(from_text(files), RULES, entry=entry)


def told(text: str, **more: str) -> list[tuple[str, str, str]]:
    """Severity, function, and the first word of the message of each finding."""
    return [
        (str(item.severity), item.symbol, item.message.split()[0])
        for item in judged(text, **more).findings
    ]


def only(text: str, **more: str) -> Finding:
    (found,) = judged(text, **more).findings
    return found


SETTER = "set_eagle3_layers_to_capture"
STORE = ("error", f"ModelForCausalLM.{SETTER}", SETTER)
READ = ("error", "Model.forward", SETTER)

HELPER = "class Keeper:\n    def keep(self, model, i): return i in model.layers_to_capture\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(model(LISTED, EAGLE), [], id="read"),
        pytest.param(model(KEEP, EAGLE), [STORE], id="nothing-is-read"),
        pytest.param(model(MARKED, EAGLE), [READ], id="another-switch-is-read"),
        pytest.param(model(MARKED, EAGLE + MARKS), [READ], id="one-setter-of-two"),
        pytest.param(model(MARKED, MARKS), [], id="marks-are-read"),
        pytest.param(
            model("if getattr(self, 'layers_to_capture', None): aux.append(x)", EAGLE),
            [],
            id="getattr",
        ),
        pytest.param(
            model("aux.append(self.layers_to_capture)", EAGLE), [], id="read-whatever-for"
        ),
        pytest.param(
            model("x = self.step(i, x)", EAGLE).replace(
                "class ModelForCausalLM",
                "class Model(Model):\n    def step(self, i, x): return i in self.layers_to_capture"
                "\n\nclass ModelForCausalLM",
            ),
            [],
            id="read-in-another-method",
        ),
        pytest.param(
            model(KEEP, MARKS).replace(
                "        return x\n\nclass Model(",
                "        return self._is_layer_to_capture and x\n\nclass Model(",
            ),
            [],
            id="read-in-the-layer",
        ),
        pytest.param(
            model(KEEP, EAGLE).replace(
                "        return x\n\nclass Model(",
                "        return self.layers_to_capture and x\n\nclass Model(",
            ),
            [("note", "Layer.forward", "layers_to_capture"), STORE],
            id="a-layer-reads-its-own",
        ),
        pytest.param(
            model(
                "if want(self, i): aux.append(x)",
                EAGLE,
                top="def want(model, i): return i in model.layers_to_capture",
            ),
            [],
            id="read-in-a-helper",
        ),
        pytest.param(
            model("if Keeper().keep(self, i): aux.append(x)", EAGLE, top=HELPER),
            [],
            id="read-in-an-object-made-there",
        ),
        pytest.param(
            model("if self.keeper.keep(self, i): aux.append(x)", EAGLE, top=HELPER).replace(
                "        self.layers_to_capture = []", "        self.keeper = Keeper()"
            ),
            [],
            id="read-in-an-object-held",
        ),
        pytest.param(
            model(KEEP, EAGLE, "if self.model.layers_to_capture: x, aux = x"),
            [],
            id="read-by-the-holder",
        ),
        pytest.param(
            model(KEEP, EAGLE, inner="    @property\n    def layers_to_capture(self): return 1\n"),
            [],
            id="a-property-may-do-anything",
        ),
        pytest.param(
            model(KEEP, EAGLE).replace("class Model(nn.Module)", "class Model(Missing)"),
            [],
            id="a-base-that-is-not-known",
        ),
        pytest.param(
            model(LISTED, EAGLE, inner="class Declares(Model): pass\n").replace(
                "self.model = Model(", "self.model = Declares("
            ),
            [],
            id="an-inherited-forward-reads",
        ),
        pytest.param(
            model(LISTED, EAGLE.replace("self.model.layers_to", "self.layers_to")),
            [("note", "Model.forward", "layers_to_capture"), STORE],
            id="written-to-the-wrong-object",
        ),
        pytest.param(
            model(LISTED, EAGLE + "        self.layers_to_capture = layer_ids\n"),
            [],
            id="noted-down-beside",
        ),
        pytest.param(
            model(MARKED, EAGLE + "        self.count = len(layer_ids)\n", "x = x[: self.count]"),
            [READ],
            id="a-number-selects-nothing",
        ),
        pytest.param(
            model(
                "if self.mask[i]: aux.append(x)",
                EAGLE.replace("model.layers_to", "layers_to")
                + "        self.model.mask = f(layer_ids)\n",
            ),
            [],
            id="another-form-of-it-is-read-elsewhere",
        ),
        pytest.param(
            model(
                "if self.mask[i]: aux.append(x)", EAGLE + "        self.model.mask = f(layer_ids)"
            ),
            [],
            id="another-form-of-it-is-read",
        ),
    ],
)
def test_what_a_setter_writes_is_read(text: str, expected: list[tuple[str, str, str]]) -> None:
    assert told(text) == expected


FLAG = ("note", "ModelForCausalLM.forward", "capture_aux_hidden_states")
LIST = ("note", "Model.forward", "layers_to_capture")
MARK = ("note", "Model.forward", "_is_layer_to_capture")
SUBCLASS = f"\nclass Armed(ModelForCausalLM):\n{EAGLE.strip(chr(10))}\n\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(model(LISTED), [LIST, FLAG], id="nothing-sets"),
        pytest.param(model(LISTED, EAGLE), [], id="set"),
        pytest.param(model(f"{LISTED}\n            {MARKED}", EAGLE), [MARK], id="one-of-two"),
        pytest.param(
            model(LISTED) + SUBCLASS + "EntryClass = [ModelForCausalLM, Armed]",
            [],
            id="a-subclass-sets",
        ),
        pytest.param(
            model(LISTED).replace("= False", "= config.capture").replace("= []", "= config.ids"),
            [],
            id="the-config-sets",
        ),
        pytest.param(
            model(LISTED, EAGLE.replace("set_eagle3_layers_to_capture", "arm")), [], id="any-method"
        ),
        pytest.param(
            model(
                LISTED,
                inner="    def set_eagle3_layers_to_capture(self, ids):\n"
                "        self.layers_to_capture = ids\n",
            ),
            [LIST, FLAG],
            id="a-setter-that-nothing-calls",
        ),
        pytest.param(
            model(
                LISTED,
                "    def load(self, ids): self.model.set_eagle3_layers_to_capture(ids)\n",
                "",
                inner="    def set_eagle3_layers_to_capture(self, ids):\n"
                "        self.layers_to_capture = ids\n",
            ),
            [],
            id="a-setter-that-other-code-calls",
        ),
        pytest.param(
            model(
                LISTED,
                "    @property\n    def capture_aux_hidden_states(self): return self.model.ids\n",
            ),
            [LIST],
            id="a-property",
        ),
        pytest.param(
            model(LISTED).replace("class ModelForCausalLM(nn.Module)", "class ModelForCausalLM(X)"),
            [],
            id="a-base-that-is-not-known",
        ),
        pytest.param(
            model(LISTED).replace("ModelForCausalLM", "ModelForCausalLMEagle"), [], id="a-draft"
        ),
        pytest.param(
            model(LISTED, EAGLE.replace("        self.capture_aux_hidden_states = True\n", "")),
            [FLAG],
            id="only-the-flag-is-dead",
        ),
    ],
)
def test_what_a_forward_reads_can_be_set(text: str, expected: list[tuple[str, str, str]]) -> None:
    assert told(text) == expected


def test_code_outside_the_models_may_set_a_switch() -> None:
    runner = "def arm(runner, ids):\n    runner.model.capture_aux_hidden_states = True\n"
    files = {
        f"{MODELS}/example.py": model(LISTED, "", UNPACKS),
        "sglang/srt/model_executor/runner.py": runner,
    }
    found = audit(from_text(files), RULES).findings
    assert [item.message.split()[0] for item in found] == ["layers_to_capture"]


def test_a_dead_switch_is_a_dormant_note() -> None:
    found = only(model(KEEP))
    assert (found.severity, found.reach) == (Severity.NOTE, Reach.DORMANT)
    assert found.entries == ("ModelForCausalLM",)


def test_the_outcome_is_told_where_the_served_class_unpacks() -> None:
    assert "unpacks one tensor" in only(model(MARKED, EAGLE)).effect
    assert only(model(MARKED, EAGLE, "pass")).effect == ""


def test_one_entry_is_judged_as_in_the_whole_tree() -> None:
    text = model(LISTED) + SUBCLASS + "EntryClass = [ModelForCausalLM, Armed]"
    assert judged(text, "ModelForCausalLM").findings == ()
    assert len(judged(model(LISTED), "ModelForCausalLM").findings) == 2


IDLE = [("note", "Model.forward", "aux")]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param("aux = []\n        return x, aux", IDLE, id="returned"),
        pytest.param("aux = list()\n        return (x, aux) if len(aux) else x", IDLE, id="list"),
        pytest.param(
            "aux = []\n        if not aux: return x\n        return x, aux", IDLE, id="test"
        ),
        pytest.param("aux: list = []\n        return aux", IDLE, id="annotated"),
        pytest.param("aux = Kept()\n        return x, aux", IDLE, id="a-class-that-collects"),
        pytest.param("aux = []\n        aux.append(x)\n        return x, aux", [], id="added-to"),
        pytest.param(
            "aux = []\n        aux += [x]\n        return x, aux", [], id="added-with-plus"
        ),
        pytest.param("aux = []\n        fill(aux)\n        return x, aux", [], id="handed-on"),
        pytest.param("aux = []\n        kept = aux\n        return x, aux", [], id="aliased"),
        pytest.param("aux = [x]\n        return x, aux", [], id="not-empty"),
        pytest.param("aux = []\n        aux = x\n        return x, aux", [], id="bound-again"),
        pytest.param("aux = []\n        x, aux = x\n        return x, aux", [], id="unpacked-to"),
        pytest.param("aux = []\n        return x, len(aux)", [], id="only-measured"),
        pytest.param("aux = Other()\n        return x, aux", [], id="an-object-that-does-not"),
        pytest.param(
            "aux = []\n        def keep(y): aux.append(y)\n        return x, aux", [], id="closure"
        ),
    ],
)
def test_what_is_collected_is_added_to(body: str, expected: list[tuple[str, str, str]]) -> None:
    classes = "class Kept(list):\n    def capture(self, x): self.append(x)\nclass Other: pass\n"
    text = model("pass", wrapper="pass", top=classes)
    before, _, after = text.partition("        aux = []\n")
    loop, _, rest = after.partition("        return (x, aux) if aux else x")
    assert told(f"{before}{loop}        {body}{rest}") == expected


def test_a_list_of_what_runs_no_layers_is_nobody_s_business() -> None:
    other = (
        "class Vision(nn.Module):\n    def forward(self, x):\n        y = []\n        return x, y\n"
    )
    text = model(LISTED, EAGLE, top=other).replace(
        "        self.capture_aux_hidden_states = False",
        "        self.capture_aux_hidden_states = False\n        self.visual = Vision()",
    )
    assert told(text) == []


OTHER = f"""
from torch import nn
from sglang.srt.models.example import Model

class OtherForCausalLM(nn.Module):
    def __init__(self, config):
        self.model = Model(config)
    def forward(self, x):
        return self.model(x)
{EAGLE}
EntryClass = [OtherForCausalLM]
"""
ALONE = model(LISTED).replace("ModelFor", "AloneFor")


def test_a_scan_of_files_knows_what_the_others_set() -> None:
    names = {"example": model(LISTED), "other": OTHER, "alone": ALONE}
    paths = {name: f"{MODELS}/{name}.py" for name in names}
    tree = from_text({paths[name]: text for name, text in names.items()})
    told = {
        name: [item.symbol for item in audit(tree, RULES, files=(path,)).findings]
        for name, path in paths.items()
    }
    assert told == {
        "example": ["ModelForCausalLM.forward"],
        "other": [],
        "alone": ["Model.forward", "AloneForCausalLM.forward"],
    }
