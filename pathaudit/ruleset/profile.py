"""What a framework is, as data."""

from fnmatch import fnmatchcase
from itertools import takewhile
from typing import Literal

from msgspec import Struct


class Entries(Struct, frozen=True, forbid_unknown_fields=True):
    """Which classes are served, and which of their methods the framework calls."""

    variable: str
    methods: tuple[str, ...]


class Modules(Struct, frozen=True, forbid_unknown_fields=True):
    """How modules behave: what calling one calls, and which methods of a layer run it."""

    call: str
    bases: tuple[str, ...]
    runs: tuple[str, ...]


class StackConstructor(Struct, frozen=True, forbid_unknown_fields=True):
    """A function that builds a layer stack; ``element`` is the argument that builds one layer."""

    call: str
    element: str
    position: int


class Placeholder(Struct, frozen=True, forbid_unknown_fields=True, rename={"class_name": "class"}):
    """The class of layers that belong to another pipeline stage: below ``first``, from ``end``."""

    class_name: str
    first: str
    end: str


class Stacks(Struct, frozen=True, forbid_unknown_fields=True):
    constructors: tuple[StackConstructor, ...]
    containers: tuple[str, ...]
    counts: tuple[str, ...]
    placeholder: Placeholder | None = None


class Features(Struct, frozen=True, forbid_unknown_fields=True):
    """Name patterns of the methods that arm a feature."""

    setters: tuple[str, ...]


class Drafts(Struct, frozen=True, forbid_unknown_fields=True):
    classes: tuple[str, ...]
    files: tuple[str, ...]


class Anchor(Struct, frozen=True, forbid_unknown_fields=True):
    """Code that must be there for a fact to hold: ``text`` in one of ``files`` (globs)."""

    files: tuple[str, ...]
    text: str


class Gate(Struct, frozen=True, forbid_unknown_fields=True):
    """``method`` does not run together with an armed feature, unless the other code is there."""

    method: str
    reason: str
    anchor: Anchor
    unless: Anchor | None = None


class Assumption(Struct, frozen=True, forbid_unknown_fields=True):
    """``expression`` (a pattern) is true, false, not ``None`` (some) or a positive integer."""

    expression: str
    value: bool | Literal["some", "positive"]


class EventPattern(Struct, frozen=True, forbid_unknown_fields=True):
    """A call in Semgrep's manner. ``where`` constrains a metavariable to a kind of value."""

    pattern: str
    where: dict[str, Literal["accumulator"]] = {}


class Profile(Struct, frozen=True, forbid_unknown_fields=True):
    """Every fact about a framework that the engine needs."""

    framework: str
    package: str
    models: tuple[str, ...]
    entries: Entries
    modules: Modules
    stacks: Stacks
    features: Features
    drafts: Drafts
    integers: tuple[str, ...]
    bounds: tuple[str, ...]
    assumptions: dict[str, tuple[Assumption, ...]]
    events: dict[str, tuple[EventPattern, ...]]
    gates: tuple[Gate, ...] = ()

    @property
    def model_folder(self) -> str:
        """The folder that the first of the globs for models looks into."""
        folders = self.models[0].split("/")[:-1]
        return "/".join(takewhile(lambda name: "*" not in name, folders))

    def is_draft(self, class_name: str, file: str) -> bool:
        """Is this a draft model, by the names the framework gives them?"""
        name = file.rsplit("/", 1)[-1]
        return any(fnmatchcase(class_name, glob) for glob in self.drafts.classes) or any(
            fnmatchcase(name, glob) for glob in self.drafts.files
        )

    def is_setter(self, method: str) -> bool:
        return any(fnmatchcase(method, glob) for glob in self.features.setters)
