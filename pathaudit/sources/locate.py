"""Finds the folder that holds the package the user means: a directory or what is installed."""

import difflib
import os
import re
import sys
from collections.abc import Iterator, Sequence
from urllib.parse import unquote, urlsplit

import msgspec
from msgspec import Struct

from pathaudit.errors import SourceError
from pathaudit.sources.listing import folders, holds_python, printable
from pathaudit.sources.version import metadata

_VERSION = re.compile(r"v?(\d+(?:\.\w+)+)")


def find_holder(target: str, package: str) -> str:
    """Return the folder that holds the package folder the user means."""
    label, folder = printable(target), os.path.abspath(target)
    if not os.path.isdir(target):
        raise _no_directory(target, package)
    usual = next(_usual_holders(folder, package), None)
    if usual:
        return usual
    nested = [name for name in folders(folder) if holds_python(f"{folder}/{name}", package)]
    if len(nested) == 1:
        return os.path.join(folder, nested[0])
    if nested:
        names = ", ".join(printable(os.path.join(target, name)) for name in nested)
        raise SourceError(f"{label}: several folders hold {package}: {names}", "name one of them")
    looked = ", ".join(f"{where}{package}/" for where in ("", "python/", "src/", "*/"))
    raise SourceError(
        f"{label}: no Python files of the package {package}; looked for {looked}",
        f"name a checkout, a site-packages folder or the folder {package} itself",
    )


def find_tree_of(files: Sequence[str], package: str, models: str) -> str | None:
    """Return the folder that holds the package of some files; nothing if they are of none.

    A folder counts if it holds the folder ``models``: that a checkout is named like its package
    makes no tree of it. SourceError if the files belong to several trees.
    """
    known: dict[str, bool] = {}
    found = {holder for file in files if (holder := _holder_of(file, package, models, known))}
    if len(found) > 1:
        names = " and ".join(printable(name) for name in sorted(found)[:2])
        raise SourceError(
            f"the files are of several trees: {names}", "name one with --tree, the rest is left out"
        )
    return next(iter(found), None)


def _holder_of(file: str, package: str, models: str, known: dict[str, bool]) -> str | None:
    """The innermost folder above a file that holds the package with its models."""
    above = os.path.abspath(file)
    while (cut := above.rfind(f"/{package}/")) >= 0:
        above = above[:cut]
        if above not in known:
            known[above] = os.path.isdir(os.path.join(above, models or package))
        if known[above]:
            return above or "/"
    return None


def _no_directory(target: str, package: str) -> SourceError:
    fault = "not a directory, wheel or archive" if os.path.exists(target) else "no such directory"
    return SourceError(f"{printable(target) or repr(target)}: {fault}", _meant(target, package))


def _meant(target: str, package: str) -> str:
    """Say what may be meant by a name that is no folder."""
    parent, name = os.path.split(target.rstrip("/"))
    if version := _VERSION.fullmatch(target):
        return f"a release is {package}=={version[1]}, a git revision git:{target}"
    near = difflib.get_close_matches(name, folders(parent or os.curdir), n=1)
    if near:
        return f"did you mean {printable(os.path.join(parent, near[0]))}?"
    if difflib.get_close_matches(target, [package]):
        return f"did you mean {package}, the installed package?"
    return f"name a directory that holds {package}/, a git:REVISION, or {package}==VERSION"


def _usual_holders(folder: str, package: str) -> Iterator[str]:
    """Yield the folders that hold the package, the most likely one first."""
    places = [folder, os.path.join(folder, "python"), os.path.join(folder, "src")]
    if os.path.basename(folder) == package:
        # A checkout is often named like its package and holds it, and a package may hold a part
        # of its own name: an __init__.py tells which.
        itself = 0 if os.path.isfile(os.path.join(folder, "__init__.py")) else len(places)
        places.insert(itself, os.path.dirname(folder))
    return (place for place in places if holds_python(place, package))


def find_installed(package: str) -> str:
    """Return the folder that Python would import the package from, without importing anything."""
    entries = [os.path.abspath(entry) for entry in sys.path]
    named = [entry for entry in entries if holds_python(entry, package)]
    # As in an import, a folder without __init__.py (perhaps a checkout in the working directory)
    # counts only if nothing better is found.
    whole = [entry for entry in named if os.path.isfile(f"{entry}/{package}/__init__.py")]
    edited = [holder for entry in entries for holder in _editable(entry, package)]
    holders = whole + edited + named
    if holders:
        return holders[0]
    hint = f"name a checkout, a site-packages folder or the folder {package} itself"
    raise SourceError(f"{package} is not installed for {printable(sys.executable)}", hint)


class _DirectUrl(Struct):
    """What an installer notes in ``direct_url.json`` (PEP 610)."""

    url: str
    dir_info: dict[str, object] = {}


def _editable(entry: str, package: str) -> Iterator[str]:
    """Yield the folders that editable installs noted in a site-packages folder."""
    for data in metadata(entry, package, "direct_url.json"):
        try:
            noted = msgspec.json.decode(data, type=_DirectUrl)
            parts = urlsplit(noted.url)
        except (msgspec.DecodeError, ValueError):
            continue
        if noted.dir_info.get("editable") and parts.scheme == "file":
            yield from _usual_holders(os.path.normpath(unquote(parts.path)), package)
