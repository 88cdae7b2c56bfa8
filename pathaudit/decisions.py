"""What decides conditions, as data; the answer of ``gates``. Field names are those in the JSON."""

from msgspec import Struct

from pathaudit.results import Gap, Source


class GateHop(Struct, frozen=True, kw_only=True):
    """One step of the way from a condition to what decides it.

    ``kind`` says how the value comes there: ``condition``, ``property``, ``return``,
    ``assignment``, ``attribute``, ``keyword``, ``argument``, ``global``, ``test``, ``default``,
    ``parameter``, ``call``, ``known``, ``declared`` or ``flag``; ``text`` is the code.
    """

    kind: str
    file: str
    line: int
    text: str


class GateControl(Struct, frozen=True, kw_only=True):
    """Something that decides a condition.

    ``kind`` is ``flag`` (``name`` as on the command line), ``setting`` (a field that has no
    flag), ``environment`` or ``config`` (a key of the model's ``config.json``). ``default`` is
    the code of the default, ``None`` where none is stated. ``source`` says how it was found:
    ``known`` (a fact of the profile whose anchor is there), ``slice`` or ``check`` (a startup
    check refuses the condition's flag without it). ``chain`` leads from the condition to the
    declaration and the flag.
    """

    kind: str
    name: str
    field: str
    default: str | None
    source: str
    chain: tuple[GateHop, ...]
    reason: str = ""


class GateCheck(Struct, frozen=True, kw_only=True):
    """A startup check that refuses a combination of settings: it fails when ``condition`` holds.

    ``names`` are the flags it speaks of.
    """

    file: str
    line: int
    condition: str
    message: str
    names: tuple[str, ...]


class GateAnswer(Struct, frozen=True, kw_only=True):
    """What decides one condition, at the first place where it is tested.

    ``status`` is ``decided`` (by ``controls``), ``dead`` (``value`` is what it always is),
    ``run time`` (nothing a user states decides it) or ``not resolved``. ``run_time`` are parts of
    it that differ from batch to batch, ``unresolved`` those that could not be followed.
    """

    condition: str
    symbol: str
    file: str
    line: int
    status: str
    controls: tuple[GateControl, ...]
    checks: tuple[GateCheck, ...] = ()
    run_time: tuple[str, ...] = ()
    unresolved: tuple[str, ...] = ()
    value: str = ""
    places: int = 1


class GatesReport(Struct, frozen=True, kw_only=True):
    """The answer of ``gates``: one for each condition asked about, in source order."""

    tool: str
    request: str
    source: Source
    answers: tuple[GateAnswer, ...]
    gaps: tuple[Gap, ...] = ()
    schema: int = 1
