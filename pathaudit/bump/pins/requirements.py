"""Reads pins from requirements files, those that they include, and constraints files."""

import os
import posixpath
import tempfile
from collections.abc import Iterator

import msgspec
from msgspec import Struct
from packaging.requirements import Requirement
from pip_requirements_parser import (
    InstallationError,
    InstallRequirement,
    RequirementsFile,
    RequirementsFileParseError,
)

from pathaudit.bump.pins.forms import Place, pin_of_address, pin_of_requirement
from pathaudit.bump.pins.sought import Sought, split_git, wheel_version
from pathaudit.results import Gap
from pathaudit.results.bumps import Pin

Found = Iterator[Pin | Gap]


class Include(Struct, frozen=True):
    """A file that another one includes at a line, ``role`` says as what; an address is one, too."""

    file: str
    line: int
    target: str
    role: str

    @property
    def path(self) -> str:
        """The path of the file in the repository."""
        return posixpath.normpath(posixpath.join(posixpath.dirname(self.file), self.target))


def read_requirements(data: bytes, file: str, sought: Sought, role: str) -> Found:
    """The pins of a requirements file, with gaps for lines about the package that are wrong."""
    parsed = parse(data)
    if parsed is None:
        yield Gap(kind="file", file=file, line=1, message="is no requirements file")
        return
    for item in parsed.requirements:
        pin = _pin(item, file, sought, role)
        if pin is not None:
            yield pin
    for wrong in parsed.invalid_lines:
        if sought.begins(str(wrong.line)):
            number = wrong.requirement_line.line_number
            yield Gap(kind="file", file=file, line=number, message=f"no requirement: {wrong.line}")


def includes(data: bytes, file: str) -> tuple[Include, ...]:
    """What a requirements file includes."""
    parsed = parse(data)
    if parsed is None:
        return ()
    roles = {"requirements": "requirement", "constraints": "constraint"}
    return tuple(
        Include(file, option.requirement_line.line_number, str(target), role)
        for option in parsed.options
        for name, role in roles.items()
        for target in option.options.get(name, ())
    )


def parse(data: bytes) -> RequirementsFile | None:
    """The lines of a requirements file, as pip takes them; nothing if it is none.

    The parser reads files only, so that it is given one of its own; what that includes is not read.
    """
    handle, path = tempfile.mkstemp(prefix="pathaudit-", suffix=".txt")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        return RequirementsFile.from_file(path)
    except (RequirementsFileParseError, InstallationError, ValueError, LookupError):
        return None
    finally:
        os.unlink(path)


def _pin(item: InstallRequirement, file: str, sought: Sought, role: str) -> Pin | None:
    line = item.requirement_line
    text = " ".join(line.line.split()).partition(" --hash=")[0]
    place = Place(file, line.line_number, "", role)
    extras = tuple(sorted(item.extras or ()))
    marker = str(item.marker or "")
    if item.link is not None:
        if not _is_about(item, sought):
            return None
        address = str(item.link.url)
        pin = pin_of_address(address, text, place, sought, extras=extras, marker=marker)
    elif item.req is not None and sought.is_named(item.req.name):
        bare = Requirement(f"{item.req.name}{item.req.specifier}")
        pin = pin_of_requirement(bare, text, place, sought)
        pin = msgspec.structs.replace(pin, extras=extras, marker=marker)
    else:
        return None
    return msgspec.structs.replace(pin, hashes=tuple(sorted(item.hash_options or ())))


def _is_about(item: InstallRequirement, sought: Sought) -> bool:
    """Is an address one of the package: by its name, as a wheel, or as its repository?"""
    if item.name:
        return sought.is_named(item.name)
    address = str(item.link.url)
    if address.startswith("git+"):
        return sought.is_repository(split_git(address)[0])
    return bool(wheel_version(address, sought)) or sought.package in address.split("/")
