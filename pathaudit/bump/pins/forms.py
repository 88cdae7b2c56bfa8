"""Makes pins of what the files of all kinds hold: requirements, and tables that say the same."""

import re
from collections.abc import Mapping

from msgspec import Struct
from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from poetry.core.constraints.version import parse_constraint
from poetry.core.constraints.version.exceptions import ParseConstraintError

from pathaudit.bump.pins.sought import (
    Sought,
    normal,
    source_of,
    split_git,
    version_of,
    wheel_version,
)
from pathaudit.results.bumps import Pin, PinSource

ALTERNATIVE = " || "

# A line of TOML up to its comment, if there is one.
_CODE = re.compile(r"""(?:"(?:\\.|[^"\\])*"|'[^']*'|[^"'#])*+""")


class Place(Struct, frozen=True):
    """Where a pin stands: the file, the line, the part of the file, and what role it has there."""

    file: str
    line: int
    part: str
    role: str = "requirement"


def pin_of_text(text: str, place: Place, sought: Sought) -> Pin | None:
    """The pin that a requirement as in a ``pyproject.toml`` is, if it is about the package.

    InvalidRequirement if it is none.
    """
    requirement = Requirement(text)
    if not sought.is_named(requirement.name):
        return None
    return pin_of_requirement(requirement, text, place, sought)


def pin_of_requirement(requirement: Requirement, text: str, place: Place, sought: Sought) -> Pin:
    """The pin that a requirement of the package is."""
    extras = tuple(sorted(requirement.extras))
    marker = str(requirement.marker or "")
    if requirement.url is not None:
        return pin_of_address(requirement.url, text, place, sought, extras=extras, marker=marker)
    return Pin(
        file=place.file,
        line=place.line,
        part=place.part,
        role=place.role,
        text=text,
        source=PinSource.INDEX,
        specifier=str(requirement.specifier),
        version=exact(requirement.specifier),
        extras=extras,
        marker=marker,
    )


def pin_of_address(
    address: str,
    text: str,
    place: Place,
    sought: Sought,
    *,
    extras: tuple[str, ...] = (),
    marker: str = "",
    revision: str = "",
) -> Pin:
    """The pin that the address of a repository, a wheel or a folder is."""
    source = PinSource.GIT if revision else source_of(address)
    version = wheel_version(address, sought)
    if source is PinSource.GIT:
        address, stated, _ = split_git(address)
        revision = revision or stated
        version = sought.tagged(address, revision)
    return Pin(
        file=place.file,
        line=place.line,
        part=place.part,
        role=place.role,
        text=text,
        source=source,
        version=version,
        address=address,
        revision=revision,
        extras=extras,
        marker=marker,
    )


def pin_of_version(version: str, text: str, place: Place, marker: str = "") -> Pin | None:
    """The pin that a locked version of the package is; nothing if it is no version."""
    if not normal(version):
        return None
    return Pin(
        file=place.file,
        line=place.line,
        part=place.part,
        role=place.role,
        text=text,
        source=PinSource.INDEX,
        specifier=f"=={version}",
        version=normal(version),
        marker=marker,
    )


def pin_of_image(reference: str, place: Place, sought: Sought) -> Pin | None:
    """The pin that a reference such as ``lmsysorg/sglang:v0.5.6-cu126`` is, if it is an image."""
    name, _, digest = reference.partition("@")
    head, colon, tag = name.rpartition(":")
    if not colon or "/" in tag:
        head, tag = name, ""
    if not sought.is_image(head):
        return None
    return Pin(
        file=place.file,
        line=place.line,
        part=place.part,
        role="image",
        text=reference,
        source=PinSource.IMAGE,
        version=version_of(tag) if sought.is_published_image(head) else "",
        address=head,
        revision=tag,
        hashes=(digest,) if digest else (),
    )


def exact(specifier: SpecifierSet) -> str:
    """The one version that a specifier admits, if it admits one."""
    if len(specifier) != 1:
        return ""
    (only,) = specifier
    if not only.operator.startswith("==") or only.version.endswith("*"):
        return ""
    return normal(only.version)


