"""Help in the sections of a manual page, and examples in it that are command lines."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from pathaudit.cli import main
from pathaudit.cli.manual import Command, Manual, documented

ROOT = Path(__file__).parent.parent


def commands(group: click.Group, *above: str) -> Iterator[tuple[str, click.Command]]:
    for name, command in group.commands.items():
        yield " ".join((*above, name)), command
        if isinstance(command, click.Group):
            yield from commands(command, *above, name)


ALL = [("", main), *commands(main)]
every_command = pytest.mark.parametrize(("name", "command"), ALL, ids=[name for name, _ in ALL])


def manual_of(command: click.Command) -> Manual:
    assert isinstance(command, Command), "decorate it: @documented(MANUAL), cls=Command"
    return command.manual


def help_of(name: str) -> str:
    return CliRunner().invoke(main, [*name.split(), "--help"], prog_name="pathaudit").stdout


def sections(text: str) -> dict[str, list[str]]:
    """The lines below each heading, in order."""
    found: dict[str, list[str]] = {"": []}
    heading = ""
    for line in text.splitlines():
        match = re.fullmatch(r"(\S[^:]*):", line)
        heading = match[1] if match else heading
        found.setdefault(heading, []).append(line)
    return found


ORDER = ["", "Arguments", "Options", "Tree", "Rules and classes", "Known findings"]
ORDER += ["What fails the run", "Report", "Work and settings", "Help", "Commands"]
ORDER += ["Examples", "Exit status", "Environment", "Files"]


@every_command
def test_the_sections_have_an_order(name: str, command: click.Command) -> None:
    own = [heading for heading, _ in manual_of(command).sections]
    found = list(sections(help_of(name)))
    if own:
        first = found.index("Examples") - len(own)
        assert own == found[first : first + len(own)]
        del found[first : first + len(own)]
    assert found == [heading for heading in ORDER if heading in found]
    assert {"Examples", "Exit status"} <= set(found)
    takes = any(isinstance(parameter, click.Argument) for parameter in command.params)
    assert ("Arguments" in found) == takes


@every_command
def test_help_fits_80_columns(name: str, command: click.Command) -> None:
    assert manual_of(command)
    assert [line for line in help_of(name).splitlines() if len(line) > 80] == []


@every_command
def test_every_option_is_described_once(name: str, command: click.Command) -> None:
    text = "\n".join(line for x, lines in sections(help_of(name)).items() if x for line in lines)
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert parameter.help, parameter.name
            starts = re.findall(rf"^  {re.escape(parameter.opts[0])}\b", text, re.MULTILINE)
            assert len(starts) == 1, parameter.opts


@every_command
def test_every_argument_is_described(name: str, command: click.Command) -> None:
    described = " ".join(term for term, _ in manual_of(command).arguments)
    for parameter in command.params:
        if isinstance(parameter, click.Argument):
            words = re.findall(r"[A-Z]+", (parameter.metavar or parameter.name or "").upper())
            assert set(words) <= set(re.findall(r"[A-Z]+", described)), name


def given(line: str) -> Iterator[list[str]]:
    """The command lines of pathaudit in an example, without what a shell does with them."""
    line = re.sub(r'^eval "\$\((.*)\)"$', r"\1", line)
    for part in line.split(" | "):
        words = shlex.split(part.partition(" > ")[0])
        if words[0] == "pathaudit":
            yield words[1:]


EXAMPLES = [
    line
    for _, command in ALL
    if isinstance(command, Command)
    for line, _ in command.manual.examples
]


@pytest.mark.parametrize("line", list(dict.fromkeys(EXAMPLES)))
def test_an_example_is_a_command_line(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("ci").mkdir()
    Path("ci/pathaudit.toml").write_text("strict = true\n")
    found = list(given(line))
    assert found
    for words in found:
        parse(words)


def parse(words: list[str]) -> None:
    """Parse a command line to its end, and run nothing; what click refuses is raised."""
    command: click.Command = main
    context = click.Context(main, info_name="pathaudit")
    while isinstance(command, click.Group) and words and words != ["--help"]:
        name, found, words = command.resolve_command(context, words)
        assert found is not None
        command, context = found, click.Context(found, info_name=name, parent=context)
    if not isinstance(command, click.Group) and "--help" not in words:
        command.make_context(context.info_name, list(words), parent=context.parent)


@pytest.mark.parametrize(
    "words",
    [["scan", "--nope"], ["scan", "--format", "x"], ["rules", "lst"], ["nope"], ["explain"]],
)
def test_what_is_no_command_line_is_refused(words: list[str]) -> None:
    with pytest.raises(click.UsageError):
        parse(words)


@every_command
def test_an_example_is_of_its_command(name: str, command: click.Command) -> None:
    first = " ".join(next(given(manual_of(command).examples[0][0])))
    assert f"{first} ".startswith(f"{name} ") or not name or isinstance(command, click.Group)


def test_the_first_words_say_what_a_command_does() -> None:
    # As wide as click writes in a terminal of 80 columns; in tests it takes two more.
    text = main.get_help(click.Context(main, terminal_width=78))
    for line in sections(text)["Commands"][1:]:
        assert not line.strip().endswith("..."), "cut: say it in fewer words"


REMARK_BELOW = "  pathaudit scan --aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n      a remark\n"


@pytest.mark.parametrize(
    ("line", "remark", "expected"),
    [
        pytest.param("pathaudit scan", "", "  pathaudit scan\n", id="alone"),
        pytest.param("pathaudit scan", "x", f"  {'pathaudit scan':46}x\n", id="beside"),
        pytest.param(
            "pathaudit scan --aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
            "a remark",
            REMARK_BELOW,
            id="below",
        ),
        pytest.param(
            "pathaudit scan", "y" * 33, f"  pathaudit scan\n      {'y' * 33}\n", id="a long remark"
        ),
    ],
)
def test_a_remark(line: str, remark: str, expected: str) -> None:
    @documented(Manual(examples=((line, remark),)))
    @click.command(cls=Command)
    def command() -> None:
        """Do nothing."""

    text = CliRunner().invoke(command, ["--help"]).stdout
    assert f"Examples:\n{expected}" in text
