"""Values that must not be shown: told by their names, and by what they look like."""

import re
from fnmatch import fnmatchcase

HIDDEN = "[hidden]"

# Tokens of well-known services, credentials in an address, bearer headers, long random words.
_LOOKS = re.compile(
    r"""(?x)
    \b(?:hf|sk|ghp|gho|ghs|glpat|xox[abp]|nvapi|pat|rk|pk)[_-][A-Za-z0-9_-]{8,}
    | \bAKIA[A-Z0-9]{12,} | \beyJ[A-Za-z0-9_-]{10,}(?:\.[A-Za-z0-9_-]+)*
    | (?<=://)[^/\s@'"]+@ | (?i:(?<=bearer)\s+[^\s'"]+) | (?i:(?<=basic)\s+[A-Za-z0-9+/=]{8,})
    | (?i:(?<=key=)|(?<=token=)|(?<=password=)|(?<=secret=))[^&\s'"]+
    | \b(?=[A-Za-z0-9+/_-]*[0-9])(?=[A-Za-z0-9+/_-]*[A-Za-z])[A-Za-z0-9+_-]{40,}
    """
)

# What is said to be one, inside of a longer value: ``{"api_key": "..."}``, ``auth_token=...``.
_NAMED = re.compile(
    r"""(?xi)
    (["']?[\w-]*(?:api[_-]?key|access[_-]?key|private[_-]?key|token|passw(?:or)?d|secret|credentials?
     |authorization)["']?\s*[:=]\s*)
    (?:"[^"]*"|'[^']*'|[^\s,;}"']+)
    """
)


def is_secret(name: str, globs: tuple[str, ...]) -> bool:
    """Is a name one whose value must not be shown, whatever the value is?"""
    lowered = name.lower().replace("-", "_")
    return any(fnmatchcase(lowered, glob) for glob in globs)


def redacted(name: str, text: str, globs: tuple[str, ...]) -> str:
    """A value as it may be shown, without what is or looks like a secret."""
    if is_secret(name, globs):
        return HIDDEN
    return _LOOKS.sub(HIDDEN, _NAMED.sub(lambda found: found[1] + HIDDEN, text))
