"""What the configurations of a model and of its draft say: fields, and the layers asked for."""

import json
from fnmatch import fnmatchcase
from pathlib import Path

from msgspec import Struct

from pathaudit.errors import UsageError
from pathaudit.ruleset.serving import Algorithm, Serving

_LARGEST = 16 << 20


class Config(Struct, frozen=True, eq=False):
    """A model's configuration. ``names`` are its architectures, outermost first."""

    path: str
    fields: dict[str, object]
    names: tuple[str, ...]

    def find(self, dotted: str) -> object:
        """The value of a field by its dotted name; None where there is none."""
        value: object = self.fields
        for part in dotted.split("."):
            if not isinstance(value, dict):
                return None
            value = value.get(part)
        return value

    def has(self, dotted: str) -> bool:
        return self.find(dotted) is not None

    def number(self, dotted: str) -> int | None:
        value = self.find(dotted)
        return value if isinstance(value, int) and not isinstance(value, bool) else None


def read_config(path: str, serving: Serving) -> Config:
    """Read a ``config.json``; of a model with several parts, fields of the text model count too.

    Raises ``UsageError`` for a file that is no such thing.
    """
    try:
        data = Path(path).read_bytes()[:_LARGEST]
        found: object = json.loads(data.decode("utf-8-sig"))
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path}: is not JSON: {error}") from error
    if not isinstance(found, dict):
        raise UsageError(f"{path}: holds no JSON object", "name the config.json beside the weights")
    fields = {str(key): value for key, value in found.items()}
    names = _names(fields)
    for part in serving.text_configs:
        inner = fields.get(part)
        if isinstance(inner, dict):
            names += _names(inner)
            fields = {**fields, **{str(key): value for key, value in inner.items()}}
    return Config(path, fields, tuple(dict.fromkeys(names)))


def _names(fields: dict[str, object]) -> list[str]:
    found = fields.get("architectures")
    return [x for x in found if isinstance(x, str)] if isinstance(found, list) else []


class Asked(Struct, frozen=True):
    """The ids that a draft asks for.

    ``ids`` is ``None`` where it names none, ``source`` the field that holds them. ``off`` where it
    wants no hidden states, ``ignored`` a field with ids that the framework does not read.
    """

    algorithm: Algorithm
    ids: tuple[int, ...] | None
    source: str = ""
    off: str = ""
    ignored: str = ""


def algorithm_of(name: object, draft: Config | None, serving: Serving) -> Algorithm | None:
    """How states are asked for: by the name of the algorithm, else by the draft's architecture."""
    for item in serving.algorithms:
        if isinstance(name, str) and name.upper() in item.names:
            return item
    if name is None and draft is not None:
        for item in serving.algorithms:
            if any(fnmatchcase(x, glob) for x in draft.names for glob in item.drafts):
                return item
    return None


def asked_by_draft(algorithm: Algorithm, draft: Config, *, switchable: bool) -> Asked:
    """What a draft's configuration asks for; raises ``UsageError`` where ids are no numbers."""
    ignored = next((name for name in algorithm.ignored if draft.has(name)), "")
    switch = algorithm.switch
    off = f"{switch} is false" if switchable and switch and draft.find(switch) is False else ""
    for name in algorithm.ids:
        value = draft.find(name)
        if value is None:
            continue
        if not isinstance(value, list) or not all(type(x) is int for x in value):
            raise UsageError(f"{draft.path}: {name} is no list of layer ids")
        return Asked(algorithm, tuple(value), name, off)
    return Asked(algorithm, None, "", off, ignored)
