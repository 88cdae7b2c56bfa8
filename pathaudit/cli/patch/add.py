"""``pathaudit patch add``: note what a patch relies on."""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import click

from pathaudit.cli.manual import FILES, PATCHES_FILE, VARIABLES, Command, Manual, documented
from pathaudit.cli.options import Reach, open_inputs, source_options
from pathaudit.cli.output import check_output, columns, write_report, write_text
from pathaudit.cli.patches import patches_file, patches_option
from pathaudit.cli.settings import settings_options
from pathaudit.errors import UsageError

if TYPE_CHECKING:
    from pathaudit.config import Kept
    from pathaudit.ruleset import Ruleset
    from pathaudit.ruleset.patches import PatchBook, Reliance
    from pathaudit.sources import SourceTree
    from pathaudit.sources.patches import Patch

MANUAL = Manual(
    text="""
    A patch of the same name is noted anew. Where the tree has the patch, every other tree is
    expected to have it too, as a fork's.
    """,
    arguments=(
        ("DIFF", "A unified diff, or - for the standard input."),
        ("TREE", "Of --tree: what it was made for, without the patch or with it; as for scan."),
    ),
    examples=(
        ("pathaudit patch add fix.diff", "of the installed sglang"),
        ("pathaudit patch add fix.diff --tree sglang==0.5.6", ""),
        ("pathaudit patch add fix.diff --tree git:v0.5.6 --repo ~/src/sglang", ""),
        ("git diff v0.5.6 | pathaudit patch add - --name ours --tree ~/src/sglang", ""),
    ),
    variables=VARIABLES,
    files=(*FILES, PATCHES_FILE),
)


@documented(MANUAL)
@click.command(cls=Command)
@click.argument("diff", metavar="DIFF")
@click.option("--tree", metavar="TREE", help="What the patch was made for, as for scan.")
@click.option("--name", metavar="NAME", help="What to call it; the name of the file, if not given.")
@click.option(
    "--reason", metavar="TEXT", default="", help="What it is for, for who reads the file."
)
@patches_option
@source_options
@settings_options
def add(
    diff: str,
    *,
    tree: str | None,
    name: str | None,
    reason: str,
    reach: Reach,
    kept: "Kept",
) -> None:
    """Note what a patch relies on."""
    from pathaudit.relies.book import book_text, with_patch
    from pathaudit.reporters.escaping import visible

    path = patches_file()
    check_output(path)
    book = _book(path)
    called = _name(diff, name)
    item = _noted(_read(diff), called, reason, open_inputs(tree, reach=reach, kept=kept))
    text = book_text(with_patch(book, item))
    write_text(path, text)
    click.echo(f"{visible(path)}: noted {visible(item.name)}\n")
    write_report(None, lambda out: _tell(item, out))


def _tell(item: "Reliance", out: TextIO) -> None:
    from pathaudit.cli.patch.listing import kept_patch
    from pathaudit.reporters import patches

    patches.render_patch(kept_patch(item), out, width=columns(out))


def _book(path: str) -> "PatchBook":
    from pathaudit.relies.book import read_book
    from pathaudit.ruleset.patches import PatchBook

    return read_book(path) if os.path.exists(path) else PatchBook()


def _read(diff: str) -> "Patch":
    from pathaudit.sources.patches import MAX_PATCH_BYTES, open_patch, read_patch

    if diff != "-":
        return open_patch(diff)
    return read_patch(sys.stdin.buffer.read(MAX_PATCH_BYTES + 1), "standard input")


def _name(diff: str, name: str | None) -> str:
    if name is None and diff == "-":
        raise UsageError("a patch from the standard input has no name", "give it one with --name")
    found = (name if name is not None else Path(diff).stem).strip()
    if not found or not found.isprintable():
        raise UsageError(f"{found!r} is no name for a patch", "give it one with --name")
    return found


def _noted(
    diff: "Patch", name: str, reason: str, opened: "tuple[SourceTree, Ruleset]"
) -> "Reliance":
    from pathaudit.relies.record import record_patch

    source, ruleset = opened
    return record_patch(source, ruleset.profile, diff, name=name, reason=reason)
