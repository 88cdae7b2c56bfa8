"""Text of the audited code inside Markdown, as GitHub reads it: shown, and never obeyed.

It stands in code spans or is escaped, so that it can neither form a table, nor mention anybody or
an issue, nor be a link or HTML.
"""

import html
import re
from collections.abc import Iterable

from pathaudit.reporters.escaping import visible

MARKER = "<!-- pathaudit -->"  # by which a comment is found again and replaced
# GitHub looks for mentions, issues and formulas in what is shown: only code keeps it from that.
_MEANING = re.compile("[@#$]+")


def code(text: str) -> str:
    """A code span; its fence is longer than any in the text."""
    if not text:
        return ""
    shown = visible(text)
    runs = re.findall(r"`+", shown)
    fence = "`" * (max(map(len, runs), default=0) + 1)
    # A space is taken away from both ends where there is one at both.
    ends = shown[0] + shown[-1]
    pad = " " if "`" in ends or (ends == "  " and shown.strip(" ")) else ""
    return f"{fence}{pad}{shown}{pad}{fence}"


def cell(text: str) -> str:
    """A code span that does not end the cell of a table."""
    return code(text).replace("|", "\\|")


def cells(texts: Iterable[str]) -> str:
    """Code spans with commas, in the cell of a table."""
    return ", ".join(cell(text) for text in texts)


def escaped(text: str) -> str:
    """Plain text: nothing in it is markup, a link, an image, HTML or a mention."""
    shown = visible(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    shown = re.sub(r"([\\`*_{}\[\]()+!|~])", r"\\\1", shown)
    return _MEANING.sub(r"`\g<0>`", shown).replace("://", "&#58;//")


def with_code(text: str) -> str:
    """Prose of a rule, in which only what stands between backticks is code."""
    parts = re.split("`([^`]+)`", text)
    return "".join(code(part) if n % 2 else escaped(part) for n, part in enumerate(parts))


def in_html(text: str) -> str:
    """Plain text inside an element, where Markdown is not read."""
    shown = html.escape(visible(text), quote=False)
    return _MEANING.sub(r"<code>\g<0></code>", shown)
