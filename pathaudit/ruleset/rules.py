"""Rules as data: what all have in common, and the fields of each kind of invariant."""

from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from pathaudit.results import Severity
from pathaudit.ruleset.anchors import Anchor
from pathaudit.ruleset.patches import Reliance
from pathaudit.ruleset.profile import Profile


class Rule(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="kind"):
    """One invariant. Prose fields are plain text; ``message`` may have fields in braces.

    Prose that is left out is left out of pages and findings.
    """

    id: str
    title: str
    severity: Severity
    message: str
    at: str = ""
    why: str = ""
    effect: str = ""
    use_instead: str = ""
    limits: str = ""
    references: tuple[str, ...] = ()
    since: str = ""
    severity_by_entry: dict[str, Severity] = {}

    def severity_of(self, method: str) -> Severity:
        return self.severity_by_entry.get(method, self.severity)


# The trigger of ``covers`` that is no event of the profile: each run of a layer.
RUNS_LAYERS = "runs-layers"


class CoversRule(Rule, frozen=True, kw_only=True, tag="covers"):
    """Each run of a layer comes with the required event. ``message`` may use ``{layers}``.

    ``require`` is an event of the profile, or the pattern of a call. With the scope ``around`` it
    is what makes a context manager, ``trigger`` may be an event that a layer leads to, and
    ``declared`` names the declaration that served classes make: for ``layers`` those classes are
    judged, for ``drafts`` their drafts, whose message may use ``{target}``.

    ``effect_attributed`` is what happens when a finding bites where the event happens inside what
    ``attributes`` makes, an event of the profile; ``effect`` where it does not.
    """

    subject: Literal["features", "layers", "drafts"]
    trigger: str
    require: str
    scope: Literal["iteration", "around"]
    assume: tuple[str, ...] = ()
    declared: str = ""
    attributes: str = ""
    effect_attributed: str = ""


class CarriesRule(Rule, frozen=True, kw_only=True, tag="carries"):
    """What the event collects reaches the calls that read it, through every return on the way.

    ``message`` may use ``{name}``, the variable that is lost, and ``{how}``.
    """

    subject: Literal["features"]
    collect: str
    deliver: str
    assume: tuple[str, ...] = ()


class BoundsRule(Rule, frozen=True, kw_only=True, tag="bounds"):
    """Both ends of the layers are handled. ``message`` may use ``{how}``.

    ``end`` is that of the ids which can be asked for, or the ``stage`` whose layers every site of
    a method keeps to if one of them does, or their ``offset``: which layer an id means.
    """

    subject: Literal["features", "layers"]
    end: Literal["first", "last", "stage", "offset"]
    assume: tuple[str, ...] = ()


class CompletesRule(Rule, frozen=True, kw_only=True, tag="completes"):
    """What is read of a layer's output between layers is finished.

    ``owes`` is what may be missing: the ``residual`` that was returned beside it, or a
    ``reduction`` that the layer leaves to the next one. ``message`` may use ``{read}``, what is
    done with the value, and ``{layers}``, the classes of the layers.
    """

    owes: Literal["residual", "reduction"]
    require: str


class ReadsRule(Rule, frozen=True, kw_only=True, tag="reads"):
    """What a setter arms is read where it is written, and what a forward reads can be armed.

    ``collects`` is the event that adds to an accumulator, by its name in the profile.
    """

    subject: Literal["features"]
    collects: str


class ForwardsRule(Rule, frozen=True, kw_only=True, tag="forwards"):
    """A wrapper offers each hook that the framework calls and its inner object could serve."""

    subject: Literal["features"]


class Configuration(Struct, frozen=True, forbid_unknown_fields=True):
    """Calls that configure, as globs of their names; ``effect`` is what comes of a late one."""

    calls: tuple[str, ...]
    effect: str
    severity: Severity | None = None


class PrecedesRule(Rule, frozen=True, kw_only=True, tag="precedes"):
    """Configuration comes before the call that freezes it.

    ``freeze`` are globs of the names of freezing calls, ``files`` of the files to look in.
    ``message`` may use ``{call}`` and ``{freeze}``.
    """

    files: tuple[str, ...]
    freeze: tuple[str, ...]
    configure: tuple[Configuration, ...]


class OnceRule(Rule, frozen=True, kw_only=True, tag="once"):
    """No later definition silently replaces a hook: what the framework calls on a model by name.

    ``files`` are globs of the framework's files. ``message`` may use ``{name}`` and ``{first}``,
    the line of the earlier definition. Definitions that say the same are a note.
    """

    files: tuple[str, ...]


