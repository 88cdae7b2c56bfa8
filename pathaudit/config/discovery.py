"""Finds the file with a project's settings, in the current folder or one above it."""

import os
import tomllib
from collections.abc import Iterator

from msgspec import Struct

OWN_FILE = "pathaudit.toml"
SHARED_FILE = "pyproject.toml"
TABLE = ("tool", "pathaudit")

# A file of more than that holds no settings that anybody wrote.
_LARGEST = 1 << 20


class Found(Struct, frozen=True):
    """A settings ``file``, if there is one, and the folders that were looked in for it."""

    file: str
    looked: tuple[str, ...]


def find_settings(start: str = os.curdir) -> Found:
    """Look for settings in a folder, then in each above it, up to the root of the file system.

    The nearest file counts, and alone: ``pathaudit.toml``, else a ``pyproject.toml`` that has a
    table ``tool.pathaudit``. As with ruff, the root of a repository is no end of the search.
    """
    looked = []
    for folder in _upwards(os.path.abspath(start)):
        looked.append(folder)
        own, shared = (os.path.join(folder, name) for name in (OWN_FILE, SHARED_FILE))
        if os.path.isfile(own):
            return Found(own, tuple(looked))
        if os.path.isfile(shared) and _has_table(shared):
            return Found(shared, tuple(looked))
    return Found("", tuple(looked))


def _upwards(folder: str) -> Iterator[str]:
    yield folder
    while (above := os.path.dirname(folder)) != folder:
        folder = above
        yield folder


def _has_table(path: str) -> bool:
    """Does a pyproject.toml speak of pathaudit? One that is damaged and names it does."""
    try:
        with open(path, "rb") as file:
            text = file.read(_LARGEST)
    except OSError:
        return False
    if b"pathaudit" not in text:
        return False
    try:
        tools = tomllib.loads(text.decode("utf-8-sig")).get(TABLE[0])
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError):
        return b"[tool.pathaudit" in text  # whoever reads it says what is wrong
    return isinstance(tools, dict) and TABLE[1] in tools
