"""Reads the arguments of a server from the command that starts it; nothing is run."""

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase

from msgspec import Struct

from pathaudit.errors import UsageError
from pathaudit.live.expansion import Argument, Command, commands_of
from pathaudit.live.flags import Declared, Option
from pathaudit.live.literals import read_pairs, value_of
from pathaudit.live.pasted import as_command, without_prompts
from pathaudit.live.secrets import is_secret
from pathaudit.live.shell import split_shell
from pathaudit.live.stated import Stated
from pathaudit.ruleset.serving import Serving

_NESTED = 4  # shells in shells that are looked into


class Launch(Struct, frozen=True, eq=False):
    """A command that starts a server: what follows the program, and the variables around it."""

    arguments: tuple[Argument, ...]
    environment: dict[str, str]
    line: int
    version: str = ""
    notes: tuple[str, ...] = ()


def read_command(text: str, serving: Serving, declared: Declared) -> Stated | None:
    """What the first command of a script that starts a server states; None where none does."""
    typed = as_command(text)
    launches = find_launches(typed, serving, {})
    if not launches:
        launches = find_launches(without_prompts(typed), serving, {})
    return stated_by(launches, "command", serving, declared) if launches else None


def stated_by(
    launches: Sequence[Launch], form: str, serving: Serving, declared: Declared
) -> Stated:
    """The arguments of the first launch; that there are more is noted."""
    launch = launches[0]
    reader = _Arguments(launch, serving, declared)
    reader.read()
    notes = [*launch.notes, *reader.notes]
    if len(launches) > 1:
        lines = sorted({x.line for x in launches})
        where = f", in lines {', '.join(map(str, lines))}" if len(lines) > 1 else ""
        notes.append(f"{len(launches)} servers are started{where}; this is the first")
    return Stated(
        form=form,
        complete=not reader.open,
        defaults=not reader.open,
        values=reader.values,
        unresolved=reader.unresolved,
        written=reader.written,
        environment=_kept(launch.environment, serving),
        version=launch.version,
        line=launch.line,
        stops=reader.open,
        ignored=tuple(reader.ignored),
        notes=tuple(notes),
    )


def _kept(environment: dict[str, str], serving: Serving) -> dict[str, str]:
    return {
        name: value
        for name, value in environment.items()
        if any(fnmatchcase(name, glob) for glob in serving.environment)
        and not is_secret(name, serving.secrets)
    }


# ---- where a server is started -----------------------------------------------------------------


def find_launches(
    text: str, serving: Serving, environment: dict[str, str], depth: int = 0
) -> list[Launch]:
    """Every command in a script that starts a server, also inside of ``bash -c '...'``."""
    tokens, faults = split_shell(text)
    found: list[Launch] = []
    for command in commands_of(tokens, environment):
        found += launches_of(command, serving, depth, faults)
    return found


def launches_of(
    command: Command, serving: Serving, depth: int = 0, faults: tuple[str, ...] = ()
) -> list[Launch]:
    """The server that a command starts, directly or in a shell of its own."""
    start = _program_end(command.words, serving)
    version = next((x for x in (_version(w.written, serving) for w in command.words) if x), "")
    around = {**command.variables, **_passed(command.words[: start or len(command.words)])}
    if start is not None:
        return [Launch(command.words[start:], around, command.line, version, faults)]
    found: list[Launch] = []
    for word in command.words:
        if depth < _NESTED and word.value and re.search(r"\s", word.value):
            inner = find_launches(word.value, serving, around, depth + 1)
            for item in inner:
                line = command.line + item.line - 1
                found.append(
                    Launch(item.arguments, item.environment, line, item.version or version, faults)
                )
    return found


def _program_end(words: Sequence[Argument], serving: Serving) -> int | None:
    """Behind the words that start a server, such as ``python -m sglang.launch_server``."""
    patterns = [re.compile(text) for text in serving.launchers]
    for place, word in enumerate(words):
        pair = " ".join(x.value or "" for x in words[place : place + 2])
        for size, text in ((1, word.value or ""), (2, pair)):
            if any(pattern.fullmatch(text) for pattern in patterns):
                return place + size
    first = words[0].value or ""
    return 0 if first.startswith("--") and len(first) > 2 else None


def _version(text: str, serving: Serving) -> str:
    return version_in(text, serving)


def version_in(text: str, serving: Serving) -> str:
    """The version of the framework that a text names, such as the tag of an image."""
    for pattern in serving.versions:
        found = re.search(pattern, text, re.IGNORECASE)
        if found is not None:
            return found[1]
    return ""


def _passed(words: Sequence[Argument]) -> dict[str, str]:
    """Variables that a container gets: ``-e NAME=value``, ``--env=NAME=value``."""
    found = {}
    values = [word.value or "" for word in words]
    for before, text in zip(["", *values], values, strict=False):
        given = text.partition("=")[2] if text.startswith(("--env=", "-e=")) else text
        if before in ("-e", "--env") or given is not text:
            name, equals, value = given.partition("=")
            if equals:
                found[name] = value
        elif re.fullmatch(r"[A-Z_][A-Z0-9_]*=\S*", text):
            name, _, value = text.partition("=")
            found[name] = value
    return found


# ---- its arguments -----------------------------------------------------------------------------


