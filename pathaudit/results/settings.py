"""What settings say and do, as data: the keys that hold, and what they leave out of a report."""

from msgspec import Struct


class LeftOut(Struct, frozen=True, kw_only=True):
    """How much of an answer is in files that the settings exclude, and so not in the report.

    ``entries`` are methods under audit.
    """

    findings: int
    entries: int
    gaps: int


class Held(Struct, frozen=True, kw_only=True):
    """A key of the settings with the values that hold; of ``rules``, one rule as ``rules.ID``.

    ``origin`` is ``default``, ``file`` (then ``file`` and ``line`` say where), ``command line`` or
    ``environment``. Without ``values`` nothing is stated, and nothing is meant by default.
    """

    key: str
    values: tuple[str, ...]
    origin: str
    file: str = ""
    line: int = 0


class SettingsReport(Struct, frozen=True, kw_only=True):
    """All keys with the values that hold, and where these come from.

    ``file`` is the file that the settings are from, if any, and ``origin`` why that one: it was
    ``found``, or named on the ``command line`` or in the ``environment``; ``isolated`` where none
    was to be used. ``looked`` are the folders that were looked in, from the current one upwards,
    where none was found. ``checked`` are the rules that a scan checks then, of
    all that are ``known``. ``environment`` are variables that commands heed.
    """

    file: str
    origin: str
    looked: tuple[str, ...]
    keys: tuple[Held, ...]
    checked: tuple[str, ...]
    known: tuple[str, ...]
    environment: tuple[Held, ...]
    schema: int = 1
