"""What the words of a script stand for, with the variables that the script itself sets."""

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct

from pathaudit.live.shell import Operator, Part, Token, Word

_ASSIGNMENT = re.compile(r"(?P<name>[A-Za-z_]\w*)(?P<adds>\+?)=")
_MOST = 10_000  # words that one variable may stand for


class Argument(Struct, frozen=True):
    """A word of a command. ``value`` is ``None`` where it depends on what is not known.

    ``written`` is how it stands there; equal to the value unless something was looked up.
    """

    value: str | None
    written: str
    line: int


class Command(Struct, frozen=True, eq=False):
    """Simple command: its words, and the variables that are set for it."""

    words: tuple[Argument, ...]
    variables: dict[str, str]
    line: int


class _Script:
    def __init__(self, variables: dict[str, str]) -> None:
        self.variables = variables
        self.arrays: dict[str, list[Argument]] = {}

    def word(self, word: Word) -> Iterator[Argument]:
        """The arguments that a word becomes: one, or some where a variable is not quoted."""
        if len(word.parts) == 1 or all(not x.text for x in word.parts if x.kind == "text"):
            array = [x for x in word.parts if x.kind == "array"]
            if array:
                found = self.arrays.get(array[0].text)
                yield from found or [Argument(None, word.written, word.line)]
                return
            variables = [x for x in word.parts if x.kind == "variable"]
            if len(variables) == 1 and not variables[0].quoted:
                yield from self._split(variables[0], word)
                return
        values = [self._value(part) for part in word.parts]
        text = None if None in values else "".join(x or "" for x in values)
        yield Argument(text, word.written, word.line)

    def _split(self, part: Part, word: Word) -> Iterator[Argument]:
        value = self._value(part)
        if value is None:
            yield Argument(None, word.written, word.line)
            return
        for item in value.split()[:_MOST]:
            yield Argument(item, word.written, word.line)

    def _value(self, part: Part) -> str | None:
        if part.kind == "text":
            return part.text
        if part.kind == "variable":
            return self.variables.get(part.text, part.default)
        return None

    def assign(self, word: Word) -> bool:
        """Take ``NAME=value`` as an assignment; False where the word is none."""
        first = word.parts[0]
        found = _ASSIGNMENT.match(first.text) if first.kind == "text" and not first.quoted else None
        if found is None:
            return False
        rest = Part("text", first.text[found.end() :], first.text[found.end() :], quoted=True)
        values = [self._value(part) for part in (rest, *word.parts[1:])]
        name = found["name"]
        if None in values:
            self.variables.pop(name, None)
        else:
            before = self.variables.get(name, "") if found["adds"] else ""
            self.variables[name] = before + "".join(x or "" for x in values)
        return True

    def array(self, word: Word, items: list[Argument]) -> None:
        """Take ``NAME=(...)``, or ``NAME+=(...)``, as an assignment of a list."""
        found = _ASSIGNMENT.match(word.parts[0].text)
        if found is not None:
            before = self.arrays.get(found["name"], []) if found["adds"] else []
            self.arrays[found["name"]] = [*before, *items]


def commands_of(tokens: Sequence[Token], environment: dict[str, str]) -> list[Command]:
    """The simple commands of a script in order, with the variables that are set before each.

    ``environment`` are variables known from elsewhere. Arms and loops are read as they stand.
    """
    script = _Script(dict(environment))
    found: list[Command] = []
    place = 0
    while place < len(tokens):
        end = place
        while end < len(tokens) and not _ends(tokens, end):
            end += 1
        opened = _array_at(tokens, end)
        if opened is not None:
            place = _take_array(script, tokens, end, opened)
            continue
        found += _command(script, tokens[place:end])
        place = end + 1
    return found


def _ends(tokens: Sequence[Token], place: int) -> bool:
    token = tokens[place]
    return isinstance(token, Operator) and not token.redirection


def _array_at(tokens: Sequence[Token], place: int) -> Word | None:
    """The word before an opening parenthesis that assigns a list."""
    token = tokens[place] if place < len(tokens) else None
    before = tokens[place - 1] if place else None
    if not (isinstance(token, Operator) and token.text == "(" and isinstance(before, Word)):
        return None
    return before if re.fullmatch(r"[A-Za-z_]\w*\+?=", before.written) else None


def _take_array(script: _Script, tokens: Sequence[Token], place: int, name: Word) -> int:
    items: list[Argument] = []
    place += 1
    while place < len(tokens):
        token = tokens[place]
        place += 1
        if isinstance(token, Operator):
            if token.text == ")":
                break
            continue
        items += script.word(token)
    script.array(name, items)
    return place


_EXPORTS = frozenset(("export", "declare", "local", "readonly", "typeset", "set", "env", "sudo"))


def _command(script: _Script, tokens: Sequence[Token]) -> Iterator[Command]:
    """One command: assignments in front of it hold for it, alone or after export for all."""
    words = _without_files(tokens)
    own: list[Word] = []
    kept = dict(script.variables)
    exported = False
    while words and (_starts_assigning(words[0]) or words[0].written in _EXPORTS):
        exported = exported or words[0].written == "export"
        if words[0].written not in _EXPORTS:
            script.assign(words[0])
        own.append(words.pop(0))
    variables = dict(script.variables)
    if words and not exported:
        script.variables = kept
    arguments = [item for word in words for item in script.word(word)]
    if arguments:
        yield Command(tuple(arguments), variables, words[0].line)


def _starts_assigning(word: Word) -> bool:
    first = word.parts[0]
    return first.kind == "text" and not first.quoted and bool(_ASSIGNMENT.match(first.text))


def _without_files(tokens: Sequence[Token]) -> list[Word]:
    """The words without those that say where output goes."""
    words: list[Word] = []
    skip = False
    for token in tokens:
        if isinstance(token, Operator):
            skip = token.redirection
        elif skip:
            skip = False
        else:
            words.append(token)
    return words