class _Arguments:
    """The words behind the program as arguments, the last of a name as argparse takes it."""

    def __init__(self, launch: Launch, serving: Serving, declared: Declared) -> None:
        self._words = launch.arguments
        self._serving = serving
        self._declared = declared
        self.values: dict[str, object] = {}
        self.unresolved: dict[str, str] = {}
        self.written: dict[str, str] = {}
        self.ignored: list[str] = []
        self.notes: list[str] = []
        self.open = ""

    def read(self) -> None:
        place = 0
        while place < len(self._words):
            word = self._words[place]
            place += 1
            if word.value is None and re.match(r"--[\w-]+=", word.written):
                self._unknown(word)
            elif word.value is None:
                plain = re.fullmatch(r"\$\{?[\w@*]+(?:\[[@*]\])?\}?", word.written)
                self.open = (
                    f"what {word.written if plain else 'an expansion'} stands for is not known"
                )
            elif word.value.startswith("--") and len(word.value) > 2:
                place = self._option(word, place)

    def _unknown(self, word: Argument) -> None:
        """``--name=$VALUE``: the option is given, its value is not known."""
        name, _, written = word.written.partition("=")
        found = self._declared.option(name)
        option = found[1] if found else Option(name.lstrip("-").replace("-", "_"), "one", "")
        self._store(name, option, [Argument(None, written, word.line)], word)

    def _option(self, word: Argument, place: int) -> int:
        name, equals, given = (word.value or "").partition("=")
        found = self._declared.option(name)
        if found is None:
            return self._undeclared(name, equals, given, word, place)
        full, option = found
        if full == "--config":
            self.open = "the arguments in the file that --config names are not known"
        values = self._values(option.takes, place) if not equals else []
        end = place + len(values)
        if equals:
            values = [Argument(given, given, word.line)]
        self._store(full, option, values, word)
        return end

    def _values(self, takes: str, place: int) -> list[Argument]:
        """The words that belong to an option, none of which begins another."""
        most = {"none": 0, "one": 1, "optional": 1}.get(takes, len(self._words))
        found: list[Argument] = []
        for word in self._words[place : place + most]:
            if (word.value or "").startswith("--"):
                break
            found.append(word)
        return found

    def _undeclared(self, name: str, equals: str, given: str, word: Argument, place: int) -> int:
        """An option of a version that is not at hand, or one that this version does not have."""
        if self._declared.known:
            longer = [x for x in self._declared.options if x.startswith(name)]
            if longer:
                shown = ", ".join(sorted(longer)[:3])
                self.notes.append(
                    f"line {word.line}: {name} may be any of {shown} ...: the server refuses it"
                )
            else:
                self.ignored.append(f"{name} (not an option of this version)")
        values = self._values("many", place)
        # A variable behind a value may hold options as well as more values.
        open_at = [n for n, word in enumerate(values) if n and word.value is None]
        values = values[: open_at[0]] if open_at else values
        end = place + len(values)
        if equals:
            values, end = [Argument(given, given, word.line)], place
        if not self._declared.known:
            field = name.lstrip("-").replace("-", "_")
            takes = "none" if not values else "one" if len(values) == 1 else "many"
            self._store(name, Option(field, takes, ""), values, word)
        return end

    def _store(self, name: str, option: Option, values: list[Argument], word: Argument) -> None:
        field = option.field
        if not field:
            self.ignored.append(f"{name} (deprecated: this version ignores it)")
            return
        if field in self.values or field in self.unresolved:
            self._again(name, word)
        for known in (self.values, self.unresolved, self.written):
            known.pop(field, None)
        if any(value.value is None for value in values):
            self.unresolved[field] = " ".join(value.written for value in values)
            return
        written = " ".join(value.written for value in values)
        if "$" in written and written != " ".join(value.value or "" for value in values):
            self.written[field] = written
        self.values[field] = _typed(option, [value.value or "" for value in values])

    def _again(self, name: str, word: Argument) -> None:
        self.notes.append(f"line {word.line}: {name} is given again; the last one counts")


def _typed(option: Option, values: list[str]) -> object:
    if option.takes == "none" or not values:
        return option.constant
    if option.takes == "many" and (len(values) > 1 or option.kind):
        return [_scalar(option.kind, value) for value in values]
    return _scalar(option.kind, values[0])


def _scalar(kind: str, text: str) -> object:
    """A number where the option takes one, or where nothing is known and it looks like one."""
    if kind == "str" or (text.lower() in ("null", "none", "true", "false") and not kind):
        return {"true": True, "false": False}.get(text.lower(), text)
    try:
        return float(text) if kind == "float" else int(text)
    except ValueError:
        pass
    found = value_of(text) if re.fullmatch(r"-?[\d.]+(?:e-?\d+)?", text) else text
    return found if isinstance(found, int | float) else text


# ---- Python --------------------------------------------------------------------------------


def read_call(text: str, serving: Serving) -> Stated | None:
    """The arguments of a call that starts a server from Python."""
    names = "|".join(re.escape(name) for name in serving.calls)
    found = re.search(rf"(?<![\w.])(?:\w+\.)*(?:{names})\(", text) if names else None
    if found is None:
        return None
    pairs = read_pairs(re.sub(r"(?m)#.*$", "", text[found.end() :]), 0, ")")
    literal: dict[str, object] = {
        name: x
        for name, x in pairs.items
        if isinstance(x, bool | int | float | str | list | dict) or x is None
    }
    others = {name: "an expression" for name, _ in pairs.items if name not in literal}
    if not pairs.items:
        return None
    return Stated(
        form="call",
        complete=pairs.closed,
        defaults=pairs.closed,
        values=literal,
        unresolved=others,
        line=text.count("\n", 0, found.start()) + 1,
        stops="" if pairs.closed else f"the call cannot be read after {pairs.items[-1][0]}",
    )


def expect_launch(stated: Stated | None, what: str) -> Stated:
    """Raises ``UsageError`` where a text starts no server."""
    if stated is None:
        raise UsageError(
            f"{what}: holds no command that starts a server",
            hint="give the whole command, or the flags alone, from the first -- on",
        )
    return stated
