"""What a server's arguments let run; data only."""

from msgspec import Struct

from pathaudit.results import Source


class Argument(Struct, frozen=True, kw_only=True):
    """A server argument. ``state`` is ``set``, ``unresolved`` or ``not stated``.

    ``value`` is its text, or how it is written; ``default`` that of a known version.
    """

    name: str
    state: str
    value: str
    default: str = ""


class Variant(Struct, frozen=True, kw_only=True):
    """A way to run the forward: ``possible``, ``impossible`` or ``unknown``, and for what reason.

    ``captured`` and ``lost`` are layers asked for, ``effect`` is what comes of a loss. One that
    does not ``select`` a path is told because its name suggests it.
    """

    name: str
    title: str
    state: str
    reason: str
    selects: bool = True
    condition: str = ""
    captured: tuple[int, ...] | None = None
    lost: tuple[int, ...] = ()
    effect: str = ""
    place: str = ""
    remark: str = ""


class LiveReport(Struct, frozen=True, kw_only=True):
    """What a server with some arguments runs; ``answer`` says it in a sentence or two."""

    tool: str
    answer: str
    source: Source | None
    version: str
    form: str
    complete: bool
    prefix: str
    arguments: tuple[Argument, ...]
    environment: dict[str, str]
    unresolved: tuple[str, ...]
    ignored: tuple[str, ...]
    variants: tuple[Variant, ...]
    entry: str = ""
    asked: tuple[int, ...] | None = None
    requested: tuple[int, ...] | None = None
    advice: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    schema: int = 1
