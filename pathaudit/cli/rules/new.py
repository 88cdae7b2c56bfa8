"""``pathaudit rules new``: a rule to start from, with its labelled example."""

import re
from pathlib import Path

import click

from pathaudit.cli.manual import Command, Manual, documented
from pathaudit.cli.options import FRAMEWORK
from pathaudit.errors import UsageError

MANUAL = Manual(
    text="""
    Two files appear, ID.yaml and ID.py, which `pathaudit rules test` passes as they are. Files
    that exist are never overwritten.
    """,
    arguments=(("ID", "What names the defect, in small letters with dashes: skipped-tap."),),
    examples=(
        ("pathaudit rules new skipped-tap --dir ours", ""),
        ("pathaudit rules test ours", ""),
        ("pathaudit scan --rules ours --rule skipped-tap", ""),
    ),
)

_RULE = """\
# A rule in YAML; `pathaudit rules schema` describes every field, and README.md under "Rules".
# The id is the name of this file, and names the defect: it reads well behind "allow".
id: {id}
title: layers run without a tap
# covers: on every path, each run of a layer comes with the required call.
kind: covers
# error fails a scan; warning and note are shown.
severity: error
# layers: all decoder layers of served models. features: those that a feature's setter arms.
subject: layers
trigger: runs-layers
# The call that must be there: `$X` is any expression, `...` any arguments.
require: tap(...)
scope: iteration
# What a finding says; {{layers}} becomes the range that is left out.
message: layers {{layers}} run without tap()
# Say here what breaks for a user, and how to mend it; each may be left out.
why: >-
  What reads the taps misses these layers.
use_instead: >-
  Call tap() for each layer, on every path.
"""

_EXAMPLE = '''\
"""What `{id}` finds and what it leaves alone; `pathaudit rules test` compares.

A comment above a statement is a label: `# expect: ID` a finding, `# ok: ID` none.
"""

from torch import nn

from our_fork import tap


class Layer(nn.Module):
    def forward(self, hidden_states, forward_batch):
        return self.mlp(hidden_states)


class Model(nn.Module):
    def __init__(self, config) -> None:
        super().__init__()
        self.layers = nn.ModuleList([Layer() for _ in range(config.num_hidden_layers)])

    def forward(self, hidden_states, forward_batch):
        if forward_batch.is_decode():
            # expect: {id}
            for layer in self.layers:
                hidden_states = layer(hidden_states, forward_batch)
        else:
            # ok: {id}
            for i, layer in enumerate(self.layers):
                hidden_states = layer(hidden_states, forward_batch)
                tap(i, hidden_states)
        return hidden_states


# The class that the framework serves.
class ExampleForCausalLM(nn.Module):
    def __init__(self, config) -> None:
        super().__init__()
        self.model = Model(config)

    def forward(self, input_ids, positions, forward_batch):
        return self.model(self.embed(input_ids), forward_batch)


EntryClass = ExampleForCausalLM
'''


@documented(MANUAL)
@click.command("new", cls=Command)
@click.argument("name", metavar="ID")
@click.option(
    "--dir", "directory", metavar="DIR", default=".", help="Where to write it; this directory if not said."
)
def new_rule(name: str, directory: str) -> None:
    """Write a rule to start from, and its labelled example."""
    folder = Path(directory)
    _check(name, folder)
    paths = {folder / f"{name}.yaml": _RULE, folder / f"{name}.py": _EXAMPLE}
    for path in paths:
        if path.exists():
            raise UsageError(f"{path}: exists, and is not overwritten", "choose another id")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path, text in paths.items():
            with path.open("x", encoding="utf-8", newline="\n") as file:
                file.write(text.format(id=name))
            click.echo(f"wrote {path}")
    except OSError as error:
        raise UsageError(f"{directory}: cannot be written: {error.strerror}") from error


def _check(name: str, folder: Path) -> None:
    from pathaudit.ruleset import rules_directory

    # The profile stands beside the rules.
    if re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", name) is None or name == "profile":
        hint = "small letters and digits, with dashes between them: skipped-tap"
        raise UsageError(f"{name!r} is no id of a rule", hint)
    if (rules_directory() / FRAMEWORK / f"{name}.yaml").exists():
        raise UsageError(f"there is a rule {name!r} already", f"see 'pathaudit explain {name}'")
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder}: is no directory")
