"""The command line as its users see it: options, exit statuses, error lines, start-up."""

import io
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TextIO, get_args

import click
import pytest
from click.testing import CliRunner, Result

from pathaudit import __version__
from pathaudit.cli import main
from pathaudit.cli.forms import FailOn
from pathaudit.cli.output import Color, columns, wants_color, write_report
from pathaudit.errors import UsageError
from pathaudit.reporters import text as text_reporter
from pathaudit.results import Report, Severity
from tests.labels import shipped_rules

ROOT = Path(__file__).parent.parent
EXAMPLE = ROOT / "examples" / "two_batch_overlap"
MODELS = Path("sglang/srt/models")
HEAVY = {"git", "libcst", "msgspec", "networkx", "rich", "yaml"}


def run(*arguments: object) -> Result:
    """Run a command in this process; what is not meant for the user is raised."""
    words = [str(argument) for argument in arguments]
    result = CliRunner().invoke(main, words, prog_name="pathaudit")
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def start(*arguments: object, stdout: int | TextIO) -> subprocess.Popen[str]:
    """Start a process of its own; its errors can be read."""
    command = [sys.executable, "-m", "pathaudit", *map(str, arguments)]
    return subprocess.Popen(command, stdout=stdout, stderr=subprocess.PIPE, text=True, cwd=ROOT)


def finish(*arguments: object) -> tuple[int, str, str]:
    """Run a process of its own to its end: the status, the output and the errors."""
    process = start(*arguments, stdout=subprocess.PIPE)
    output, errors = process.communicate(timeout=60)
    return process.returncode, output, errors


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of the example that a test may change."""
    return Path(shutil.copytree(EXAMPLE, tmp_path / "tree"))


def without_overlap(tree: Path) -> None:
    (tree / MODELS / "overlapped.py").unlink()


def with_a_broken_model(tree: Path) -> None:
    with (tree / MODELS / "overlapped.py").open("a") as model:
        model.write("def (:\n")


def with_an_unknown_runner(tree: Path) -> None:
    model = tree / MODELS / "overlapped.py"
    model.write_text(model.read_text().replace(".batch_overlap.", ".elsewhere."))


def with_an_accepted_runner(tree: Path) -> None:
    """What cannot be judged is accepted by a comment."""
    with_an_unknown_runner(tree)
    model = tree / MODELS / "overlapped.py"
    call = "            hidden_states, residual = run_overlapped("
    comment = "            # pathaudit: allow[skipped-aux-capture] it captures\n"
    model.write_text(model.read_text().replace(call, comment + call))


def with_split_prefill(tree: Path) -> None:
    """Only a method whose findings are notes runs layers without capture."""
    without_overlap(tree)
    model = tree / MODELS / "overlapped_guarded.py"
    setter = "    def set_eagle3_layers_to_capture"
    method = """\
    def forward_split_prefill(self, hidden_states, residual, forward_batch):
        for i in range(self.model.start_layer, self.model.end_layer):
            hidden_states, residual = self.model.layers[i](hidden_states, residual, forward_batch)
        return hidden_states

