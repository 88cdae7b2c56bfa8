"""``pathaudit patch schema``: what stands in the file that keeps what patches rely on."""

import json
from typing import TextIO

import click

from pathaudit.cli.manual import PATCHES_FILE, Command, Manual, documented
from pathaudit.cli.output import write_report

MANUAL = Manual(
    examples=(("pathaudit patch schema > pathaudit-patches.schema.json", ""),),
    files=(PATCHES_FILE,),
)


@documented(MANUAL)
@click.command(cls=Command)
def schema() -> None:
    """Print the JSON Schema of the file that keeps what patches rely on."""
    import msgspec

    from pathaudit.ruleset.patches import PatchBook

    described: dict[str, object] = msgspec.json.schema(PatchBook)
    document = {"$schema": "https://json-schema.org/draft/2020-12/schema", **described}

    def render(out: TextIO) -> None:
        out.write(json.dumps(document, indent=2) + "\n")

    write_report(None, render)
