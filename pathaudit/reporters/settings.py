"""Settings for people at a terminal: one row a key, with its origin and its value."""

from collections.abc import Iterable, Iterator
from typing import TextIO

from pathaudit.reporters.escaping import visible
from pathaudit.reporters.phrases import counted, shown_path
from pathaudit.reporters.terminal import Line, Page, hanging, padded
from pathaudit.results.settings import Held, SettingsReport

_NARROWEST = 40
_LONGEST = 30  # columns of an origin that others stand beside
_NAMES = ("pathaudit.toml", "pyproject.toml with [tool.pathaudit]")
_NAMED = {"command line": ", as --settings says", "environment": ", as PATHAUDIT_SETTINGS says"}
# What it means that nothing is stated, where that is more than nothing.
_UNSTATED = {
    "rules": "as each rule says",
    "select": "all rules",
    "profile": "that of pathaudit",
    "tree": "the installed package",
    "entries": "all served classes",
    "jobs": "as many as there are processors",
    "COLUMNS": "the terminal's, or 80",
}


def render(report: SettingsReport, out: TextIO, *, width: int = 80, verbose: bool = False) -> None:
    """Write what holds to ``out`` in ``width`` columns; ``verbose`` adds the environment."""
    encoding = out.encoding or "utf-8"
    for line in _lines(report, Page({}, max(width, _NARROWEST), verbose=True), verbose):
        text = "".join(text for _, text in line).rstrip()
        out.write(text.encode(encoding, "backslashreplace").decode(encoding) + "\n")


def _lines(report: SettingsReport, page: Page, environment: bool) -> Iterator[Line]:
    yield from _found(report, page)
    yield ()
    yield from _rows(("key", "from", "value"), report.keys, page)
    yield ()
    left = [name for name in report.known if name not in report.checked]
    without = f", all but {', '.join(map(visible, left))}" if left else ""
    checked = f"Checks {len(report.checked)} of {counted(len(report.known), 'rule')}{without}"
    yield from hanging((), checked, 2, page)
    if environment:
        yield ()
        yield from _rows(("variable", "from", "value"), report.environment, page)


def _found(report: SettingsReport, page: Page) -> Iterator[Line]:
    if report.file:
        why = _NAMED.get(report.origin, "")
        yield from hanging((), f"Settings from {shown_path(report.file)}{why}", 2, page)
        return
    if not report.looked:
        yield from hanging((), "No settings file, as --isolated says", 2, page)
        return
    yield from hanging((), f"No settings file. Looked for {', then '.join(_NAMES)}, in", 2, page)
    for folder in report.looked:
        yield (("", f"  {shown_path(folder)}"),)


def _rows(heading: tuple[str, str, str], rows: Iterable[Held], page: Page) -> Iterator[Line]:
    cells = [heading, *((visible(row.key), _origin(row), _value(row)) for row in rows)]
    first = max(len(key) for key, _, _ in cells) + 2
    second = max(len(x) for _, x, _ in cells if len(x) <= _LONGEST) + 2
    for key, origin, value in cells:
        lead = (("", padded(padded(key, first) + origin, first + second - 1) + " "),)
        yield from hanging(lead, value, first + second, page)


def _origin(row: Held) -> str:
    """Where a value comes from; the folder of a file is told above the rows."""
    return f"{visible(row.file.rpartition('/')[2])}:{row.line}" if row.file else row.origin


def _value(row: Held) -> str:
    if not row.values:
        return _UNSTATED.get(row.key, "none")
    return ", ".join(visible(value) or "nothing" for value in row.values)
