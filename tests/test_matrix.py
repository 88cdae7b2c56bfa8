"""The matrix on small models: one of each answer in each column, and how it is shown."""

import io
import json
import os
import re
from pathlib import Path

import jsonschema
import pytest
from click.testing import CliRunner, Result
from rich.cells import cell_len

from pathaudit.audit import matrix_of
from pathaudit.cli import main
from pathaudit.errors import UsageError
from pathaudit.reporters import json as json_reporter
from pathaudit.reporters import matrices, matrices_markdown
from pathaudit.reporters.cells import summary
from pathaudit.results import Source
from pathaudit.results.matrices import (
    Cell,
    Column,
    Evidence,
    FeatureName,
    Matrix,
    Part,
    Row,
    Support,
    compared,
    narrowed,
)
from pathaudit.sources import from_text
from tests.labels import MODELS, SUPPORT, shipped_rules

GOLDEN = Path(__file__).parent / "golden"

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


@pytest.mark.parametrize(
    ("model", "served", "said", "detail"),
    [
        pytest.param(CAPTURES, USES + SETTER, "yes E", "on every path", id="captures"),
        pytest.param(FAST, USES + SETTER, "no E", "when forward_batch.fast", id="loses"),
        pytest.param(PLAIN, USES, "-", "no setter", id="no-setter"),
        pytest.param(CAPTURES, USES + FAILS, "blocked E", "has no set_eagle3", id="setter-fails"),
        pytest.param(PLAIN, USES + HIDDEN, "unknown", "__getattr__", id="hidden"),
        pytest.param(
            CAPTURES,
            USES + SETTER.partition("    def get_embed")[0],
            "blocked E",
            "not get_embed_and_head",
            id="no-companion",
        ),
    ],
)
def test_capture(model: str, served: str, said: str, detail: str) -> None:
    found = cell(source(model, served), "capture", WORKER)
    assert (summary(found.parts, MARKS), detail in found.parts[0].detail) == (said, True)


def test_a_model_that_could_capture_and_is_not_armed_has_no_setter() -> None:
    other = source(CAPTURES, USES + SETTER).replace("ForCausalLM", "Other")
    first, _ = table(source(CAPTURES, USES), {f"{MODELS}/other.py": other}).rows
    (found,) = first.cells[0].parts
    assert (found.support, found.rule) == (Support.NONE, "skipped-aux-capture")
    assert "nothing arms" in found.detail


def test_a_setter_that_nothing_calls_is_none() -> None:
    framework = {"sglang/srt/model_executor/runner.py": "def run(model):\n    model.forward()\n"}
    found = cell(source(CAPTURES, USES + SETTER), "capture", framework)
    assert (found.support, found.parts[0].detail) == (Support.NONE, "nothing calls its setter")


@pytest.mark.parametrize(
    ("model", "served", "layer", "said"),
    [
        pytest.param(NAMED, USES + DECLARES, "ExpertLayer", "yes", id="named"),
        pytest.param(PLAIN, USES + DECLARES, "ExpertLayer", "no", id="not-named"),
        pytest.param(PLAIN, USES, "ExpertLayer", "-", id="not-declared"),
        pytest.param(PLAIN, USES + DECLARES, "Layer", "unknown", id="no-experts"),
        pytest.param(PLAIN, USES + HIDDEN, "ExpertLayer", "unknown", id="hidden"),
    ],
)
def test_recorder(model: str, served: str, layer: str, said: str) -> None:
    assert cell(source(model, served, layer), "recorder").support == said


def test_what_the_capability_lacks_is_a_remark() -> None:
    served = USES + DECLARES.partition("    def routed")[0]
    found = cell(source(NAMED, served, "ExpertLayer"), "recorder", BALANCER)
    assert (found.support, [x.rule for x in found.remarks]) == ("yes", ["incomplete-capability"])


@pytest.mark.parametrize(
    ("served", "framework", "said"),
    [
        pytest.param(USES + SETTER + PREFILL, {}, "no E", id="loses"),
        pytest.param(
            USES + SETTER + PREFILL,
            {"sglang/srt/managers/scheduler.py": SCHEDULER},
            "gated E",
            id="no-draft-step",
        ),
        pytest.param(USES + PREFILL, {}, "yes", id="nothing-to-lose"),
        pytest.param(USES + SETTER + REFUSES, {}, "blocked", id="only-raises"),
        pytest.param(USES + SETTER, {}, "-", id="none"),
        pytest.param(USES + HIDDEN, {}, "unknown", id="hidden"),
    ],
)
def test_prefill(served: str, framework: dict[str, str], said: str) -> None:
    found = cell(source(CAPTURES, served), "prefill", framework)
    assert summary(found.parts, MARKS) == said


