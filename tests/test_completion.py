"""Completion: what is offered for each value, and that a real shell gets it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.shell_completion import BashComplete, CompletionItem
from click.testing import CliRunner

from pathaudit.cli import main
from tests.test_help import ALL

ROOT = Path(__file__).parent.parent
EXAMPLE = "examples/two_batch_overlap"
RULES = ["skipped-aux-capture", "skipped-expert-recorder"]
CLASSES = [f"Overlapped{x}ForCausalLM" for x in ("Captured", "", "Guarded")]


@pytest.fixture(autouse=True)
def _at_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def offered(line: str) -> list[CompletionItem]:
    """What is offered for the last word of a line, which may be empty."""
    *words, incomplete = line.split(" ")
    return BashComplete(main, {}, "pathaudit", "_PATHAUDIT_COMPLETE").get_completions(
        words, incomplete
    )


def names(line: str) -> list[str]:
    return [item.value for item in offered(line)]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        pytest.param("sc", ["scan"], id="command"),
        pytest.param("rules sch", ["schema"], id="command of a group"),
        pytest.param("scan --write", ["--write-baseline"], id="option"),
        pytest.param("scan --color ", ["auto", "always", "never"], id="choice"),
        pytest.param("scan --rule skipped", RULES, id="rule"),
        pytest.param("scan --rule lost-carry --rule skipped-a", RULES[:1], id="one more rule"),
        pytest.param("diff a b --rule skipped", RULES, id="rule of a diff"),
        pytest.param("scan --rule prof", [], id="the profile is no rule"),
        pytest.param(
            "scan --rules examples/own_rule/rules --rule skipped-t", ["skipped-tap"], id="own"
        ),
        pytest.param(
            "explain un",
            [
                "uncapturable-boundary",
                "unequal-ranges",
                "unequal-siblings",
                "unforwarded-hook",
                "ungathered-aux",
                "unisolated-draft",
                "unread-capture-switch",
                "unsupported-stage",
                "unknown-allow",
                "unused-allow",
            ],
            id="rule or remark",
        ),
        pytest.param(f"scan {EXAMPLE} --entry Over", CLASSES, id="class"),
        pytest.param(f"graph --tree {EXAMPLE} OverlappedG", CLASSES[2:], id="class to draw"),
        pytest.param(f"gates --tree {EXAMPLE} OverlappedG", CLASSES[2:], id="class to ask about"),
        pytest.param(f"diff sglang==0.5.9 {EXAMPLE} --entry OverlappedG", CLASSES[2:], id="of NEW"),
        pytest.param(f"diff {EXAMPLE} sglang==0.5.9 --entry OverlappedG", CLASSES[2:], id="of OLD"),
        pytest.param("scan nowhere --entry ", [], id="no tree"),
        pytest.param("scan sglang==0.5.9 --entry ", [], id="no release is opened for that"),
        pytest.param("scan git:HEAD --entry ", [], id="nor a revision"),
        pytest.param("rules new skipped-", [], id="an id that is to be thought up"),
    ],
)
def test_names_are_offered(line: str, expected: list[str]) -> None:
    assert names(line) == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        pytest.param("scan ex", "file", id="tree or files"),
        pytest.param("diff ", "file", id="first tree"),
        pytest.param("diff a ", "file", id="second tree"),
        pytest.param("scan --baseline kn", "file", id="file"),
        pytest.param("scan --settings ", "file", id="settings"),
        pytest.param("scan --rules ou", "dir", id="folder"),
        pytest.param("rules test ou", "dir", id="folder of rules"),
        pytest.param("live --command ", "file", id="text or file"),
    ],
)
def test_the_shell_is_asked_for_files(line: str, expected: str) -> None:
    *_, last = line.split(" ")
    assert [(x.type, x.value) for x in offered(line)] == [(expected, last)]


FREE = {"GLOB", "REV", "WHERE", "VERSION", "N", "IDS", "ANSWERS", "URL", "NAME", "TEXT"}


@pytest.mark.parametrize(("name", "command"), ALL, ids=[name for name, _ in ALL])
def test_each_value_is_completed_or_free(name: str, command: click.Command) -> None:
    for parameter in command.params:
        if isinstance(parameter, click.Option) and not parameter.is_flag:
            word = parameter.metavar or ""
            context = click.Context(command)
            context.params["tree"] = EXAMPLE
            offers = parameter.shell_complete(context, "")
            assert offers or word in FREE, f"{name} {parameter.opts}: nothing is offered for {word}"


def test_names_of_the_settings_are_offered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = f'own-rules = ["{ROOT}/examples/own_rule/rules"]\ntree = "{ROOT / EXAMPLE}"\n'
    (tmp_path / "pathaudit.toml").write_text(text)
    named = f"--settings {tmp_path}/pathaudit.toml"
    assert names(f"scan {named} --rule skipped-t") == ["skipped-tap"]
    assert names("scan --rule skipped-t") == []
    monkeypatch.chdir(tmp_path)
    assert names("scan --rule skipped-t") == ["skipped-tap"]
    assert names("scan --entry Over") == CLASSES
    assert names("scan --isolated --rule skipped-t") == []
    (tmp_path / "pathaudit.toml").write_text("no")
    assert names("scan --rule skipped-a") == RULES[:1], "a mistake there completes to the usual"


# ---- shells -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a program ``pathaudit``, for PATH."""
    folder = tmp_path_factory.mktemp("bin")
    script = folder / "pathaudit"
    script.write_text(
        f"#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -c \\\n"
        f'"from pathaudit.cli import main; main(prog_name=\'pathaudit\')" "$@"\n'
    )
    script.chmod(0o755)
    return folder


