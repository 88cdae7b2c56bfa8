"""Reads ``name=value`` and ``'name': value`` lists that may be cut or broken anywhere.

Nothing is evaluated: a value is a literal, or kept as the text that it is.
"""

import ast
import json
import re
from collections.abc import Iterator

from msgspec import Struct

# What a value may be; longer ones are kept as text.
LONGEST_VALUE = 100_000
_DEEPEST = 60

_NAME = re.compile(
    r"""\s*(?:\*\*)?(?P<quote>['"]?)(?P<name>[A-Za-z_]\w*)(?P=quote)\s*(?P<sep>[=:])\s*"""
)
_ELISION = re.compile(
    r"(?:\.{2,}|\u2026|\[\s*(?:\.{2,}|\u2026)\s*\]|<\s*(?:snip\w*|\.{2,})\s*>)\s*,?"
)
_OPEN = {"(": ")", "[": "]", "{": "}", "<": ">"}
_WORDS = {"true": True, "false": False, "null": None}


class Opaque(Struct, frozen=True):
    """A value that is no literal, as the text that stands there."""

    text: str


class Pairs(Struct, frozen=True):
    """What a list holds, in order. ``closed`` where its end was found.

    ``elided`` is the name before the first place where somebody left something out.
    """

    items: tuple[tuple[str, object], ...]
    closed: bool
    elided: str | None = None


def read_pairs(text: str, start: int, closer: str) -> Pairs:
    """Read a list from ``start`` up to ``closer``, or as far as it can be understood.

    An item that the end of the text may have cut is left out. Linear in the text.
    """
    items: list[tuple[str, object]] = []
    elided: str | None = None
    place = start
    while True:
        place = _skip(text, place)
        if text.startswith(closer, place):
            return Pairs(tuple(items), elided is None, elided)
        left_out = _ELISION.match(text, place)
        if left_out is not None:
            elided = elided or (items[-1][0] if items else "")
            place = left_out.end()
            continue
        found = _NAME.match(text, place)
        end = _value_end(text, found.end()) if found is not None else None
        if found is None or end is None or not _stands(text, found.end(), end, closer):
            return Pairs(tuple(items), False, elided)
        items.append((found["name"], value_of(text[found.end() : end])))
        place = _skip(text, end)
        if text.startswith(",", place):
            place += 1


def _stands(text: str, start: int, end: int, closer: str) -> bool:
    """Is a value whole, and followed by what may follow it?"""
    after = _skip(text, end)
    if after < len(text):
        return text[after] in f",{closer}"
    return _is_whole(text[start:end])


def _skip(text: str, place: int) -> int:
    while place < len(text) and text[place].isspace():
        place += 1
    return place


def _is_whole(text: str) -> bool:
    """At the end of a cut text: can nothing have followed that belongs to this value?"""
    return text.strip() in ("True", "False", "None", "true", "false", "null") or (
        len(text.strip()) > 1 and text.strip()[-1] in "'\")]}"
    )


def _value_end(text: str, start: int) -> int | None:
    """Where a value ends: at the comma or bracket that is not inside of it; None if it is cut."""
    waiting: list[str] = []
    place = start
    limit = min(len(text), start + LONGEST_VALUE)
    while place < limit:
        character = text[place]
        if character in "'\"":
            end = _string_end(text, place, limit)
            if end is None:
                return None
            place = end
            continue
        if waiting and character == waiting[-1]:
            waiting.pop()
        elif character in _OPEN and (character != "<" or _opens_object(text, place)):
            waiting.append(_OPEN[character])
            if len(waiting) > _DEEPEST:
                return None
        elif not waiting and character in ",)]}":
            return place
        place += 1
    return None if waiting else (place if place > start else None)


def _opens_object(text: str, place: int) -> bool:
    """``<`` opens what stands for an object, such as ``<Mode.AUTO: 1>``."""
    return text[place + 1 : place + 2].isalpha()


def _string_end(text: str, start: int, limit: int) -> int | None:
    quote = text[start]
    place = start + 1
    while place < limit:
        if text[place] == "\\":
            place += 2
        elif text[place] == quote:
            return place + 1
        else:
            place += 1
    return None


def value_of(text: str) -> object:
    """The value of a literal of Python or JSON, else its text."""
    stripped = text.strip()
    if stripped in _WORDS:
        return _WORDS[stripped]
    for read in (ast.literal_eval, json.loads):
        try:
            found: object = read(stripped)
        except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
            continue
        return found
    named = re.fullmatch(r"<\w[\w.]*:\s*(?P<value>.+)>", stripped, re.DOTALL)
    if named is not None:  # an enumeration's member as Python prints it
        return value_of(named["value"])
    return Opaque(stripped)


def flattened(name: str, value: object) -> Iterator[tuple[str, object]]:
    """A value, and what is inside of it by dotted names."""
    yield name, value
    if isinstance(value, dict) and name.count(".") < _DEEPEST:
        for key, inner in value.items():
            if isinstance(key, str):
                yield from flattened(f"{name}.{key}", inner)
