"""Conditions traced to what a user states, and what is never named."""

import json

import pytest
from click.testing import CliRunner

from pathaudit.audit import audit
from pathaudit.cli import main
from pathaudit.cli.options import load_rules
from pathaudit.decisions import GateAnswer
from pathaudit.errors import UsageError
from pathaudit.gates import find_gates
from pathaudit.sources import from_text
from pathaudit.work import Work

RULES = load_rules((), ())
SRT = "sglang/srt"
ARGS = f"{SRT}/server_args.py"
MODEL = f"{SRT}/models/toy.py"

DATACLASS = """
class ServerArgs:
    enable_fast: bool = False
    fast_kind: str = "none"
    pp_size: int = 1
    disable_fast_schedule: bool = False

    def check(self):
        if self.enable_fast and self.fast_kind == "none":
            raise ValueError("fast needs a kind")

def add_cli_args(parser):
    parser.add_argument("--enable-fast", action="store_true")
    parser.add_argument("--fast-kind", default=ServerArgs.fast_kind)
    parser.add_argument("--pipeline-parallel-size", "--pp-size", type=int)
    parser.add_argument("--disable-fast-schedule", action="store_true")
"""
ANNOTATED = """
class ServerArgs:
    enable_fast: A[bool, "Be fast."] = False
    pp_size: A[int, Arg(help="Stages.", aliases=["--pipeline-parallel-size"])] = 1
    secret: A[str, Arg(no_cli=True)] = ""
"""
FIELDS = """
class Speed(msgspec.Struct):
    _NS_PATH = "exec.speed"
    enable_fast: A[bool, "Be fast."] = False
"""
BATCH = """
class Batch:
    split: int = None

    @property
    def can_fast(self):
        return self.split is not None


def make(info: "Info"):
    return Batch(split=info.split)
"""
INFO = """
FAST = None


class Info:
    split: int = None


def setup(server_args):
    global FAST
    FAST = server_args.enable_fast


def is_fast():
    return FAST


class Preparer:
    def prepare(self):
        self.fast = is_fast()

    def output(self, rows):
        can = self.fast and rows[0]
        split = self.index if can else None
        return split, 0


def gather(disable_fast_schedule, group):
    device = "cpu" if disable_fast_schedule else group.device
    info = Info()
    preparer = Preparer()
    info.rows = exchange(device, group)
    info.split, info.mode = preparer.output(info.rows)
    return info
"""
FORWARD = """
class Toy:
    def __init__(self, config):
        self.first = config.first_k
        self.scale = getattr(config, "scale", None)
        self.off = False
        self.limit = None
        if get_kind().is_some():
            self.routed = True
        else:
            self.routed = False

    def forward(self, x, forward_batch: Batch, i=0):
        if {condition}:
            return 1
        return 0
"""


def ask(condition: str, files: dict[str, str] | None = None) -> GateAnswer:
    """The answer for a condition of the toy model; ``files`` come on top of the usual ones."""
    model = "from sglang.srt.batch import Batch\n" + FORWARD.format(condition=condition)
    tree = from_text(
        {
            ARGS: DATACLASS,
            f"{SRT}/batch.py": "from sglang.srt.info import Info\n" + BATCH,
            f"{SRT}/info.py": INFO,
            MODEL: model,
            **(files or {}),
        }
    )
    (answer,) = find_gates(Work(tree, RULES.profile), condition, within="Toy.forward").answers
    return answer


def names(answer: GateAnswer) -> list[str]:
    return [f"{x.kind}:{x.name}" for x in answer.controls if x.source != "check"]


def test_a_property_is_traced_to_its_flag_hop_by_hop() -> None:
    answer = ask("forward_batch.can_fast")
    assert names(answer) == ["flag:--enable-fast"]
    kinds = [hop.kind for hop in answer.controls[0].chain]
    assert kinds[:5] == ["condition", "property", "keyword", "attribute", "return"]
    assert kinds[-2:] == ["declared", "flag"]
    assert answer.controls[0].default == "False"


