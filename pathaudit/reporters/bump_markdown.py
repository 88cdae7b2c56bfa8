"""What a change of dependencies brings, as Markdown for a comment on a pull request.

The answer, the pins and what was not audited come first, then what got worse with the lines of
both versions, then all else behind a click. What exceeds the limit of a comment is left out whole.
"""

import io
import re
from collections.abc import Iterator, Sequence
from typing import TextIO

from msgspec import Struct

from pathaudit.reporters import markdown
from pathaudit.reporters.bumps import (
    aim_text,
    dedented,
    errors_text,
    inert_text,
    is_gap,
    remarks_of,
    sign_of,
    summary_of,
    tree_said,
    unchanged_text,
    version_said,
)
from pathaudit.reporters.escaping import visible
from pathaudit.reporters.fitting import LIMIT, size
from pathaudit.reporters.markdown_text import cell, code, escaped, in_html, with_code
from pathaudit.reporters.phrases import counted, word_of
from pathaudit.reporters.terminal import cut
from pathaudit.results import Finding, Severity, fails
from pathaudit.results.bumps import (
    Arrival,
    BumpReport,
    Comparison,
    PinChange,
    Regression,
    pin_place,
)
from pathaudit.results.versions import Origin

MARKER = "<!-- pathaudit-bump -->"  # by which a comment is found again and replaced
_RESERVE = 300  # for what is said of the rest
_AROUND = 400  # what the click takes around all that changed
_LEAST = 2_000  # below which all that changed is not begun
_PINS = 40
_REMARKS = 20
_ODD = 20
_FEW = 5
_SHORT = 120  # characters of a name, or of what a pin says
_REASON = 300
_LISTED = 20
_LONGEST = 300  # characters of one line of code


class _Part(Struct, frozen=True):
    """Lines that are shown together or not at all, and what they are about."""

    about: str
    lines: tuple[str, ...]


def render(report: BumpReport, out: TextIO, *, limit: int = LIMIT) -> None:
    """Write what a change of dependencies brings to ``out``, in at most ``limit`` bytes."""
    head = [MARKER, *_head(report)]
    room = limit - size(head) - _RESERVE
    left: list[str] = []
    shown: list[str] = []
    for part in _parts(report):
        used = size(part.lines)
        if used > room:
            left.append(part.about)
        else:
            room -= used
            shown += part.lines
    for item in report.comparisons:
        whole = list(_whole(item, room))
        room -= size(whole)
        shown += whole
    lines = [*head, *shown, *_left(left)]
    encoding = out.encoding or "utf-8"
    text = "\n".join(lines).rstrip("\n") + "\n"
    out.write(text.encode(encoding, "backslashreplace").decode(encoding))


def _left(about: Sequence[str]) -> Iterator[str]:
    if about:
        yield ""
        number = counted(len(about), "part")
        yield f"**{number} left out, to fit into a comment;** `--format json` has all."


# ---- the answer, and the pins -------------------------------------------------------------------


def _head(report: BumpReport) -> Iterator[str]:
    pairs = [f"{_version(x)[0]} → {_version(x)[1]}" for x in report.comparisons]
    title = ", ".join(pairs[:3]) if pairs else escaped(summary_of(report)[1])
    yield f"### pathaudit: {escaped(report.package)} {title}"
    yield ""
    yield f"**{escaped(_answer(report))}** From {code(report.base)} to {code(report.head)}."
    yield ""
    yield from _changes(report.changes)
    yield from _warnings(report)


def _version(item: Comparison) -> tuple[str, str]:
    diff = item.diff
    return code(diff.old.version or item.old), code(diff.new.version or item.new)


def _answer(report: BumpReport) -> str:
    return ": ".join(filter(None, (summary_of(report)[1], errors_text(report)))) + "."


