"""Shows what a terminal would obey or hide; all audited text passes through ``visible``."""

import re

# Python calls these printable, yet they are drawn as nothing: fillers and variation selectors.
_INVISIBLE = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0]")


def visible(text: str, tab: str = "\\t") -> str:
    """Show what a terminal would obey or hide: control, bidirectional and invisible characters."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_shown(character, tab) for character in text)


def _shown(character: str, tab: str) -> str:
    if character == "\t":
        return tab
    if character.isprintable() and not _INVISIBLE.match(character):
        return character
    return ascii(character)[1:-1]
