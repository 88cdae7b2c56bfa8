"""What each served class supports, as Markdown: a table whose cells link to the code.

All that comes from the audited code stands in code spans or is escaped, so that it can neither
form a table, nor mention anybody, nor be HTML.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import TextIO
from urllib.parse import quote

from pathaudit.reporters.cells import (
    Marks,
    Note,
    Numbers,
    Told,
    is_bare,
    marks_of,
    notes_of,
    numbers_of,
    reason_of,
    summary,
)
from pathaudit.reporters.markdown_text import cell as in_cell
from pathaudit.reporters.markdown_text import code, escaped
from pathaudit.reporters.phrases import counted
from pathaudit.reporters.terminal import write_plain
from pathaudit.results import Source
from pathaudit.results.matrices import Cell, Evidence, Matrix, Part, Row

_TOLD: Told = "remarks"


def render(matrix: Matrix, out: TextIO, *, links: str = "") -> None:
    """Write the table to ``out``; paths of files are linked to what ``links`` begins with."""
    write_plain(_lines(matrix, links), out)


def _lines(matrix: Matrix, links: str) -> Iterator[str]:
    yield f"### What each served class supports: {_source(matrix.source)}"
    yield ""
    shown = [row for row in matrix.rows if not is_bare(row)]
    bare = [row for row in matrix.rows if is_bare(row)]
    notes = notes_of(matrix, _TOLD)
    yield from _table(matrix, shown, notes, links)
    if bare:
        yield f"None of this in {len(bare)}: {', '.join(code(row.name) for row in bare)}"
        yield ""
    yield from _footnotes(matrix)
    yield from _reasons(notes, matrix, links)


def _table(matrix: Matrix, rows: Sequence[Row], notes: Sequence[Note], links: str) -> Iterator[str]:
    marks, numbers = marks_of(matrix), numbers_of(notes)
    heads = [
        f"{escaped(column.title)}[^{column.id}]" if column.says else escaped(column.title)
        for column in matrix.columns
    ]
    yield f"| served class | {' | '.join(heads)} |"
    yield f"|{' --- |' * (len(heads) + 1)}"
    for row in rows:
        new = " (new)" if row.new else ""
        name = _link(in_cell(row.name), Evidence(row.file, row.line, ""), links)
        cells = (_cell(cell, marks, numbers, links) for cell in row.cells)
        yield f"| {name}{new} | {' | '.join(cells)} |"
    yield ""


def _cell(cell: Cell, marks: Marks, numbers: Numbers, links: str) -> str:
    """The answer, linked to the first place that proves it, and the number of its note."""
    place = next((x for part in cell.parts for x in part.evidence), None)
    answer = escaped(summary(cell.parts, marks))
    text = _link(answer, place, links) if place is not None else answer
    star = "\\*" if cell.remarks else ""
    number = numbers.get((cell.column, reason_of(cell, _TOLD)))
    note = f" <sup>{number}</sup>" if number is not None else ""
    was = f"<br>was {escaped(summary(cell.was, marks))}" if cell.was else ""
    return f"{text}{star}{note}{was}"


def _link(text: str, place: Evidence, links: str) -> str:
    line = f"#L{place.line}" if place.line else ""
    return f"[{text}]({quote(f'{links}{place.file}', safe='/:?=&%.-_~')}{line})"


def _footnotes(matrix: Matrix) -> Iterator[str]:
    """What each column says, and what the marks mean."""
    for column in matrix.columns:
        facts = [escaped(x.detail) for x in matrix.facts if x.rule == column.id]
        said = " ".join((escaped(column.says), *(f"{fact}." for fact in facts)))
        if said:
            yield f"[^{column.id}]: {said}"
    yield ""
    features = ", ".join(f"{escaped(x.mark)} {escaped(x.title)}" for x in matrix.features)
    ending = counted(len(matrix.rows), "served class", "served classes")
    drafts = f", {counted(len(matrix.drafts), 'draft')} left out" if matrix.drafts else ""
    against = f", compared with {_source(matrix.against)}" if matrix.against else ""
    yield f"{ending}{drafts}{against}. {f'Features: {features}. ' if features else ''}{_SIGNS}"
    if matrix.gone:
        yield ""
        yield f"No longer served: {', '.join(map(code, matrix.gone))}"
    yield ""


_SIGNS = (
    "`-`: the class does not have it. `*`: there is a remark. A raised number is that of the "
    "reason below. Made from the code by `pathaudit matrix`."
)


def _reasons(notes: Sequence[Note], matrix: Matrix, links: str) -> Iterator[str]:
    if not notes:
        return
    titles = {column.id: column.title for column in matrix.columns}
    marks = marks_of(matrix)
    yield f"<details><summary>Reasons: {len(notes)}</summary>"
    yield ""
    for note in notes:
        parts = [_reason(part, summary([part], marks), links) for part in note.reason.parts]
        remarks = [_reason(part, "remark", links) for part in note.reason.remarks]
        said = "; ".join((*parts, *remarks))
        yield f"{note.number}. {escaped(titles[note.column])}: {said}"
    yield ""
    yield "</details>"


def _reason(part: Part, head: str, links: str) -> str:
    rule = f" ({code(part.rule)})" if part.rule else ""
    where = " ".join(_places(part.evidence, links))
    return f"**{escaped(head)}** {escaped(part.detail)}{rule} {where}".rstrip()


def _places(evidence: Iterable[Evidence], links: str) -> Iterator[str]:
    for place in dict.fromkeys(Evidence(x.file, x.line, "") for x in evidence):
        name = place.file.rsplit("/", 1)[-1]
        yield _link(code(f"{name}:{place.line}" if place.line else name), place, links)


def _source(source: Source) -> str:
    version = f" ({code(source.version)})" if source.version else ""
    return code(source.label) + version