@pytest.mark.parametrize(
    ("model", "served", "layer", "said"),
    [
        pytest.param(LOST, USES + SETTER, "ExpertLayer", "no E", id="loses"),
        pytest.param(GUARDED, USES + SETTER, "ExpertLayer", "gated E", id="guarded"),
        pytest.param(LOST, USES, "ExpertLayer", "yes", id="no-setter"),
        pytest.param(LOST, USES + SETTER, "Layer", "blocked", id="not-known-to-the-runner"),
        pytest.param(CAPTURES, USES + SETTER, "ExpertLayer", "-", id="no-path"),
        pytest.param(PLAIN, USES + HIDDEN, "ExpertLayer", "unknown", id="hidden"),
    ],
)
def test_overlap(model: str, served: str, layer: str, said: str) -> None:
    found = cell(source(model, served, layer), "overlap")
    assert summary(found.parts, MARKS) == said


def test_a_path_that_is_chosen_by_a_method_of_the_model_overlaps() -> None:
    method = "\n    def overlaps(self, batch):\n        return batch.can_run_tbo and batch.big\n"
    model = LOST.replace("forward_batch.can_run_tbo", "self.overlaps(forward_batch)") + method
    assert cell(source(model, USES, "ExpertLayer"), "overlap").support == "yes"


@pytest.mark.parametrize(
    ("text", "said", "detail"),
    [
        pytest.param(source(STAGED, STAGED_USES), "yes", "handed on", id="whole"),
        pytest.param(source(PLAIN, USES), "-", "does not offer", id="not-offered"),
        pytest.param(
            source(
                PLAIN, USES.replace("forward_batch):", "forward_batch, pp_proxy_tensors=None):")
            ),
            "unknown",
            "reads nothing of the stage before",
            id="not-read",
        ),
        pytest.param(
            source(STAGED, STAGED_USES.replace("if self.pp_group.is_last_rank:", "if True:")),
            "no",
            "logits on every stage",
            id="logits-on-every-stage",
        ),
        pytest.param(
            source(STAGED, STAGED_USES).replace(", self.start_layer, self.end_layer = ", " = "),
            "unknown",
            "splits no layers",
            id="not-split",
        ),
        pytest.param(
            source(STAGED, "").replace(
                "        self.model = Model(config)\n",
                "        self.model = Model(config)\n        self.forward = self.model.forward\n",
            ),
            "yes",
            "handed on",
            id="takes-the-forward-of-its-model",
        ),
        pytest.param(source(PLAIN, ""), "unknown", "not to be seen", id="no-forward"),
    ],
)
def test_stages(text: str, said: str, detail: str) -> None:
    found = cell(text, "stages")
    assert (found.support, detail in found.parts[0].detail) == (said, True)


@pytest.mark.parametrize(
    ("model", "setter", "first", "last"),
    [
        pytest.param(CAPTURES, SETTER, "yes", "no", id="before"),
        pytest.param(REBASED, SETTER, "yes", "no", id="counted-from-the-stage"),
        pytest.param(AFTER, AS_IT_IS, "yes", "yes", id="after"),
        pytest.param(AT_THE_END, SETTER, "yes", "yes", id="asked-after-the-loop"),
        pytest.param(NO_RESIDUAL, AS_IT_IS, "no", "no", id="nothing-to-add-yet"),
        pytest.param(TOLD, SETTER, "yes", "no", id="the-layer-collects"),
        pytest.param(TOLD, AS_IT_IS, "unknown", "no", id="the-first-layer-collects"),
        pytest.param(BY_NAME + HELPED, SETTER, "unknown", "unknown", id="asked-elsewhere"),
    ],
)
def test_boundary(model: str, setter: str, first: str, last: str) -> None:
    found = cell(source(model, USES + setter), "boundary")
    ends = {"last" if "last layer" in x.detail else "first": x.support for x in found.parts}
    if len(found.parts) == 1:
        ends = dict.fromkeys(("first", "last"), found.support)
    assert ends == {"first": first, "last": last}


def test_a_class_without_a_setter_asks_for_no_layer() -> None:
    assert cell(source(CAPTURES, USES), "boundary").support == "-"


