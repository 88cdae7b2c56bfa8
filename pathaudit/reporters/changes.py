"""What changed between two versions, for people at a terminal."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TextIO

from pathaudit.reporters.diagnostics import Block, block_lines, marked_spots
from pathaudit.reporters.escaping import visible
from pathaudit.reporters.phrases import (
    counted,
    left_out_phrases,
    listed,
    shown_path,
    source_name,
    word_of,
)
from pathaudit.reporters.snippets import numbers_shown
from pathaudit.reporters.terminal import GLUE, Line, Page, Styled, hanging, table, write_lines
from pathaudit.results import Finding, Severity, fails
from pathaudit.results.versions import (
    Added,
    Basis,
    Ended,
    Ending,
    EntryChange,
    EventLoss,
    Kept,
    Origin,
    ReportDiff,
    Undecided,
    Variant,
    VariantChange,
    fails_newly,
)

_NARROWEST = 40
_IN_FULL = 10  # new findings that are shown with their source lines
_ROWS = 12  # of one list, unless all are asked for
_ENDINGS = {
    Ending.FIXED: "",
    Ending.GONE: "gone",
    Ending.UNJUDGED: "not judged any more",
    Ending.UNKNOWN: "unknown now",
}
Row = tuple[str, str, str]
Beside = Callable[[Finding], Iterable[Line]]


def _nothing(_: Finding) -> Iterable[Line]:
    return ()


def render(
    diff: ReportDiff,
    out: TextIO,
    *,
    excerpts: Mapping[str, Mapping[int, str]],
    width: int = 80,
    color: bool = False,
    verbose: bool = False,
    seconds: float | None = None,
) -> None:
    """Write what changed to ``out`` in ``width`` columns.

    ``excerpts`` are source lines of the new version, those that ``lines_wanted`` names.
    ``verbose`` lists all of everything. ``seconds`` is the elapsed time for the summary.
    """
    page = Page(excerpts, max(width, _NARROWEST), verbose)
    write_lines(lines_of(diff, page, seconds), out, color)


def lines_wanted(diff: ReportDiff) -> Mapping[str, frozenset[int]]:
    """Return the numbers of the source lines that ``render`` may show, by file."""
    wanted: defaultdict[str, frozenset[int]] = defaultdict(frozenset)
    for finding in _in_full(diff.added):
        spots = marked_spots(finding, verbose=True)
        for file in dict.fromkeys(spot.file for spot in spots):
            wanted[file] |= frozenset(numbers_shown(x for x in spots if x.file == file))
    return dict(wanted)


def lines_of(
    diff: ReportDiff,
    page: Page,
    seconds: float | None,
    *,
    beside: Beside = _nothing,
    said: bool = False,
) -> Iterator[Line]:
    """Yield the lines of what changed.

    ``beside`` yields more below a finding shown in full; ``said``, what is fixed is told, too.
    """
    yield from _added(diff.added, page, beside)
    yield from _listed("Changed", [_kept(item) for item in diff.changed], page)
    yield from _listed("Can no longer be decided", [_undecided(x) for x in diff.undecided], page)
    yield from _listed("Fixed", [_ended(item, said=said) for item in diff.fixed], page)
    yield from _listed("No longer there, and not fixed", [_ended(x) for x in diff.dropped], page)
    yield from _listed("Lost an event", [_loss(x) for x in unexplained(diff)], page)
    yield from _listed("Ways to run layers", [_variant(item) for item in diff.variants], page)
    yield from _entries(diff.entries, page)
    yield from _unchanged(diff.unchanged, page)
    yield from _summary(diff, page, seconds)


# ---- added ------------------------------------------------------------------------------------


def _in_full(added: Iterable[Added]) -> list[Finding]:
    """The findings that are shown with their source: what fails a scan."""
    return [x.finding for x in added if fails(x.finding, Severity.WARNING, strict=True)][:_IN_FULL]


def _added(added: Sequence[Added], page: Page, beside: Beside) -> Iterator[Line]:
    full = _in_full(added)
    told: frozenset[str] = frozenset()
    for finding in full:
        yield from block_lines(Block((finding,), "full"), page, told)
        yield from beside(finding)
        yield ()
        told |= {finding.why, finding.fix}
    rest = [item for item in added if item.finding not in full]
    heading = "Added, too" if full else "Added"
    yield from _listed(heading, [_new(item) for item in rest], page)


def _new(item: Added) -> Row:
    new = "new code" if item.origin is Origin.NEW else ""
    reach = "" if item.finding.reach == "reachable" else str(item.finding.reach)
    return _row(item.finding, *filter(None, (visible(item.finding.message), reach, new)))


def _row(finding: Finding, *remarks: str) -> Row:
    word = f"{word_of(finding)}[{visible(finding.rule)}]"
    text = "; ".join((word, *filter(None, remarks)))
    return _place(finding.file, finding.line), visible(finding.symbol), text


# ---- what else changed ------------------------------------------------------------------------


def _kept(item: Kept) -> Row:
    changes = [
        f"{x.field}: {visible(x.old) or 'no'} -> {visible(x.new) or 'no'}" for x in item.changes
    ]
    return _row(item.new, *changes, visible(item.remark))


def _undecided(item: Undecided) -> Row:
    text = f"{visible(item.rule)}: {item.before} -> unknown"
    reason = visible(item.reason)
    name = visible(item.entry)
    return _place(item.file, item.line), name, "; ".join(filter(None, (text, reason)))


def _ended(item: Ended, *, said: bool = False) -> Row:
    message = visible(item.finding.message) if said else ""
    return _row(item.finding, _ENDINGS[item.ending], message, visible(item.remark))


def unexplained(diff: ReportDiff) -> list[EventLoss]:
    """The lost events that no new finding tells of."""
    told = {(x.finding.file, x.finding.line) for x in diff.added}
    told |= {(x.new.file, x.new.line) for x in (*diff.changed, *diff.unchanged)}
    return [x for x in diff.events if (x.new.file, x.new.line) not in told]


def _loss(item: EventLoss) -> Row:
    text = f"{visible(item.event)} no longer; was at {listed(item.evidence)}"
    return _place(item.new.file, item.new.line), visible(item.new.symbol), text


def _variant(item: VariantChange) -> Row:
    shown = item.new or item.old
    if shown is None:
        raise AssertionError("a change has a side")
    was = f"was {_ranges(item.old)}" if item.change == "changed" and item.old else ""
    events = listed(tuple(use.event for use in shown.events), everything=True)
    comes = f"{visible(events)} there" if item.new and events else ""
    ran = f"{item.change}: {_kind(shown)} {_ranges(shown)}".replace(" ", GLUE)
    place = _place(shown.file, shown.line)
    return place, visible(shown.symbol), ", ".join(filter(None, (ran, was, comes)))


def _kind(variant: Variant) -> str:
    names = {"loop": "loop over", "call": "call of", "handoff": "hands"}
    callee = f" to {visible(variant.callee)}:" if variant.callee else ""
    return names.get(variant.kind, variant.kind) + callee


def _ranges(variant: Variant) -> str:
    return f"layers {visible(' or '.join(variant.layers))}"


def _entries(entries: Sequence[EntryChange], page: Page) -> Iterator[Line]:
    """Whole methods that run layers: those that came and went only by name."""
    for change in ("appeared", "vanished"):
        names = [visible(item.entry) for item in entries if item.change == change]
        if names:
            lead = (("bold", f"{counted(len(names), 'method')} that run layers {change}: "),)
            yield from hanging(lead, listed(names, page.verbose), 2, page)
            yield ()
    moved = [
        (shown_path(x.file), visible(x.entry), f"was {visible(x.was)}") for x in entries if x.was
    ]
    yield from _listed("Methods under another name or in another file", moved, page)


def _unchanged(kept: Sequence[Kept], page: Page) -> Iterator[Line]:
    """All where asked for, else only what was known again by resemblance."""
    shown = [x for x in kept if page.verbose or x.remark or x.basis is Basis.RESEMBLANCE]
    rows = [_row(x.new, _basis(x), visible(x.remark)) for x in shown]
    yield from _listed("Unchanged" if page.verbose else "Unchanged, by resemblance", rows, page)


def _basis(kept: Kept) -> str:
    return "resembles the old one" if kept.basis is Basis.RESEMBLANCE else ""


# ---- parts of the page ------------------------------------------------------------------------


def _place(file: str, line: int) -> str:
    return f"{shown_path(file)}:{line}"


def _listed(heading: str, rows: Sequence[Row], page: Page) -> Iterator[Line]:
    """A heading with a number, and rows, not too many unless all are asked for.

    What is said of several is said once.
    """
    if not rows:
        return
    yield (("bold", f"{heading}: {len(rows)}"),)
    shown = rows if page.verbose else rows[:_ROWS]
    groups: dict[str, list[Row]] = {}
    for row in shown:
        groups.setdefault(row[2], []).append(row)
    for remark, group in groups.items():
        if len(group) == 1:
            yield from table(group, 2, page)
            continue
        yield from hanging((("", "  "),), f"{remark}:", 4, page)
        yield from table([(place, name, "") for place, name, _ in group], 4, page)
    if len(rows) > len(shown):
        yield (("", f"  and {len(rows) - len(shown)} more; --verbose lists all"),)
    yield ()


def _summary(diff: ReportDiff, page: Page, seconds: float | None) -> Iterator[Line]:
    counts = diff.summary
    parts = [
        f"{counts.added} added, {counts.fixed} fixed, {counts.changed} changed, "
        f"{counts.unchanged} unchanged{_words(diff.unchanged)}",
    ]
    if counts.dropped:
        parts.append(f"{counts.dropped} no longer there")
    parts.append(f"{counted(counts.undecided, 'verdict')} became unknown")
    parts.append(f"{counted(counts.variants, 'way', 'ways')} to run layers changed")
    parts += left_out_phrases(diff.left_out)
    if seconds is not None:
        parts.append(f"{seconds:.1f} s")
    text = f"from {source_name(diff.old)} to {source_name(diff.new)}: {'; '.join(parts)}"
    yield from hanging((_lead(diff), ("", " ")), text, 2, page)


def _words(kept: Iterable[Kept]) -> str:
    counts = Counter(word_of(item.new) for item in kept)
    plural = {"error": "errors", "warning": "warnings", "note": "notes"}
    order = ("error", "warning", "unknown", "note", "suppressed")
    words = [counted(counts[x], x, plural.get(x, x)) for x in order if counts[x]]
    return f" ({', '.join(words)})" if words else ""


def _lead(diff: ReportDiff) -> Styled:
    """The answer in a few words."""
    worse = [x.finding for x in diff.added] + [x.new for x in diff.changed if not _failed(x.old)]
    number = len([finding for finding in worse if _failed(finding)])
    if number:
        return "error", f"{counted(number, 'new error')}"
    if fails_newly(diff, Severity.NOTE) or diff.undecided:
        return "warning", "No new errors"
    return "good", "Nothing new is broken"


def _failed(finding: Finding) -> bool:
    return fails(finding, Severity.ERROR)
