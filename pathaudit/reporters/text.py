"""The report for people at a terminal: diagnostics like a compiler's, then a summary.

Columns are computed on plain text and colour is painted last, so it never moves anything. All that
comes from the audited code passes ``escaping.visible`` before it is measured or written.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TextIO

from pathaudit.reporters.diagnostics import Block, block_lines, marked_spots
from pathaudit.reporters.escaping import visible
from pathaudit.reporters.known import known_lines
from pathaudit.reporters.phrases import (
    REACHES,
    answer_of,
    by_urgency,
    counted,
    layers_run,
    left_out_phrases,
    listed,
    place_of,
    source_name,
    when,
    word_of,
)
from pathaudit.reporters.snippets import numbers_shown
from pathaudit.reporters.terminal import GLUE, Line, Page, cut, hanging, table, write_lines
from pathaudit.results import EntryReport, Finding, Gap, Report, Site, Verdict

_NARROWEST = 40
_IN_FULL = 20  # findings of one kind that are shown with their source lines
_ALIKE = 3  # notes of one rule that are told together
_GAPS = 10
# What tells a word of the code from a word of a sentence.
_NAME = re.compile(r"[\d_.()\[\]'\"`]")


def render(
    report: Report,
    out: TextIO,
    *,
    excerpts: Mapping[str, Mapping[int, str]],
    width: int = 80,
    color: bool = False,
    verbose: bool = False,
    positive: bool = False,
    seconds: float | None = None,
) -> None:
    """Write the report to ``out`` in ``width`` columns.

    ``excerpts`` maps a file to its source lines by number, without their line ends; those that
    ``lines_wanted`` names are enough, and a missing one is not shown. ``verbose`` adds suppressed
    findings, what holds, and all gaps, ``positive`` only what holds. ``seconds`` is the elapsed
    time for the summary.
    """
    page = Page(excerpts, max(width, _NARROWEST), verbose)
    write_lines(_lines(report, page, positive or verbose, seconds), out, color)


def lines_wanted(report: Report) -> Mapping[str, frozenset[int]]:
    """Return the numbers of the source lines that ``render`` may show, by file."""
    wanted: defaultdict[str, frozenset[int]] = defaultdict(frozenset)
    for block in _blocks(report, verbose=True):
        if block.form == "full":
            spots = marked_spots(block.findings[0], verbose=True)
            for file in dict.fromkeys(spot.file for spot in spots):
                wanted[file] |= frozenset(
                    numbers_shown(spot for spot in spots if spot.file == file)
                )
    return dict(wanted)


def _lines(report: Report, page: Page, positive: bool, seconds: float | None) -> Iterator[Line]:
    blocks = _blocks(report, page.verbose)
    told: frozenset[str] = frozenset()
    for block in blocks:
        if block.form != "short":
            yield from block_lines(block, page, told)
            yield ()
            told |= {block.findings[0].why, block.findings[0].fix}
    yield from _shortened([block for block in blocks if block.form == "short"], page)
    if positive:
        yield from _entries(report.entries, page)
    yield from known_lines(report, page)
    yield from _gaps(report.gaps, page)
    yield from _summary(report, page, seconds)


def _blocks(report: Report, verbose: bool) -> list[Block]:
    shown = by_urgency(f for f in report.findings if verbose or f.suppressed is None)
    blocks = _gathered([block for group in _alike(shown) for block in _split(group)])
    full = _in_full(blocks)
    rest = [f for i, block in enumerate(blocks) if i not in full for f in block.findings]
    return [
        *(block for i, block in enumerate(blocks) if i in full),
        *(Block(group, "short") for group in _alike(rest)),
    ]


def _alike(findings: Iterable[Finding]) -> list[tuple[Finding, ...]]:
    """Group findings that say the same of different places, in the order of their first."""
    groups: defaultdict[tuple[str, ...], list[Finding]] = defaultdict(list)
    for f in findings:
        reason = f.suppressed or ""
        groups[word_of(f), f.rule, f.severity, f.reach, reason, f.message, f.why].append(f)
    return [tuple(group) for group in groups.values()]


def _split(group: tuple[Finding, ...]) -> list[Block]:
    word = word_of(group[0])
    if len(group) > (1 if word == "note" else 2):
        return [Block(group, "full" if word == "error" else "list")]
    return [Block((finding,), "full") for finding in group]


def _gathered(blocks: Sequence[Block]) -> list[Block]:
    """Put notes of one rule together that differ only in what they say of each place."""
    groups: defaultdict[object, list[Block]] = defaultdict(list)
    for block in blocks:
        first = block.findings[0]
        alone = word_of(first) == "note" and block.form == "full"
        key = (first.rule, first.reach, first.why) if alone else id(block)
        groups[key].append(block)
    found: list[Block] = []
    for group in groups.values():
        findings = tuple(finding for block in group for finding in block.findings)
        found += [Block(findings, "gathered")] if len(group) >= _ALIKE else group
    return found


def _in_full(blocks: Sequence[Block]) -> frozenset[int]:
    """Positions of the blocks that are not shortened: the first of each kind of message first."""
    firsts: dict[tuple[str, ...], int] = {}
    for position, block in enumerate(blocks):
        firsts.setdefault(_shape(block.findings[0]), position)
    kept = {position for position, block in enumerate(blocks) if block.form != "full"}
    spent: Counter[str] = Counter()
    for position in [*firsts.values(), *range(len(blocks))]:
        word = word_of(blocks[position].findings[0])
        if position not in kept and spent[word] < _IN_FULL:
            spent[word] += 1
            kept.add(position)
    return frozenset(kept)


def _shape(finding: Finding) -> tuple[str, ...]:
    """What a message says when the names, ranges and numbers in it are left out."""
    words = ("*" if _NAME.search(word) else word for word in finding.message.split())
    return word_of(finding), finding.rule, " ".join(words)


def _shortened(blocks: Sequence[Block], page: Page) -> Iterator[Line]:
    if not blocks:
        return
    count = counted(sum(len(block.findings) for block in blocks), "more finding")
    yield from hanging((), f"{count} in short; --format json has all of each:", 2, page)
    yield ()
    for block in blocks:
        yield from block_lines(block, page, frozenset())
    yield ()


def _entries(entries: Sequence[EntryReport], page: Page) -> Iterator[Line]:
    """What was judged, with where the required event happens: the positive answer."""
    for rule in dict.fromkeys(entry.rule for entry in entries):
        yield (("bold", f"entries judged by {cut(visible(rule), 40)}:"),)
        judged = [entry for entry in entries if entry.rule == rule]
        yield from table([_entry(entry) for entry in judged], 2, page)
        yield ()


def _entry(entry: EntryReport) -> tuple[str, str, str]:
    place = f"{entry.verdict:<8}  {place_of(entry)}"
    remarks = [REACHES[entry.reach].partition(":")[0]]
    if entry.verdict is Verdict.HOLDS:
        evidence = dict.fromkeys(text for site in entry.sites for text in site.evidence)
        verb = "captures" if "capture" in entry.rule else "happens"
        remarks.append(f"{verb} at {listed(tuple(evidence))} on every path" if evidence else "")
    remarks += [_site(site, entry) for site in entry.sites if site.verdict is not Verdict.HOLDS]
    return place, visible(entry.entry), "; ".join(filter(None, remarks))


def _site(site: Site, entry: EntryReport) -> str:
    place = f"{'' if site.verdict is entry.verdict else f'{site.verdict} '}at {place_of(site)}"
    condition = when(site.condition) if site.condition else ""
    return ", ".join(filter(None, (place, layers_run(site), condition)))


def _gaps(gaps: Sequence[Gap], page: Page) -> Iterator[Line]:
    shown = gaps if page.verbose else gaps[:_GAPS]
    for gap in shown:
        lead = (("warning", f"gap[{visible(gap.kind)}]"), ("", ": "))
        entries = listed(gap.entries, page.verbose)
        unknown = f" (leaves {entries} unknown)" if entries else ""
        said = ": ".join(filter(None, (place_of(gap), visible(gap.message))))
        yield from hanging(lead, said + unknown, 4, page)
    if len(gaps) > len(shown):
        left = counted(len(gaps) - len(shown), "more gap")
        yield (("", f"{left}; --verbose lists all {len(gaps)}"),)
    if gaps:
        yield ()


def _summary(report: Report, page: Page, seconds: float | None) -> Iterator[Line]:
    counts = report.summary
    parts = [
        f"{counted(counts.entries, 'entry', 'entries')} audited, "
        f"{counted(counts.sites, 'layer-running site')} judged: "
        f"{counted(counts.holds, 'holds', 'hold')}, "
        f"{counts.violated} violated, {counts.unknown} unknown",
        f"{counts.suppressed} suppressed",
        counted(counts.gaps, "gap"),
        *left_out_phrases(report.left_out),
    ]
    if seconds is not None:
        parts.append(f"{seconds:.1f} s")
    about = f", for {counted(len(report.files), 'file')}" if report.files else ""
    text = f"in {source_name(report.source)}{about}: {'; '.join(parts)}"
    yield from hanging(
        (answer_of(report), ("", " ")), re.sub(r"(?<=\d) (?=\w)", GLUE, text), 2, page
    )
    yield from _uncovered(report.gaps, page)
    if report.inert:
        lead = (("warning", "Nothing to look at in this tree for:"), ("", " "))
        yield from hanging(lead, ", ".join(map(visible, report.inert)), 2, page)


def _uncovered(gaps: Sequence[Gap], page: Page) -> Iterator[Line]:
    """What the answer says nothing of: files that were not read, entries that became unknown."""
    files = [gap.file for gap in gaps if gap.kind == "file"]
    entries = [entry for gap in gaps if gap.kind != "file" for entry in gap.entries]
    if files or entries:
        lead = (("warning", "Not covered by this answer:"), ("", " "))
        names = tuple(dict.fromkeys(files + entries))
        yield from hanging(lead, listed(names, page.verbose), 2, page)