def test_drafts_have_no_row() -> None:
    text = source(PLAIN, USES).replace("ForCausalLM", "ForCausalLMNextN")
    other = source(PLAIN, USES)
    found = table(text, {f"{MODELS}/other.py": other})
    assert [row.name for row in found.rows] == ["ForCausalLM"]
    assert found.drafts == ("ForCausalLMNextN",)


def test_a_draft_is_refused_by_name() -> None:
    text = source(PLAIN, USES).replace("ForCausalLM", "ForCausalLMNextN")
    tree = from_text({**SUPPORT, f"{MODELS}/small.py": text})
    with pytest.raises(UsageError, match="is a draft model"):
        matrix_of(tree, shipped_rules(), entry="ForCausalLMNextN")


# ---- what people and programs read ---------------------------------------------------------------


def part(support: Support, detail: str, *setters: str, rule: str = "", line: int = 12) -> Part:
    place = Evidence("sglang/srt/models/a|b.py", line, "evil \x1b[31m")
    return Part(support=support, detail=detail, evidence=(place,), rule=rule, features=setters)


EAGLE, DFLASH = MARKS


def by_hand() -> Matrix:
    """Every answer once, names that do not fit, and text that must not reach a terminal."""
    cells = {
        "capture": (
            Cell(
                column="capture",
                support=Support.NO,
                parts=(
                    part(Support.NO, "layers \x1b[31m run <b>", EAGLE, rule="skipped-aux-capture"),
                    part(Support.YES, "captured", DFLASH),
                ),
                remarks=(part(Support.NONE, "a remark", line=0),),
            ),
            Cell(column="capture", support=Support.NONE, parts=(part(Support.NONE, "no setter"),)),
        ),
        "stages": (
            Cell(
                column="stages",
                support=Support.GATED,
                parts=(part(Support.GATED, "gated by @somebody"),),
                was=(part(Support.UNKNOWN, "before"),),
            ),
            Cell(column="stages", support=Support.NONE, parts=(part(Support.NONE, "none"),)),
        ),
    }
    names = ("AVeryLongNameOfAModelThatIsServedForConditionalGeneration", "Small")
    rows = tuple(
        Row(
            name=name,
            file="sglang/srt/models/a.py",
            line=3,
            cells=(cells["capture"][number], cells["stages"][number]),
        )
        for number, name in enumerate(names)
    )
    return Matrix(
        tool="pathaudit 0.1.0",
        source=Source(label="tree|of\x07mine", version="0.5.23"),
        columns=(
            Column(id="capture", title="capture", says="Is it [captured]?"),
            Column(id="stages", title="pipeline stages", says="Is it split?"),
        ),
        features=(
            FeatureName(setter=EAGLE, title="EAGLE-3", mark="E"),
            FeatureName(setter=DFLASH, title="DFlash", mark="D"),
        ),
        rows=rows,
        drafts=("Draft",),
        facts=(Part(support=Support.NONE, detail="a fact", rule="stages"),),
        against=Source(label="old", version=None),
        gone=("Gone",),
    )


def check(name: str, found: str) -> None:
    path = GOLDEN / name
    if "PATHAUDIT_UPDATE_GOLDEN" in os.environ:
        path.write_text(found, encoding="utf-8")
    assert found == path.read_text(encoding="utf-8")


def text_of(matrix: Matrix, width: int, **options: bool) -> str:
    out = io.StringIO()
    matrices.render(matrix, out, width=width, **options)
    return out.getvalue()


@pytest.mark.parametrize(
    ("name", "width", "options"),
    [
        pytest.param("matrix.txt", 80, {}, id="80"),
        pytest.param("matrix-all.txt", 100, {"verbose": True}, id="verbose"),
        pytest.param("matrix-entry.txt", 80, {"entry": True}, id="entry"),
    ],
)
def test_the_text(name: str, width: int, options: dict[str, bool]) -> None:
    found = text_of(by_hand(), width, **options)
    check(name, found)
    assert max(map(cell_len, found.splitlines())) <= width
    assert "\x1b" not in found
    assert "\x07" not in found


def test_colours_are_no_part_of_the_width() -> None:
    plain, painted = text_of(by_hand(), 80), text_of(by_hand(), 80, color=True)
    assert "\x1b[1;31m" in painted
    assert len(plain.splitlines()) == len(painted.splitlines())


