"""Source lines for reports that show them."""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathaudit.sources import SourceTree


def excerpts(
    source: "SourceTree", wanted: Mapping[str, frozenset[int]]
) -> dict[str, dict[int, str]]:
    """Return lines of files by number; none of a file that cannot be read any more."""
    return {file: _excerpt(source, file, lines) for file, lines in wanted.items()}


def _excerpt(source: "SourceTree", file: str, wanted: frozenset[int]) -> dict[int, str]:
    from pathaudit.errors import SourceError

    try:
        text = source.text(file)
    except SourceError:
        return {}
    # Only these end a line of Python: not a form feed, nor what str.splitlines also splits at.
    lines = enumerate(re.split(r"\r\n|\r|\n", text), start=1)
    return {number: line for number, line in lines if number in wanted}
