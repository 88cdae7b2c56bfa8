"""What a framework is, as data."""

from fnmatch import fnmatchcase
from itertools import takewhile
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from pathaudit.ruleset.anchors import Anchor
from pathaudit.ruleset.entries import Entries
from pathaudit.ruleset.hooks import Hooks
from pathaudit.ruleset.matrix import MatrixFacts
from pathaudit.ruleset.published import Published
from pathaudit.ruleset.serving import Serving
from pathaudit.ruleset.settings import Settings


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


class Hook(Struct, frozen=True, forbid_unknown_fields=True):
    """A method that the framework calls on a served class ``after`` an arming setter of it."""

    name: str
    after: str


class Features(Struct, frozen=True, forbid_unknown_fields=True):
    """Name patterns of the methods that arm a feature, and what belongs to an armed feature.

    ``switches`` are attributes that switch capture, beside those that the setters of a tree write.
    ``callers`` are the files, as globs, that call setters and hooks on a served class.
    ``generators`` are the classes of what makes logits: where there is none, nothing is drafted.
    """

    setters: tuple[str, ...]
    switches: tuple[str, ...] = ()
    hooks: tuple[Hook, ...] = ()
    callers: tuple[str, ...] = ()
    generators: tuple[str, ...] = ()


class Drafts(Struct, frozen=True, forbid_unknown_fields=True):
    classes: tuple[str, ...]
    files: tuple[str, ...]


class Gate(Struct, frozen=True, forbid_unknown_fields=True):
    """``method`` does not run together with an armed feature, unless the other code is there."""

    method: str
    reason: str
    anchor: Anchor
    unless: Anchor | None = None


class Pipeline(Struct, frozen=True, forbid_unknown_fields=True):
    """How a model is split into pipeline stages.

    ``proxy`` is the class of what a stage that is not the last returns. A served class whose entry
    method lacks ``parameter`` runs in one stage, for which ``single`` holds; ``anchor`` says so.
    """

    proxy: str
    parameter: str
    single: str
    anchor: Anchor


class Request(Struct, frozen=True, forbid_unknown_fields=True):
    """What the framework accepts as layer ids for some setters, and the code that says so."""

    setters: tuple[str, ...]
    reason: str
    anchor: Anchor


class Assumption(Struct, frozen=True, forbid_unknown_fields=True):
    """``expression`` (a pattern) is true, false, not ``None`` (some) or a positive integer."""

    expression: str
    value: bool | Literal["some", "positive"]


class EventPattern(Struct, frozen=True, forbid_unknown_fields=True):
    """A call in Semgrep's manner. ``where`` constrains a metavariable to a kind of value."""

    pattern: str
    where: dict[str, Literal["accumulator"]] = {}


class Reductions(Struct, frozen=True, forbid_unknown_fields=True):
    """How a layer leaves the reduction of its output over the ranks to the next layer.

    ``marks`` are attributes set on such a tensor. By the last part of their names, ``completes``
    are calls that run the reduction, ``moves`` calls that give what they get, finished or not,
    ``adds`` methods that add to a tensor in place.
    """

    marks: tuple[str, ...] = ()
    completes: tuple[str, ...] = ()
    moves: tuple[str, ...] = ()
    adds: tuple[str, ...] = ()


class StagedFeature(Struct, frozen=True, forbid_unknown_fields=True):
    """Setters of features that run with several pipeline stages, and the code that says so."""

    setters: tuple[str, ...]
    reason: str
    anchor: Anchor


class ArgumentGate(Struct, frozen=True, forbid_unknown_fields=True):
    """The framework refuses to start where these arguments matter, as the code there says."""

    arguments: tuple[str, ...]
    reason: str
    anchor: Anchor


class Stages(Struct, frozen=True, forbid_unknown_fields=True):
    """How a model tells pipeline stages apart.

    ``last`` is the attribute that is true on the last stage. ``resets`` are calls, by the last
    part of their names, that make a value from nothing.
    """

    last: str = ""
    resets: tuple[str, ...] = ()
    features: tuple[StagedFeature, ...] = ()


class Sharding(Struct, frozen=True, forbid_unknown_fields=True):
    """Calls that share rows out over ranks and those that gather them, by their last names.

    ``layout`` are attributes of a layer that tell how the rows between layers are shared out;
    with them nothing need split what the layers hand over.
    """

    gather: tuple[str, ...]
    split: tuple[str, ...] = ()
    layout: tuple[str, ...] = ()


class Siblings(Struct, frozen=True, forbid_unknown_fields=True):
    """Arguments of layers, as globs: what is ``exempt`` only makes a run faster."""

    exempt: tuple[str, ...] = ()
    gates: tuple[ArgumentGate, ...] = ()


class Capability(Struct, frozen=True, forbid_unknown_fields=True):
    """What a served class with the method ``declares`` must have: ``needs``, read in ``readers``.

    ``readers`` are globs of files; ``effect`` is what happens where one of them is not there.
    """

    declares: str
    needs: tuple[str, ...]
    readers: tuple[str, ...]
    effect: str


class Predicate(Struct, frozen=True, forbid_unknown_fields=True):
    """A condition of which it is known what decides it, and the code that says so.

    ``patterns`` are expressions, ``methods`` entries. ``controls`` are names of settings; with
    ``constant`` the condition always has that value. Of several that match, the first whose
    anchor is in the tree counts. What is known ``anywhere`` also counts where another condition
    leads to it.
    """

    reason: str
    anchor: Anchor
    patterns: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    controls: tuple[str, ...] = ()
    constant: bool | None = None
    anywhere: bool = False


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
    sinks: dict[str, tuple[str, ...]] = {}
    requests: tuple[Request, ...] = ()
    reductions: Reductions = Reductions()
    stages: Stages = Stages()
    sharding: tuple[Sharding, ...] = ()
    capabilities: tuple[Capability, ...] = ()
    siblings: Siblings = Siblings()
    declarations: dict[str, tuple[str, ...]] = {}
    pipeline: Pipeline | None = None
    shared: dict[str, tuple[str, ...]] = {}
    settings: Settings = Settings()
    predicates: tuple[Predicate, ...] = ()
    serving: Serving = Serving()
    published: Published = Published()
    hooks: Hooks = Hooks()
    matrix: MatrixFacts = MatrixFacts()

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

    def extended(self, more: "Additions") -> "Profile":
        """The profile with more events and assumptions; those of a known name add to it."""
        events = {name: (*self.events.get(name, ()), *found) for name, found in more.events.items()}
        assumptions = {
            name: (*self.assumptions.get(name, ()), *found)
            for name, found in more.assumptions.items()
        }
        merged = {**self.assumptions, **assumptions}
        return replace(self, events={**self.events, **events}, assumptions=merged)


class Additions(Struct, frozen=True, forbid_unknown_fields=True):
    """What a directory of own rules adds to the shipped profile."""

    events: dict[str, tuple[EventPattern, ...]] = {}
    assumptions: dict[str, tuple[Assumption, ...]] = {}
