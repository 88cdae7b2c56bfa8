"""Reads pins from shell commands that install a package or clone its repository."""

import re
import shlex
from collections.abc import Iterator, Sequence
from itertools import dropwhile, pairwise

import msgspec

from pathaudit.bump.pins.forms import Place, pin_of_address
from pathaudit.bump.pins.requirements import read_requirements
from pathaudit.bump.pins.sought import Sought
from pathaudit.results import Gap
from pathaudit.results.bumps import Pin

Found = Iterator[Pin | Gap]

_PIP = re.compile(r"(?:.*/)?(?:pip[\d.]*|uv|pdm|poetry|pipenv)$")
_KEYWORDS = frozenset(("then", "else", "do", "if", "!", "{", "sudo", "exec", "time"))
_ENDS = re.compile(r"[();<>|&]+$")
# Options that are followed by the name of a package which they do not install.
_ABOUT = ("--no-binary", "--only-binary", "--upgrade-package", "--reinstall-package", "-P")


def read_commands(text: str, place: Place, sought: Sought) -> Found:
    """The pins in the commands of a shell; a gap for a text that cannot be taken apart."""
    if not sought.occurs_in(text.encode("utf-8", "replace")):
        return
    try:
        commands = list(_commands(text))
    except ValueError as error:
        yield Gap(kind="file", file=place.file, line=place.line, message=f"shell: {error}")
        return
    yield from read_words(commands, place, sought)


def read_script(data: bytes, file: str, sought: Sought) -> Found:
    """The pins in a script of a shell, as far as they are written out.

    A script is no list of dependencies: what it works out when it runs is no gap.
    """
    text = data.decode("utf-8", "replace").replace("\\\r\n", "\\\n")
    for number, line in _logical_lines(text):
        found = read_commands(line, Place(file, number, "script"), sought)
        yield from (pin for pin in found if isinstance(pin, Pin) and "$" not in pin.text)


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """The lines of a script, joined where one goes on, each with its first number."""
    start, pending = 1, ""
    for number, line in enumerate(text.split("\n"), start=1):
        if line.lstrip().startswith("#"):
            continue
        start = start if pending else number
        pending += line
        if pending.endswith("\\"):
            pending = pending[:-1] + " "
            continue
        yield start, pending
        pending = ""
    if pending:
        yield start, pending


def read_words(commands: Sequence[Sequence[str]], place: Place, sought: Sought) -> Found:
    """The pins in commands that are taken apart already."""
    cloned: Pin | None = None
    for whole in commands:
        words = list(dropwhile(_KEYWORDS.__contains__, whole))
        if words[:1] == ["git"]:
            cloned = _cloned(words, cloned, place, sought)
        else:
            yield from _installed(words, place, sought)
    if cloned is not None:
        yield cloned


def _commands(text: str) -> Iterator[list[str]]:
    """The words of each command; ValueError for a quote without end."""
    lexer = shlex.shlex(text, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    lexer.commenters = ""
    words: list[str] = []
    for word in lexer:
        if _ENDS.match(word):
            yield words
            words = []
        else:
            words.append(word)
    yield words


def _installed(words: Sequence[str], place: Place, sought: Sought) -> Found:
    """What a command of pip, or of one that is like it, installs."""
    tool = next((i for i, word in enumerate(words) if _PIP.match(word)), None)
    verbs = [i for i, word in enumerate(words) if word in ("install", "add")]
    if tool is None or not verbs or verbs[0] < tool:
        return
    previous = ""
    for word in words[verbs[0] + 1 :]:
        about = previous in _ABOUT or word.startswith("-")
        if not about and sought.occurs_in(word.encode("utf-8", "replace")):
            option = "-e " if previous in ("-e", "--editable") else ""
            yield from _required(option + word, place, sought)
        previous = word


def _required(line: str, place: Place, sought: Sought) -> Found:
    """The pin that an argument is, which is what a line of a requirements file may be."""
    for item in read_requirements(line.encode("utf-8", "replace"), place.file, sought, place.role):
        if isinstance(item, Pin):
            yield msgspec.structs.replace(item, line=place.line, part=place.part)
        else:
            yield msgspec.structs.replace(item, line=place.line)


def _cloned(words: Sequence[str], known: Pin | None, place: Place, sought: Sought) -> Pin | None:
    """The pin that a clone of the repository is, at the revision that is checked out of it."""
    if "checkout" in words[1:3] and known is not None:
        return _at(known, words[-1], place, sought)
    address = next((word for word in words if "/" in word and sought.is_repository(word)), None)
    if "clone" not in words or address is None:
        return known
    text = shlex.join(words)
    pin = pin_of_address(f"git+{address}", text, place, sought)
    for option, value in pairwise(words):
        if option in ("-b", "--branch"):
            return _at(pin, value, place, sought)
    return pin


def _at(pin: Pin, revision: str, place: Place, sought: Sought) -> Pin:
    return pin_of_address(f"git+{pin.address}", pin.text, place, sought, revision=revision)