def shell(program: Path, *words: str) -> str:
    """What a shell prints; a fault of it is raised."""
    environment = {**os.environ, "PATH": f"{program}{os.pathsep}{os.environ['PATH']}"}
    process = subprocess.run(
        words, capture_output=True, text=True, env=environment, timeout=120, check=False, cwd=ROOT
    )
    assert (process.returncode, process.stderr) == (0, "")
    return process.stdout


BASH = """
eval "$(pathaudit completion bash)"
complete -p pathaudit
ask() {{ COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=()
         _pathaudit_completion "$1" 2>/dev/null; echo "${{COMPREPLY[@]}}"; }}
ask pathaudit sc
ask pathaudit scan --rule skipped
ask pathaudit graph --tree {tree} OverlappedG
"""
ZSH = """
autoload -U compinit && compinit -u -d {folder}/dump
eval "$(pathaudit completion zsh)"
echo $_comps[pathaudit]
compadd() {{ echo $completions }}
_describe() {{ echo ${{completions_with_descriptions%%:*}} }}
ask() {{ words=("$@"); CURRENT=$#; _pathaudit_completion; }}
ask pathaudit sc
ask pathaudit scan --rule skipped
ask pathaudit graph --tree {tree} OverlappedG
"""
FISH = """
pathaudit completion fish | source
complete -C "pathaudit sc" | string split -f1 \\t
complete -C "pathaudit scan --rule skipped"
complete -C "pathaudit graph --tree {tree} OverlappedG"
"""


def needs(name: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(shutil.which(name) is None, reason=f"{name} is not installed here")


def test_bash_completes(program: Path, tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text(BASH.format(tree=EXAMPLE))
    output = shell(program, "bash", "--norc", "--noprofile", str(script))
    assert output.splitlines() == [
        "complete -o nosort -F _pathaudit_completion pathaudit",
        "scan",
        " ".join(RULES),
        CLASSES[2],
    ]


@needs("zsh")
def test_zsh_completes(program: Path, tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text(ZSH.format(tree=EXAMPLE, folder=tmp_path))
    output = shell(program, "zsh", "-f", str(script))
    assert output.splitlines() == ["_pathaudit_completion", "scan", " ".join(RULES), CLASSES[2]]


@needs("fish")
def test_fish_completes(program: Path, tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text(FISH.format(tree=EXAMPLE))
    output = shell(program, "fish", "--no-config", str(script))
    assert output.splitlines() == ["scan", *RULES, CLASSES[2]]


@pytest.mark.parametrize("name", ["bash", "zsh", "fish"])
def test_a_script_says_how_to_install_it(name: str) -> None:
    text = CliRunner().invoke(main, ["completion", name], prog_name="pathaudit").stdout
    assert f"# Completion of pathaudit for {name}" in text
    assert "_PATHAUDIT_COMPLETE" in text
    assert text.startswith("#compdef pathaudit\n#") == (name == "zsh")
    assert max(map(len, (x for x in text.splitlines() if x.startswith("#")))) <= 90
