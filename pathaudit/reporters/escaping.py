"""Shows what a terminal or a CI log would obey or hide; all audited text passes ``visible``."""

import re

# Python calls these printable, yet they are drawn as nothing: fillers and variation selectors.
_INVISIBLE = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0]")

# What a CI runner obeys in a log: a line that begins with ``::``, and ``##[...]`` or
# ``##vso[...]`` anywhere in one. A word may come to begin a line when it is wrapped.
_COMMAND = re.compile(r"(?<!\S):(?=:[A-Za-z])|#(?=#\w*\[)")


def visible(text: str, tab: str = "\\t") -> str:
    """Show what would be obeyed or hidden: control, bidirectional and invisible characters.

    So is the first character of what a CI runner would take for a command.
    """
    if text.isascii() and text.isprintable() and not _COMMAND.search(text):
        return text
    return "".join(pieces(text, tab))


def pieces(text: str, tab: str = "\\t") -> list[str]:
    """Each character of a text as ``visible`` shows it."""
    obeyed = {match.start() for match in _COMMAND.finditer(text)}
    return [
        f"\\x{ord(character):02x}" if position in obeyed else _shown(character, tab)
        for position, character in enumerate(text)
    ]


def _shown(character: str, tab: str) -> str:
    if character == "\t":
        return tab
    if character.isprintable() and not _INVISIBLE.match(character):
        return character
    return ascii(character)[1:-1]
