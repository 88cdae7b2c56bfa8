"""Finds commands in what describes containers: Kubernetes, Compose, Helm values, Dockerfiles."""

import json
import re
from collections.abc import Iterator

import yaml

from pathaudit.live.commands import Launch, find_launches, launches_of, version_in
from pathaudit.live.expansion import Argument, Command
from pathaudit.ruleset.serving import Serving

_DEEPEST = 40
_LARGEST = 1 << 20
_REFERENCE = re.compile(r"\$\((?P<name>[A-Za-z_]\w*)\)")
_TEMPLATE = re.compile(r"\{\{.*?\}\}")


def launches_in(text: str, serving: Serving) -> list[Launch]:
    """The servers that a description of containers starts; none where it is none."""
    if len(text) > _LARGEST:
        return []
    found = [launch for node in _containers(text) for launch in _launches(node, serving)]
    return found or _lists(text, serving)


def _containers(text: str) -> Iterator[dict[str, object]]:
    """Every mapping of the YAML documents that says what to run; aliases are not followed twice."""
    try:
        documents: list[object] = list(yaml.safe_load_all(_TEMPLATE.sub("TEMPLATE", text)))
    except (yaml.YAMLError, RecursionError, ValueError):
        return
    seen: set[int] = set()
    pending = [(document, 0) for document in reversed(documents)]
    while pending:
        node, depth = pending.pop()
        if id(node) in seen or depth > _DEEPEST or not isinstance(node, dict | list):
            continue
        seen.add(id(node))
        if isinstance(node, dict):
            if any(key in node for key in ("command", "args", "entrypoint")):
                yield {str(key): value for key, value in node.items()}
            pending += [(value, depth + 1) for value in reversed(list(node.values()))]
        else:
            pending += [(value, depth + 1) for value in reversed(node)]


def _launches(node: dict[str, object], serving: Serving) -> list[Launch]:
    """What a container runs: its entry point and arguments are one command."""
    parts = [node.get(key) for key in ("entrypoint", "command", "args")]
    environment = _environment(node.get("env")) | _environment(node.get("environment"))
    version = version_in(str(node.get("image", "")), serving)
    if any(isinstance(part, str) for part in parts):
        lines = [
            x if isinstance(x, str) else " ".join(map(str, x))
            for x in parts
            if isinstance(x, str | list)
        ]
        found = find_launches(" ".join(lines), serving, environment)
    else:
        words = [
            _argument(str(x), environment) for part in parts if isinstance(part, list) for x in part
        ]
        # Flags alone are a server's where the image starts one.
        flags = bool(words) and words[0].written.startswith("--")
        known = not flags or serving.name in str(node.get("image", serving.name))
        command = Command(tuple(words), environment, 1)
        found = launches_of(command, serving) if words and known else []
    return [
        Launch(x.arguments, environment | x.environment, x.line, version or x.version, x.notes)
        for x in found
    ]


def _argument(text: str, environment: dict[str, str]) -> Argument:
    """A word of a list: no shell reads it, and only ``$(NAME)`` stands for a variable."""
    missing = [x["name"] for x in _REFERENCE.finditer(text) if x["name"] not in environment]
    if missing or "TEMPLATE" in text:
        return Argument(None, text, 1)
    return Argument(_REFERENCE.sub(lambda x: environment[x["name"]], text), text, 1)


def _environment(node: object) -> dict[str, str]:
    """``{NAME: value}``, ``[NAME=value]`` or ``[{name: NAME, value: value}]``."""
    found: dict[str, str] = {}
    if isinstance(node, dict):
        found.update((str(k), str(v)) for k, v in node.items() if isinstance(v, str | int | float))
    for item in node if isinstance(node, list) else ():
        if isinstance(item, str):
            name, equals, value = item.partition("=")
            found.update({name: value} if equals else {})
        elif isinstance(item, dict) and "value" in item:
            found[str(item.get("name"))] = str(item["value"])
    return found


def _lists(text: str, serving: Serving) -> list[Launch]:
    """Commands as lists in a file of another kind: ``CMD ["python3", "-m", ...]``."""
    found: list[Launch] = []
    for match in re.finditer(r"\[\s*\"", text):
        try:
            items, _ = json.JSONDecoder().raw_decode(text, match.start())
        except (ValueError, RecursionError):
            continue
        words = tuple(
            Argument(str(x), str(x), text.count("\n", 0, match.start()) + 1) for x in items
        )
        found += launches_of(Command(words, {}, words[0].line), serving) if words else []
    return found
