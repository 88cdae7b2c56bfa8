"""Rules and framework profiles as data, and the loader that reads them from YAML."""

from pathaudit.ruleset.loading import (
    PROFILE_FILE,
    load_own_rules,
    load_ruleset,
    rules_directory,
)
from pathaudit.ruleset.patterns import call_pattern, text_pattern
from pathaudit.ruleset.profile import (
    Additions,
    Anchor,
    Assumption,
    Drafts,
    Entries,
    EventPattern,
    Features,
    Gate,
    Modules,
    Placeholder,
    Profile,
    StackConstructor,
    Stacks,
)
from pathaudit.ruleset.rules import (
    AnyRule,
    Configuration,
    CoversRule,
    OnceRule,
    PrecedesRule,
    Rule,
    Ruleset,
)

__all__ = [
    "PROFILE_FILE",
    "Additions",
    "Anchor",
    "AnyRule",
    "Assumption",
    "Configuration",
    "CoversRule",
    "Drafts",
    "Entries",
    "EventPattern",
    "Features",
    "Gate",
    "Modules",
    "OnceRule",
    "Placeholder",
    "PrecedesRule",
    "Profile",
    "Rule",
    "Ruleset",
    "StackConstructor",
    "Stacks",
    "call_pattern",
    "load_own_rules",
    "load_ruleset",
    "rules_directory",
    "text_pattern",
]