def test_what_only_says_where_a_value_is_exchanged_is_not_named() -> None:
    answer = ask("forward_batch.can_fast")
    shown = json.dumps([x.name for x in answer.controls])
    assert "schedule" not in shown


def test_a_startup_check_adds_what_the_flag_needs() -> None:
    answer = ask("forward_batch.can_fast")
    assert [x.name for x in answer.controls if x.source == "check"] == ["--fast-kind"]
    assert [x.message for x in answer.checks] == ["fast needs a kind"]


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        pytest.param("self.first > i", ["config:config.json: first_k"], id="config"),
        pytest.param("self.scale is not None", ["config:config.json: scale"], id="getattr"),
        pytest.param("not server_args.enable_fast", ["flag:--enable-fast"], id="direct"),
        pytest.param("server_args.pp_size > 1", ["flag:--pp-size"], id="spelled as the field"),
        pytest.param("envs.SGLANG_QUICK.get()", ["environment:SGLANG_QUICK"], id="environment"),
        pytest.param('get_bool_env_var("QUICK")', ["environment:QUICK"], id="variable by name"),
    ],
)
def test_readings(condition: str, expected: list[str]) -> None:
    assert expected == names(ask(condition))


@pytest.mark.parametrize(
    ("condition", "status"),
    [
        pytest.param("self.off", "dead", id="one constant"),
        pytest.param("forward_batch.forward_mode.is_mixed()", "run time", id="state of a batch"),
        pytest.param("x.shape[0] > 4", "run time", id="shape"),
        pytest.param("self.unheard_of", "not resolved", id="written nowhere"),
        pytest.param("forward_batch.enable_fast_lane", "not resolved", id="a similar name"),
    ],
)
def test_no_flag_is_guessed(condition: str, status: str) -> None:
    answer = ask(condition)
    assert (status, []) == (answer.status, names(answer))


def test_constants_in_two_arms_are_decided_by_the_test() -> None:
    kinds = """
KIND = None


class Kind(Enum):
    SOME = "some"

    def is_some(self):
        return self == Kind.SOME


def setup(server_args):
    global KIND
    KIND = Kind(server_args.fast_kind)


def get_kind() -> Kind:
    return KIND
"""
    model = "from sglang.srt.kinds import get_kind\n" + FORWARD.format(condition="self.routed")
    answer = ask("self.routed", {f"{SRT}/kinds.py": kinds, MODEL: model})
    assert names(answer) == ["flag:--fast-kind"]


def test_an_attribute_of_another_object_is_not_the_same() -> None:
    other = """
class Tool:
    def __init__(self):
        self.enabled = envs.SOME_KEY.get()


class Other:
    def __init__(self):
        self.enabled = server_args.enable_fast
"""
    answer = ask("get_flags().dp.enabled", {f"{SRT}/other.py": other})
    assert (answer.status, names(answer)) == ("not resolved", [])


def test_flags_made_from_annotations() -> None:
    answer = ask("server_args.pp_size > 1", {ARGS: ANNOTATED})
    (control,) = answer.controls
    assert (control.name, control.default) == ("--pp-size", "1")
    hidden = ask("server_args.secret", {ARGS: ANNOTATED})
    assert names(hidden) == ["setting:secret"]


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        pytest.param("get_exec().speed.enable_fast", ["flag:--enable-fast"], id="namespace"),
        pytest.param("get_other().speed.enable_fast", [], id="no namespace"),
    ],
)
def test_settings_in_namespaces(condition: str, expected: list[str]) -> None:
    files = {ARGS: "", f"{SRT}/arg_groups/fields/exec_.py": FIELDS}
    assert expected == names(ask(condition, files))


def test_what_is_known_comes_with_its_anchor() -> None:
    anchor = {
        f"{SRT}/distributed/parallel_state.py": "def f(self):\n"
        "    return self.rank == self.last_rank\n"
    }
    answer = ask("self.pp_group.is_last_rank", anchor)
    assert names(answer) == ["flag:--pp-size"]
    assert answer.controls[0].source == "known"
    assert names(ask("self.pp_group.is_last_rank")) == []