def _changes(changes: Sequence[PinChange]) -> Iterator[str]:
    if not changes:
        return
    yield "| pin | | was | is |"
    yield "| --- | --- | --- | --- |"
    for item in changes[:_PINS]:
        shown = item.new or item.old
        if shown is not None:
            was, now = (_cell(aim_text(aim)) if aim else "" for aim in (item.old, item.new))
            fields = f" {', '.join(item.fields)}" if item.change == "same" else ""
            change = f"same version; other{fields}" if fields else item.change
            yield f"| {_cell(pin_place(shown.pin))} | {change} | {was} | {now} |"
    yield ""
    if len(changes) > _PINS:
        yield f"and {len(changes) - _PINS} more pins"
        yield ""
    remarks = [(item, text) for item in changes[:_PINS] for text in remarks_of(item)]
    for item, text in remarks[:_REMARKS]:
        shown = item.new or item.old
        if shown is not None:
            yield f"- {_code(pin_place(shown.pin))} {_reason(text)}"
    if remarks:
        yield ""


def _warnings(report: BumpReport) -> Iterator[str]:
    """What nobody should overlook, as alerts."""
    if report.unfetched:
        yield "> [!CAUTION]"
        yield "> **Not audited, because it could not be had:**"
        for missing in report.unfetched[:_ODD]:
            tree = f"{_code(missing.tree)} " if tree_said(missing) else ""
            yield f"> - {tree}for {_codes(missing.pins)}: {_reason(missing.reason)}"
        yield ""
    for pair in report.comparisons:
        if pair.inert:
            yield "> [!CAUTION]"
            yield f"> **{escaped(inert_text(pair))}** {_codes(pair.inert)}"
            yield ""
    for item in report.disagreements:
        yield "> [!WARNING]"
        yield f"> **Pins that disagree {item.when} the change:**"
        for pin in item.pins[:_ODD]:
            version, text = _code(version_said(pin)), _code(pin.text)
            yield f"> - {_code(pin_place(pin))} {version} {text}"
        yield ""
    if report.gaps:
        yield "> [!WARNING]"
        yield "> **Dependency files that could not be read:**"
        for gap in report.gaps[:_ODD]:
            yield f"> - {_code(f'{gap.file}:{gap.line}')} {_reason(gap.message)}"
        yield ""


def _code(text: str) -> str:
    return code(cut(visible(text), _SHORT))


def _cell(text: str) -> str:
    return cell(cut(visible(text), _SHORT))


def _reason(text: str) -> str:
    return escaped(cut(visible(text), _REASON))


def _codes(texts: Sequence[str]) -> str:
    more = f" and {len(texts) - _FEW} more" if len(texts) > _FEW else ""
    return ", ".join(_code(text) for text in texts[:_FEW]) + more


# ---- the versions -------------------------------------------------------------------------------


def _parts(report: BumpReport) -> Iterator[_Part]:
    for item in report.comparisons:
        yield from _worse(item)
        yield from _fixed(item)
    for arrival in report.arrivals:
        yield _alone(arrival)


def _worse(item: Comparison) -> Iterator[_Part]:
    """What got worse in known code, with the lines of both versions; those that fail come first."""
    groups: dict[tuple[str, ...], list[Finding]] = {}
    for finding in _in_known_code(item):
        key = (finding.rule, finding.symbol, finding.message, word_of(finding))
        groups.setdefault(key, []).append(finding)
    ordered = sorted(groups.values(), key=lambda group: not _fails(group[0]))
    if ordered:
        old, new = _version(item)
        yield _Part("a heading", (f"#### Worse in {new} than in {old}", ""))
    for group in ordered:
        yield _Part("a finding", tuple(_group(group, item, folded=not _fails(group[0]))))


def _in_known_code(item: Comparison) -> Iterator[Finding]:
    yield from (x.finding for x in item.diff.added if x.origin is Origin.CHANGED)
    yield from (x.new for x in item.diff.changed if _fails(x.new) and not _fails(x.old))


def _fails(finding: Finding) -> bool:
    return fails(finding, Severity.ERROR, strict=True)