# ---- tables -----------------------------------------------------------------------------------


def pin_of_table(value: object, name: str, place: Place, sought: Sought) -> Pin | None:
    """The pin that a dependency of Poetry, Pipenv or uv is: a constraint, or a table of such.

    InvalidRequirement for a constraint that cannot be read.
    """
    if isinstance(value, str):
        return _pin_of_constraint(value, f'{name} = "{value}"', place, {})
    if not isinstance(value, Mapping):
        raise InvalidRequirement(f"{name} is neither a constraint nor a table")
    table: Mapping[str, object] = value
    address = _first(table, "git", "url", "path", "file")
    if address:
        revision = _first(table, "tag", "rev", "ref", "branch") if "git" in table else ""
        prefix = "git+" if "git" in table else ""
        text = f"{name} = {shown(table)}"
        extras, marker = _extras(table), _first(table, "markers", "marker")
        return pin_of_address(
            prefix + address, text, place, sought, extras=extras, marker=marker, revision=revision
        )
    constraint = table.get("version")
    if not isinstance(constraint, str):
        return None  # a source of uv that names an index, or a dependency that says nothing
    return _pin_of_constraint(constraint, f"{name} = {shown(table)}", place, table)


def _pin_of_constraint(text: str, whole: str, place: Place, table: Mapping[str, object]) -> Pin:
    specifier = specifier_of(text)
    only = SpecifierSet() if ALTERNATIVE in specifier else SpecifierSet(specifier)
    return Pin(
        file=place.file,
        line=place.line,
        part=place.part,
        role=place.role,
        text=whole,
        source=PinSource.INDEX,
        specifier=specifier,
        version=exact(only),
        extras=_extras(table),
        marker=_first(table, "markers", "marker"),
    )


def specifier_of(constraint: str) -> str:
    """A constraint of Poetry, such as ``^0.5.6``, as a specifier; alternatives stay apart.

    InvalidRequirement if it is none.
    """
    try:
        parsed = str(parse_constraint(constraint))
        parts = ["" if part == "*" else part for part in parsed.split(ALTERNATIVE)]
        parts = [part if not part or part[0] in "<>=!~" else f"=={part}" for part in parts]
        return ALTERNATIVE.join(str(SpecifierSet(part)) for part in parts)
    except (ParseConstraintError, InvalidSpecifier, ValueError) as error:
        raise InvalidRequirement(f"{constraint!r} is no constraint") from error


def _first(table: Mapping[str, object], *names: str) -> str:
    """The first of some fields of a table that is a text."""
    found = (table.get(name) for name in names)
    return next((value for value in found if isinstance(value, str) and value), "")


def _extras(table: Mapping[str, object]) -> tuple[str, ...]:
    value = table.get("extras")
    return tuple(sorted(str(extra) for extra in value)) if isinstance(value, list) else ()


def shown(table: Mapping[str, object]) -> str:
    """A table in one line, as in TOML."""
    parts = (f"{name} = {_literal(value)}" for name, value in table.items())
    return f"{{{', '.join(parts)}}}"


def _literal(value: object) -> str:
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return f"[{', '.join(_literal(item) for item in value)}]"
    return str(value)


def line_of(text: str, *patterns: str, nth: int = 1) -> int:
    """The line where the last of some patterns matches, each looked for after the one before.

    ``nth`` of the last pattern is meant. Comments are left out; the first line if the text does not
    have them.
    """
    lines = [
        (number, _without_comment(line)) for number, line in enumerate(text.splitlines(), start=1)
    ]
    start = 0
    for pattern in patterns[:-1]:
        start = next(
            (i for i in range(start, len(lines)) if re.search(pattern, lines[i][1])), start
        )
    hits = [number for number, line in lines[start:] if re.search(patterns[-1], line)]
    return hits[min(nth, len(hits)) - 1] if hits else 1


def _without_comment(line: str) -> str:
    code = _CODE.match(line)
    rest = line[code.end() :] if code else ""
    return line[: -len(rest)] if rest.startswith("#") else line
