"""Opens a release of a package index: ``sglang==0.5.9``, ``sglang>=0.5.9,<0.6``."""

import re
from collections.abc import Callable
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from pathaudit.errors import SourceError
from pathaudit.hints import did_you_mean
from pathaudit.sources.index import download, find_wheel, pinned
from pathaudit.sources.listing import printable
from pathaudit.sources.releases import Pin, Releases, hash_of
from pathaudit.sources.tree import SourceTree

Tell = Callable[[str], None]


def open_requirement(
    target: str, package: str, keep: Path, *, offline: bool, tell: Tell
) -> SourceTree:
    """Open the newest wheel that meets a requirement, downloaded unless it is kept.

    One version, once kept, is not asked for again; ``offline``, only what is kept counts.
    SourceError, with a hint, where there is none; ``tell`` is told what takes long.
    """
    label = printable(target)
    requirement = _parse(target, package, label)
    releases = Releases(keep)
    if offline or pinned(requirement):
        tree = _kept(requirement, package, releases, label)
        if tree is not None:
            return tree
    if offline:
        raise _not_kept(requirement, releases, label)
    return _from_index(requirement, package, releases, label, tell)


def newest_version(target: str, package: str, keep: Path, *, offline: bool, tell: Tell) -> str:
    """Return the version of the newest wheel that meets a requirement; nothing is downloaded.

    ``offline``, that of the newest that is kept. SourceError, with a hint, where there is none.
    """
    label = printable(target)
    requirement = _parse(target, package, label)
    if not offline:
        tell(f"asking the package index for {label}")
        return str(find_wheel(requirement, label).version)
    releases = Releases(keep)
    known = sorted(requirement.specifier.filter(releases.versions(requirement.name)))
    if not known:
        raise _not_kept(requirement, releases, label)
    return str(known[-1])


def _parse(target: str, package: str, label: str) -> Requirement:
    """Return the requirement that a person wrote."""
    try:
        requirement = Requirement(target)
    except InvalidRequirement:
        version = re.search(r"\d[\w.!+]*", target)
        meant = f"{package}=={version[0] if version else '0.5.9'}"
        raise SourceError(f"{label}: is no requirement", f"did you mean {meant}?") from None
    if requirement.url is not None:
        raise SourceError(f"{label}: names an address", "download the file, and name that")
    return requirement


def _kept(
    requirement: Requirement, package: str, releases: Releases, label: str
) -> SourceTree | None:
    """Return the newest of the kept releases that meet a requirement."""
    known = releases.versions(requirement.name)
    for version in sorted(requirement.specifier.filter(known), reverse=True):
        pin = releases.pin(requirement.name, version)
        tree = releases.kept(pin.sha256, package, label) if pin is not None else None
        if tree is not None:
            return tree
    return None


def _not_kept(requirement: Requirement, releases: Releases, label: str) -> SourceError:
    names = [f"{requirement.name}=={version}" for version in releases.versions(requirement.name)]
    otherwise = f"kept: {', '.join(names)}" if names else "run it once without --offline"
    hint = did_you_mean(label, names, otherwise) if pinned(requirement) else otherwise
    return SourceError(f"{label}: is not kept, and --offline forbids to download it", hint)


def _from_index(
    requirement: Requirement, package: str, releases: Releases, label: str, tell: Tell
) -> SourceTree:
    tell(f"asking the package index for {label}")
    try:
        wheel = find_wheel(requirement, label)
    except SourceError as error:
        raise _misspelt(requirement, package, error) from None
    tree = releases.kept(wheel.sha256, package, label) if wheel.sha256 else None
    digest = wheel.sha256 or ""
    if tree is None:
        with releases.scratch() as scratch:
            tell(f"downloading {wheel.name}")
            path = download(requirement, wheel, scratch, label)
            digest = hash_of(str(path), label)
            tree = releases.open(str(path), package, label)
    releases.keep_pin(requirement.name, wheel.version, Pin(wheel.name, digest))
    return tree


def _misspelt(requirement: Requirement, package: str, error: SourceError) -> SourceError:
    """Name the package where nothing of the name is known, and it looks like a slip."""
    if error.hint or canonicalize_name(requirement.name) == canonicalize_name(package):
        return error
    meant = f"{package}{requirement.specifier}"
    return SourceError(error.message, did_you_mean(str(requirement), [meant], ""))
