"""The one place where an error becomes a line, a hint and an exit status."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import click

from pathaudit.cli.completing import complete_values
from pathaudit.cli.manual import Command
from pathaudit.cli.status import Status
from pathaudit.errors import PathAuditError


class Program(Command, click.Group):
    """A group of commands whose users get one line for what they can put right, no traceback."""

    def add_command(self, cmd: click.Command, name: str | None = None) -> None:
        complete_values(cmd)
        super().add_command(cmd, name)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_options(ctx, formatter)
        self.format_commands(ctx, formatter)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args:
            return super().parse_args(ctx, args)  # shows the help, which is no error to reword
        with _explained(ctx):
            return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> object:
        with _explained(ctx):
            return super().invoke(ctx)


@contextmanager
def _explained(context: click.Context) -> Iterator[None]:
    """Turn what the user can act on into a line on the standard error; bugs pass through."""
    try:
        yield
    except click.UsageError as error:
        _say(error.format_message(), f"see '{_command(error, context)} --help'")
        context.exit(Status.USER_ERROR)
    except PathAuditError as error:
        _say(error.message, error.hint)
        context.exit(Status.USER_ERROR)
    except KeyboardInterrupt:
        # A terminal shows ^C where the cursor is.
        click.echo("\n" * sys.stderr.isatty() + "pathaudit: interrupted", err=True)
        context.exit(Status.INTERRUPTED)


def _command(error: click.UsageError, context: click.Context) -> str:
    """Return the command that was used wrongly; click does not always say which."""
    if error.ctx is not None:
        return error.ctx.command_path
    return " ".join(filter(None, (context.command_path, context.invoked_subcommand)))


def _say(message: str, hint: str) -> None:
    from pathaudit.reporters.escaping import visible

    click.echo(f"pathaudit: error: {visible(message)}", err=True)
    if hint:
        click.echo(f"hint: {visible(hint)}", err=True)
