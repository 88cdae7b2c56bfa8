"""Rules and framework profiles as data, and the loader that reads them from YAML."""

from pathaudit.ruleset.loading import (
    PROFILE_FILE,
    load_ruleset,
    rules_directory,
)
from pathaudit.ruleset.patterns import (
    text_pattern,
)
from pathaudit.ruleset.profile import (
    Anchor,
    Assumption,
    Drafts,
    Entries,
    EventPattern,
    Features,
    Gate,
    Hook,
    Modules,
    Placeholder,
    Profile,
    Reductions,
    Request,
    StackConstructor,
    Stacks,
)
from pathaudit.ruleset.rules import (
    AnyRule,
    BoundsRule,
    CarriesRule,
    CompletesRule,
    CoversRule,
    ForwardsRule,
    ReadsRule,
    Rule,
    Ruleset,
)

__all__ = [
    "PROFILE_FILE",
    "Anchor",
    "AnyRule",
    "Assumption",
    "BoundsRule",
    "CarriesRule",
    "CompletesRule",
    "CoversRule",
    "Drafts",
    "Entries",
    "EventPattern",
    "Features",
    "ForwardsRule",
    "Gate",
    "Hook",
    "Modules",
    "Placeholder",
    "Profile",
    "ReadsRule",
    "Reductions",
    "Request",
    "Rule",
    "Ruleset",
    "StackConstructor",
    "Stacks",
    "load_ruleset",
    "rules_directory",
    "text_pattern",
]
