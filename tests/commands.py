"""Reads lines the way the runner of GitHub Actions does, to see what it would obey.

Written after ``ActionCommand.TryParseV2`` and ``TryParse`` of ``actions/runner``.
"""

from typing import NamedTuple

# What a runner obeys; names are compared without case.
NAMES = frozenset(
    {
        *("error", "warning", "notice", "debug", "group", "endgroup", "echo"),
        *("add-mask", "add-matcher", "remove-matcher", "add-path", "stop-commands"),
        *("save-state", "set-env", "set-output"),
    }
)


class Command(NamedTuple):
    name: str
    properties: dict[str, str]
    data: str


def obeyed(line: str) -> Command | None:
    """The command in a line, if there is one."""
    return _modern(line) or _old(line)


def _modern(line: str) -> Command | None:
    text = line.lstrip()
    end = text.find("::", 2)
    if not text.startswith("::") or end < 0:
        return None
    name, _, rest = text[2:end].partition(" ")
    if name.lower() not in NAMES:
        return None
    pairs = (item.split("=", 1) for item in rest.strip().split(",") if item)
    properties = {pair[0]: _unescaped(pair[1], colons=True) for pair in pairs if len(pair) == 2}
    return Command(name, properties, _unescaped(text[end + 2 :], colons=False))


def _old(line: str) -> Command | None:
    start = line.find("##[")
    end = line.find("]", start)
    if start < 0 or end < 0:
        return None
    name = line[start + 3 : end].partition(" ")[0]
    return Command(name, {}, line[end + 1 :]) if name.lower() in NAMES else None


def _unescaped(text: str, *, colons: bool) -> str:
    pairs = [("%0D", "\r"), ("%0A", "\n")]
    pairs += [("%3A", ":"), ("%2C", ",")] if colons else []
    for shown, meant in (*pairs, ("%25", "%")):
        text = text.replace(shown, meant)
    return text
