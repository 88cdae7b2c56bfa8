"""Patterns over canonical text."""

import re
from functools import lru_cache


@lru_cache(maxsize=512)
def text_pattern(pattern: str) -> re.Pattern[str]:
    """Compile an expression pattern to match canonical text; ``$X`` matches any expression.

    >>> bool(text_pattern("$X.is_idle()").fullmatch("batch.mode.is_idle()"))
    True
    """
    parts = re.split(r"(\$[A-Z]+)", pattern)
    return re.compile("".join(_piece(part) for part in parts))


def _piece(part: str) -> str:
    return f"(?P<{part[1:]}>.+)" if part.startswith("$") else re.escape(part)
