"""Finds the server's arguments in a log: any size, prefix and encoding, wrapped, cut, repeated."""

import codecs
import re
from collections import deque
from collections.abc import Iterator
from typing import BinaryIO

from msgspec import Struct

from pathaudit.live.literals import Opaque, Pairs, read_pairs
from pathaudit.live.pasted import as_typed
from pathaudit.live.stated import Stated
from pathaudit.ruleset.serving import Serving

CHUNK = 1 << 20
LONGEST = 1 << 18  # characters of one statement
MOST = 100  # statements in one piece
_LOOKBACK = 400
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)")
_TIME = r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d"
# What a collector of logs puts before each line: a time stamp, a stream, the name of a container.
_COLLECTOR = re.compile(
    rf"^(?:{_TIME}[.,]?\d*(?:Z|[+-]\d\d:?\d\d)?\s(?:std(?:out|err)\s[FP]\s)?"
    r"|(?:>\s?)+|[\w./-]+\s*\|\s|\[[\w./-]+\]\s(?=[\[\w'])"
    r"|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \S+ \S+: )"
)
# Where the framework begins a new record.
_RECORD = re.compile(
    rf"^\s*(?:\[?{_TIME}|(?:INFO|WARNING|ERROR|DEBUG|CRITICAL)\b|Traceback \(|\+ |[$#>] )"
)


class Found(Struct, frozen=True):
    """A statement in a log: its text up to where it may end, and the line it begins on."""

    text: str
    prefix: str
    line: int
    record: bool


class Marks(Struct, frozen=True):
    """What a log is searched for: where a statement begins, and versions of the framework."""

    begins: re.Pattern[str]
    versions: tuple[re.Pattern[str], ...]
    words: tuple[str, ...]
    name: str

    def starts(self, text: str, limit: int) -> list[re.Match[str]]:
        """Where statements begin; of very many in one piece of a log only the last ones."""
        if not any(word in text for word in self.words):
            return []
        return list(deque(self.begins.finditer(text, 0, limit), MOST))

    def told(self, text: str, limit: int) -> list[str]:
        """The versions that a piece of a log names."""
        if self.name not in text:
            return []
        return [x[1] for pattern in self.versions for x in pattern.finditer(text, 0, limit)]


def marks_of(serving: Serving) -> Marks:
    """How the arguments are printed: as a record, or as a dictionary under a name."""
    name, record = re.escape(serving.statement), re.escape(serving.record)
    begins = (
        rf"{name}\s*[=:]\s*(?:[\w.]+\.)?{record}\(|{name}['\"]?\s*[=:]\s*(?P<dict>\{{)"
        rf"|(?<![\w.]){record}\((?=\s*\w)"
    )
    versions = tuple(re.compile(text, re.IGNORECASE) for text in serving.versions)
    words = (serving.statement, f"{serving.record}(")
    return Marks(re.compile(begins), versions, words, serving.name)


def read_log(stream: BinaryIO, serving: Serving) -> Stated | None:
    """The arguments of the last start that a log tells of; None where it tells of none.

    Memory does not depend on the length of the log.
    """
    number = 0
    earlier: Stated | None = None
    latest: Stated | None = None
    version = ""
    for found in _statements(stream, marks_of(serving)):
        if isinstance(found, str):
            version = found
            continue
        number += 1
        stated = _stated(found)
        if not stated.values:
            continue
        if latest is not None and _agree(latest, stated):
            latest = stated if len(stated.values) >= len(latest.values) else latest
        else:
            earlier, latest = latest, stated
    return _told(latest, earlier, number, version) if latest is not None else None


def _told(latest: Stated, earlier: Stated | None, number: int, version: str) -> Stated:
    notes = list(latest.notes)
    if earlier is not None:
        names = [x for x in latest.values if x in earlier.values]
        changed = [x for x in names if latest.values[x] != earlier.values[x]]
        told = ", ".join(changed[:5]) + (" ..." if len(changed) > 5 else "")
        notes.append(
            f"the log states arguments {number} times; the last ones, of line {latest.line}, are "
            f"taken, which differ from those of line {earlier.line} in {told}"
        )
    return Stated(
        form=latest.form,
        complete=latest.complete,
        values=latest.values,
        version=version,
        prefix=latest.prefix,
        line=latest.line,
        stops=latest.stops,
        notes=tuple(notes),
    )


