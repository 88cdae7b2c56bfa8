"""One finding, or several of one kind, the way a compiler reports it."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from msgspec import Struct

from pathaudit.reporters.escaping import visible
from pathaudit.reporters.phrases import (
    LONGEST_COMPARED,
    REACHES,
    condition_text,
    counted,
    layers_run,
    listed,
    place_of,
    prose,
    shown_path,
    when,
    word_of,
)
from pathaudit.reporters.snippets import Spot, last_shown, source_lines, spot_of
from pathaudit.reporters.terminal import GLUE, Line, Page, cut, hanging, table
from pathaudit.results import Finding, PathReport, Sibling, Step, Value

_STEPS = 16  # steps of one path that are shown, the nearest to the site
_PATHS = 4  # ways to reach one site
_GATHERED = 12  # places of one rule that are shown with what is wrong there
_KEY = len("suppressed: ")


class Block(Struct, frozen=True):
    """Findings shown together: the first with its source lines if ``full``, the rest as a list.

    ``gathered`` are findings of one rule whose messages differ: below its title, each with its own.
    """

    findings: tuple[Finding, ...]
    form: Literal["full", "list", "gathered", "short"]


def block_lines(block: Block, page: Page, told: frozenset[str]) -> Iterator[Line]:
    """Yield the lines of a block.

    ``told`` are texts that an earlier block gave, so that they need not be read again.
    """
    first, count = block.findings[0], len(block.findings)
    gathered = block.form == "gathered"
    yield from _header(first, first.title if gathered else first.message, page)
    if block.form == "full":
        yield from _diagnostic(first, page, told)
        if count > 1:
            yield (("", f"  the same at {counted(count - 1, 'more place')}:"),)
            yield from _places(block.findings[1:], page, first.condition)
        return
    if block.form in ("list", "gathered"):
        known = [attributes(finding, told, page.verbose) for finding in block.findings]
        common = [item for item in known[0] if all(item in other for other in known[1:])]
        yield from _attribute_lines(common, 2, page)
        yield (("", f"  at {counted(count, 'place')}:"),)
    if gathered:
        yield from _told_places(block.findings, page)
        return
    yield from _places(block.findings, page, first.condition if block.form == "list" else None)


def _told_places(findings: Sequence[Finding], page: Page) -> Iterator[Line]:
    shown = findings if page.verbose else findings[:_GATHERED]
    for finding in shown:
        yield (("", f"    {place_of(finding)}"),)
        yield from hanging((("", " " * 6),), visible(finding.message), 6, page)
    if len(findings) > len(shown):
        left = counted(len(findings) - len(shown), "more place")
        yield (("", f"    {left}; --verbose lists all {len(findings)}"),)


def _header(finding: Finding, message: str, page: Page) -> Iterator[Line]:
    word = word_of(finding)
    lead = ((word, f"{word}[{cut(visible(finding.rule), 40)}]"), ("bold", ": "))
    yield from hanging(lead, visible(message), 4, page, "bold")


def _diagnostic(finding: Finding, page: Page, told: frozenset[str]) -> Iterator[Line]:
    marks = marked_spots(finding, page.verbose)
    gutter = max(len(str(last_shown(spot))) for spot in marks)
    blank: Line = (("dim", " " * gutter + " |"),)
    for file in dict.fromkeys(spot.file for spot in marks):
        spots = {spot: label for spot, label in marks.items() if spot.file == file}
        source = list(source_lines(spots, finding, gutter, page))
        first = next(iter(spots))
        if file == finding.file or source:
            arrow = "-->" if file == finding.file else ":::"
            where = f"{shown_path(file)}:{first.line}:{first.column + 1}"
            yield ("dim", " " * gutter + arrow + " "), ("", where)
            yield blank
        yield from source
        if source:
            yield blank
    yield from _attribute_lines(attributes(finding, told, page.verbose), gutter + 1, page)


def marked_spots(finding: Finding, verbose: bool) -> dict[Spot, str]:
    """Regions to underline with their labels: that of the finding, then those of its steps."""
    labels: dict[Spot, list[str]] = {spot_of(finding): []}
    for step in finding.steps if verbose else finding.steps[-_STEPS:]:
        spot = spot_of(finding) if _is_site(step, finding) else spot_of(step)
        labels.setdefault(spot, []).append(_outcome(step))
    if finding.layers:
        labels[spot_of(finding)] = labels[spot_of(finding)] or ["these layers run here"]
    return {spot: "; ".join(dict.fromkeys(filter(None, labels[spot]))) for spot in labels}


def _is_site(step: Step, finding: Finding) -> bool:
    """Is this step the finding's own statement, so that one underline is enough?"""
    if (step.file, step.line) != (finding.file, finding.line):
        return False
    return step.column == finding.column or step.kind != "branch"


