"""What pins are looked for, and which version an address of it stands for."""

import re
from urllib.parse import unquote, urlsplit

from msgspec import Struct
from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename
from packaging.version import InvalidVersion, Version

from pathaudit.results.bumps import PinSource

_SCP = re.compile(r"(?:[\w.-]+@)?([\w.-]+):(?!//)(.+)")  # git@github.com:owner/name.git
_PRE_OR_POST = re.compile(r"(rc|a|b|post|dev)\d+")


class Sought(Struct, frozen=True):
    """A package, and where it is published beside the package index."""

    package: str
    repositories: tuple[str, ...] = ()
    images: tuple[str, ...] = ()

    def is_named(self, name: str) -> bool:
        """Is this a name of the package?"""
        return canonicalize_name(name) == canonicalize_name(self.package)

    def occurs_in(self, data: bytes) -> bool:
        """May the bytes of a file tell of the package? No name of it is written otherwise."""
        return self._search("|".join((self._name, *map(re.escape, self.images))), data)

    def may_be_pinned_in(self, data: bytes) -> bool:
        """May the bytes of a file name an image of the package, or a condition on its version?"""
        image = rf"/{self._name}(?![\w.-]*\w)"
        condition = rf"{self._name}\s*(\[[^]]*\])?\s*([=<>~!]=|[<>@])"
        return self._search("|".join((image, condition, *map(re.escape, self.images))), data)

    @property
    def _name(self) -> str:
        return re.sub(r"[-_.]+", "[-_.]+", canonicalize_name(self.package))

    def _search(self, pattern: str, data: bytes) -> bool:
        return re.search(pattern.encode(), data, re.IGNORECASE) is not None

    def is_published(self, address: str) -> bool:
        """Is this the repository that releases are made of, rather than a copy of it?"""
        return repository_of(address) in self.repositories

    def is_repository(self, address: str) -> bool:
        """Is this a repository of the package, be it the published one or a copy?"""
        place = repository_of(address)
        return place in self.repositories or self.is_named(place.rpartition("/")[2] or "-")

    def is_published_image(self, name: str) -> bool:
        """Is this one of the images that releases are made into, in whatever registry?"""
        return any(f"/{name}".endswith(f"/{image}") for image in self.images)

    def is_image(self, name: str) -> bool:
        """Is this an image of the package, be it a published one or somebody else's?"""
        return self.is_published_image(name) or self.is_named(name.rpartition("/")[2] or "-")

    def begins(self, requirement: str) -> bool:
        """Does what may be no requirement begin with a name of the package?"""
        name = re.match(r"\s*([\w.-]*\w)", requirement)
        return name is not None and self.is_named(name[1])

    def tagged(self, address: str, revision: str) -> str:
        """The version of the release that a tag of a repository is, if it is one."""
        return version_of(revision.rpartition("/")[2]) if self.is_published(address) else ""


def repository_of(address: str) -> str:
    """A repository's address without what does not matter: ``github.com/owner/name``."""
    address = address.strip().removeprefix("git+")
    scp = _SCP.fullmatch(address) if "://" not in address else None
    if scp is not None:
        host, path = scp.groups()
    else:
        try:
            parts = urlsplit(address)
            host, path = parts.hostname or "", parts.path
        except ValueError:
            return ""
    path = unquote(path).strip("/").removesuffix(".git")
    return f"{host}/{path}".lower().strip("/")


def split_git(address: str) -> tuple[str, str, str]:
    """Address, revision and name of the package in ``git+https://host/name.git@v1#egg=name``."""
    bare, _, fragment = address.removeprefix("git+").partition("#")
    bare = bare.partition("?")[0]
    head, at, revision = bare.rpartition("@")
    if not at or "/" not in head.partition("://")[2] or ":" in revision:
        head, revision = bare, ""
    egg = re.search(r"(?:^|&)egg=([\w.-]+)", fragment)
    return head, revision, egg[1] if egg else ""


def version_of(tag: str) -> str:
    """The version in front of a tag such as ``v0.5.6`` or ``0.5.6.post1-cu126``, if there is one.

    Only a number with dots counts: neither ``latest`` nor a date is a version.
    """
    first, _, rest = tag.partition("-")
    if not re.match(r"v?\d+\.\d+", first, re.IGNORECASE):
        return ""
    if _PRE_OR_POST.match(rest):
        first += rest.partition("-")[0]
    return normal(first)


def normal(version: str) -> str:
    """A version in its normal form; nothing if it is none."""
    try:
        return str(Version(version))
    except InvalidVersion:
        return ""


def wheel_version(address: str, sought: Sought) -> str:
    """The version of the wheel that an address or a path names, if it is one of the package."""
    try:
        name = unquote(urlsplit(address).path).rpartition("/")[2]
        found, version, _, _ = parse_wheel_filename(name)
    except (InvalidWheelFilename, InvalidVersion, ValueError):
        return ""
    return str(version) if sought.is_named(found) else ""


def source_of(address: str) -> PinSource:
    """What kind of place an address of a requirement is."""
    if address.startswith("git+") or address.removesuffix("/").endswith(".git"):
        return PinSource.GIT
    if re.match(r"(?!file:)[a-z][a-z0-9+.-]+://", address, re.IGNORECASE):
        return PinSource.URL
    return PinSource.PATH
