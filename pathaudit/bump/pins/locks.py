"""Reads pins from lock files: uv, Poetry, PDM, ``pylock.toml`` (PEP 751) and Pipenv."""

import json
import re
from collections.abc import Iterator, Mapping
from urllib.parse import parse_qs, urlsplit

import msgspec

from pathaudit.bump.pins.forms import Place, line_of, pin_of_address, pin_of_version, shown
from pathaudit.bump.pins.sought import Sought
from pathaudit.bump.pins.toml import Table, read_toml, table_at, tables_at, text_at
from pathaudit.errors import SourceError
from pathaudit.results import Gap
from pathaudit.results.bumps import Pin

Found = Iterator[Pin | Gap]

_NEAR = 4


def read_lock(data: bytes, file: str, sought: Sought) -> Found:
    """The pins of a lock file in TOML, whose packages are a list; SourceError if it is no TOML."""
    table, text = read_toml(data)
    key = "packages" if "packages" in table else "package"
    number = 0
    for package in tables_at(table, key):
        if not sought.is_named(text_at(package, "name") or "-"):
            continue
        number += 1
        name = re.escape(text_at(package, "name"))
        head = rf"^\s*name\s*=\s*[\"']{name}[\"']"
        place = Place(file, line_of(text, head, nth=number), key, "lock")
        pin = _locked(package, place, sought)
        if pin is None:
            yield Gap(kind="file", file=file, line=place.line, message="names no version")
        else:
            yield msgspec.structs.replace(pin, line=_line_of_version(text, place.line))


def _line_of_version(text: str, start: int) -> int:
    """The line that says the version, near the one that says the name: that is what changes."""
    lines = text.splitlines()[start : start + _NEAR]
    found = (n for n, line in enumerate(lines, start + 1) if re.match(r"\s*version\s*=", line))
    return next(found, start)


def _locked(package: Table, place: Place, sought: Sought) -> Pin | None:
    """The pin of a locked package: what it was taken from, else its version."""
    version = text_at(package, "version")
    text = f"{text_at(package, 'name')} {version}".strip()
    marker = _marker(package)
    address, revision = _origin(package)
    if address:
        pin = pin_of_address(address, text, place, sought, marker=marker, revision=revision)
        pin = msgspec.structs.replace(pin, text=f"{text} from {address}".strip())
    else:
        locked = pin_of_version(version, text, place, marker)
        if locked is None:
            return None
        pin = locked
    extras = package.get("extras")
    named = tuple(sorted(map(str, extras))) if isinstance(extras, list) else ()
    return msgspec.structs.replace(pin, hashes=_hashes(package), extras=named)


def _marker(package: Table) -> str:
    """For which environments a package is locked; several of uv are alternatives."""
    several = package.get("resolution-markers")
    if isinstance(several, list):
        return " or ".join(f"({item})" for item in several)
    return text_at(package, "marker") or text_at(package, "markers")


def _origin(package: Table) -> tuple[str, str]:
    """The address that a package was taken from, if not from an index, and the revision there."""
    source = table_at(package, "source")
    if text_at(source, "git"):  # of uv: https://host/name?rev=v1#commit
        return _git_of_uv(text_at(source, "git"))
    if text_at(source, "type") == "git":  # of Poetry
        commit = text_at(source, "resolved_reference")
        return f"git+{text_at(source, 'url')}", text_at(source, "reference") or commit
    if text_at(package, "git"):  # of PDM
        revision = text_at(package, "ref") or text_at(package, "revision")
        return f"git+{text_at(package, 'git')}", revision
    vcs = table_at(package, "vcs")  # of PEP 751
    if text_at(vcs, "type") == "git":
        revision = text_at(vcs, "requested-revision") or text_at(vcs, "commit-id")
        return f"git+{text_at(vcs, 'url') or text_at(vcs, 'path')}", revision
    if text_at(source, "type") in ("url", "file", "directory"):  # of Poetry, as its index is
        return text_at(source, "url"), ""
    address = text_at(package, "archive", "url") or text_at(package, "directory", "path")
    for name in ("url", "path", "directory", "editable"):
        own = "" if "type" in source else text_at(source, name)
        address = address or own or text_at(package, name)
    return address, ""


def _git_of_uv(address: str) -> tuple[str, str]:
    try:
        parts = urlsplit(address)
        asked = parse_qs(parts.query)
    except ValueError:
        return f"git+{address}", ""
    names = [asked[name][0] for name in ("tag", "rev", "branch") if name in asked]
    bare = parts._replace(query="", fragment="").geturl()
    return f"git+{bare}", names[0] if names else parts.fragment


def _hashes(package: Table) -> tuple[str, ...]:
    files = [item for key in ("files", "wheels") for item in tables_at(package, key)]
    files.append(table_at(package, "sdist"))
    found = {text_at(item, "hash") for item in files}
    for item in files:
        found |= {f"{name}:{value}" for name, value in table_at(item, "hashes").items()}
    return tuple(sorted(found - {""}))


def read_pipfile_lock(data: bytes, file: str, sought: Sought) -> Found:
    """The pins of a ``Pipfile.lock``; SourceError if it is no JSON."""
    try:
        text = data.decode("utf-8-sig")
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SourceError(f"is no JSON: {error}") from None
    for part, packages in content.items() if isinstance(content, Mapping) else ():
        if part == "_meta":
            continue
        for name, package in table_at(packages).items():
            if not sought.is_named(name) or not isinstance(package, Mapping):
                continue
            line = line_of(text, rf'^\s*"{re.escape(part)}"', rf'^\s*"{re.escape(name)}"')
            yield _pin_of_pipenv(package, name, Place(file, line, part, "lock"), sought)


def _pin_of_pipenv(package: Table, name: str, place: Place, sought: Sought) -> Pin | Gap:
    marker = text_at(package, "markers")
    address = text_at(package, "git") or text_at(package, "file") or text_at(package, "path")
    version = text_at(package, "version").removeprefix("==")
    if address:
        prefix = "git+" if "git" in package else ""
        pin = pin_of_address(
            prefix + address,
            f"{name} = {shown(package)}",
            place,
            sought,
            marker=marker,
            revision=text_at(package, "ref"),
        )
    else:
        locked = pin_of_version(version, f"{name}=={version}", place, marker)
        if locked is None:
            return Gap(kind="file", file=place.file, line=place.line, message="names no version")
        pin = locked
    hashes, extras = package.get("hashes"), package.get("extras")
    return msgspec.structs.replace(
        pin,
        hashes=tuple(sorted(map(str, hashes))) if isinstance(hashes, list) else (),
        extras=tuple(sorted(map(str, extras))) if isinstance(extras, list) else (),
    )
