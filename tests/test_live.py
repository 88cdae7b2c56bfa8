"""``pathaudit live``: what is read from what users paste, and what is said of it."""

import io
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from pathaudit.cli import main
from pathaudit.live import Question, live
from pathaudit.live.commands import read_command
from pathaudit.live.flags import declared_in, undeclared
from pathaudit.live.inputs import from_command, from_server_info
from pathaudit.live.logs import LONGEST, read_log
from pathaudit.live.stated import Stated
from pathaudit.results.live import LiveReport
from pathaudit.sources import SourceTree, from_text, open_source
from tests.live.score import COMBINED, LABELS, RULES, SAMPLES, SERVING, question, wrong
from tests.releases import release

NOTHING = undeclared(SERVING)


def tree(version: str) -> SourceTree:
    return open_source(str(release(version)), "sglang")


# ---- the labelled samples ----


@pytest.mark.parametrize("name", sorted(LABELS))
def test_labels(name: str) -> None:
    label = LABELS[name]
    version = label.get("version_hint")
    assert wrong(name, label, tree(str(version)) if version else None) == []


@pytest.mark.parametrize("label", COMBINED, ids=lambda x: f"{x['server'][:2]}-{x['version']}")
def test_combined(label: dict[str, object]) -> None:
    configs = SAMPLES / "configs"
    asked = question(
        str(label["server"]),
        config=str(configs / str(label["target"])),
        draft_config=str(configs / str(label["draft"])),
    )
    report = live(asked, tree(str(label["version"])), RULES)
    bypass = next(item for item in report.variants if item.name == "can_run_tbo")
    if label.get("finding_reachable") is False:
        assert (bypass.state, bypass.reason) == ("impossible", label["why"])
        return
    assert report.requested == tuple(label["capture_layers"])  # type: ignore[arg-type]
    assert bypass.captured == tuple(label["captured_on_tbo_path"])  # type: ignore[arg-type]
    assert bypass.effect == label["effect"]


def test_the_case_of_the_original_hunt(tmp_path: Path) -> None:
    draft = tmp_path / "draft.json"
    ids = {"eagle_aux_hidden_state_layer_ids": [-1, 2, 30]}
    draft.write_text(json.dumps({"architectures": ["LlamaForCausalLMEagle3"], "eagle_config": ids}))
    asked = question(
        "02_reduced_repr_overlap_on_tbo_off.log",
        config=str(SAMPLES / "configs" / "target_kimi_k25.json"),
        draft_config=str(draft),
    )
    report = live(asked, tree("0.5.6"), RULES)
    states = {item.name: (item.state, item.captured, item.lost) for item in report.variants}
    assert states["can_run_tbo"] == ("impossible", None, ())
    assert states["forward"] == ("possible", (3, 31), ())
    assert states["first_layer"] == ("possible", (3, 31), (0,))
    assert report.answer == (
        "Requested layer 0 is lost (residual is None before layer 0). What else was asked for "
        "(3, 31) is captured on the path that runs. Two-batch overlap cannot run "
        "(enable_two_batch_overlap=False)."
    )


# ---- logs ----

PLAIN = "server_args=ServerArgs(tp_size=8, pp_size=1, enable_two_batch_overlap=False)"
VALUES = {"tp_size": 8, "pp_size": 1, "enable_two_batch_overlap": False}


def log(text: str | bytes) -> Stated | None:
    return read_log(io.BytesIO(text.encode() if isinstance(text, str) else text), SERVING)