"""
    model.write_text(model.read_text().replace(setter, method + setter))


# ---- exit statuses ----------------------------------------------------------------------------

STATUSES = [
    pytest.param(None, [], 1, id="an error fails"),
    pytest.param(None, ["--fail-on", "warning"], 1, id="an error fails where a warning does"),
    pytest.param(None, ["--fail-on", "never"], 0, id="never fails"),
    pytest.param(None, ["--fail-on", "never", "--strict"], 0, id="never, even if strict"),
    pytest.param(None, ["--quiet"], 1, id="quiet fails too"),
    pytest.param(None, ["--format", "json"], 1, id="the form changes nothing"),
    pytest.param(None, ["--rule", "skipped-aux-capture"], 1, id="the rule that is broken"),
    pytest.param(None, ["--entry", "OverlappedForCausalLM"], 1, id="the faulty class"),
    pytest.param(None, ["--entry", "OverlappedGuardedForCausalLM"], 0, id="a correct class"),
    pytest.param(without_overlap, [], 0, id="nothing found"),
    pytest.param(without_overlap, ["--strict"], 0, id="strict, and all was judged"),
    pytest.param(with_a_broken_model, [], 0, id="a gap"),
    pytest.param(with_a_broken_model, ["--strict"], 1, id="a gap, strict"),
    pytest.param(with_an_unknown_runner, [], 0, id="unknown"),
    pytest.param(with_an_unknown_runner, ["--strict"], 1, id="unknown, strict"),
    pytest.param(with_an_accepted_runner, ["--strict"], 0, id="unknown and accepted, strict"),
    pytest.param(with_split_prefill, [], 0, id="a note"),
    pytest.param(with_split_prefill, ["--fail-on", "warning"], 0, id="a note is no warning"),
    pytest.param(with_split_prefill, ["--fail-on", "note"], 1, id="a note where notes fail"),
    pytest.param(None, ["--rule", "no-such-rule"], 2, id="unknown rule"),
    pytest.param(None, ["--format", "xml"], 2, id="unknown form"),
    pytest.param(None, ["--no-such-option"], 2, id="unknown option"),
]


@pytest.mark.parametrize(("change", "options", "expected"), STATUSES)
def test_exit_status(
    change: Callable[[Path], None] | None, options: list[str], expected: int, tree: Path
) -> None:
    if change is not None:
        change(tree)
    result = run("scan", tree, *options)
    assert expected == result.exit_code, result.output


def test_fail_on_takes_each_severity_and_never() -> None:
    assert (*Severity, "never") == get_args(FailOn)


# ---- mistakes ---------------------------------------------------------------------------------

CLASSES = "did you mean 'OverlappedForCausalLM'?"
MISTAKES = [
    pytest.param(
        ["scan", "nowhere"],
        "nowhere: no such directory",
        "name a directory that holds sglang/, a git:REVISION, or sglang==VERSION",
        id="no such tree",
    ),
    pytest.param(
        ["scan", "tre"], "tre: no such directory", "did you mean tree?", id="nearly a tree"
    ),
    pytest.param(
        ["scan", "empty"],
        "empty: no Python files of the package sglang; "
        "looked for sglang/, python/sglang/, src/sglang/, */sglang/",
        "name a checkout, a site-packages folder or the folder sglang itself",
        id="empty tree",
    ),
    pytest.param(
        ["scan", "file"],
        "file: not a directory, wheel or archive",
        "name a directory that holds sglang/, a git:REVISION, or sglang==VERSION",
        id="a file",
    ),
    pytest.param(
        ["scan", "bare"],
        "bare: no served model was found under sglang/srt/models/**/*.py",
        "is this a sglang source tree?",
        id="nothing to audit",
    ),
    pytest.param(
        ["scan", "tree", "--rule", "skiped-aux-capture"],
        "there is no rule 'skiped-aux-capture'",
        "did you mean 'skipped-aux-capture'?",
        id="nearly a rule",
    ),
    pytest.param(
        ["scan", "tree", "--entry", "OverlapedForCausalLM"],
        "tree serves no class 'OverlapedForCausalLM'",
        CLASSES,
        id="nearly a class",
    ),
    pytest.param(
        ["scan", "tree", "--output", "no/report.txt"],
        "no/report.txt: there is no folder no",
        "create it first",
        id="no folder for the report",
    ),
    pytest.param(
        ["scan", "tree", "--output", "empty"],
        "empty: is no file name",
        "name the file to write",
        id="a folder for a report",
    ),
    pytest.param(
        ["scan", "tree", "--output", ""],
        "'': is no file name",
        "name the file to write",
        id="nothing for a report",
    ),
    pytest.param(
        ["graph", "OverlapedForCausalLM", "--tree", "tree"],
        "tree serves no class 'OverlapedForCausalLM'",
        CLASSES,
        id="nearly a class to draw",
    ),
    pytest.param(
        ["graph", "OverlappedForCausalLM.forwrd", "--tree", "tree"],
        "OverlappedForCausalLM has no method 'forwrd'",
        "did you mean OverlappedForCausalLM.forward?",
        id="nearly a method",
    ),
    pytest.param(
        ["graph", "OverlappedForCausalLM", "--tree", "tree", "--only", "layer"],
        "there is no rule 'layer' to show only that",
        "did you mean 'layers'?",
        id="nearly a word",
    ),
    pytest.param(
        ["graph", "OverlappedForCausalLM", "--tree", "tree", "--output", "no/graph.dot"],
        "no/graph.dot: there is no folder no",
        "create it first",
        id="no folder for the graph",
    ),
    pytest.param(
        ["scan", "a\x1b[31m\nb"],
        "a\\x1b[31m\\nb: no such directory",
        "name a directory that holds sglang/, a git:REVISION, or sglang==VERSION",
        id="control characters",
    ),
]


@pytest.mark.parametrize(("arguments", "message", "hint"), MISTAKES)
def test_a_mistake_is_one_line_and_a_hint(
    arguments: list[str], message: str, hint: str, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tree.parent)
    Path("empty").mkdir()
    Path("file").touch()
    Path("bare/sglang").mkdir(parents=True)
    Path("bare/sglang/version.py").touch()
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"pathaudit: error: {message}\nhint: {hint}\n" == result.stderr


# The first line is click's, whose words differ from version to version.
MISUSES = [
    pytest.param(["scna"], "pathaudit", id="command"),
    pytest.param(["--nope"], "pathaudit", id="option of the program"),
    pytest.param(["scan", "--nope"], "pathaudit scan", id="option"),
    pytest.param(["scan", "--format", "x\x1b[31my"], "pathaudit scan", id="value"),
    pytest.param(["scan", "--output"], "pathaudit scan", id="missing value"),
    pytest.param(["graph"], "pathaudit graph", id="no entry"),
    pytest.param(["explain"], "pathaudit explain", id="no rule"),
    pytest.param(["rules", "lst"], "pathaudit rules", id="command of a group"),
    pytest.param(["rules", "list", "a"], "pathaudit rules list", id="too much"),
    pytest.param(["rules", "schema", "a"], "pathaudit rules schema", id="no kind of file"),
    pytest.param(["graph", "A", "--depth", "-1"], "pathaudit graph", id="negative depth"),
]


@pytest.mark.parametrize(("arguments", "command"), MISUSES)
def test_a_misuse_is_one_line_and_a_hint(arguments: list[str], command: str) -> None:
    result = run(*arguments)
    line, hint = result.stderr.splitlines()
    assert (result.exit_code, result.stdout) == (2, "")
    assert line.startswith("pathaudit: error: ")
    assert "\x1b" not in line
    assert f"hint: see '{command} --help'" == hint


def test_a_fault_of_our_own_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_reporter, "render", lambda *_, **__: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        run("scan", EXAMPLE)


def test_an_interrupt_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(text_reporter, "render", interrupt)
    result = run("scan", EXAMPLE)
    assert (result.exit_code, result.stderr) == (130, "pathaudit: interrupted\n")


# ---- what is printed --------------------------------------------------------------------------


def test_the_report_is_on_the_standard_output() -> None:
    result = run("scan", EXAMPLE, "--rule", "skipped-aux-capture")
    assert result.stderr == ""
    assert "error[skipped-aux-capture]: " in result.stdout
    assert "run_overlapped(" in result.stdout, "the source line is shown"
    assert result.stdout.endswith(" s\n"), "the elapsed time ends the summary"


def test_json_is_the_same_each_time_and_names_what_was_asked() -> None:
    first, second = (run("scan", EXAMPLE, "--format", "json").stdout for _ in range(2))
    report = json.loads(first)
    assert first == second
    assert report["rules"] == [rule.id for rule in shipped_rules().applying.rules]
    assert f"pathaudit {__version__}" == report["tool"]


def test_entry_narrows_the_report() -> None:
    result = run("scan", EXAMPLE, "--format", "json", "--entry", "OverlappedGuardedForCausalLM")
    entries = json.loads(result.stdout)["entries"]
    assert {"OverlappedGuardedModel.forward"} == {entry["entry"] for entry in entries}


def test_verbose_tells_what_holds() -> None:
    positive = "captures at sglang/srt/models/overlapped_guarded.py:46 on every path"
    assert positive not in run("scan", EXAMPLE).stdout
    assert positive in run("scan", EXAMPLE, "--verbose").stdout


def test_quiet_prints_nothing_but_writes_the_file(tmp_path: Path) -> None:
    result = run("scan", EXAMPLE, "--quiet", "--output", tmp_path / "report.txt")
    assert (result.stdout, result.stderr) == ("", "")
    assert "error[skipped-aux-capture]" in (tmp_path / "report.txt").read_text()


def test_a_file_that_cannot_be_read_has_no_excerpt(monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = text_reporter.lines_wanted

    def vanished(report: Report) -> Mapping[str, frozenset[int]]:
        return {**wanted(report), "sglang/srt/gone.py": frozenset({1})}

    monkeypatch.setattr(text_reporter, "lines_wanted", vanished)
    assert run("scan", EXAMPLE).exit_code == 1


COMMANDS = [
    "bump",
    "cache",
    "cache clear",
    "cache info",
    "completion",
    "config",
    "diff",
    "explain",
    "gates",
    "graph",
    "history",
    "hooks",
    "live",
    "matrix",
    "patch",
    "patch add",
    "patch check",
    "patch list",
    "patch remove",
    "patch schema",
    "reach",
    "rules",
    "rules docs",
    "rules list",
    "rules new",
    "rules schema",
    "rules test",
    "scan",
]


@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_help_of_every_command(name: str) -> None:
    result = run(*name.split(), "--help")
    assert result.exit_code == 0
    assert result.stdout.startswith("Usage: pathaudit")
    assert "Examples:" in result.stdout
    assert all(len(line) <= 80 for line in result.stdout.splitlines())


def test_every_command_has_help_that_is_tested() -> None:
    assert sorted(_names(main)) == COMMANDS


def _names(group: click.Group, *above: str) -> Iterator[str]:
    for name, command in group.commands.items():
        yield " ".join((*above, name))
        if isinstance(command, click.Group):
            yield from _names(command, *above, name)


def test_without_a_command_the_help_is_shown() -> None:
    assert "Commands:" in run().output


def test_a_scan_draws_no_graph() -> None:
    command = [sys.executable, "-X", "importtime", "-m", "pathaudit", "scan", str(EXAMPLE)]
    process = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    imported = {line.rpartition("|")[2].strip() for line in process.stderr.splitlines()}
    assert "pathaudit.audit" in imported
    assert "networkx" not in imported


# ---- graph ------------------------------------------------------------------------------------

GRAPHS = [
    pytest.param("text", "OverlappedForCausalLM.forward ", id="text"),
    pytest.param("dot", "digraph pathaudit {\n", id="dot"),
    pytest.param("mermaid", "flowchart LR\n", id="mermaid"),
    pytest.param("json", '{\n  "schema": 1,\n', id="json"),
]


def graph(*options: object) -> Result:
    return run("graph", "OverlappedForCausalLM", "--tree", EXAMPLE, *options)


@pytest.mark.parametrize(("form", "start"), GRAPHS)
def test_a_graph_in_each_form(form: str, start: str) -> None:
    first, second = graph("--format", form), graph("--format", form)
    assert (first.exit_code, first.stderr) == (0, "")
    assert first.stdout.startswith(start)
    assert first.stdout == second.stdout


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_graph_does_not_depend_on_the_hash_seed(form: str) -> None:
    def drawn(seed: str) -> str:
        words = ["graph", "OverlappedForCausalLM", "--tree", EXAMPLE, "--only", "all"]
        command = [sys.executable, "-m", "pathaudit", *map(str, words), "--format", form]
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        return subprocess.run(
            command, env=environment, capture_output=True, text=True, check=True, cwd=ROOT
        ).stdout

    assert drawn("1") == drawn("2")


def test_a_graph_is_narrowed() -> None:
    whole, rule = graph("--only", "all").stdout, graph("--only", "skipped-aux-capture").stdout
    assert "OverlappedDecoderLayer.forward" in whole
    assert "runs layer(...)" not in rule
    assert "... calls OverlappedModel.forward" in graph("--depth", 0).stdout


def test_a_graph_is_written_to_a_file(tmp_path: Path) -> None:
    assert graph("--output", tmp_path / "graph.txt").stdout == ""
    assert "BYPASS" in (tmp_path / "graph.txt").read_text(encoding="utf-8")


def test_the_color_of_a_graph() -> None:
    assert "\x1b" not in graph().stdout
    assert "\x1b[1;31m  BYPASS" in graph("--color", "always").stdout


# ---- colour and width -------------------------------------------------------------------------


class Stream(io.StringIO):
    def __init__(self, *, terminal: bool) -> None:
        super().__init__()
        self.terminal = terminal

    def isatty(self) -> bool:
        return self.terminal


COLORS = [
    pytest.param("auto", True, {}, True, id="terminal"),
    pytest.param("auto", False, {}, False, id="file"),
    pytest.param("auto", True, {"NO_COLOR": "1"}, False, id="NO_COLOR"),
    pytest.param("auto", True, {"NO_COLOR": ""}, True, id="empty NO_COLOR"),
    pytest.param("auto", True, {"TERM": "dumb"}, False, id="dumb terminal"),
    pytest.param("always", False, {"NO_COLOR": "1"}, True, id="always"),
    pytest.param("never", True, {}, False, id="never"),
]


@pytest.mark.parametrize(("choice", "terminal", "environment", "expected"), COLORS)
def test_color(
    choice: Color,
    terminal: bool,
    environment: dict[str, str],
    expected: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert expected == wants_color(choice, Stream(terminal=terminal))


@pytest.mark.parametrize("choice", ["auto", "never"])
def test_a_report_that_is_no_terminal_s_has_no_color(choice: str) -> None:
    assert "\x1b" not in run("scan", EXAMPLE, "--color", choice).stdout


def test_color_always() -> None:
    assert "\x1b[" in run("scan", EXAMPLE, "--color", "always").stdout


def test_width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    assert columns(Stream(terminal=False)) == 80
    monkeypatch.setenv("COLUMNS", "120")
    assert [columns(Stream(terminal=kind)) for kind in (True, False)] == [120, 120]


# ---- --output ---------------------------------------------------------------------------------


def whole(out: TextIO) -> None:
    out.write("after\n")


def broken(out: TextIO) -> None:
    out.write("half of it")
    raise ZeroDivisionError


def test_a_report_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    report = tmp_path / "report.txt"
    report.write_text("before")
    with pytest.raises(ZeroDivisionError):
        write_report(str(report), broken)
    assert ("before", [report]) == (report.read_text(), list(tmp_path.iterdir()))
    write_report(str(report), whole)
    assert ("after\n", [report]) == (report.read_text(), list(tmp_path.iterdir()))


def test_a_report_file_keeps_its_mode_and_its_link(tmp_path: Path) -> None:
    report, link = tmp_path / "report.txt", tmp_path / "link.txt"
    report.touch(0o600)
    link.symlink_to(report)
    write_report(str(link), whole)
    assert (link.is_symlink(), report.stat().st_mode & 0o777) == (True, 0o600)


def test_a_device_is_written_to_and_not_replaced() -> None:
    write_report(os.devnull, whole)
    assert not Path(os.devnull).is_file()


def test_a_report_file_that_cannot_be_made_is_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be written: "):
        write_report(str(tmp_path / "no" / "report.txt"), whole)


# ---- the cache --------------------------------------------------------------------------------


def test_a_second_scan_uses_what_the_first_one_kept(kept: Path) -> None:
    first = run("scan", EXAMPLE, "--format", "json")
    assert kept.exists()
    assert run("scan", EXAMPLE, "--format", "json").stdout == first.stdout
    assert "trees    1\n" in run("cache", "info").stdout
    assert run("cache", "clear").stdout.startswith("deleted 0.")
    assert not kept.exists()
    assert "trees    0\n" in run("cache", "info").stdout


def test_no_cache_leaves_no_file(kept: Path) -> None:
    assert run("scan", EXAMPLE, "--no-cache").exit_code == 1
    assert not kept.exists()


def test_a_cache_that_cannot_be_used_is_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("PATHAUDIT_CACHE_DIR", str(tmp_path / "file"))
    result = run("scan", EXAMPLE, "--quiet")
    assert result.exit_code == 1
    line = f"{tmp_path}/file/answers.sqlite: File exists"
    assert result.stderr == f"pathaudit: warning: nothing is kept for the next scan: {line}\n"


# ---- as a process -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [["--version"], ["--help"], ["scan", "--help"], ["scan", "--nope"], ["graph", "--help"]],
    ids=" ".join,
)
def test_start_up_imports_nothing_heavy(arguments: Sequence[str]) -> None:
    command = [sys.executable, "-X", "importtime", "-m", "pathaudit", *arguments]
    process = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    imported = {line.rpartition("|")[2].strip() for line in process.stderr.splitlines()}
    assert "pathaudit.cli.scan" in imported
    assert set() == HEAVY & {name.partition(".")[0] for name in imported}


def test_version() -> None:
    assert (0, f"pathaudit {__version__}\n", "") == finish("--version")


def test_the_module_runs_like_the_command() -> None:
    code, report, errors = finish("scan", "nowhere")
    assert (code, report) == (2, "")
    assert errors.splitlines()[:1] == ["pathaudit: error: nowhere: no such directory"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_one_line() -> None:
    with open("/dev/full", "w", encoding="utf-8") as full:
        process = start("scan", EXAMPLE, stdout=full)
        _, errors = process.communicate(timeout=60)
    line = "pathaudit: error: standard output: cannot be written: No space left on device\n"
    assert (2, line) == (process.returncode, errors)


def test_a_reader_that_stops_is_no_fault() -> None:
    process = start("scan", EXAMPLE, "--verbose", stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    assert (process.stderr.read(), process.wait(timeout=60)) == ("", 1)
    process.stderr.close()
