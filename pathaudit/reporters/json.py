"""Answers for programs: JSON, the same bytes for the same answer, and its schema."""

import json
from typing import TextIO, TypeAlias

import msgspec

from pathaudit.decisions import GatesReport
from pathaudit.results import GraphView, Report
from pathaudit.results.bumps import BumpReport
from pathaudit.results.hooks import HooksReport
from pathaudit.results.live import LiveReport
from pathaudit.results.matrices import Matrix
from pathaudit.results.patches import KeptPatches, PatchesReport
from pathaudit.results.reaches import ReachReport
from pathaudit.results.settings import SettingsReport
from pathaudit.results.versions import History, ReportDiff

Answer: TypeAlias = (
    Report
    | GraphView
    | ReportDiff
    | History
    | GatesReport
    | LiveReport
    | BumpReport
    | ReachReport
    | HooksReport
    | Matrix
    | PatchesReport
    | KeptPatches
    | SettingsReport
)

_FIRST = ("schema", "tool", "source", "findings", "entries", "gaps", "summary")


def render(answer: Answer, out: TextIO) -> None:
    """Write an answer to ``out``, as ``document`` has it."""
    fields: dict[str, object] = msgspec.to_builtins(answer)
    out.write(document(_ordered(fields)))


def document(fields: dict[str, object]) -> str:
    """A document indented by two spaces and ended by a newline.

    It is ASCII without control characters, so that names from the audited code reach no terminal
    unescaped and an undecodable file name (a lone surrogate) cannot break the output. Nor is
    there anything in it that a CI runner would take for a command.
    """
    text = json.dumps(fields, indent=2).replace("\x7f", "\\u007f")
    return text.replace("##", "\\u0023#") + "\n"


def schema(kind: type[Answer] = Report) -> dict[str, object]:
    """Return the JSON Schema (draft 2020-12) of what ``render`` writes for a kind of answer."""
    definitions: dict[str, dict[str, object]] = msgspec.json.schema(kind)["$defs"]
    for definition in definitions.values():
        _require_all(definition)
    # msgspec refers to the answer's definition, but "additionalProperties" beside a reference
    # would forbid all that it refers to: so that definition becomes the document.
    document = definitions.pop(kind.__name__)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **document,
        "additionalProperties": False,
        "$defs": definitions,
    }


def _require_all(definition: dict[str, object]) -> None:
    """Require each field, since ``render`` writes even those that have a default."""
    properties = definition.get("properties")
    if not isinstance(properties, dict):
        return
    if "schema" in properties:
        properties = _ordered(properties) | {"schema": {"const": properties["schema"]["default"]}}
    definition["properties"] = properties
    definition["required"] = list(properties)


def _ordered(fields: dict[str, object]) -> dict[str, object]:
    """Put the fields that a reader looks for first in front, in the order of the documentation."""
    first = _FIRST if "findings" in fields else _FIRST[:3]
    return {name: fields[name] for name in first if name in fields} | fields