class RelaysRule(Rule, frozen=True, kw_only=True, tag="relays"):
    """What a pipeline stage owes the next one is in what it hands over.

    ``collect`` is the event that collects what a feature asked for. ``message`` may use
    ``{name}``, what is lost, and ``{how}``.
    """

    collect: str
    assume: tuple[str, ...]


class GathersRule(Rule, frozen=True, kw_only=True, tag="gathers"):
    """What is made of rows that were shared out over ranks is gathered as its siblings are.

    ``collect`` is the event that collects what a feature asked for. ``message`` may use
    ``{name}``, what is not gathered, and ``{how}``.
    """

    subject: Literal["features"]
    collect: str


class Protocol(Struct, frozen=True, forbid_unknown_fields=True):
    """A parameter that the framework, or a wrapper, fills by its name.

    ``effect`` is what comes of nobody reading it. With ``inferred``, the code that asks the
    signature of the served class for it, it is a promise there too.
    """

    name: str
    effect: str
    severity: Severity | None = None
    inferred: Anchor | None = None


class UsesRule(Rule, frozen=True, kw_only=True, tag="uses"):
    """A forward that declares a parameter of the protocol reads it.

    ``message`` may use ``{name}`` and ``{owner}``, the class that ignores it.
    """

    parameters: tuple[Protocol, ...]


class DispatchesRule(Rule, frozen=True, kw_only=True, tag="dispatches"):
    """Layers go to a runner that knows their class, and whose recipe for it they can serve.

    ``message`` may use ``{layers}``, ``{runner}`` and ``{how}``.
    """


class ProvidesRule(Rule, frozen=True, kw_only=True, tag="provides"):
    """A class that declares a capability of the profile has what the framework reads of it.

    ``message`` may use ``{name}``, ``{declares}``, ``{needs}`` and ``{reader}``.
    """


class ParityRule(Rule, frozen=True, kw_only=True, tag="parity"):
    """Sites that run the same layers give them the same. ``message`` may use ``{how}``."""


class InvokesRule(Rule, frozen=True, kw_only=True, tag="invokes"):
    """Modules are entered by a call. ``message`` may use ``{how}`` and ``{modules}``."""


class ShapeRule(Rule, frozen=True, kw_only=True, tag="shape"):
    """What a model returns fits how its callers unpack it.

    ``collects`` names the event that fills what is returned with a feature on; ``assume`` always
    holds, ``assume_armed`` while a feature is on. ``message`` may use ``{what}``.
    """

    collects: str
    assume: tuple[str, ...] = ()
    assume_armed: tuple[str, ...] = ()


class ReliesRule(Rule, frozen=True, kw_only=True, tag="relies"):
    """What the patches of a user rely on is there. ``message`` may use ``{patch}`` and ``{how}``.

    Where there are no patches, there is no such rule.
    """


AnyRule: TypeAlias = (
    CoversRule
    | CarriesRule
    | BoundsRule
    | CompletesRule
    | ForwardsRule
    | ReadsRule
    | OnceRule
    | PrecedesRule
    | RelaysRule
    | GathersRule
    | UsesRule
    | DispatchesRule
    | ProvidesRule
    | ParityRule
    | InvokesRule
    | ShapeRule
    | ReliesRule
)


class Policy(Struct, frozen=True):
    """What a user's settings say of answers, by the ids of rules and of remarks.

    ``severities`` are those of a rule's findings, as far as the rule itself rates none milder.
    Findings of ``off`` and those in files that match ``exclude``, globs as in .gitignore, are not
    told. With ``entries``, names of served classes, only what concerns one of them is.
    """

    severities: dict[str, Severity] = {}
    off: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    entries: tuple[str, ...] = ()


class Ruleset(Struct, frozen=True):
    """A profile with the rules to check, sorted by id; ``known`` are the ids of all there are.

    ``patches`` are those of the user whose tree is to be checked.
    """

    profile: Profile
    rules: tuple[AnyRule, ...]
    directory: str
    known: tuple[str, ...] = ()
    policy: Policy = Policy()
    patches: tuple[Reliance, ...] = ()

    @property
    def applying(self) -> "Ruleset":
        """Without the rules about patches where there are none."""
        if self.patches:
            return self
        kept = tuple(rule for rule in self.rules if not isinstance(rule, ReliesRule))
        return replace(self, rules=kept)