@pytest.mark.parametrize(
    ("text", "values", "complete"),
    [
        pytest.param(PLAIN, VALUES, True, id="plain"),
        pytest.param(f"\x1b[32m[2026-01-01 00:00:00]\x1b[0m {PLAIN}", VALUES, True, id="coloured"),
        pytest.param(PLAIN.encode("utf-16"), VALUES, True, id="utf-16"),
        pytest.param(
            b"\xff\xfe\x00junk\x80\n".replace(b"\xff\xfe\x00", b"\x80") + PLAIN.encode(),
            VALUES,
            True,
            id="not-utf-8",
        ),
        pytest.param(PLAIN.replace(", ", ",\r\n    "), VALUES, True, id="pretty-crlf"),
        pytest.param(PLAIN.replace("pp_size", "pp_\nsize"), VALUES, True, id="wrapped-in-a-name"),
        pytest.param(
            PLAIN.replace("tp_size=8", "tp_size=\n8"),
            VALUES,
            True,
            id="wrapped-in-front-of-a-value",
        ),
        pytest.param(
            f"[1] INFO {PLAIN}".replace("pp_size", "pp_  \n          size"),
            VALUES,
            True,
            id="indented",
        ),
        pytest.param(f"> {PLAIN}".replace("pp_size", "pp_\n> size"), VALUES, True, id="quoted"),
        pytest.param(
            "server_args=ServerArgs(a=&#39;x&#39;, b=\u2018y\u2019)",
            {"a": "x", "b": "y"},
            True,
            id="web",
        ),
        pytest.param(
            "sglang-1  | " + PLAIN.replace("pp_size", "pp_\nsglang-1  | size"),
            VALUES,
            True,
            id="compose",
        ),
        pytest.param(
            "2026-01-01T00:00:00.1Z stdout P "
            + PLAIN.replace("pp_size", "pp_\n2026-01-01T00:00:00.1Z stdout F size"),
            VALUES,
            True,
            id="cri-partial-lines",
        ),
        pytest.param(PLAIN[:-2], {"tp_size": 8, "pp_size": 1}, False, id="cut-in-a-value"),
        pytest.param(
            "server_args=ServerArgs(tp_size=8, pp_size=1", {"tp_size": 8}, False, id="cut-number"
        ),
        pytest.param(
            "server_args=ServerArgs(tp_size=8, host='127", {"tp_size": 8}, False, id="cut-string"
        ),
        pytest.param(
            "server_args=ServerArgs(tp_size=8, ..., pp_size=2)",
            {"tp_size": 8, "pp_size": 2},
            False,
            id="left-out",
        ),
        pytest.param(
            'server_args={"tp_size": 8, "enable_x": true, "y": null}',
            {"tp_size": 8, "enable_x": True, "y": None},
            True,
            id="json",
        ),
        pytest.param(
            "server_args=ServerArgs(mode=<Mode.AUTO: 'auto'>, f=<function x at 0x1>, tp_size=8)",
            {"mode": "auto", "tp_size": 8},
            True,
            id="objects",
        ),
        pytest.param(
            "server_args=ServerArgs(json='{\"a\": [1, {}]}', tp_size=8)",
            {"json": '{"a": [1, {}]}', "tp_size": 8},
            True,
            id="json-in-a-string",
        ),
        pytest.param("server_args=ServerArgs(a=" + "[" * 500 + ")", None, False, id="deep"),
        pytest.param(
            "dp_size=1, tp_size=8 WARNING server_args.py:1 pp_size=4",
            None,
            False,
            id="no-statement",
        ),
    ],
)
def test_logs(text: str | bytes, values: dict[str, object] | None, complete: bool) -> None:
    found = log(text)
    assert (found.values, found.complete) == (values, complete) if found else values is None


def test_the_last_start_counts_and_the_difference_is_told() -> None:
    found = log(f"{PLAIN}\n{PLAIN.replace('False', 'True')}\n")
    assert found is not None
    assert found.values["enable_two_batch_overlap"] is True
    assert "enable_two_batch_overlap" in found.notes[0]


def test_a_cut_copy_of_the_same_start_takes_nothing_away() -> None:
    found = log(f"{PLAIN}\n{PLAIN[:40]}")
    assert found is not None
    assert (found.values, found.notes) == (VALUES, ())