def _agree(one: Stated, other: Stated) -> bool:
    """May two statements be of the same start, one of them cut, or of another rank?"""
    shared = one.values.keys() & other.values.keys()
    own = ("node_rank", "port", "nccl_port", "random_seed")
    return bool(shared) and all(
        one.values[name] == other.values[name] for name in shared if name not in own
    )


# ---- where statements are ----------------------------------------------------------------------


def _statements(stream: BinaryIO, marks: Marks) -> Iterator[Found | str]:
    """The statements of a stream in order, and versions of the framework that it names."""
    line = 1
    held = ""
    pieces = _pieces(stream)
    ended = False
    while not ended:
        while len(held) < LONGEST + CHUNK and not ended:
            piece = next(pieces, None)
            ended = piece is None
            held += piece or ""
        limit = len(held) if ended else len(held) - LONGEST
        yield from marks.told(held, limit)
        place = 0
        for mark in marks.starts(held, limit):
            start = held.rfind("\n", max(0, mark.start() - _LOOKBACK), mark.start()) + 1
            yield Found(
                text=held[mark.end() : mark.end() + LONGEST],
                prefix=held[max(start, mark.start() - _LOOKBACK) : mark.start()],
                line=line + held.count("\n", 0, mark.start()),
                record=mark["dict"] is None,
            )
            place = mark.end()
        keep = max(place, limit - _LOOKBACK)
        line += held.count("\n", 0, keep)
        held = held[keep:]


def _pieces(stream: BinaryIO) -> Iterator[str]:
    """The text of a stream piece by piece; what is no text is replaced."""
    data = stream.read(CHUNK)
    decoder = codecs.getincrementaldecoder(_encoding(data))(errors="replace")
    while data:
        yield _plain(decoder.decode(data))
        data = stream.read(CHUNK)


def _encoding(start: bytes) -> str:
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    return "utf-8-sig" if start.startswith(codecs.BOM_UTF8) else "utf-8"


def _plain(text: str) -> str:
    if "\x1b" in text:
        text = _ESCAPES.sub("", text)
    return text.replace("\r\n", "\n").replace("\0", "")


# ---- one statement -----------------------------------------------------------------------------


def _stated(found: Found) -> Stated:
    closer = ")" if found.record else "}"
    collector = _COLLECTOR.match(found.prefix)
    pairs = read_pairs(as_typed(_joined(found.text, collector is not None)), 0, closer)
    if not pairs.closed:
        # Some loggers indent the lines that they break, in the middle of a name or not.
        indented = as_typed(_joined(found.text, collector is not None, indented=True))
        pairs = max(pairs, read_pairs(indented, 0, closer), key=lambda x: (x.closed, len(x.items)))
    return Stated(
        form="ServerArgs-repr" if found.record else "dict",
        complete=pairs.closed,
        values={name: value for name, value in pairs.items if not isinstance(value, Opaque)},
        prefix=_logger(found.prefix),
        line=found.line,
        stops="" if pairs.closed else _stops(pairs),
    )


def _stops(pairs: Pairs) -> str:
    if pairs.elided is not None:
        return f"the text leaves something out after {pairs.elided or 'its beginning'}"
    return f"the text is cut after {pairs.items[-1][0]}" if pairs.items else "the text is cut"


def _joined(text: str, collected: bool, *, indented: bool = False) -> str:
    """A statement on one line: a terminal or a collector breaks lines even inside of names."""
    lines = text.split("\n")
    parts = [lines[0].rstrip() if indented else lines[0]]
    for line in lines[1:]:
        rest = _COLLECTOR.sub("", line, count=1) if collected else line
        if not rest.strip() or _RECORD.match(rest):
            break
        rest = rest.removesuffix("\r")
        parts.append(rest.strip() if indented else rest)
    return "".join(parts)


def _logger(prefix: str) -> str:
    """What the framework's logger writes before the message, without the time."""
    rest = _COLLECTOR.sub("", prefix, count=1)
    return re.sub(rf"^\s*\[?{_TIME}[^\]\s]*(?: [A-Z]+\d+)*\]?\s*", "", rest).strip()
