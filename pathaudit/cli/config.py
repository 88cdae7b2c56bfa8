"""``pathaudit config``: which settings hold, and why?"""

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal, TextIO, get_args

import click
from click.core import ParameterSource

from pathaudit.cli.manual import (
    CACHE_VARIABLE,
    SETTINGS_FILES,
    VARIABLES,
    Command,
    Manual,
    documented,
)
from pathaudit.cli.options import load_rules
from pathaudit.cli.output import columns, write_report
from pathaudit.cli.settings import PARAMETERS, settings_options

if TYPE_CHECKING:
    from pathaudit.config import Kept
    from pathaudit.results.settings import Held, SettingsReport

Format = Literal["text", "json"]

MANUAL = Manual(
    text="""
    One row a key: the value that holds, and where it comes from. A file's line is given, or the
    folders that were looked in for a file. The keys of a file are checked, and so are the rules
    that it names.

    Options that a command line is to have can be given here, too: the answer then shows what
    would hold for it.
    """,
    examples=(
        ("pathaudit config", "what holds in this folder"),
        ("pathaudit config --fail-on note --jobs 4", "what would hold with these"),
        ("pathaudit config --settings ci/pathaudit.toml", "another file"),
        ("pathaudit config --format json", ""),
    ),
    variables=VARIABLES,
    files=(SETTINGS_FILES,),
)


@documented(MANUAL)
@click.command(cls=Command)
@click.option("--rule", "chosen", metavar="ID", multiple=True, help="For the key `select`.")
@click.option("--rules", "own", metavar="DIR", multiple=True, help="For the key `own-rules`.")
@click.option("--entry", metavar="ARCHITECTURE", help="For the key `entries`.")
@click.option("--tree", metavar="TREE", help="For the key `tree`: the argument of scan.")
@click.option("--with", "overlay", metavar="DIR", help="For the key `with`.")
@click.option("--offline/--no-offline", help="For the key `offline`.")
@click.option("--baseline", metavar="FILE", help="For the key `baseline`.")
@click.option("--patches", metavar="FILE", help="For the key `patches`.")
@click.option(
    "--fail-on",
    type=click.Choice(("error", "warning", "note", "never")),
    help="For the key `fail-on`.",
)
@click.option("--strict/--no-strict", help="For the key `strict`.")
@click.option("--jobs", metavar="N", type=click.IntRange(min=1), help="For the key `jobs`.")
@settings_options
@click.option(
    "--format",
    "shape",
    type=click.Choice(get_args(Format)),
    default="text",
    show_default=True,
    help="The form of this answer; the key `format` is that of reports.",
)
@click.option("--verbose", is_flag=True, help="Show variables of the environment, too.")
@click.pass_context
def config(
    context: click.Context, /, *, kept: "Kept", shape: Format, verbose: bool, **_: object
) -> None:
    """Say which settings hold, and where they come from."""
    report = _report(context, kept)

    def render(out: TextIO) -> None:
        from pathaudit.reporters import json, settings

        if shape == "json":
            json.render(report, out)
        else:
            settings.render(report, out, width=columns(out), verbose=verbose)

    write_report(None, render)


def _report(context: click.Context, kept: "Kept") -> "SettingsReport":
    from pathaudit.config import find_settings
    from pathaudit.results.settings import SettingsReport

    chosen: tuple[str, ...] = context.params["chosen"]
    own: tuple[str, ...] = context.params["own"]
    rules = load_rules(chosen, own, kept)
    origin = _origin(context)
    looked = find_settings().looked if origin == "found" and not kept.file else ()
    return SettingsReport(
        file=kept.file,
        origin=origin,
        looked=looked,
        keys=tuple(_keys(context, kept)),
        checked=tuple(rule.id for rule in rules.rules),
        known=tuple(sorted(rules.known)),
        environment=tuple(_variables()),
    )


def _origin(context: click.Context) -> str:
    """Why the settings are from this file, or from none."""
    if context.params["isolated"]:
        return "isolated"
    named = {
        ParameterSource.COMMANDLINE: "command line",
        ParameterSource.ENVIRONMENT: "environment",
    }
    source = context.get_parameter_source("kept")
    return named.get(source, "found") if source is not None else "found"


def _keys(context: click.Context, kept: "Kept") -> "Iterator[Held]":
    from pathaudit.config import KEYS
    from pathaudit.results.settings import Held

    names = {**PARAMETERS, "select": "chosen", "entries": "entry"}
    for key, field in KEYS.items():
        name = names.get(key, "")
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            yield Held(key=key, values=_texts(context.params[name]), origin="command line")
        elif key == "rules" and kept.settings.rules:
            for rule, rating in kept.settings.rules.items():
                yield _from_file(kept, ("rules", rule), rating)
        elif key in kept.stated:
            yield _from_file(kept, (key,), getattr(kept.settings, field))
        else:
            values = _texts(getattr(kept.settings, field))
            yield Held(key=key, values=values, origin="default")


def _from_file(kept: "Kept", path: tuple[str, ...], value: object) -> "Held":
    from pathaudit.results.settings import Held

    line = kept.line(*path)
    return Held(key=".".join(path), values=_texts(value), origin="file", file=kept.file, line=line)


def _texts(value: object) -> tuple[str, ...]:
    """A value as words: those of a list, or true and false as in a settings file."""
    if value is None or value == {}:
        return ()
    if isinstance(value, tuple):
        return tuple(map(str, value))
    return (str(value).lower() if isinstance(value, bool) else str(value),)


def _variables() -> "Iterator[Held]":
    from pathaudit.cache import cache_path
    from pathaudit.results.settings import Held

    for name, _ in VARIABLES:
        stated = os.environ.get(name)
        usual = (str(cache_path().parent),) if name == CACHE_VARIABLE[0] else ()
        values = (stated,) if stated else usual
        yield Held(key=name, values=values, origin="environment" if stated else "default")