class Endless(io.RawIOBase):
    """A log of a size, made piece by piece, with a statement at its end."""

    def __init__(self, size: int) -> None:
        self._left = size
        self.largest = 0

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        self.largest = max(self.largest, size)
        if self._left <= 0:
            return b""
        self._left -= size
        return (b"x" * 99 + b"\n") * (size // 100) + (PLAIN.encode() if self._left <= 0 else b"")


def test_a_long_log_is_read_piece_by_piece() -> None:
    stream = Endless(30 * LONGEST)
    found = read_log(stream, SERVING)  # type: ignore[arg-type]
    assert found is not None
    assert (found.values, stream.largest <= 4 * LONGEST) == (VALUES, True)


# ---- commands ----


@pytest.mark.parametrize(
    ("text", "values"),
    [
        pytest.param("python -m sglang.launch_server --tp 8", {"tp_size": 8}, id="plain"),
        pytest.param(
            "sglang serve --tp-size=8 --enable-two-batch-overlap",
            {"tp_size": 8, "enable_two_batch_overlap": True},
            id="serve",
        ),
        pytest.param(
            "--tp 8 --enable-two-batch-overlap",
            {"tp_size": 8, "enable_two_batch_overlap": True},
            id="flags-alone",
        ),
        pytest.param("A=8; sglang serve --tp $A", {"tp_size": 8}, id="variable"),
        pytest.param("sglang serve --tp ${A:-4}", {"tp_size": 4}, id="default-of-a-variable"),
        pytest.param(
            "X='--tp 4 --pp 2'\nsglang serve $X",
            {"tp_size": 4, "pp_size": 2},
            id="words-of-a-variable",
        ),
        pytest.param(
            'X=(--tp 4)\nX+=(--pp 2)\nsglang serve "${X[@]}"',
            {"tp_size": 4, "pp_size": 2},
            id="array",
        ),
        pytest.param("$ sglang serve --tp 2", {"tp_size": 2}, id="prompt"),
        pytest.param("```sh\nroot@a:/# sglang serve --tp 2\n```", {"tp_size": 2}, id="fence"),
        pytest.param("sglang serve `\n  --tp 2 `\n  --pp 2", {"tp_size": 2, "pp_size": 2}, id="ps"),
        pytest.param(
            "sglang serve ^\n  --tp 2 ^\n  --pp 2", {"tp_size": 2, "pp_size": 2}, id="cmd"
        ),
        pytest.param("sglang serve \u2014tp 2 \u2013pp 2", {"tp_size": 2, "pp_size": 2}, id="dash"),
        pytest.param(
            "ExecStart=/usr/bin/python3 -m sglang.launch_server --tp 2", {"tp_size": 2}, id="unit"
        ),
        pytest.param(
            "- {image: proxy, args: [--tp, '4']}\n- {image: 'x/sglang:v0.5.9', args: [--tp, '2']}",
            {"tp_size": 2},
            id="the-image-that-starts-a-server",
        ),
        pytest.param("bash -c 'sglang serve --tp 2'", {"tp_size": 2}, id="shell-in-a-shell"),
        pytest.param(
            "docker run -e A=1 x/sglang:v0.5.9 python -m sglang.launch_server --tp 2 2>&1 | tee x",
            {"tp_size": 2},
            id="docker",
        ),
        pytest.param(
            'CMD ["python3", "-m", "sglang.launch_server", "--tp", "2"]',
            {"tp_size": 2},
            id="dockerfile",
        ),
        pytest.param(
            "services:\n  a:\n    image: x\n    command: python3 -m sglang.launch_server --tp 2",
            {"tp_size": 2},
            id="compose",
        ),
        pytest.param(
            "args:\n- |\n  python3 -m sglang.launch_server \\\n    --tp 2\ncommand: [sh, -c]",
            {"tp_size": 2},
            id="kubernetes-script",
        ),
        pytest.param(
            "engine = sgl.Engine(model_path='m', tp_size=2, x=f())",
            {"model_path": "m", "tp_size": 2},
            id="python",
        ),
    ],
)
def test_commands(text: str, values: dict[str, object]) -> None:
    assert from_command(text, SERVING, NOTHING).values == values


def test_nothing_in_a_command_is_run(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("here")
    text = f"sglang serve --tp $(rm {victim}) --pp `rm {victim}` --dp $((1 << 99999)); rm {victim}"
    found = from_command(text, SERVING, NOTHING)
    assert victim.exists()
    assert sorted(found.unresolved) == ["dp_size", "pp_size", "tp_size"]


@pytest.mark.parametrize(
    "text", ["sglang serve --tp 2 $MORE", "sglang serve --config a.yaml --tp 2"]
)
def test_what_a_command_leaves_open_is_not_taken_for_a_default(text: str) -> None:
    found = from_command(text, SERVING, NOTHING)
    assert found.defaults == ("--config" in text and not NOTHING.known)
    assert found.values["tp_size"] == 2


# ---- declarations, in the three ways of the framework ----

DATACLASS = """
class ServerArgs:
    tp_size: int = 1
    pp_size: int = 1
    enable_two_batch_overlap: bool = False
    enable_dp_attention: bool = False
    names: Optional[List[str]] = None
    speculative_algorithm: Optional[str] = None
    moe_a2a_backend: str = "none"

    def add_cli_args(parser):
        parser.add_argument("--speculative-algorithm", type=str)
        parser.add_argument("--pp-size", type=int)
        parser.add_argument("--moe-a2a-backend", type=str)
        parser.add_argument(
            "--tensor-parallel-size", "--tp-size", type=int, default=ServerArgs.tp_size
        )
        parser.add_argument("--enable-two-batch-overlap", action="store_true")
        parser.add_argument("--enable-old", action=DeprecatedAction)
        parser.add_argument("--names", type=str, nargs="+")
"""
ANNOTATED = """
class ServerArgs:
    tp_size: A[int, Arg(help="x", aliases=["--tensor-parallel-size"])] = 1
    enable_two_batch_overlap: A[bool, "x"] = False
    names: A[Optional[List[str]], "x"] = None

    def add_cli_args(parser):
        parser.add_argument("--enable-old", action=DeprecatedAction)
"""


@pytest.mark.parametrize(
    "code",
    [DATACLASS, ANNOTATED, ANNOTATED.replace("ServerArgs:", "Parallel:\n    _NS_PATH = 'x'")],
)
def test_declarations(code: str) -> None:
    declared = declared_in(from_text({"sglang/srt/server_args.py": code}), SERVING)
    text = (
        "sglang serve --tp 8 --tensor-parallel-size 4 --enable-two --enable-old --names a b --x 1"
    )
    found = read_command(text, SERVING, declared)
    assert found is not None
    assert found.values == {"tp_size": 4, "enable_two_batch_overlap": True, "names": ["a", "b"]}
    assert [item.split()[0] for item in found.ignored] == ["--enable-old", "--x"]
    assert declared.fields["enable_two_batch_overlap"].default is False


# ---- a small framework ----

RUNNER = """
class ForwardBatch:
    @property
    def can_run_tbo(self):
        return self.tbo_split_seq_index is not None
"""
CONFIG = {"architectures": ["OverlappedForCausalLM"], "num_hidden_layers": 8, "hidden_size": 4}


def example_tree(*, refuses: bool = False, stages: bool = False) -> SourceTree:
    """The bundled example, with server arguments."""
    example = open_source("examples/two_batch_overlap", "sglang")
    check = 'self.enable_two_batch_overlap and self.moe_a2a_backend == "none"' if refuses else ""
    pipeline = "not compatible with overlap schedule, speculative decoding" if stages else ""
    return from_text(
        {path: example.text(path) for path in example.paths}
        | {"sglang/srt/server_args.py": DATACLASS + f"# {check}\n# {pipeline}\n"}
        | {"sglang/srt/model_executor/forward_batch_info.py": RUNNER},
        version="0.5.6",
    )


def ask(tmp_path: Path, command: str, ids: list[int], first: int = 3, **more: object) -> LiveReport:
    """Ask about the example with a draft that wants the states of some layers."""
    config, draft = tmp_path / "config.json", tmp_path / "draft.json"
    config.write_text(json.dumps(CONFIG | {"first_k_dense_replace": first}))
    wanted = {"eagle_config": {"eagle_aux_hidden_state_layer_ids": ids}, "hidden_size": 4}
    draft.write_text(json.dumps(wanted | {"architectures": ["LlamaForCausalLMEagle3"]}))
    asked = Question(
        command=f"sglang serve --speculative-algorithm EAGLE3 {command}",
        config=str(config),
        draft_config=str(draft),
    )
    return live(asked, example_tree(**more), RULES)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("command", "first", "state", "captured", "lost"),
    [
        pytest.param("", 3, "impossible", None, (), id="off-by-default"),
        pytest.param("--enable-two-batch-overlap", 3, "possible", (2,), (4, 6), id="some-lost"),
        pytest.param("--enable-two-batch-overlap", 1, "possible", (), (2, 4, 6), id="all-lost"),
        pytest.param("--enable-two-batch-overlap", 8, "impossible", None, (), id="all-dense"),
        pytest.param("$MORE", 3, "unknown", (2,), (4, 6), id="left-open"),
    ],
)
def test_what_is_lost(
    command: str,
    first: int,
    state: str,
    captured: tuple[int, ...] | None,
    lost: tuple[int, ...],
    tmp_path: Path,
) -> None:
    report = ask(tmp_path, command, [1, 3, 5], first)
    found = next(item for item in report.variants if item.name == "can_run_tbo")
    assert (found.state, found.captured, found.lost) == (state, captured, lost)


@pytest.mark.parametrize(("first", "lost"), [(3, (3, 4)), (4, (4,)), (2, (3, 4))])
def test_the_first_layer_of_a_range_belongs_to_it(
    first: int, lost: tuple[int, ...], tmp_path: Path
) -> None:
    report = ask(tmp_path, "--enable-two-batch-overlap", [2, 3], first)
    found = next(item for item in report.variants if item.name == "can_run_tbo")
    assert found.lost == lost


def test_a_combination_that_the_server_refuses(tmp_path: Path) -> None:
    command = "--enable-two-batch-overlap --moe-a2a-backend none"
    report = ask(tmp_path, command, [1], refuses=True)
    assert report.answer.startswith("The server refuses to start: two-batch overlap needs")
    # Without that check in the code, the server starts.
    assert ask(tmp_path, command, [3]).answer.startswith("Requested layer 4 is lost")


@pytest.mark.parametrize(
    ("checks", "answer"),
    [
        pytest.param(True, "The server refuses to start: pipeline parallelism", id="refused"),
        pytest.param(False, "All requested layers (2)", id="started"),
    ],
)
def test_pipeline_stages(checks: bool, answer: str, tmp_path: Path) -> None:
    report = ask(tmp_path, "--pp-size 2", [1], stages=checks)
    assert report.answer.startswith(answer)


def test_a_class_without_the_setter(tmp_path: Path) -> None:
    report = ask(tmp_path, "--speculative-algorithm DFLASH", [1])
    assert report.answer == (
        "The server does not start: OverlappedForCausalLM has no set_dflash_layers_to_capture, "
        "which DFLASH calls (AttributeError)."
    )


# ---- the command line ----


def run(*words: str) -> tuple[int, str]:
    result = CliRunner(env={"COLUMNS": "80", "NO_COLOR": "1"}).invoke(main, ["live", *words])
    return result.exit_code, result.output


SECRET = "hf_abcdefghijklmnopqrst"


@pytest.mark.parametrize(
    "text",
    [
        f"server_args=ServerArgs(tp_size=8, api_key='{SECRET}', admin_api_key='{SECRET}')",
        f"server_args=ServerArgs(tp_size=8, x='https://user:{SECRET}@host/', y='{SECRET}')",
        f"server_args=ServerArgs(tp_size=8, z={{'api_key': '{SECRET}', 'l': ['{SECRET}']}})",
        f"HF_TOKEN={SECRET} SGLANG_API_KEY={SECRET} sglang serve --api-key {SECRET} --tp 8",
        f"sglang serve --tp 8 --x 'api_key: {SECRET[4:]}' $(echo {SECRET})",
        f"server_args=ServerArgs(tp_size=8, z={{'auth_token': '{SECRET[4:]}'}})",
        f"sglang serve --tp 8 --api-key=$(cat {SECRET}) --z 'Authorization: Bearer {SECRET}'",
    ],
)
@pytest.mark.parametrize("form", ["text", "json"])
def test_secrets_are_not_shown(text: str, form: str, tmp_path: Path) -> None:
    file = tmp_path / "pasted"
    file.write_text(text)
    status, output = run("--log", str(file), "--verbose", "--format", form)
    assert status == 0
    assert "tp_size" in output
    assert SECRET not in output
    assert SECRET[4:] not in output


@pytest.mark.parametrize(
    "text",
    [
        "server_args=ServerArgs(tp_size=8, api_key='swordfish', ssl_keyfile_password='swordfish')",
        "SGLANG_API_KEY=swordfish sglang serve --tp 8 --api-key swordfish --hf-token=swordfish",
        "sglang serve --tp 8 --api-key ${KEY:-swordfish}",
    ],
)
def test_a_secret_that_looks_like_none_is_told_by_its_name(text: str, tmp_path: Path) -> None:
    file = tmp_path / "pasted"
    file.write_text(text)
    for form in ("text", "json"):
        output = run("--log", str(file), "--verbose", "--format", form)[1]
        assert "tp_size" in output
        assert "swordfish" not in output


def test_server_info(tmp_path: Path) -> None:
    file = tmp_path / "info.json"
    states = [{"pp_size": 2, "disable_overlap_schedule": True}]
    file.write_text(
        json.dumps({"tp_size": 8, "version": "0.5.9", "model_path": "m", "internal_states": states})
    )
    found = from_server_info(str(file), SERVING)
    assert (found.version, found.values["tp_size"], found.values["pp_size"]) == ("0.5.9", 8, 2)


def test_the_overlap_scheduler_is_answered_by_name() -> None:
    sample = str(SAMPLES / "02_reduced_repr_overlap_on_tbo_off.log")
    status, output = run("--log", sample)
    assert status == 0
    assert output.startswith("Two-batch overlap cannot run (enable_two_batch_overlap=False).\n")
    assert "disable_overlap_schedule governs the overlap scheduler" in output
    assert max(map(len, output.splitlines())) <= 80


@pytest.mark.parametrize(
    ("words", "message"),
    [
        pytest.param((), "one of --log, --command and --server-info is needed", id="nothing"),
        pytest.param(("--log", "missing"), "missing: cannot be read", id="missing"),
        pytest.param(
            ("--command", "echo hello"), "holds no command that starts a server", id="none"
        ),
        pytest.param(("--server-info", __file__), "is no answer of a server in JSON", id="no-json"),
        pytest.param(("--log", __file__ + "/x"), "cannot be read", id="no-folder"),
    ],
)
def test_mistakes_are_one_line(words: tuple[str, ...], message: str) -> None:
    status, output = run(*words)
    assert status == 2
    assert message in output.splitlines()[0]
    assert "Traceback" not in output


def test_the_question_needs_code_for_a_model() -> None:
    with pytest.raises(Exception, match="there is none"):
        live(Question(command="sglang serve --tp 8", config="x"), None, RULES)
