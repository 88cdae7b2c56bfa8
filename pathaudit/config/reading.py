"""Reads a settings file; a fault becomes one line with file, line and key."""

import os
import re
import tomllib
from collections.abc import Mapping

import msgspec
from msgspec import Struct

from pathaudit.config.discovery import OWN_FILE, SHARED_FILE, TABLE
from pathaudit.config.keys import KEYS, PATHS, Rating, Settings
from pathaudit.config.places import lines_of
from pathaudit.errors import ConfigError
from pathaudit.hints import did_you_mean

_DESCRIBED = "the keys are described in the README under 'Configuration'"
_TOML_PLACE = re.compile(r" \(at (?:line (\d+), column \d+|end of document)\)$")
_FIELDS = {field.encode_name: field.type for field in msgspec.structs.fields(Settings)}


class Kept(Struct, frozen=True):
    """Settings with the file that they are from, as it is shown, and what is in it.

    Without a file all is as it is by default. ``text`` and ``table`` tell where each key stands.
    """

    settings: Settings = Settings()
    file: str = ""
    text: str = ""
    table: tuple[str, ...] = ()
    stated: frozenset[str] = frozenset()

    def place(self, *path: str) -> str:
        """File and line of a key, such as ``rules`` and an id in it."""
        return f"{self.file}:{self.line(*path)}"

    def line(self, *path: str) -> int:
        """The line of a key, or of the nearest one around it that has one."""
        lines = lines_of(self.text, self.table)
        around = (path[:length] for length in range(len(path), 0, -1))
        return next((lines[part] for part in around if part in lines), 1)


def load_settings(path: str) -> Kept:
    """Read and check a settings file: its top-level keys, or of a ``pyproject.toml`` its table.

    ``ConfigError`` for one that cannot be read, is not TOML, has an unknown key or a wrong value.
    Rules and classes that it names are not looked up here.
    """
    shown = _from_here(path)
    text = _text(path, shown)
    table = TABLE if os.path.basename(path) == SHARED_FILE else ()
    found: object = _parsed(text, shown)
    for name in table:
        found = found.get(name) if isinstance(found, dict) else None
    if not isinstance(found, dict):
        hint = f"add one, or write the keys at the top of a file such as {OWN_FILE}"
        raise ConfigError(f"{shown}: has no table [{'.'.join(TABLE)}]", hint)
    raw = Kept(file=shown, text=text, table=table, stated=frozenset(found))
    _check_keys(raw, found)
    values = {name: _converted(raw, name, value) for name, value in found.items()}
    folder = _from_here(os.path.dirname(os.path.abspath(path)))
    located = {name: _located(name, value, folder) for name, value in values.items()}
    fields = {KEYS[name]: value for name, value in located.items()}
    return msgspec.structs.replace(raw, settings=msgspec.structs.replace(Settings(), **fields))


def _from_here(path: str) -> str:
    """A path as seen from the current folder; one that is far away, as it is."""
    below = os.path.relpath(path)
    return os.path.abspath(path) if below.startswith(os.path.join("..", "..", "..")) else below


def _text(path: str, shown: str) -> str:
    try:
        with open(path, encoding="utf-8-sig") as file:
            return file.read()
    except OSError as error:
        hint = "name a pathaudit.toml, or a pyproject.toml with a table [tool.pathaudit]"
        raise ConfigError(f"{shown}: cannot be read: {error.strerror}", hint) from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"{shown}: is not UTF-8: {error.reason}") from None


def _parsed(text: str, shown: str) -> dict[str, object]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        place = _TOML_PLACE.search(str(error))
        line = (place[1] if place else None) or str(len(text.splitlines()))
        reason = _TOML_PLACE.sub("", str(error))
        raise ConfigError(f"{shown}:{line}: is not TOML: {reason}") from None
    except RecursionError:
        raise ConfigError(f"{shown}: is not TOML: it is nested too deeply") from None


def _check_keys(raw: Kept, found: Mapping[str, object]) -> None:
    for name in found:
        if name not in KEYS:
            hint = did_you_mean(name, KEYS, _DESCRIBED)
            raise ConfigError(f"{raw.place(name)}: there is no key {name!r}", hint)


def _converted(raw: Kept, name: str, value: object) -> object:
    """The value of a key in its type; of ``rules``, the fault names the rule."""
    if name == "rules" and isinstance(value, dict):
        for rule, rating in value.items():
            _convert(raw, (name, rule), rating, Rating)
    return _convert(raw, (name,), value, _FIELDS[name])


def _convert(raw: Kept, path: tuple[str, ...], value: object, kind: object) -> object:
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        problem = str(error).partition(" - at ")[0]
        raise ConfigError(
            f"{raw.place(*path)}: {'.'.join(path)}: {problem}", _hint(value, kind)
        ) from None


def _hint(value: object, kind: object) -> str:
    """What may stand there, where that is a few words."""
    words = [x for x in getattr(kind, "__args__", ()) if isinstance(x, str)]
    if not words:
        return _DESCRIBED
    otherwise = f"one of {', '.join(words)}"
    return did_you_mean(value, words, otherwise) if isinstance(value, str) else otherwise


def _located(name: str, value: object, folder: str) -> object:
    """A value whose paths are seen from the current folder, not from that of the file."""
    if isinstance(value, tuple) and name in PATHS:
        return tuple(_path(folder, item) for item in value)
    if isinstance(value, str) and (name in PATHS or (name == "tree" and _is_path(folder, value))):
        return _path(folder, value)
    return value


def _path(folder: str, value: str) -> str:
    return os.path.normpath(os.path.join(folder, os.path.expanduser(value)))


def _is_path(folder: str, value: str) -> bool:
    """Is a tree a path? What is not there under that name may be a release or a revision."""
    return os.path.exists(_path(folder, value)) or value.startswith((".", "~", "/"))