def test_a_void_fact_is_reported() -> None:
    tree = from_text({ARGS: DATACLASS, MODEL: FORWARD.format(condition="self.g.is_last_rank")})
    report = find_gates(Work(tree, RULES.profile), "self.g.is_last_rank")
    assert any("is void" in gap.message for gap in report.gaps)


@pytest.mark.parametrize("text", ["1 +", "no_such_thing", "'"])
def test_a_condition_that_nothing_reads_is_the_users_error(text: str) -> None:
    tree = from_text({ARGS: DATACLASS, MODEL: FORWARD.format(condition="x")})
    with pytest.raises(UsageError):
        find_gates(Work(tree, RULES.profile), text)


def test_a_flag_itself_is_told_with_its_declaration() -> None:
    tree = from_text({ARGS: DATACLASS, MODEL: FORWARD.format(condition="x")})
    (answer,) = find_gates(Work(tree, RULES.profile), "--enable-fast").answers
    assert names(answer) == ["flag:--enable-fast"]


def test_the_command_answers_in_80_columns_and_in_json(tmp_path) -> None:  # type: ignore[no-untyped-def]
    files = {
        "server_args.py": DATACLASS,
        "models/toy.py": FORWARD.format(condition="server_args.enable_fast"),
    }
    for name, text in files.items():
        path = tmp_path / "sglang" / "srt" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "sglang" / "version.py").write_text('__version__ = "1.0"\n')
    arguments = ["gates", "server_args.enable_fast", "--tree", str(tmp_path), "--no-cache"]
    told = CliRunner().invoke(main, arguments)
    assert told.exit_code == 0, told.output
    assert "--enable-fast, default off" in told.output.splitlines()[1]
    data = json.loads(CliRunner().invoke(main, [*arguments, "--format", "json"]).output)
    assert data["answers"][0]["controls"][0]["name"] == "--enable-fast"


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        pytest.param("get_server_args().enable_fast", ("--enable-fast, default off",), id="flag"),
        pytest.param("forward_batch.flag", (), id="nothing known"),
    ],
)
def test_reachable_findings_name_their_controls(condition: str, expected: tuple[str, ...]) -> None:
    model = f"""
import torch
from sglang.srt.utils import make_layers
from torch import nn


class Layer(nn.Module):
    def forward(self, x):
        return x


class Model(nn.Module):
    def __init__(self, config):
        self.layers = make_layers(config.num_hidden_layers, lambda idx, prefix: Layer())
        self.layers_to_capture = []

    def forward(self, x, forward_batch):
        aux = []
        if {condition}:
            for layer in self.layers:
                x = layer(x)
            return x, aux
        for i, layer in enumerate(self.layers):
            if i in self.layers_to_capture:
                aux.append(x)
            x = layer(x)
        return x, aux


class ToyForCausalLM(nn.Module):
    def __init__(self, config):
        self.model = Model(config)

    def forward(self, x, forward_batch):
        return self.model(x, forward_batch)

    def set_eagle3_layers_to_capture(self, ids=None):
        self.model.layers_to_capture = [1, 2]


EntryClass = ToyForCausalLM
"""
    tree = from_text({ARGS: DATACLASS, MODEL: model})
    report = audit(tree, load_rules(("skipped-aux-capture",), ()))
    assert [expected] == [x.controls for x in report.findings]


@pytest.mark.parametrize(
    ("body", "condition"),
    [
        pytest.param("for found in x: pass", "found", id="a loop binds it"),
        pytest.param("found.append(x)", "found", id="it is added to"),
    ],
)
def test_what_changes_is_not_dead(body: str, condition: str) -> None:
    model = f"""
class Toy:
    def forward(self, x):
        found = None
        {body}
        if {condition}:
            return 1
"""
    assert ask(condition, {MODEL: model}).status == "run time"


def test_what_other_code_may_switch_on_is_not_dead() -> None:
    runner = "def arm(model):\n    model.off = True\n"
    assert ask("self.off").status == "dead"
    assert ask("self.off", {f"{SRT}/runner.py": runner}).status != "dead"
