"""Lists what a package folder holds, and says why a path is left out."""

import os
import stat
from collections.abc import Iterator


def walk(holder: str, package: str) -> Iterator[tuple[str, str]]:
    """Yield each Python file with an empty reason, and each path left out with why."""
    home = os.path.realpath(os.path.join(holder, package))
    pending = [(package, False)]
    while pending:
        folder, linked = pending.pop()
        try:
            with os.scandir(os.path.join(holder, folder)) as entries:
                relevant = [entry for entry in entries if _matters(entry)]
        except OSError as error:
            yield folder, f"folder cannot be read: {error.strerror}"
            continue
        for entry in relevant:
            path = f"{folder}/{entry.name}"
            reason = _obstacle(entry, home, linked)
            if reason or not entry.is_dir():
                yield printable(path), reason
            else:
                pending.append((path, linked or entry.is_symlink()))


def _matters(entry: os.DirEntry[str]) -> bool:
    if entry.name.startswith(".") or entry.name == "__pycache__":
        return False
    if entry.name.endswith(".py"):
        return True
    return not os.path.isfile(entry.path) if entry.is_symlink() else entry.is_dir()


def _obstacle(entry: os.DirEntry[str], home: str, linked: bool) -> str:
    """Return why an entry of a folder is left out, or nothing."""
    if entry.name != printable(entry.name):
        return "name is not valid Unicode"
    if entry.is_symlink() and (reason := _link_obstacle(entry.path, home, linked)):
        return reason
    return "" if entry.is_dir() or entry.is_file() else "not a regular file"


def _link_obstacle(path: str, home: str, linked: bool) -> str:
    try:
        is_folder = stat.S_ISDIR(os.stat(path).st_mode)
    except OSError as error:
        return f"link cannot be followed: {error.strerror}"
    real = os.path.realpath(path)
    if not _is_within(real, home):
        return "link leaves the tree"
    if _is_within(os.path.realpath(os.path.dirname(path)), real):
        return "link runs in a circle"
    # Folders that link to each other crosswise would have exponentially many paths.
    return "link inside a linked folder" if is_folder and linked else ""


def _is_within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder + os.sep)


def holds_python(holder: str, package: str) -> bool:
    """Is there a folder of the package with a Python file in it?"""
    if not os.path.isdir(os.path.join(holder, package)):
        return False
    return any(not reason for _, reason in walk(holder, package))


def folders(parent: str) -> list[str]:
    """Return the names of the folders in a folder, sorted and without hidden ones."""
    try:
        names = os.listdir(parent)
    except (OSError, ValueError):
        return []
    shown = (name for name in names if not name.startswith("."))
    return sorted(name for name in shown if os.path.isdir(os.path.join(parent, name)))


def printable(name: str) -> str:
    """Return a file name as text that can be written; bytes that are no UTF-8 become escapes."""
    return name.encode("utf-8", "backslashreplace").decode()
