"""Rules and framework profiles as data, and the loader that reads them from YAML."""

import re
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from typing import Literal, TypeVar

import msgspec
import yaml
from msgspec import Struct

from pathaudit.errors import RuleError, UsageError
from pathaudit.hints import did_you_mean
from pathaudit.results import Severity

# ---- profile ----------------------------------------------------------------------------------


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

    def is_draft(self, class_name: str, file: str) -> bool:
        """Is this a draft model, by the names the framework gives them?"""
        name = file.rsplit("/", 1)[-1]
        return any(fnmatchcase(class_name, glob) for glob in self.drafts.classes) or any(
            fnmatchcase(name, glob) for glob in self.drafts.files
        )

    def is_setter(self, method: str) -> bool:
        return any(fnmatchcase(method, glob) for glob in self.features.setters)


# ---- rules ------------------------------------------------------------------------------------


class Rule(Struct, frozen=True, forbid_unknown_fields=True):
    """One invariant. ``message`` may use ``{layers}``; prose fields are plain text."""

    id: str
    title: str
    kind: Literal["covers"]
    severity: Severity
    subject: Literal["features"]
    trigger: Literal["runs-layers"]
    require: str
    scope: Literal["iteration"]
    message: str
    at: str
    why: str
    use_instead: str
    limits: str
    references: tuple[str, ...]
    since: str
    severity_by_entry: dict[str, Severity] = {}
    assume: tuple[str, ...] = ()

    def severity_of(self, method: str) -> Severity:
        return self.severity_by_entry.get(method, self.severity)


class Ruleset(Struct, frozen=True):
    """A profile with the rules to check; rules are sorted by id."""

    profile: Profile
    rules: tuple[Rule, ...]
    directory: str


# ---- loading ----------------------------------------------------------------------------------

Loaded = TypeVar("Loaded", Rule, Profile)

PROFILE_FILE = "profile.yaml"


def rules_directory() -> Path:
    """The shipped rules: inside the installed package, or beside it in a checkout."""
    package = Path(__file__).parent
    inside = package / "rules"
    return inside if inside.is_dir() else package.parent / "rules"


def load_ruleset(directory: Path, only: tuple[str, ...] = ()) -> Ruleset:
    """Read ``profile.yaml`` and every rule beside it; ``only`` keeps the rules of these ids.

    Raises ``RuleError`` for a file that is wrong, ``UsageError`` for an id that does not exist.
    """
    profile = load_file(directory / PROFILE_FILE, Profile)
    files = sorted(path for path in directory.glob("*.yaml") if path.name != PROFILE_FILE)
    rules = tuple(load_file(path, Rule) for path in files)
    for path, rule in zip(files, rules, strict=True):
        _check_rule(path, rule, profile)
    known = {rule.id: rule for rule in rules}
    for name in only:
        if name not in known:
            raise UsageError(f"there is no rule {name!r}", hint=_nearest(name, known))
    chosen = tuple(rule for rule in rules if not only or rule.id in only)
    return Ruleset(profile=profile, rules=chosen, directory=str(directory))


def load_file(path: Path, kind: type[Loaded]) -> Loaded:
    """Decode one YAML file; a fault becomes one line with file, line and field."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise RuleError(f"{path}: cannot be read: {error}") from None
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
            hint=f"a {kind.__name__.lower()} is described in the README under 'Rules'",
        ) from None


def _check_rule(path: Path, rule: Rule, profile: Profile) -> None:
    """What types cannot say: names that must exist in the profile, the id and the file name."""
    text = path.read_text(encoding="utf-8")
    for field, problem in _problems(path, rule, profile):
        raise RuleError(f"{path}:{_line_of(text, field, '')}: {field}: {problem}")


def _problems(path: Path, rule: Rule, profile: Profile) -> Iterator[tuple[str, str]]:
    if rule.id != path.stem:
        yield "id", f"{rule.id!r} is not the file's name {path.stem!r}"
    if rule.require not in profile.events:
        yield (
            "require",
            f"the profile has no event {rule.require!r}; {_nearest(rule.require, profile.events)}",
        )
    for name in rule.assume:
        if name not in profile.assumptions:
            yield (
                "assume",
                f"the profile has no assumption {name!r}; {_nearest(name, profile.assumptions)}",
            )
    for method in rule.severity_by_entry:
        if method not in profile.entries.methods:
            yield (
                "severity_by_entry",
                f"{method!r} is no entry method; {_nearest(method, profile.entries.methods)}",
            )


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


# ---- patterns over canonical text -------------------------------------------------------------


@lru_cache(maxsize=512)
def text_pattern(pattern: str) -> re.Pattern[str]:
    """Compile an expression pattern to match canonical text; ``$X`` matches any expression.

    >>> bool(text_pattern("$X.is_idle()").fullmatch("batch.mode.is_idle()"))
    True
    """
    parts = re.split(r"(\$[A-Z]+)", pattern)
    return re.compile("".join(_piece(part) for part in parts))


def _piece(part: str) -> str:
    return f"(?P<{part[1:]}>.+)" if part.startswith("$") else re.escape(part)
