"""Patterns over canonical text."""

import ast
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


def call_pattern(pattern: str) -> ast.Call | None:
    """The pattern of a call as syntax, without ``...``; metavariables become ``META_X``.

    ``None`` where it is none.

    >>> ast.unparse(call_pattern("$AUX.append(..., capture=$C)"))
    'META_AUX.append(capture=META_C)'
    """
    text = pattern.replace("..., ", "").replace(", ...", "").replace("...", "")
    try:
        found = ast.parse(re.sub(r"\$([A-Z]+)", r"META_\1", text), mode="eval").body
    except SyntaxError:
        return None
    return found if isinstance(found, ast.Call) else None
