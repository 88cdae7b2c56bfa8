"""``pathaudit rules schema``: what may stand in a rule or a profile, for editors."""

import json
from typing import Literal, TextIO, get_args

import click

from pathaudit.cli.manual import Command, Manual, documented
from pathaudit.cli.output import write_report

Kind = Literal["rule", "profile"]

MANUAL = Manual(
    text="""
    An editor with a YAML language server completes and checks a file that begins with
    `# yaml-language-server: $schema=rule.schema.json`.
    """,
    arguments=(("KIND", "rule, which is meant if nothing is said, or profile."),),
    examples=(
        ("pathaudit rules schema > rule.schema.json", ""),
        ("pathaudit rules schema profile > profile.schema.json", ""),
    ),
)


@documented(MANUAL)
@click.command(cls=Command)
@click.argument("kind", type=click.Choice(get_args(Kind)), default="rule")
def schema(kind: Kind) -> None:
    """Print the JSON Schema of the files that hold rules and profiles."""
    import msgspec

    from pathaudit.ruleset import AnyRule, Profile

    described: dict[str, object] = msgspec.json.schema({"rule": AnyRule, "profile": Profile}[kind])
    document = {"$schema": "https://json-schema.org/draft/2020-12/schema", **described}

    def render(out: TextIO) -> None:
        out.write(json.dumps(document, indent=2) + "\n")

    write_report(None, render)
