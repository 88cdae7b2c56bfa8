"""Reads pins from Dockerfiles: images they start from, and what their commands install."""

import json
import re
import shlex
from collections.abc import Iterator
from io import BytesIO
from typing import IO, TypedDict, cast

from dockerfile_parse import DockerfileParser

from pathaudit.bump.pins.forms import Place, pin_of_image
from pathaudit.bump.pins.shell import read_commands, read_words
from pathaudit.bump.pins.sought import Sought
from pathaudit.results import Gap
from pathaudit.results.bumps import Pin

Found = Iterator[Pin | Gap]

_KNOWN = frozenset(
    (
        "ADD",
        "ARG",
        "CMD",
        "COMMENT",
        "COPY",
        "ENTRYPOINT",
        "ENV",
        "EXPOSE",
        "FROM",
        "HEALTHCHECK",
        "LABEL",
        "MAINTAINER",
        "ONBUILD",
        "RUN",
        "SHELL",
        "STOPSIGNAL",
        "USER",
        "VOLUME",
        "WORKDIR",
    )
)
_VARIABLE = re.compile(r"\$(?:(\w+)|\{(\w+)(?:(:?[-+])([^}]*))?\})")
_FROM = "--from="


class Instruction(TypedDict):
    """One instruction, as the parser gives it: lines count from 0, ``value`` is in one line."""

    instruction: str
    startline: int
    endline: int
    content: str
    value: str


class _Variables:
    """What names stand for, as the builder of an image knows them without arguments."""

    def __init__(self) -> None:
        self._outer: dict[str, str] = {}
        self._inner: dict[str, str] | None = None  # of a stage; nothing of one reaches the next

    def begin_stage(self) -> None:
        self._inner = {}

    def end_stage(self) -> None:
        self._inner = None

    def declare(self, value: str) -> None:
        """``ARG NAME=default``; inside of a stage one without a default takes the outer one."""
        for word in _words(value):
            name, given, default = word.partition("=")
            if self._inner is None:
                self._outer |= {name: self.replace(default)} if given else {}
            elif given or name in self._outer:
                self._inner[name] = self.replace(default) if given else self._outer[name]

    def assign(self, value: str) -> None:
        """``ENV NAME=value``, or as it was written once, ``ENV NAME value``."""
        words = _words(value)
        if words and "=" not in words[0]:
            words = [f"{words[0]}={' '.join(words[1:])}"]
        for name, _, text in (word.partition("=") for word in words):
            (self._outer if self._inner is None else self._inner)[name] = self.replace(text)

    def replace(self, text: str) -> str:
        """A text with names replaced by what they stand for; a name of nothing stays."""
        known = self._outer if self._inner is None else self._inner

        def value(match: re.Match[str]) -> str:
            bare, braced, operator, word = match.groups()
            found = known.get(bare or braced)
            if operator and "-" in operator:
                return found or word
            if operator:
                return word if found else ""
            return match[0] if found is None else found

        return _VARIABLE.sub(value, text)


def read_dockerfile(data: bytes, file: str, sought: Sought) -> Found:
    """The pins of a Dockerfile, with the defaults of its arguments."""
    text = data.decode("utf-8-sig", "replace")
    # The stubs ask for a file of text, but the parser reads bytes.
    file_like = cast(IO[str], BytesIO(text.encode()))
    parser = DockerfileParser(fileobj=file_like, env_replace=False)
    variables = _Variables()
    instructions: list[Instruction] = parser.structure
    for item in instructions:
        yield from _read(item, variables, file, sought)


def _read(item: Instruction, variables: _Variables, file: str, sought: Sought) -> Found:
    name, value = item["instruction"], item["value"]
    place = Place(file, item["startline"] + 1, name)
    if name == "ARG":
        variables.declare(value)
    elif name == "ENV":
        variables.assign(value)
    elif name == "FROM":
        variables.end_stage()
        yield from _images(variables.replace(value), place, sought)
        variables.begin_stage()
    elif name == "COPY" and _FROM in value:
        words = (word.removeprefix(_FROM) for word in _words(value) if word.startswith(_FROM))
        yield from _images(" ".join(words), place, sought)
    elif name == "RUN":
        yield from _run(value, variables, place, sought)
    elif name not in _KNOWN:  # a line of a script that stands in the file
        place = Place(file, place.line, "RUN")
        yield from read_commands(variables.replace(item["content"]), place, sought)


def _images(value: str, place: Place, sought: Sought) -> Found:
    reference = next((word for word in _words(value) if not word.startswith("--")), "")
    pin = pin_of_image(reference, place, sought)
    if pin is not None:
        yield pin


def _run(value: str, variables: _Variables, place: Place, sought: Sought) -> Found:
    """The pins in a command, written for a shell or as a list of words."""
    if not value.startswith("["):
        yield from read_commands(variables.replace(value), place, sought)
        return
    try:
        words = json.loads(value)
    except (ValueError, RecursionError):
        words = None
    if isinstance(words, list) and all(isinstance(word, str) for word in words):
        yield from read_words([[variables.replace(word) for word in words]], place, sought)


def _words(value: str) -> list[str]:
    """The words of an instruction; without quotes, where one has no end."""
    try:
        return shlex.split(value)
    except ValueError:
        return value.replace('"', "").replace("'", "").split()
