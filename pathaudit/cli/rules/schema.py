"""``pathaudit rules schema``: what may stand in a rule or a profile, for editors."""

import json
from typing import Literal, TextIO, get_args

import click

from pathaudit.cli.manual import Command, Manual, documented
from pathaudit.cli.output import write_report

Kind = Literal["rule", "profile", "settings"]

MANUAL = Manual(
    text="""
    An editor with a YAML language server completes and checks a file that begins with
    `# yaml-language-server: $schema=rule.schema.json`.
    """,
    arguments=(("KIND", "rule, which is meant if nothing is said, profile, or settings: pathaudit.toml."),),
    examples=(
        ("pathaudit rules schema > rule.schema.json", ""),
        ("pathaudit rules schema profile > profile.schema.json", ""),
        ("pathaudit rules schema settings > pathaudit.schema.json", "for a TOML editor"),
    ),
)


@documented(MANUAL)
@click.command(cls=Command)
@click.argument("kind", type=click.Choice(get_args(Kind)), default="rule")
def schema(kind: Kind) -> None:
    """Print the JSON Schema of the files that hold rules, profiles and settings."""
    import msgspec

    from pathaudit.config import Settings
    from pathaudit.ruleset import AnyRule, Profile

    kinds = {"rule": AnyRule, "profile": Profile, "settings": Settings}
    described: dict[str, object] = msgspec.json.schema(kinds[kind])
    document = {"$schema": "https://json-schema.org/draft/2020-12/schema", **described}

    def render(out: TextIO) -> None:
        out.write(json.dumps(document, indent=2) + "\n")

    write_report(None, render)
