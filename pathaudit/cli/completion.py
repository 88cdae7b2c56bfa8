"""``pathaudit completion``: the script that lets a shell complete command lines."""

from typing import Literal, TextIO, get_args

import click
from click.shell_completion import get_completion_class

from pathaudit.cli.manual import Command, Manual, documented
from pathaudit.cli.output import write_report
from pathaudit.errors import UsageError

Shell = Literal["bash", "zsh", "fish"]

_PROGRAM = "pathaudit"
_VARIABLE = "_PATHAUDIT_COMPLETE"

# How to put the script where the shell finds it: lines of a comment in front of it.
_INSTALL: dict[Shell, tuple[str, ...]] = {
    "bash": (
        "Completion of pathaudit for bash 4.4 or later. For this shell:",
        '    eval "$(pathaudit completion bash)"',
        "For each new one, where bash-completion is installed:",
        "    mkdir -p ~/.local/share/bash-completion/completions",
        "    pathaudit completion bash > ~/.local/share/bash-completion/completions/pathaudit",
        "Without it, put the first of these lines into ~/.bashrc.",
    ),
    "zsh": (
        "Completion of pathaudit for zsh. For this shell, after compinit:",
        '    eval "$(pathaudit completion zsh)"',
        "For each new one, into a folder of $fpath, before compinit in ~/.zshrc:",
        "    mkdir -p ~/.zsh/completions",
        "    pathaudit completion zsh > ~/.zsh/completions/_pathaudit",
        "    fpath=(~/.zsh/completions $fpath)",
    ),
    "fish": (
        "Completion of pathaudit for fish. For this shell:",
        "    pathaudit completion fish | source",
        "For each new one:",
        "    pathaudit completion fish > ~/.config/fish/completions/pathaudit.fish",
    ),
}

MANUAL = Manual(
    text="""
    The script begins with comments that say where to put it. It completes commands, options and
    their values, files, ids of rules (also of rules of your own that the settings name), and
    served classes where the tree is a folder.
    """,
    arguments=(("SHELL", "bash (4.4 or later), zsh or fish."),),
    examples=(
        ('eval "$(pathaudit completion bash)"', "for this shell"),
        ("pathaudit completion zsh > ~/.zsh/completions/_pathaudit", ""),
        ("pathaudit completion fish | source", ""),
    ),
)


@documented(MANUAL)
@click.command(cls=Command)
@click.argument("shell", type=click.Choice(get_args(Shell)))
@click.pass_context
def completion(context: click.Context, shell: Shell) -> None:
    """Print the script that lets a shell complete pathaudit."""
    kind = get_completion_class(shell)
    if kind is None:
        raise UsageError(f"click cannot complete for {shell}", "update click")
    script = kind(context.find_root().command, {}, _PROGRAM, _VARIABLE).source()
    comments = "".join(f"# {line}\n" for line in _INSTALL[shell])
    # zsh looks for this mark on the first line of a file.
    first, end, rest = script.partition("\n") if script.startswith("#compdef") else ("", "", script)

    def render(out: TextIO) -> None:
        out.write(f"{first}{end}{comments}{rest}")

    write_report(None, render)
