"""Undoes what web pages, chats and terminals make of text that is copied from them."""

import html
import re

_QUOTES = str.maketrans("\u2018\u2019\u201c\u201d\u00a0", "''\"\" ")
_DASHES = re.compile(r"(?m)(^|\s)(?:\u2013\u2013?|\u2014)(?=[a-z])")
_ENTITIES = re.compile(r"&(?:#0?39|#x27|quot|apos|amp|lt|gt);")
# A line end that another shell than a POSIX one takes for no end.
_OTHER_SHELLS = re.compile(r"(?<=\s)[`^]\r?\n")
_PROMPT = re.compile(r"(?m)^\s*(?:>\s)*(?:\([\w.-]+\)\s*)?(?:[\w.@:~/\[\]-]*[#$%>]|>>>)\s+(?=\S)")
_FENCE = re.compile(r"(?m)^\s*```.*$")


def as_typed(text: str) -> str:
    """Text with plain quotes and without entities of HTML."""
    if "&" in text and _ENTITIES.search(text):
        text = html.unescape(text)
    return text if text.isascii() else text.translate(_QUOTES)


def as_command(text: str) -> str:
    """A script as a POSIX shell reads it: dashes, quotes and continued lines as they were typed."""
    text = _DASHES.sub(r"\1--", as_typed(text))
    return text if "\\\n" in text else _OTHER_SHELLS.sub("\\\\\n", text)


def without_prompts(text: str) -> str:
    """A script without the fence of Markdown and the prompt before each line."""
    return _PROMPT.sub("", _FENCE.sub("", text))
