"""Reads rules and profiles from YAML; a fault becomes one line with file, line and field."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypeVar, cast

import msgspec
import yaml

from pathaudit.errors import RuleError, UsageError
from pathaudit.hints import did_you_mean
from pathaudit.ruleset.patterns import call_pattern
from pathaudit.ruleset.profile import Additions, Profile
from pathaudit.ruleset.rules import (
    RUNS_LAYERS,
    AnyRule,
    BoundsRule,
    CarriesRule,
    CompletesRule,
    CoversRule,
    GathersRule,
    ReadsRule,
    RelaysRule,
    Ruleset,
    ShapeRule,
)

Loaded = TypeVar("Loaded")

PROFILE_FILE = "profile.yaml"

# A field, what is wrong with a name in it that is not known, the names there, the known ones.
_Names = tuple[str, str, Iterable[str], Iterable[str]]


def rules_directory() -> Path:
    """The shipped rules: inside the installed package, or beside it in a checkout."""
    package = Path(__file__).parent.parent
    inside = package / "rules"
    return inside if inside.is_dir() else package.parent / "rules"


def load_ruleset(
    directory: Path, only: tuple[str, ...] = (), extra: tuple[Path, ...] = ()
) -> Ruleset:
    """Read ``profile.yaml`` and every rule beside it; ``only`` keeps the rules of these ids.

    The rules of the ``extra`` directories come on top, and what their profiles add.
    Raises ``RuleError`` for a file that is wrong, ``UsageError`` for an id that does not exist and
    for an extra directory that holds no rules.
    """
    profile = load_file(directory / PROFILE_FILE, Profile, "profile")
    for more in extra:
        profile = profile.extended(_additions(more))
    files = [*_rule_files(directory), *(path for more in extra for path in _own_files(more))]
    known = _load_rules(files, profile)
    for name in only:
        if name not in known:
            raise UsageError(f"there is no rule {name!r}", hint=_nearest(name, known))
    chosen = tuple(known[name] for name in sorted(known) if not only or name in only)
    return Ruleset(profile=profile, rules=chosen, directory=str(directory), known=tuple(known))


def load_own_rules(directory: Path, shipped: Path) -> Ruleset:
    """Read the rules of a directory alone, with its profile, or what that adds to the shipped one.

    Raises as ``load_ruleset`` does.
    """
    if _is_whole(directory):
        return load_ruleset(directory)
    profile = load_file(shipped / PROFILE_FILE, Profile, "profile").extended(_additions(directory))
    # Two rules of one name would be an error as soon as they are used together.
    known = _load_rules([*_rule_files(shipped), *_own_files(directory)], profile)
    own = {path.stem for path in _rule_files(directory)}
    rules = tuple(known[name] for name in sorted(own))
    return Ruleset(profile=profile, rules=rules, directory=str(directory))


def _rule_files(directory: Path) -> list[Path]:
    return sorted(path for path in directory.glob("*.yaml") if path.name != PROFILE_FILE)


def _own_files(directory: Path) -> list[Path]:
    if not directory.is_dir():
        raise UsageError(f"{directory}: there is no such directory of rules")
    return _rule_files(directory)


def _is_whole(directory: Path) -> bool:
    """Does a directory have a profile of its own, not only what it adds to the shipped one?"""
    path = directory / PROFILE_FILE
    return path.is_file() and re.search(r"^framework\s*:", _text(path), re.MULTILINE) is not None


def _additions(directory: Path) -> Additions:
    """What a directory of own rules adds to the profile."""
    path = directory / PROFILE_FILE
    if not path.is_file():
        return Additions()
    if _is_whole(directory):
        raise UsageError(
            f"{path}: is a whole profile, and there is one already",
            hint="keep only the events and assumptions that it adds",
        )
    return load_file(path, Additions, "profile")


def _load_rules(files: Iterable[Path], profile: Profile) -> dict[str, AnyRule]:
    """The rules by their ids, which are the names of their files."""
    places: dict[str, Path] = {}
    rules: dict[str, AnyRule] = {}
    for path in files:
        rule = load_file(path, cast("type[AnyRule]", AnyRule), "rule")
        if path.stem in places:
            raise RuleError(f"{path}: there is a rule {path.stem!r} already: {places[path.stem]}")
        _check_rule(path, rule, profile)
        places[path.stem] = path
        rules[rule.id] = rule
    return rules


def load_file(path: Path, kind: type[Loaded], name: str) -> Loaded:
    """Decode one YAML file; a fault becomes one line with file, line and field."""
    text = _text(path)
    try:
        data = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise RuleError(f"{path}:{_yaml_line(error)}: not YAML: {_first_line(error)}") from None
    try:
        return msgspec.convert(data, kind)
    except msgspec.ValidationError as error:
        problem, _, where = str(error).partition(" - at ")
        field = where.strip("`").removeprefix("$").lstrip(".")
        line = _line_of(text, field, problem)
        named = f"{field}: " if field else ""
        raise RuleError(
            f"{path}:{line}: {named}{problem}",
            hint=f"a {name} is described in the README under 'Rules'",
        ) from None


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise RuleError(f"{path}: cannot be read: {error}") from None


def _check_rule(path: Path, rule: AnyRule, profile: Profile) -> None:
    """What types cannot say: names that must exist in the profile, the id and the file name."""
    text = path.read_text(encoding="utf-8")
    for field, problem in _problems(path, rule, profile):
        raise RuleError(f"{path}:{_line_of(text, field, '')}: {field}: {problem}")


def _problems(path: Path, rule: AnyRule, profile: Profile) -> Iterator[tuple[str, str]]:
    if rule.id != path.stem:
        yield "id", f"{rule.id!r} is not the file's name {path.stem!r}"
    for field, what, names, known in _names(rule, profile):
        for name in names:
            if name not in known:
                yield field, f"{what} {name!r}; {_nearest(name, known)}"


def _names(rule: AnyRule, profile: Profile) -> Iterator[_Names]:
    """The names that a rule takes from the profile."""
    methods = profile.entries.methods
    yield "severity_by_entry", "no entry method is called", rule.severity_by_entry, methods
    match rule:
        case CoversRule():
            named = () if call_pattern(rule.require) else (rule.require,)
            yield "require", "the profile has no event", named, profile.events
            yield "assume", "the profile has no assumption", rule.assume, profile.assumptions
            yield from _around_names(rule, profile)
        case CarriesRule():
            yield "collect", "the profile has no event", (rule.collect,), profile.events
            yield "deliver", "the profile has no sinks", (rule.deliver,), profile.sinks
            yield "assume", "the profile has no assumption", rule.assume, profile.assumptions
        case BoundsRule():
            yield "assume", "the profile has no assumption", rule.assume, profile.assumptions
        case CompletesRule():
            yield "require", "the profile has no event", (rule.require,), profile.events
        case ReadsRule():
            yield "collects", "the profile has no event", (rule.collects,), profile.events
        case RelaysRule():
            yield "collect", "the profile has no event", (rule.collect,), profile.events
            yield "assume", "the profile has no assumption", rule.assume, profile.assumptions
        case GathersRule():
            yield "collect", "the profile has no event", (rule.collect,), profile.events
        case ShapeRule():
            known = profile.assumptions
            single = (profile.pipeline.single,) if profile.pipeline is not None else ()
            yield "kind", "the profile's pipeline assumes", single, known
            yield "collects", "the profile has no event", (rule.collects,), profile.events
            yield "assume", "the profile has no assumption", rule.assume, known
            yield "assume_armed", "the profile has no assumption", rule.assume_armed, known


def _around_names(rule: CoversRule, profile: Profile) -> Iterator[_Names]:
    """The names of a rule about what stands around an event, which only such a rule has."""
    around = rule.scope == "around"
    drafts = rule.subject == "drafts"
    runs = () if drafts else (RUNS_LAYERS,)
    triggers = (*runs, *(profile.events if around else ()))
    yield "trigger", "there is no trigger", (rule.trigger,), triggers
    declared = (rule.declared,) if rule.declared or drafts else ()
    yield "declared", "the profile has no declaration", declared, profile.declarations
    attributes = (rule.attributes,) if rule.attributes else ()
    yield "attributes", "the profile has no event", attributes, profile.events
    subjects = ("features", "layers", *(("drafts",) if around else ()))
    yield "subject", "only what stands around is asked of", (rule.subject,), subjects


def _nearest(name: str, known: Iterable[str]) -> str:
    names = list(known)
    return did_you_mean(name, names, f"known are: {', '.join(sorted(names))}")


def _yaml_line(error: yaml.YAMLError) -> int:
    mark = getattr(error, "problem_mark", None)
    return mark.line + 1 if mark is not None else 1


def _first_line(error: Exception) -> str:
    return str(getattr(error, "problem", None) or error).splitlines()[0]


def _line_of(text: str, field: str, problem: str) -> int:
    """The line of a field such as ``entries.methods[0]``: the deepest key found in the file."""
    unknown = re.search(r"unknown field `([^`]+)`", problem)
    keys = re.findall(r"[A-Za-z_][\w-]*", field) + ([unknown.group(1)] if unknown else [])
    line = 1
    lines = text.splitlines()
    for key in keys:
        pattern = re.compile(rf"(^|[\s{{,]){re.escape(key)}\s*:")
        found = next((n for n in range(line - 1, len(lines)) if pattern.search(lines[n])), None)
        line = found + 1 if found is not None else line
    value = re.search(r"value '([^']+)'", problem)
    if value is not None:  # the keys of a mapping are not in the path of a fault
        inner = (n for n in range(line - 1, len(lines)) if value.group(1) in lines[n])
        line = next(inner, line - 1) + 1
    return line
