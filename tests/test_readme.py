"""What the README shows is what the commands print, and what it lists exists.

``PATHAUDIT_UPDATE_GOLDEN=1 pytest tests/test_readme.py`` writes the outputs anew.
"""

import os
import re
import shlex
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from pathaudit.cli import main
from pathaudit.cli.status import Status
from pathaudit.ruleset import Profile, Rule

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
TEXT = README.read_text(encoding="utf-8")
SHOWN = re.compile(r"(?<=```console\n)\$ (pathaudit .*)\n((?:.*\n)*?)(?=```)")
COMMANDS = [match[1] for match in SHOWN.finditer(TEXT)]


def output(command: str) -> str:
    """What a command prints in a terminal of 80 columns, with a time that is always the same."""
    environment = {"COLUMNS": "80", "NO_COLOR": "1"}
    words = shlex.split(command)[1:]
    printed = CliRunner(env=environment).invoke(main, words, prog_name="pathaudit").output
    lines = re.sub(r"\b\d\.\d s$", "0.1 s", printed, flags=re.MULTILINE).splitlines()
    return "".join(f"{line.rstrip()}\n" for line in lines)


@pytest.fixture(autouse=True)
def _at_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


@pytest.mark.parametrize("command", COMMANDS)
def test_output(command: str) -> None:
    if "PATHAUDIT_UPDATE_GOLDEN" in os.environ:
        update(command)
    text = README.read_text(encoding="utf-8")
    shown = next(match[2] for match in SHOWN.finditer(text) if match[1] == command)
    assert shown == output(command)


def update(command: str) -> None:
    """Write what a command prints below it."""

    def renew(match: re.Match[str]) -> str:
        return f"$ {command}\n{output(command)}" if match[1] == command else match[0]

    README.write_text(SHOWN.sub(renew, README.read_text(encoding="utf-8")), encoding="utf-8")


def test_the_first_command_is_the_one_that_is_shown() -> None:
    first = next(line for line in TEXT.splitlines() if line.startswith("python3 -m venv"))
    assert first.endswith(f"&& .venv/bin/{COMMANDS[0]}")


def test_every_option_and_exit_status_is_listed() -> None:
    rows = set(re.findall(r"^\| `?([-\w]+)", TEXT, re.MULTILINE))
    options = {
        name
        for command in main.commands.values()
        for parameter in command.params
        if isinstance(parameter, click.Option)
        for name in parameter.opts
    }
    assert options | {str(status.value) for status in Status} <= rows


@pytest.mark.parametrize("kind", [*Rule.__subclasses__(), Profile], ids=lambda kind: kind.__name__)
def test_every_field_is_described(kind: type[Rule] | type[Profile]) -> None:
    section = TEXT.partition("\n## Rules\n")[2].partition("\n## ")[0]
    described = set(re.findall(r"`(\w+)`", section))
    assert set(kind.__struct_fields__) <= described
