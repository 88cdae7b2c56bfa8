"""Shows where a new finding stands in the old version: the lines of both, side by side."""

import ast
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher

from msgspec import Struct

from pathaudit.diff import Version
from pathaudit.diff.naming import Owner, definitions, find_names, owner_of
from pathaudit.diff.version import owners
from pathaudit.errors import SourceError
from pathaudit.results import Finding
from pathaudit.results.bumps import ComparedLine, Regression
from pathaudit.results.versions import Origin, ReportDiff
from pathaudit.sources import SourceTree, split_lines

_AROUND = 2  # lines shown above and below what is told of
_NEAR = 40  # lines within which a change belongs to a finding
_LONGEST_CHANGE = 12


class _Side(Struct, frozen=True):
    """A method of one version: its first line, and its lines."""

    first: int
    lines: tuple[str, ...]


def regressions_of(diff: ReportDiff, old: Version, new: Version) -> tuple[Regression, ...]:
    """Show what is new, or got worse, in code that both versions have, with the lines of both."""
    naming = find_names(
        *map(owners, (old.survey, new.survey)),
        old_has=definitions(old.tree),
        new_has=definitions(new.tree),
    )
    earlier = {now: before for before, now in naming.renamed.items()}
    pairs = [
        (item.finding, _before(item.finding, earlier))
        for item in diff.added
        if item.origin is Origin.CHANGED
    ]
    pairs += [(item.new, (item.old.file, item.old.symbol)) for item in diff.changed]
    shown = (_regression(finding, was, old.tree, new.tree) for finding, was in pairs)
    return tuple(item for item in shown if item is not None)


def _regression(
    finding: Finding, was: tuple[str, str], old: SourceTree, new: SourceTree
) -> Regression | None:
    file, symbol = was
    before, after = _method(old, file, symbol), _method(new, finding.file, finding.symbol)
    if before is None or after is None:
        return None
    rows = list(_rows(before, after, finding.line))
    place = next((number for number, row in enumerate(rows) if row.mark), None)
    if place is None:
        return None
    above = [row.old for row in rows[: place + 1] if row.old]
    return Regression(
        fingerprint=finding.fingerprint,
        old_file=file,
        old_line=above[-1] if above else before.first,
        changed=any(_differs(row) for row in rows),
        lines=tuple(_window(rows, place)),
    )


def _before(finding: Finding, earlier: Mapping[Owner, Owner]) -> tuple[str, str]:
    """The file and the symbol that a finding's method had in the old version."""
    owner = owner_of(finding.file, finding.symbol)
    was = earlier.get(owner, owner)
    _, dot, method = finding.symbol.partition(".")
    return was.file, f"{was.name}{dot}{method}"


def _method(tree: SourceTree, file: str, symbol: str) -> _Side | None:
    """The lines of what a symbol defines in a file; nothing if it is not there."""
    try:
        text = tree.text(file)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            body: list[ast.stmt] = ast.parse(text).body
    except (SourceError, SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    node: ast.stmt | None = None
    for name in symbol.split("."):
        node = next((x for x in _definitions(body) if x.name == name), None)
        if node is None:
            return None
        body = node.body
    if node is None or node.end_lineno is None:
        return None
    lines = [line.rstrip("\r\n") for line in split_lines(text)]
    return _Side(node.lineno, tuple(lines[node.lineno - 1 : node.end_lineno]))


_Definition = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def _definitions(body: Iterable[ast.stmt]) -> Iterator[_Definition]:
    """What a body defines, the last definition of a name first: it is the one that holds."""
    yield from (node for node in reversed([*body]) if isinstance(node, _Definition))


# ---- side by side -----------------------------------------------------------------------------


def _rows(old: _Side, new: _Side, line: int) -> Iterator[ComparedLine]:
    """All lines of two versions of a method, those of the old one first where they differ."""
    same = SequenceMatcher(None, old.lines, new.lines, autojunk=False)
    for kind, old_start, old_end, new_start, new_end in same.get_opcodes():
        if kind == "equal":
            for offset in range(old_end - old_start):
                number = new.first + new_start + offset
                text = new.lines[new_start + offset]
                yield ComparedLine(old.first + old_start + offset, number, text, number == line)
            continue
        for index in range(old_start, old_end):
            yield ComparedLine(old.first + index, 0, old.lines[index])
        for index in range(new_start, new_end):
            number = new.first + index
            yield ComparedLine(0, number, new.lines[index], number == line)


def _differs(row: ComparedLine) -> bool:
    return not (row.old and row.new)


def _window(rows: Sequence[ComparedLine], place: int) -> Iterator[ComparedLine]:
    """The rows around a place, and around the nearest change: what the finding may come from."""
    wanted = set(range(place - _AROUND, place + _AROUND + 1))
    near = range(max(0, place - _NEAR), min(len(rows), place + _NEAR + 1))
    changed = [number for number in near if _differs(rows[number])]
    if changed:
        nearest = min(changed, key=lambda number: (abs(number - place), number))
        block = _block(rows, nearest)
        wanted |= set(range(block.start - 1, block.stop + 1))
    yield from (row for number, row in enumerate(rows) if number in wanted)


def _block(rows: Sequence[ComparedLine], number: int) -> range:
    """The rows of one change, at most as many as are shown."""
    start = end = number
    while start > 0 and _differs(rows[start - 1]) and number - start < _LONGEST_CHANGE // 2:
        start -= 1
    while end < len(rows) and _differs(rows[end]) and end - number < _LONGEST_CHANGE // 2:
        end += 1
    return range(start, end)