def test_the_markdown() -> None:
    out = io.StringIO()
    matrices_markdown.render(by_hand(), out, links="https://example.org/")
    check("matrix.md", out.getvalue())
    rows = [line for line in out.getvalue().splitlines() if line.startswith("|")]
    assert {line.replace("\\|", "").count("|") for line in rows} == {4}


def test_the_json_fits_its_schema() -> None:
    out = io.StringIO()
    json_reporter.render(by_hand(), out)
    found = json.loads(out.getvalue())
    schema = json_reporter.schema(Matrix)
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.Draft202012Validator(schema).validate(found)
    assert list(found)[:3] == ["schema", "tool", "source"]
    check("matrix.schema.json", json.dumps(schema, indent=2) + "\n")


@pytest.mark.parametrize(
    ("options", "names", "columns"),
    [
        pytest.param({}, 2, ["capture", "stages"], id="all"),
        pytest.param({"only": (Support.YES,)}, 1, ["capture", "stages"], id="any-part"),
        pytest.param({"columns": ("stages",), "only": (Support.YES,)}, 0, ["stages"], id="column"),
        pytest.param({"changed": True}, 1, ["capture", "stages"], id="changed"),
    ],
)
def test_narrowed(options: dict[str, object], names: int, columns: list[str]) -> None:
    found = narrowed(by_hand(), **options)  # type: ignore[arg-type]
    assert (len(found.rows), [x.id for x in found.columns]) == (names, columns)


def test_compared() -> None:
    old = table(
        source(CAPTURES, USES + SETTER),
        {f"{MODELS}/gone.py": source(PLAIN, USES).replace("ForCausalLM", "Gone")},
    )
    new = table(
        source(FAST, USES + SETTER),
        {f"{MODELS}/more.py": source(PLAIN, USES).replace("ForCausalLM", "More")},
    )
    found = compared(new, old)
    changed = {cell.column for row in found.rows for cell in row.cells if cell.was}
    assert (changed, found.gone) == ({"capture"}, ("Gone",))
    assert [row.name for row in found.rows if row.new] == ["More"]


# ---- the command ---------------------------------------------------------------------------------

EXAMPLE = Path(__file__).parent.parent / "examples" / "two_batch_overlap"


def run(*arguments: str) -> Result:
    result = CliRunner().invoke(main, ["matrix", *arguments], prog_name="pathaudit")
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def test_the_help_names_every_column_and_answer() -> None:
    shown = run("--help").stdout
    names = (*shipped_rules().profile.matrix.columns, *Support)
    assert [x for x in names if not re.search(rf"^  +{x} +\S", shown, re.MULTILINE)] == []


def test_json_holds_the_columns_that_were_asked_for() -> None:
    found = json.loads(
        run(str(EXAMPLE), "--columns", "overlap", "--only", "no", "--format", "json").stdout
    )
    assert [x["id"] for x in found["columns"]] == ["overlap"]
    assert [x["name"] for x in found["rows"]] == ["OverlappedForCausalLM"]
    jsonschema.validate(found, json_reporter.schema(Matrix))


def test_one_class_is_shown_with_its_evidence(tmp_path: Path) -> None:
    config = tmp_path / "config.json"
    config.write_text('{"architectures": ["OverlappedForCausalLM"]}')
    shown = run(str(EXAMPLE), "--config", str(config)).stdout
    assert shown == run(str(EXAMPLE), "--entry", "OverlappedForCausalLM").stdout
    assert "sglang/srt/models/overlapped.py:49 OverlappedModel.forward" in shown


def test_the_same_tree_has_not_changed() -> None:
    shown = run(str(EXAMPLE), "--against", str(EXAMPLE), "--only", "changed").stdout
    assert shown.startswith("\n") or "0 served classes" in shown
    assert "was" not in shown


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        pytest.param(("--columns", "captur"), "no column 'captur'", "'capture'", id="column"),
        pytest.param(("--only", "nope"), "no answer 'nope'", "'no'", id="answer"),
        pytest.param(("--only", "changed"), "a tree to compare with", "--against", id="changed"),
        pytest.param(("--entry", "Overlaped"), "no class 'Overlaped'", "are served", id="entry"),
    ],
)
def test_mistakes_are_said_in_one_line(arguments: tuple[str, ...], message: str, hint: str) -> None:
    result = run(str(EXAMPLE), *arguments)
    assert result.exit_code == 2
    error, advice = result.stderr.splitlines()
    assert message in error
    assert hint in advice
