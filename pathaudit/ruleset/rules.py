"""Rules as data: what all have in common, and the fields of each kind of invariant."""

from typing import Literal, TypeAlias

from msgspec import Struct

from pathaudit.results import Severity
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
    use_instead: str = ""
    limits: str = ""
    references: tuple[str, ...] = ()
    since: str = ""
    severity_by_entry: dict[str, Severity] = {}

    def severity_of(self, method: str) -> Severity:
        return self.severity_by_entry.get(method, self.severity)


class CoversRule(Rule, frozen=True, kw_only=True, tag="covers"):
    """Each run of a layer comes with the required event. ``message`` may use ``{layers}``.

    ``require`` is an event of the profile, or the pattern of a call.
    """

    subject: Literal["features", "layers"]
    trigger: Literal["runs-layers"]
    require: str
    scope: Literal["iteration"]
    assume: tuple[str, ...] = ()


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


AnyRule: TypeAlias = CoversRule | OnceRule | PrecedesRule


class Ruleset(Struct, frozen=True):
    """A profile with the rules to check; rules are sorted by id."""

    profile: Profile
    rules: tuple[AnyRule, ...]
    directory: str
