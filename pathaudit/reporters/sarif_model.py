"""The part of SARIF 2.1.0 that reports are written in, under the names of the standard.

What has its default is left out of the document. Lines and columns count from 1, and an end column
is that of the character after the region.
"""

import re

from msgspec import Struct, field

from pathaudit.reporters.escaping import visible
from pathaudit.results.settings import LeftOut

BASE = "%SRCROOT%"
_LINK = re.compile(r"\](?=\()")


class _Object(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """An object of the standard."""


class Message(_Object, frozen=True, kw_only=True):
    text: str
    markdown: str = ""


class ArtifactLocation(_Object, frozen=True, kw_only=True):
    uri: str = ""
    uri_base_id: str = ""
    description: Message | None = None


class Region(_Object, frozen=True, kw_only=True):
    start_line: int
    start_column: int | None = None
    end_line: int | None = None
    end_column: int | None = None


class PhysicalLocation(_Object, frozen=True, kw_only=True):
    artifact_location: ArtifactLocation
    region: Region | None = None


class LogicalLocation(_Object, frozen=True, kw_only=True):
    fully_qualified_name: str
    kind: str = ""


class Location(_Object, frozen=True, kw_only=True):
    physical_location: PhysicalLocation
    id: int = -1
    logical_locations: tuple[LogicalLocation, ...] = ()
    message: Message | None = None


class ThreadFlowLocation(_Object, frozen=True, kw_only=True):
    location: Location
    kinds: tuple[str, ...] = ()
    importance: str = "important"


class ThreadFlow(_Object, frozen=True, kw_only=True):
    locations: tuple[ThreadFlowLocation, ...]


class CodeFlow(_Object, frozen=True, kw_only=True):
    thread_flows: tuple[ThreadFlow, ...]
    message: Message | None = None


class Suppression(_Object, frozen=True, kw_only=True):
    kind: str
    status: str
    justification: str


class FindingProperties(_Object, frozen=True, kw_only=True):
    """What SARIF has no place for, under the names of the JSON report."""

    severity: str
    verdict: str
    reach: str
    entry: str
    condition: str = ""
    layers: str = ""
    proof: str = ""
    effect: str = ""
    fix: str = ""
    witness: dict[str, int] = {}
    controls: tuple[str, ...] = ()
    features: tuple[str, ...] = ()
    entries: tuple[str, ...] = ()


class Result(_Object, frozen=True, kw_only=True):
    rule_id: str
    rule_index: int
    kind: str
    level: str
    message: Message
    locations: tuple[Location, ...]
    partial_fingerprints: dict[str, str]
    code_flows: tuple[CodeFlow, ...] = ()
    related_locations: tuple[Location, ...] = ()
    suppressions: tuple[Suppression, ...] | None = None
    baseline_state: str = ""
    properties: FindingProperties


class Configuration(_Object, frozen=True, kw_only=True):
    level: str


class Descriptor(_Object, frozen=True, kw_only=True):
    """A rule, or a kind of notification."""

    id: str
    name: str = ""
    short_description: Message | None = None
    full_description: Message | None = None
    help: Message | None = None
    default_configuration: Configuration | None = None
    properties: dict[str, str | tuple[str, ...]] = {}


class Reference(_Object, frozen=True, kw_only=True):
    """A descriptor that is meant, by its place among those of the tool."""

    id: str
    index: int = -1


class Notification(_Object, frozen=True, kw_only=True):
    descriptor: Reference
    level: str
    message: Message
    locations: tuple[Location, ...] = ()


class Invocation(_Object, frozen=True, kw_only=True):
    execution_successful: bool
    tool_execution_notifications: tuple[Notification, ...]


class Driver(_Object, frozen=True, kw_only=True):
    name: str
    semantic_version: str
    rules: tuple[Descriptor, ...]
    notifications: tuple[Descriptor, ...]


class Tool(_Object, frozen=True, kw_only=True):
    driver: Driver


class Automation(_Object, frozen=True, kw_only=True):
    id: str


class RunProperties(_Object, frozen=True, kw_only=True):
    source: dict[str, str]
    summary: dict[str, int]
    old: dict[str, str] = {}
    inert: tuple[str, ...] = ()
    left_out: LeftOut | None = None


class Run(_Object, frozen=True, kw_only=True):
    tool: Tool
    automation_details: Automation
    column_kind: str
    original_uri_base_ids: dict[str, ArtifactLocation]
    invocations: tuple[Invocation, ...]
    results: tuple[Result, ...]
    properties: RunProperties


class Log(_Object, frozen=True, kw_only=True):
    schema: str = field(name="$schema")
    version: str
    runs: tuple[Run, ...]


def message(text: str) -> Message:
    """A message that says a text literally.

    Braces are doubled, since they stand for arguments, and what would be a link is none: between
    the brackets of a subscript and those of a call a space makes no difference to Python.
    """
    shown = visible(text).replace("{", "{{").replace("}", "}}")
    return Message(text=_LINK.sub("] ", shown))
