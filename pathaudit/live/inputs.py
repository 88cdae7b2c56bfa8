"""Opens what the user names: a log, a command, or what a running server says of itself."""

import io
import json
import os
import re
import sys
from pathlib import Path
from typing import BinaryIO

from pathaudit.errors import UsageError
from pathaudit.live.commands import expect_launch, read_call, read_command, stated_by, version_in
from pathaudit.live.flags import Declared
from pathaudit.live.literals import value_of
from pathaudit.live.logs import read_log
from pathaudit.live.manifests import launches_in
from pathaudit.live.stated import Stated
from pathaudit.ruleset.serving import Serving

LARGEST = 16 << 20  # bytes of a file that is read whole; logs are read piece by piece
_NOTHING = "name what the server printed when it started, or use --command or --server-info"


def from_log(path: str, serving: Serving, declared: Declared) -> Stated:
    """What a log states; a file that holds a command or an answer of a server will do too.

    Raises ``UsageError`` for a file that cannot be read or states nothing.
    """
    with _opened(path) as stream:
        found = read_log(stream, serving)
        if found is None and stream.seekable():
            stream.seek(0)
            found = _other(_decoded(stream.read(LARGEST)), serving, declared)
    if found is None:
        hint = f"{_NOTHING}; the line begins with {serving.statement}="
        raise UsageError(f"{path}: states no server arguments", hint)
    return found


def from_command(text: str, serving: Serving, declared: Declared) -> Stated:
    """What a command states, given as text, or as a file that holds it; raises ``UsageError``."""
    if text == "-" or _is_file(text):
        with _opened(text) as stream:
            content = _decoded(stream.read(LARGEST))
        return expect_launch(_other(content, serving, declared), text)
    return expect_launch(_other(text, serving, declared), "--command")


def from_server_info(path: str, serving: Serving) -> Stated:
    """What ``/server_info`` answered; raises ``UsageError`` where a file is not that."""
    with _opened(path) as stream:
        text = _decoded(stream.read(LARGEST))
    found = _answer(text, serving)
    if found is None:
        hint = f"write it with: curl -s localhost:30000/server_info > {os.path.basename(path)}"
        raise UsageError(f"{path}: is no answer of a server in JSON", hint)
    return found


def _other(text: str, serving: Serving, declared: Declared) -> Stated | None:
    """A description of containers, a script, a call in Python, an answer, or a pasted log."""
    launches = launches_in(text, serving)
    if launches:
        return _versioned(stated_by(launches, "command-yaml", serving, declared), text, serving)
    found = read_command(text, serving, declared) or read_call(text, serving)
    if found is not None:
        return _versioned(found, text, serving)
    return _answer(text, serving) or read_log(io.BytesIO(text.encode("utf-8", "replace")), serving)


def _versioned(stated: Stated, text: str, serving: Serving) -> Stated:
    from_text = stated.version or version_in(text, serving)
    fields = {name: getattr(stated, name) for name in stated.__struct_fields__}
    return Stated(**{**fields, "version": from_text})


def _answer(text: str, serving: Serving) -> Stated | None:
    """A JSON object with server arguments, whatever stands before it."""
    start = re.search(r"\{\s*['\"]", text)
    if start is None:
        return None
    try:
        found: object = json.JSONDecoder().raw_decode(text, start.start())[0]
    except (ValueError, RecursionError):
        found = value_of(text[start.start() :])
    if not isinstance(found, dict):
        return None
    inner = found.get(serving.statement)
    values = {str(k): v for k, v in (inner if isinstance(inner, dict) else found).items()}
    states = found.get("internal_states")
    for state in states if isinstance(states, list) else ():
        if isinstance(state, dict):
            values = {**{str(k): v for k, v in state.items()}, **values}
    known = sum(name in values for name in (*serving.defaults, *serving.shown))
    if known < min(2, len(serving.shown)):
        return None
    version = found.get("version")
    return Stated(
        form="server-info",
        complete=True,
        values=values,
        version=version if isinstance(version, str) else "",
        line=1,
    )


def _is_file(text: str) -> bool:
    try:
        return "\n" not in text and len(text) < 4096 and Path(text).is_file()
    except (OSError, ValueError):
        return False


def _opened(path: str) -> BinaryIO:
    if path == "-":
        return sys.stdin.buffer
    try:
        return open(path, "rb")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "no file name"
        raise UsageError(f"{path}: cannot be read: {reason}") from error


def _decoded(data: bytes) -> str:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace")
    return data.decode("utf-8-sig", "replace")
