"""Makes settings hold: from rules to those that are to be checked, with a user's severities."""

import os
from collections.abc import Iterable
from pathlib import Path

import msgspec

from pathaudit.config.reading import Kept
from pathaudit.errors import ConfigError, UsageError
from pathaudit.hints import did_you_mean
from pathaudit.remarks import REMARKS
from pathaudit.results import Severity
from pathaudit.ruleset import PROFILE_FILE, Policy, Ruleset, load_ruleset

OFF = "off"


def settled(
    kept: Kept, shipped: Path, *, chosen: tuple[str, ...] = (), own: tuple[str, ...] = ()
) -> Ruleset:
    """Load the rules that are to be checked: those ``chosen`` by id, else those of the settings.

    ``shipped`` is the folder of rules where the settings name no profile, ``own`` are folders with
    more. A rule that was chosen is checked though the settings switch it off, and keeps the
    severity that they give it. Raises ``ConfigError`` where the settings name no known rule,
    ``RuleError`` and ``UsageError`` as loading does.
    """
    rules = settled_profile(kept, shipped, own=own)
    settings = kept.settings
    remarks = [remark.id for remark in REMARKS]
    _check_ids(kept, [("select", name) for name in settings.select], rules.known)
    _check_ids(kept, [("rules", name) for name in settings.rules], [*rules.known, *remarks])
    off = {name for name, rating in settings.rules.items() if rating == OFF} - set(chosen)
    wanted = _wanted(chosen or settings.select, rules.known) - off
    if not wanted:
        key = "rules" if "rules" in kept.stated else "select"
        raise ConfigError(f"{kept.place(key)}: {key}: no rule is left to check", "switch one on")
    policy = Policy(
        severities={x: Severity(y) for x, y in settings.rules.items() if y != OFF},
        off=tuple(sorted(off.intersection(remarks))),
        exclude=settings.exclude,
        entries=settings.entries,
    )
    checked = tuple(rule for rule in rules.rules if rule.id in wanted)
    return msgspec.structs.replace(rules, rules=checked, policy=policy)


def settled_profile(
    kept: Kept, shipped: Path, *, own: tuple[str, ...] = (), only: tuple[str, ...] = ()
) -> Ruleset:
    """Load all rules that there are, or ``only`` some, for a question that no settings narrow.

    Raises as ``settled`` does.
    """
    extra = tuple(Path(directory) for directory in own)
    folder = kept.settings.profile
    if folder is None:
        return load_ruleset(shipped, only=only, extra=extra)
    if not os.path.isfile(os.path.join(folder, PROFILE_FILE)):
        what = f"{kept.place('profile')}: profile: there is no {PROFILE_FILE} in {folder}"
        raise ConfigError(what, "name a folder with a whole profile and its rules")
    return load_ruleset(Path(folder), only=only, extra=extra)


def _check_ids(kept: Kept, named: Iterable[tuple[str, str]], known: Iterable[str]) -> None:
    names = sorted(known)
    for key, name in named:
        if name not in names:
            hint = did_you_mean(name, names, f"known are: {', '.join(names)}")
            raise ConfigError(f"{kept.place(key, name)}: {key}: there is no rule {name!r}", hint)


def _wanted(chosen: tuple[str, ...], known: tuple[str, ...]) -> set[str]:
    for name in chosen:
        if name not in known:
            hint = did_you_mean(name, known, f"known are: {', '.join(sorted(known))}")
            raise UsageError(f"there is no rule {name!r}", hint)
    return set(chosen or known)
