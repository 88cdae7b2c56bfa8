"""Settings of a project on the command line: read before the options, which win over them."""

import os
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, TypeVar, cast

import click
from click.core import ParameterSource

from pathaudit.cli.patches import BOOK_FILE
from pathaudit.errors import UsageError

if TYPE_CHECKING:
    from pathaudit.config import Kept

VARIABLE = "PATHAUDIT_SETTINGS"

# The parameters of commands by the keys of settings that are their defaults.
PARAMETERS = {
    "own-rules": "own",
    "tree": "tree",
    "with": "overlay",
    "baseline": "baseline",
    "patches": "patches",
    "fail-on": "fail_on",
    "strict": "strict",
    "format": "form",
    "jobs": "jobs",
    "offline": "offline",
}

Command = TypeVar("Command", bound=Callable[..., None])


def settings_options(command: Command) -> Command:
    """``--settings FILE`` and ``--isolated``, for a command that settings hold for: one ``kept``.

    What the settings say becomes the default of the options that the command has. The rest is up
    to the command, most of it through ``load_rules(chosen, own, kept)``.
    """

    @wraps(command)
    def gathered(*given: object, **options: object) -> None:
        options.pop("isolated")  # what it says is in what was kept
        command(*given, **options)

    file = click.option(
        "--settings",
        "kept",
        metavar="FILE",
        envvar=VARIABLE,
        is_eager=True,
        callback=_read,
        help="Take the settings from this file, not from the one that is found.",
    )
    alone = click.option(
        "--isolated",
        is_flag=True,
        is_eager=True,
        callback=_refuse_both,
        help="Take no settings from any file.",
    )
    return cast(Command, file(alone(gathered)))


def _read(
    context: click.Context, parameter: click.Parameter, value: str | None
) -> "Kept | str | None":
    """Read the settings, and make them the defaults of what is parsed from here on."""
    if context.resilient_parsing:
        return value  # a shell completes the line, and may look for names there
    from pathaudit.config import Kept, find_settings, load_settings

    stated = context.get_parameter_source(str(parameter.name)) is ParameterSource.COMMANDLINE
    if context.params.get("isolated"):
        if stated:
            raise _both()
        return Kept()
    path = value or find_settings().file
    kept = load_settings(path) if path else Kept()
    context.default_map = _defaults(context.command, kept)
    return kept


def _refuse_both(context: click.Context, _: click.Parameter, alone: bool) -> bool:
    named = context.get_parameter_source("kept") is ParameterSource.COMMANDLINE
    if alone and named and not context.resilient_parsing:
        raise _both()
    return alone


def _both() -> UsageError:
    return UsageError("--isolated takes no settings, and --settings names some", "give one of them")


def _defaults(command: click.Command, kept: "Kept") -> dict[str, object]:
    """What was stated for the parameters of a command, where it has that choice."""
    from pathaudit.config import KEYS

    parameters = {parameter.name: parameter for parameter in command.params}
    found: dict[str, object] = {}
    for key in kept.stated & PARAMETERS.keys():
        value: object = getattr(kept.settings, KEYS[key])
        parameter = parameters.get(PARAMETERS[key])
        if parameter is not None and _fits(parameter, value):
            found[PARAMETERS[key]] = value
    if "patches" in parameters and kept.file:
        beside = os.path.join(os.path.dirname(kept.file), BOOK_FILE)
        if os.path.exists(beside) and not os.path.exists(BOOK_FILE):
            found.setdefault("patches", beside)
    if "fail_on" not in parameters:
        found.pop("form", None)  # the form is that of reports of findings, not of other answers
    return found


def _fits(parameter: click.Parameter, value: object) -> bool:
    return not isinstance(parameter.type, click.Choice) or value in parameter.type.choices
