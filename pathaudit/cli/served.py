"""Which class serves a model: read from the configuration that comes with its weights."""

import json
from pathlib import Path

from pathaudit.errors import UsageError


def served_class(config: str) -> str:
    """Return the architecture that a Hugging Face ``config.json`` names.

    Raises ``UsageError`` for a file that cannot be read, is not JSON, or names none.
    """
    try:
        found: object = json.loads(Path(config).read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{config}: cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{config}: is not JSON: {error}") from error
    names = found.get("architectures") if isinstance(found, dict) else None
    if not isinstance(names, list) or not names or not isinstance(names[0], str):
        hint = "name the config.json beside the weights, or use --entry"
        raise UsageError(f"{config}: names no architectures", hint)
    return names[0]