def _group(group: Sequence[Finding], item: Comparison, *, folded: bool) -> Iterator[str]:
    """Findings of one method with one message."""
    first = group[0]
    old, new = _version(item)
    if folded:
        what = f"{word_of(first)} [{first.rule}] in {first.symbol}: {first.message}"
        yield f"<details><summary>{in_html(what)}</summary>"
        yield ""
    title = f"{code(first.rule)} in {code(first.symbol)}"
    yield f"**{word_of(first)}** {title}: {escaped(first.message)}"
    yield ""
    known = {x.fingerprint: x for x in item.regressions}
    for finding in group:
        regression = known.get(finding.fingerprint)
        place = code(f"{finding.file}:{finding.line}")
        if regression is None:
            yield f"{new} {place}"
        else:
            was = code(f"{regression.old_file}:{regression.old_line}")
            yield f"{old} {was} → {new} {place}{unchanged_text(regression)}"
            yield ""
            yield from _code_block(regression)
        yield ""
    yield from _prose(first)
    if folded:
        yield "</details>"
        yield ""


def _prose(finding: Finding) -> Iterator[str]:
    served = f" Served as {_codes(finding.entries)}." if finding.entries else ""
    effect = f" Effect: {escaped(finding.effect).rstrip('.')}." if finding.effect else ""
    yield f"{with_code(_folded(finding.fix))}{effect}{served}"
    yield ""


def _folded(text: str) -> str:
    return " ".join(text.split())


def _code_block(item: Regression) -> Iterator[str]:
    """The lines of both versions with their numbers, as a patch; ``>`` marks the finding's."""
    texts = dedented(item.lines)
    longest = max((len(run) for text in texts for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    width = len(str(max(max(line.old, line.new) for line in item.lines)))
    yield f"{fence}diff"
    previous = None
    for line, text in zip(item.lines, texts, strict=True):
        if previous is not None and is_gap(previous, line):
            yield "  ..."
        previous = line
        old, new = (f"{number or '':>{width}}" for number in (line.old, line.new))
        mark = ">" if line.mark else "|"
        yield f"{sign_of(line)} {old} {new} {mark} {text[:_LONGEST]}".rstrip()
    yield fence


def _fixed(item: Comparison) -> Iterator[_Part]:
    """What is right now, and what was wrong with it."""
    if not item.diff.fixed:
        return
    old, new = _version(item)
    lines = [f"#### Fixed in {new}, wrong in {old}: {len(item.diff.fixed)}", ""]
    for ended in item.diff.fixed[:_LISTED]:
        finding = ended.finding
        place = code(f"{finding.file}:{finding.line}")
        text = escaped(f"{finding.message}; {ended.remark}" if ended.remark else finding.message)
        lines.append(f"- {word_of(finding)} {code(finding.rule)} {place} {text}")
    left = len(item.diff.fixed) - _LISTED
    lines += [f"- and {left} more, below"] if left > 0 else []
    yield _Part("what is fixed", (*lines, ""))


def _errors(item: Arrival) -> list[Finding]:
    return [x for x in item.report.findings if fails(x, Severity.ERROR)]


def _alone(item: Arrival) -> _Part:
    found = _errors(item)
    lines = [f"#### {code(item.tree)} was scanned alone", "", f"{escaped(item.reason)}.", ""]
    lines += [f"<details><summary>{counted(len(found), 'error')}</summary>", ""]
    lines += [f"- {code(x.rule)} {code(f'{x.file}:{x.line}')} {escaped(x.message)}" for x in found]
    return _Part("a scan", (*lines, "", "</details>", ""))


def _whole(item: Comparison, room: int) -> Iterator[str]:
    """Everything that ``diff`` tells, behind a click, as far as there is room for it."""
    if room < _LEAST:
        yield "**All that changed is left out, to fit into a comment;** `pathaudit diff` tells it."
        return
    buffer = io.StringIO()
    markdown.render(item.diff, buffer, limit=room - _AROUND)
    _, _, tables = buffer.getvalue().partition("\n### ")
    old, new = in_html(item.old), in_html(item.new)
    yield f"<details><summary>All that changed from {old} to {new}</summary>"
    yield from tables.rstrip("\n").split("\n")[1:]
    yield ""
    yield "</details>"
    yield ""
