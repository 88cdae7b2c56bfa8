"""What changed between two versions, as Markdown for a comment on a pull request."""

from collections.abc import Iterator, Sequence
from typing import TextIO

from pathaudit.reporters.changes import unexplained
from pathaudit.reporters.fitting import LIMIT, Unit, fitting, lines_of, size
from pathaudit.reporters.markdown_text import MARKER, cell, cells, code, escaped
from pathaudit.reporters.phrases import counted, left_out_phrases, word_of
from pathaudit.reporters.terminal import write_plain
from pathaudit.reporters.timeline import cell_of
from pathaudit.results import Finding, Severity, Source, fails
from pathaudit.results.versions import History, Kept, ReportDiff, Trace, Variant, VariantChange

_OPEN = 20  # rows that are shown without a click
_RESERVE = 100  # bytes for what is said of rows left out


def render(diff: ReportDiff, out: TextIO, *, limit: int = LIMIT) -> None:
    """Write what changed to ``out``: in at most ``limit`` bytes of UTF-8, cut between rows."""
    head, units = list(_head(diff)), list(_units(diff))
    shown = fitting(units, limit - size(head) - _RESERVE)
    left = len(units) - len(shown)
    last = [f"**{counted(left, 'more row')} left out**; `--format json` has all."] if left else []
    write_plain((*head, *lines_of(shown), *last), out)


def render_history(history: History, out: TextIO) -> None:
    """Write many versions to ``out``: a table, and the story of a class if there is one."""
    write_plain((*_rows(history), *(_story(history.trace) if history.trace else ())), out)


def _rows(history: History) -> Iterator[str]:
    columns = ("version", *map(cell, history.rules), "entries", "gaps")
    labels = [cell(row.source.version or row.source.label) for row in history.rows]
    rows = [
        (label, *map(cell_of, row.counts), str(row.entries), str(row.gaps))
        for label, row in zip(labels, history.rows, strict=True)
    ]
    yield from lines_of(list(_table("Findings by version", columns, rows)))


def _story(trace: Trace) -> Iterator[str]:
    rows = [
        (cell(x.source.version or x.source.label), x.state, cells(x.places)) for x in trace.moments
    ]
    heading = f"{code(trace.rule)} of {code(trace.entry)}"
    yield from lines_of(list(_table(heading, ("version", "state", "places"), rows)))
    for turn in trace.turns:
        before, after = (x.source.version or x.source.label for x in (turn.before, turn.after))
        states = f"{turn.before.state} → {turn.after.state}"
        yield f"- {turn.change} after {code(before)}, in {code(after)}: {states}"
        for commit in turn.bisection.first if turn.bisection else ():
            yield f"  - {code(commit.id[:12])} {commit.date} {escaped(commit.subject)}"


def _head(diff: ReportDiff) -> Iterator[str]:
    counts = diff.summary
    yield MARKER
    yield f"### pathaudit: {_source(diff.old)} → {_source(diff.new)}"
    yield ""
    yield (
        f"**{_verdict(diff)}** {counts.added} added, {counts.fixed} fixed, {counts.changed} "
        f"changed, {counts.unchanged} unchanged; {counted(counts.undecided, 'verdict')} became "
        f"unknown; {counted(counts.variants, 'way')} to run layers changed."
    )
    yield from (f"{phrase}." for phrase in left_out_phrases(diff.left_out))
    yield ""


def _units(diff: ReportDiff) -> Iterator[Unit]:
    found = ("", "rule", "place", "method", "what")
    yield from _table("Added", found, [_finding(x.finding) for x in diff.added])
    yield from _table("Changed", found, [(*_finding(x.new)[:4], _changes(x)) for x in diff.changed])
    unknown = [
        (cell(x.rule), cell(f"{x.file}:{x.line}"), cell(x.entry), escaped(x.reason))
        for x in diff.undecided
    ]
    yield from _table("Can no longer be decided", ("rule", "place", "method", "why"), unknown)
    fixed = [(*_finding(x.finding)[:4], escaped(x.remark)) for x in diff.fixed]
    yield from _table("Fixed", found, fixed)
    dropped = [(*_finding(x.finding)[:4], escaped(f"{x.ending}: {x.remark}")) for x in diff.dropped]
    yield from _table("No longer there, and not fixed", found, dropped)
    lost = [
        (cell(x.event), cell(_at(x.new)), cell(x.new.symbol), cells(x.evidence))
        for x in unexplained(diff)
    ]
    yield from _table("Lost an event", ("event", "place", "method", "was at"), lost)
    ways = ("", "place", "method", "layers", "events")
    yield from _table("Ways to run layers", ways, [_variant(x) for x in diff.variants])
    entries = [(x.change, cell(x.file), cell(x.entry), cell(x.was)) for x in diff.entries]
    yield from _table("Methods that run layers", ("", "file", "method", "was"), entries)
    same = [(*_finding(x.new)[:4], escaped(x.remark)) for x in diff.unchanged]
    yield from _table("Unchanged", found, same, folded=True)


def _verdict(diff: ReportDiff) -> str:
    new = [x.finding for x in diff.added]
    new += [x.new for x in diff.changed if not fails(x.old, Severity.ERROR)]
    number = len([x for x in new if fails(x, Severity.ERROR)])
    return f"{counted(number, 'new error')}." if number else "No new errors."


def _table(
    heading: str, columns: Sequence[str], rows: Sequence[Sequence[str]], *, folded: bool = False
) -> Iterator[Unit]:
    """The rows of a table, behind a click if there are many."""
    fold = folded or len(rows) > _OPEN
    title = f"{heading}: {len(rows)}"
    opening = (
        f"<details><summary>{title}</summary>" if fold else f"#### {title}",
        "",
        f"| {' | '.join(columns)} |",
        f"|{' --- |' * len(columns)}",
    )
    closing = ("", "</details>", "") if fold else ("",)
    for row in rows:
        yield Unit(heading, (f"| {' | '.join(row)} |",), opening, closing)


def _finding(finding: Finding) -> tuple[str, str, str, str, str]:
    place = f"{finding.file}:{finding.line}"
    word = word_of(finding)
    reach = "" if finding.reach == "reachable" else f" ({finding.reach})"
    what = escaped(finding.message) + reach
    return word, cell(finding.rule), cell(place), cell(finding.symbol), what


def _changes(kept: Kept) -> str:
    return "; ".join(
        f"{x.field}: {escaped(x.old) or 'no'} → {escaped(x.new) or 'no'}" for x in kept.changes
    )


def _variant(change: VariantChange) -> tuple[str, str, str, str, str]:
    shown = change.new or change.old
    if shown is None:
        raise AssertionError("a change has a side")
    layers = _layers(shown)
    if change.change == "changed" and change.old is not None:
        layers += f", was {_layers(change.old)}"
    handed = f" to {cell(shown.callee)}" if shown.callee else ""
    place = cell(_at(shown))
    events = cells(use.event for use in shown.events)
    return f"{change.change}: {shown.kind}{handed}", place, cell(shown.symbol), layers, events


def _at(variant: Variant) -> str:
    return f"{variant.file}:{variant.line}"


def _layers(variant: Variant) -> str:
    return cell(" or ".join(variant.layers))


def _source(source: Source) -> str:
    version = f" ({code(source.version)})" if source.version else ""
    return code(source.label) + version
