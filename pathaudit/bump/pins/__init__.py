"""Finds every place in a repository that says which version of a package is used."""

import posixpath
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from itertools import islice

import msgspec
from msgspec import Struct

from pathaudit.bump.pins.dockerfile import read_dockerfile
from pathaudit.bump.pins.images import read_yaml
from pathaudit.bump.pins.locks import read_lock, read_pipfile_lock
from pathaudit.bump.pins.pyproject import read_pipfile, read_pyproject
from pathaudit.bump.pins.requirements import includes, read_requirements
from pathaudit.bump.pins.setup import read_setup
from pathaudit.bump.pins.shell import read_script
from pathaudit.bump.pins.sought import Sought, version_of
from pathaudit.errors import SourceError
from pathaudit.results import Gap
from pathaudit.results.bumps import Pin, PinSource
from pathaudit.sources.repository import RepositoryFiles, Submodule, tag_at

__all__ = ["PinsRead", "Sought", "read_pins"]

MAX_FILES = 5000
MAX_PINS = 200  # of one file
MAX_ALL = 1000
_LONGEST = 200  # characters of what is told of a file that cannot be read

Reader = Callable[[bytes, str, Sought], Iterator[Pin | Gap]]

_READERS: tuple[tuple[str, Reader], ...] = (
    ("pyproject.toml", read_pyproject),
    ("uv.lock", read_lock),
    ("poetry.lock", read_lock),
    ("pdm.lock", read_lock),
    ("pylock.toml", read_lock),
    ("pylock.*.toml", read_lock),
    ("Pipfile", read_pipfile),
    ("Pipfile.lock", read_pipfile_lock),
    ("*Dockerfile", read_dockerfile),
    ("*.dockerfile", read_dockerfile),
    ("Dockerfile.*", read_dockerfile),
    ("*Containerfile", read_dockerfile),
    ("setup.py", read_setup),
    ("*.sh", read_script),
    ("*.yml", read_yaml),
    ("*.yaml", read_yaml),
)
_REQUIREMENTS = ("*requirements*.txt", "*requirements*.in", "*requirements*.pip")
_CONSTRAINTS = ("*constraints*.txt", "*constraints*.in")
_REQUIREMENTS_FOLDERS = ("requirements/*.txt", "requirements/*.in", "deps/*.txt")

# What is built, installed or copied from elsewhere is not what this repository asks for.
_FOREIGN = frozenset(
    (
        ".git",
        ".nox",
        ".tox",
        ".venv",
        "__pycache__",
        "build",
        "dist",
        "node_modules",
        "site-packages",
        "third_party",
        "vendor",
        "vendored",
        "venv",
    )
)


class PinsRead(Struct, frozen=True):
    """The pins of one state of a repository, by file and line, and what could not be read."""

    pins: tuple[Pin, ...]
    gaps: tuple[Gap, ...]


def read_pins(files: RepositoryFiles, sought: Sought) -> PinsRead:
    """Return what pins a package: dependency files, what those include, images, submodules."""
    found: list[Pin | Gap] = []
    chosen = [path for path in sorted(files.paths) if _matters(path)]
    if len(chosen) > MAX_FILES:
        message = f"only {MAX_FILES:,} of {len(chosen):,} dependency files were read"
        found.append(Gap(kind="budget", file=chosen[MAX_FILES], line=0, message=message))
    plain = []
    for path in chosen[:MAX_FILES]:
        reader = _reader(path)
        if reader is not None:
            found += _read(files, path, sought, reader)
        else:
            plain.append((path, "constraint" if _is_one(path, _CONSTRAINTS) else "requirement"))
    found += _read_requirements(files, plain, sought)
    found += [_submodule(module) for module in _modules(files, sought)]
    pins = sorted(dict.fromkeys(item for item in found if isinstance(item, Pin)), key=_place)
    if len(pins) > MAX_ALL:
        message = f"only {MAX_ALL:,} of {len(pins):,} pins are looked at"
        found.append(Gap(kind="budget", file=pins[MAX_ALL].file, line=0, message=message))
    gaps = {gap for gap in found if isinstance(gap, Gap)}
    ordered = sorted(gaps, key=lambda gap: (gap.file, gap.line, gap.message))
    return PinsRead(tuple(pins[:MAX_ALL]), tuple(ordered))