def _outcome(step: Step) -> str:
    if step.taken is None:
        return visible(step.text)
    return "taken" if step.taken else "not taken"


def attributes(
    finding: Finding, told: frozenset[str] = frozenset(), verbose: bool = False
) -> list[tuple[str, str]]:
    """What is known of a finding beside its source, as key and text, in the order shown.

    ``told`` are texts that were given before. A space that is not to be broken is ``GLUE``.
    """
    items = [
        ("suppressed", visible(finding.suppressed or "no reason given")),
        ("reach", REACHES[finding.reach]),
        ("proof", visible(finding.paths[0].proof) if finding.paths else ""),
        ("in", visible(finding.symbol)),
        ("when", condition_text(finding.condition)),
        ("layers", visible(finding.layers)),
        ("example", _witness(finding.witness)),
        ("steps", _hidden_steps(finding, verbose)),
        *(("also when", text) for text in _other_paths(finding, verbose)),
        *(("compare", _sibling(sibling)) for sibling in finding.siblings),
        ("enabled by", ", ".join(map(visible, finding.controls))),
        ("for", _audience(finding, verbose)),
        ("effect", visible(finding.effect)),
        ("why", prose(finding.why, told)),
        ("fix", prose(finding.fix, told)),
    ]
    if finding.suppressed is None:
        del items[0]
    return [(key, text) for key, text in items if text]


def _attribute_lines(items: Iterable[tuple[str, str]], indent: int, page: Page) -> Iterator[Line]:
    for key, text in items:
        lead = (("dim", " " * indent + "= "), ("bold", f"{key}:".ljust(_KEY)))
        yield from hanging(lead, text, indent + 2 + _KEY, page)


def _witness(witness: Iterable[Value]) -> str:
    return ", ".join(f"{visible(v.name)} = {v.value}".replace(" ", GLUE) for v in witness)


def _hidden_steps(finding: Finding, verbose: bool) -> str:
    hidden = 0 if verbose else len(finding.steps) - _STEPS
    return f"{counted(hidden, 'earlier one')} not shown (--verbose)" if hidden > 0 else ""


def _other_paths(finding: Finding, verbose: bool) -> list[str]:
    others = finding.paths[1:]
    shown = others if verbose else others[: _PATHS - 1]
    texts = [_other_path(path, finding) for path in shown]
    left = len(others) - len(shown)
    return [*texts, f"{counted(left, 'more path')} (--verbose)"] if left else texts


def _other_path(path: PathReport, finding: Finding) -> str:
    condition = condition_text(path.condition)
    if path.proof and path.reach is not finding.reach:
        return f"{condition}, but that path is {path.reach}: it {visible(path.proof)}"
    if path.layers == finding.layers:
        return condition
    return f"{condition}; {layers_run(path)}"


def _sibling(sibling: Sibling) -> str:
    """A condition too long to compare with at a glance is left to the JSON report."""
    text = f"{place_of(sibling)} {visible(sibling.text) or 'does it right'}"
    known = len(sibling.condition) <= LONGEST_COMPARED
    return f"{text}, {when(sibling.condition)}" if known else text


def _audience(finding: Finding, verbose: bool) -> str:
    served = listed(finding.entries, verbose)
    parts = [listed(finding.features, verbose), f"served as {served}" if served else ""]
    return "; ".join(filter(None, parts))


def _places(findings: Sequence[Finding], page: Page, known: str | None = None) -> Iterator[Line]:
    """One row for each finding: where, in what, and when unless all run when ``known`` says."""
    told = all(finding.condition == known for finding in findings)
    rows = [(place_of(f), visible(f.symbol), "" if told else when(f.condition)) for f in findings]
    yield from table(rows, 4, page)
