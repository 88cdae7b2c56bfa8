"""Pages for people: text in columns, escaped and wrapped by the helpers of the reporters.

The helpers are slow to import, so commands import this module when they run.
"""

from collections.abc import Callable, Iterator
from typing import TextIO

from pathaudit.cli.output import PLAIN_WIDTH, columns, write_report
from pathaudit.reporters.escaping import visible
from pathaudit.reporters.phrases import prose
from pathaudit.reporters.terminal import Line, Page, hanging

_NARROWEST = 40
Lines = Callable[[Page], Iterator[Line]]


def print_page(lines: Lines) -> None:
    """Print the lines on the standard output, in as many columns as it has, at most 80."""

    def render(out: TextIO) -> None:
        width = min(max(columns(out), _NARROWEST), PLAIN_WIDTH)
        encoding = out.encoding or "utf-8"
        # Verbose, because a page is printed whole.
        for line in lines(Page({}, width, verbose=True)):
            text = "".join(text for _, text in line).rstrip()
            out.write(text.encode(encoding, "backslashreplace").decode(encoding) + "\n")

    write_report(None, render)


def paragraph(lead: str, text: str, indent: int, page: Page) -> Iterator[Line]:
    """Yield a rule's own prose after ``lead``; its line breaks only fold it."""
    yield from hanging((("", visible(lead)),), prose(text, frozenset()), indent, page)
