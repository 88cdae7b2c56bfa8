"""Splits shell text into words; expansions are kept as they are written, and nothing is run."""

import re
from collections.abc import Iterator

from msgspec import Struct

_OPERATORS = re.compile(r"&&|\|\||;;|[;&|()\n]")
_REDIRECTION = re.compile(r"\d*(?:>>|>&|<&|<<<|<<-?|>\||>|<)|&>>?")
_VARIABLE = re.compile(
    r"\$(?:(?P<bare>[A-Za-z_]\w*)|\{(?P<braced>[A-Za-z_]\w*)\}|(?P<special>[@*#?$!0-9-]))"
)
_DEFAULT = re.compile(r"\$\{(?P<name>[A-Za-z_]\w*):?[-=](?P<default>[^{}]*)\}")
_ARRAY = re.compile(r"\$\{(?P<name>[A-Za-z_]\w*)\[[@*]\]\}")


class Part(Struct, frozen=True):
    """A piece of a word. ``kind``: ``text``, ``variable``, ``array`` or ``run`` (never run).

    ``written`` is how it stands there; ``text`` the text, or the name of the variable.
    """

    kind: str
    text: str
    written: str
    quoted: bool
    default: str | None = None


class Word(Struct, frozen=True):
    parts: tuple[Part, ...]
    line: int

    @property
    def written(self) -> str:
        return "".join(part.written for part in self.parts)


class Operator(Struct, frozen=True):
    """``;``, ``&&``, a line end and so on; ``redirection`` where the next word is a file."""

    text: str
    line: int
    redirection: bool = False


Token = Word | Operator


class _Reader:
    """Reads one text from its start; each step takes at least one character."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.place = 0
        self.line = 1
        self.faults: list[str] = []
        self._parts: list[Part] = []

    def tokens(self) -> Iterator[Token]:
        while self.place < len(self.text):
            character = self.text[self.place]
            operator = _OPERATORS.match(self.text, self.place)
            redirection = _REDIRECTION.match(self.text, self.place)
            if character == "\\":
                self._backslash()
            elif redirection and (not self._parts or not redirection[0][0].isdigit()):
                yield from self._word()
                self.place = redirection.end()
                yield Operator(redirection[0], self.line, redirection=True)
            elif operator:
                yield from self._word()
                self.place = operator.end()
                yield Operator(operator[0], self.line)
                self.line += operator[0] == "\n"
            elif character.isspace():
                yield from self._word()
                self.place += 1
            elif character == "#" and not self._parts:
                self._comment()
            else:
                self._piece(character)
        yield from self._word()

    def _word(self) -> Iterator[Word]:
        if self._parts:
            yield Word(tuple(self._parts), self.line)
            self._parts = []

    def _add(
        self, kind: str, text: str, written: str, quoted: bool, default: str | None = None
    ) -> None:
        self._parts.append(Part(kind, text, written, quoted, default))

    def _comment(self) -> None:
        end = self.text.find("\n", self.place)
        end = len(self.text) if end < 0 else end
        before = self.text[: self.place].rstrip(" \t")
        if before.endswith("\\\n"):
            self.faults.append(
                f"line {self.line}: a comment ends the command here; what follows is not part of it"
            )
        self.place = end

    def _backslash(self) -> None:
        blank = re.compile(r"\\[ \t]*(?=\n|$)").match(self.text, self.place)
        if blank is None:
            following = self.text[self.place + 1 : self.place + 2]
            self._add("text", following, "\\" + following, quoted=True)
            self.place += 2
            return
        if len(blank[0]) > 1 and blank.end() < len(self.text):
            self.faults.append(
                f"line {self.line}: a space after the backslash ends the command in a shell; it is "
                "read here as if there were none"
            )
        self.place = blank.end() + 1
        self.line += 1

    def _piece(self, character: str) -> None:
        if character == "'":
            self._single()
        elif character == '"':
            self._double()
        elif character in "$`":
            self._expansion(quoted=False)
        else:
            end = self.place
            while end < len(self.text) and self.text[end] not in " \t\n\r\\'\"$`;&|()<>":
                end += 1
            end = max(end, self.place + 1)
            plain = self.text[self.place : end]
            self._add("text", plain, plain, quoted=False)
            self.place = end

    def _single(self) -> None:
        end = self.text.find("'", self.place + 1)
        end = len(self.text) if end < 0 else end
        inner = self.text[self.place + 1 : end]
        self._add("text", inner, inner, quoted=True)
        self._pass(end + 1)

    def _double(self) -> None:
        self.place += 1
        self._add("text", "", "", quoted=True)
        while self.place < len(self.text) and self.text[self.place] != '"':
            character = self.text[self.place]
            if character == "\\":
                following = self.text[self.place + 1 : self.place + 2]
                kept = "" if following == "\n" else following
                kept = kept if following in '"\\$`\n' else "\\" + kept
                self._add("text", kept, kept, quoted=True)
                self._pass(self.place + 2)
            elif character in "$`":
                self._expansion(quoted=True)
            else:
                end = self.place
                while end < len(self.text) and self.text[end] not in '"\\$`':
                    end += 1
                inner = self.text[self.place : end]
                self._add("text", inner, inner, quoted=True)
                self._pass(end)
        self._pass(self.place + 1)

    def _pass(self, end: int) -> None:
        end = min(end, len(self.text))
        self.line += self.text.count("\n", self.place, end)
        self.place = end

    def _expansion(self, quoted: bool) -> None:
        for kind, pattern in (("array", _ARRAY), ("variable", _DEFAULT)):
            found = pattern.match(self.text, self.place)
            if found is not None:
                default = found.groupdict().get("default")
                self._add(kind, found["name"], found[0], quoted, default)
                self._pass(found.end())
                return
        found = _VARIABLE.match(self.text, self.place)
        if found is not None:
            name = found["bare"] or found["braced"] or found["special"]
            self._add("variable", name, found[0], quoted)
            self.place = found.end()
            return
        end = self._run_end()
        written = self.text[self.place : end]
        kind = "text" if written == "$" else "run"
        self._add(kind, written, written, quoted)
        self._pass(end)

    def _run_end(self) -> int:
        """The end of ``$(...)``, ``$((...))``, ``${...}`` or of what stands in backticks."""
        opening = self.text[self.place]
        if opening == "`":
            end = self.text.find("`", self.place + 1)
            return len(self.text) if end < 0 else end + 1
        pair = {"(": ")", "{": "}"}.get(self.text[self.place + 1 : self.place + 2])
        if pair is None:
            return self.place + 1
        opener, depth = self.text[self.place + 1], 0
        for place in range(self.place + 1, len(self.text)):
            depth += (self.text[place] == opener) - (self.text[place] == pair)
            if depth == 0:
                return place + 1
        return len(self.text)


def split_shell(text: str) -> tuple[list[Token], tuple[str, ...]]:
    """The words and operators of a text, and what a shell would do that its writer did not mean."""
    reader = _Reader(text.replace("\r\n", "\n").replace("\0", ""))
    tokens = list(reader.tokens())
    return tokens, tuple(reader.faults)