def _place(pin: Pin) -> tuple[str, int, str]:
    return (pin.file, pin.line, pin.part)


def _matters(path: str) -> bool:
    if _FOREIGN.intersection(path.split("/")[:-1]):
        return False
    plain = (*_REQUIREMENTS, *_CONSTRAINTS)
    return _reader(path) is not None or _is_one(path, plain) or _in_folder(path)


def _reader(path: str) -> Reader | None:
    name = posixpath.basename(path)
    return next((reader for glob, reader in _READERS if fnmatchcase(name, glob)), None)


def _is_one(path: str, globs: tuple[str, ...]) -> bool:
    name = posixpath.basename(path).lower()
    return any(fnmatchcase(name, glob) for glob in globs)


def _in_folder(path: str) -> bool:
    parts = "/".join(path.split("/")[-2:])
    return any(fnmatchcase(parts, glob) for glob in _REQUIREMENTS_FOLDERS)


def _read(files: RepositoryFiles, path: str, sought: Sought, reader: Reader) -> Iterator[Pin | Gap]:
    """What a file says of the package; a gap if it cannot be read and may say something."""
    try:
        data = files.read(path)
        if sought.occurs_in(data):
            yield from _limited(reader(data, path, sought), path)
    except SourceError as error:
        yield Gap(kind="file", file=path, line=1, message=error.message[:_LONGEST])


def _limited(found: Iterator[Pin | Gap], path: str) -> Iterator[Pin | Gap]:
    """What is found in a file, as far as anybody would write it."""
    for item in islice(found, MAX_PINS):
        if isinstance(item, Gap):
            item = msgspec.structs.replace(item, message=item.message[:_LONGEST])
        yield item
    if next(found, None) is not None:
        message = f"has more than {MAX_PINS} pins, and was not read to its end"
        yield Gap(kind="budget", file=path, line=1, message=message)


def _read_requirements(
    files: RepositoryFiles, pending: list[tuple[str, str]], sought: Sought
) -> Iterator[Pin | Gap]:
    """What requirements files say, with those that they include, each of them once in a role."""
    pending = pending[::-1]
    seen: set[tuple[str, str]] = set()
    while pending and len(seen) < MAX_FILES:
        path, role = pending.pop()
        if (path, role) in seen or (path, "requirement") in seen:
            continue
        seen.add((path, role))
        try:
            data = files.read(path)
        except SourceError as error:
            yield Gap(kind="file", file=path, line=1, message=error.message[:_LONGEST])
            continue
        if sought.occurs_in(data):
            yield from _limited(read_requirements(data, path, sought, role), path)
        for include in includes(data, path) if b"-r" in data or b"-c" in data else ():
            if include.path in files.paths:
                inner = "constraint" if role == "constraint" else include.role
                pending.append((include.path, inner))
            else:
                message = f"includes {include.target}, which is not in the repository"
                yield Gap(kind="file", file=path, line=include.line, message=message)


# ---- submodules -------------------------------------------------------------------------------


def _modules(files: RepositoryFiles, sought: Sought) -> Iterator[Submodule]:
    yield from (module for module in files.submodules if sought.is_repository(module.address))


def _submodule(module: Submodule) -> Pin:
    """The pin that a submodule is; its revision is a tag of a version, if one is there."""
    tag = tag_at(module, lambda name: bool(version_of(name)))
    return Pin(
        file=".gitmodules",
        line=module.line,
        part=module.path,
        role="submodule",
        text=f"{module.path} at {module.commit}",
        source=PinSource.SUBMODULE,
        version=version_of(tag or ""),
        address=module.address,
        revision=module.commit,
    )
