"""``pathaudit patch list``: which patches are kept, and what they change."""

from typing import TYPE_CHECKING, Literal, TextIO, get_args

import click

from pathaudit.cli.manual import (
    PATCHES_FILE,
    SETTINGS_FILES,
    SETTINGS_VARIABLE,
    WIDTH_VARIABLE,
    Command,
    Manual,
    documented,
)
from pathaudit.cli.output import columns, write_report
from pathaudit.cli.patches import patches_file, patches_option
from pathaudit.cli.settings import settings_options

if TYPE_CHECKING:
    from pathaudit.config import Kept
    from pathaudit.results.patches import KeptPatch, KeptPatches, KeptPath
    from pathaudit.ruleset.patches import Path, Reliance

Format = Literal["text", "json"]

MANUAL = Manual(
    examples=(
        ("pathaudit patch list", ""),
        ("pathaudit patch list --patches deploy/pathaudit-patches.json --format json", ""),
    ),
    variables=(SETTINGS_VARIABLE, WIDTH_VARIABLE),
    files=(SETTINGS_FILES, PATCHES_FILE),
)


@documented(MANUAL)
@click.command("list", cls=Command)
@patches_option
@settings_options
@click.option(
    "--format",
    "form",
    type=click.Choice(get_args(Format)),
    default="text",
    show_default=True,
    help="The form of the answer.",
)
def list_patches(*, form: Format, kept: "Kept") -> None:  # noqa: ARG001
    """List the patches that are kept, with what they change."""
    patches = _kept(patches_file())

    def render(out: TextIO) -> None:
        from pathaudit.reporters import json
        from pathaudit.reporters import patches as text

        if form == "json":
            json.render(patches, out)
        else:
            text.render_kept(patches, out, width=columns(out))

    write_report(None, render)


def _kept(path: str) -> "KeptPatches":
    from pathaudit.relies.book import read_book
    from pathaudit.results.patches import KeptPatches

    items = sorted(read_book(path).patches, key=lambda item: item.name)
    return KeptPatches(file=path, patches=tuple(map(kept_patch, items)))


def kept_patch(item: "Reliance") -> "KeptPatch":
    """A patch as it is told."""
    from pathaudit.results.patches import KeptPatch

    functions = [function for file in item.files for function in file.functions]
    return KeptPatch(
        name=item.name,
        reason=item.reason,
        version=item.version,
        patched=item.patched,
        files=tuple(file.path for file in item.files),
        functions=tuple(dict.fromkeys(x.symbol for x in functions if x.symbol)),
        paths=tuple(kept_path(path) for function in functions for path in function.paths),
    )


def kept_path(path: "Path") -> "KeptPath":
    """A statement of a patch as it is told."""
    from pathaudit.results.patches import KeptPath

    return KeptPath(code=path.code, runs=path.runs, entries=path.entries, missed=path.missed)
