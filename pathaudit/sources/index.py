"""Gets wheels from the user's package index, through pip and whatever it is configured with.

Only wheels, of any platform: nothing is built, installed or run.
"""

import hashlib
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from urllib.parse import unquote, urlsplit

import msgspec
from msgspec import Struct, field
from packaging.requirements import Requirement
from packaging.version import InvalidVersion, Version

from pathaudit.errors import SourceError
from pathaudit.hints import did_you_mean

_LINUX = [f"manylinux_2_{minor}" for minor in range(40, 16, -1)]
_LINUX += ["manylinux2014", "manylinux2010", "manylinux1", "linux"]
_PLATFORMS = [f"{name}_{machine}" for machine in ("x86_64", "aarch64") for name in _LINUX]
_PLATFORMS += ["macosx_15_0_arm64", "macosx_15_0_x86_64", "win_amd64"]
_PYTHONS = ("3.12", "3.11", "3.10", "3.13")

# What pip is configured with, but for how much it tells and where it would install to.
_ENVIRONMENT = {"PIP_USER": "0", "PIP_QUIET": "0", "PIP_VERBOSE": "0", "LC_ALL": "C.UTF-8"}

_WRONG_HASH = "DO NOT MATCH THE HASHES"
_UNREACHABLE = re.compile(
    r"connection broken|ConnectionError|timed out|ProxyError|SSLError|resolve"
)


class Wheel(Struct, frozen=True):
    """A wheel of an index: its file name, version, the hash that the index states if any.

    ``python`` is one that pip finds it for.
    """

    name: str
    version: Version
    sha256: str | None
    python: str


class _Archive(Struct):
    hashes: dict[str, str] = {}


class _Download(Struct):
    url: str
    archive_info: _Archive = field(default_factory=_Archive)


class _Metadata(Struct):
    version: str


class _Install(Struct):
    download_info: _Download
    metadata: _Metadata


class _Report(Struct):
    """What pip tells of an installation that it does not do."""

    install: tuple[_Install, ...]


def pinned(requirement: Requirement) -> Version | None:
    """Return the one version that a requirement asks for, if it asks for one."""
    if len(requirement.specifier) != 1:
        return None
    (only,) = requirement.specifier
    if not only.operator.startswith("==") or only.version.endswith("*"):
        return None
    try:
        return Version(only.version)
    except InvalidVersion:
        return None


def find_wheel(requirement: Requirement, label: str) -> Wheel:
    """Return the newest wheel that fits, whatever its platform; SourceError if there is none."""
    faults: list[str] = []
    for pythons in _attempts(requirement):
        with ThreadPoolExecutor(len(pythons)) as pool:
            answers = list(pool.map(lambda python: _resolve(requirement, python), pythons))
        found = [answer for answer in answers if isinstance(answer, Wheel)]
        if found:
            return max(found, key=lambda wheel: wheel.version)
        faults += [answer for answer in answers if isinstance(answer, str)]
        if any(_UNREACHABLE.search(fault) for fault in faults):
            break
    told = "\n".join(faults)
    raise _wrong_hash(label) if _WRONG_HASH in told else _nothing(requirement, told, label)


def _attempts(requirement: Requirement) -> tuple[tuple[str, ...], ...]:
    """The versions of Python to ask for, in turn: of one release, the first wheel will do."""
    return (_PYTHONS[:1], _PYTHONS[1:]) if pinned(requirement) else (_PYTHONS,)


def download(requirement: Requirement, wheel: Wheel, folder: Path, label: str) -> Path:
    """Download a wheel to a folder; pip compares it with the hash that the index states."""
    exact = f"{requirement.name}=={wheel.version}"
    run = _pip("download", "--dest", str(folder), *_target(wheel.python), exact)
    path = folder / wheel.name
    if _WRONG_HASH in run.stderr or (path.is_file() and wheel.sha256 not in (None, _hash(path))):
        raise _wrong_hash(label)
    if run.returncode or not path.is_file():
        raise SourceError(f"{label}: cannot be downloaded: {_last_error(run.stderr)}")
    return path


def _resolve(requirement: Requirement, python: str) -> Wheel | str:
    """Return the newest wheel for one version of Python, or what pip says instead."""
    exact = f"{requirement.name}{requirement.specifier}"
    with TemporaryDirectory(prefix="pathaudit-") as scratch:
        report = Path(scratch, "report.json")
        words = ["--dry-run", "--ignore-installed", "--target", scratch, "--report", str(report)]
        run = _pip("install", *words, *_target(python), exact)
        if run.returncode:
            return run.stderr
        told = msgspec.json.decode(report.read_bytes(), type=_Report).install[0]
    info = told.download_info
    name = PurePosixPath(unquote(urlsplit(info.url).path)).name
    return Wheel(
        name, Version(told.metadata.version), info.archive_info.hashes.get("sha256"), python
    )


def _target(python: str) -> list[str]:
    platforms = [word for name in _PLATFORMS for word in ("--platform", name)]
    return ["--implementation", "cp", "--python-version", python, *platforms]


def _pip(command: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Run pip for wheels only.

    -P keeps a module in the current folder, which may be code under audit, from being run as pip.
    """
    start = [
        sys.executable,
        "-P",
        "-m",
        "pip",
        command,
        "--no-input",
        "--disable-pip-version-check",
    ]
    only = ["--no-deps", "--only-binary=:all:", "--ignore-requires-python"]
    environment = {**os.environ, **_ENVIRONMENT}
    return subprocess.run(
        [*start, *only, *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        errors="backslashreplace",
        env=environment,
        check=False,
    )


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _wrong_hash(label: str) -> SourceError:
    return SourceError(f"{label}: the wheel has not the hash that the package index states")


def _nothing(requirement: Requirement, told: str, label: str) -> SourceError:
    """What to say where no wheel fits."""
    if "No module named pip" in told:
        hint = f"{sys.executable} -m ensurepip, or name a wheel file"
        return SourceError(f"{label}: pip is needed to download it, and is not there", hint)
    versions = sorted(_versions(told))
    if versions:
        newest = f"the newest is {requirement.name}=={versions[-1]}"
        asked = pinned(requirement)
        names = [f"{requirement.name}=={version}" for version in reversed(versions)]
        hint = did_you_mean(f"{requirement.name}=={asked}", names, newest) if asked else newest
        return SourceError(f"{label}: the package index has no wheel of such a version", hint)
    if _UNREACHABLE.search(told):
        return SourceError(
            f"{label}: the package index cannot be reached", "--offline uses what is kept"
        )
    if "from versions: none" in told:
        return SourceError(f"{label}: the package index has no wheel of {requirement.name}")
    return SourceError(f"{label}: pip finds no wheel: {_last_error(told)}")


def _versions(told: str) -> set[Version]:
    """The versions that pip says there are."""
    found = set()
    for listed in re.findall(r"\(from versions: ([^)]*)\)", told):
        for name in listed.split(", "):
            try:
                found.add(Version(name))
            except InvalidVersion:
                continue
    return found


def _last_error(told: str) -> str:
    lines = [line.removeprefix("ERROR: ") for line in told.splitlines() if "ERROR" in line]
    return lines[-1] if lines else "pip failed"
