"""Short phrases that say one thing of a result: a place, a condition, a few names, a count."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from pathaudit.reporters.escaping import visible
from pathaudit.reporters.terminal import GLUE, PATH_LENGTH, Styled, cut
from pathaudit.results import (
    EntryReport,
    Finding,
    Gap,
    GraphNode,
    PathReport,
    Reach,
    Report,
    Severity,
    Sibling,
    Site,
    Source,
    Verdict,
)
from pathaudit.results.settings import LeftOut

_NAMES = 3
REACHES = {
    Reach.REACHABLE: "",
    Reach.GATED: "gated: a startup check or scheduler branch keeps this path from running",
    Reach.BLOCKED: "blocked: this path raises an exception before it gets here",
    Reach.DORMANT: "dormant: nothing arms the feature that this path belongs to",
}
LONGEST_COMPARED = 160  # characters of the condition of a place that does it right

# Gives the path of a file of the tree as it is for the reader, from the root of a repository.
Locate = Callable[[str], str]

# What a reader is told first.
WORDS = ("error", "warning", "unknown", "note", "suppressed")


def here(file: str) -> str:
    """The path of a file as it is in the tree."""
    return file


def by_urgency(findings: Iterable[Finding]) -> list[Finding]:
    """Findings with the worst first; those of one severity in the order of the report."""
    return sorted(findings, key=lambda finding: WORDS.index(word_of(finding)))


def word_of(finding: Finding) -> str:
    """The word in front of a finding: its severity, unless it is suppressed or undecided."""
    if finding.suppressed is not None:
        return "suppressed"
    return "unknown" if finding.verdict is Verdict.UNKNOWN else finding.severity.value


def place_of(region: Finding | Sibling | Site | EntryReport | Gap) -> str:
    """File and line; what has no line is about the whole file."""
    path = shown_path(region.file)
    return f"{path}:{region.line}" if region.line > 0 else path


def shown_path(file: str) -> str:
    """A path is never broken nor cut, so that it can be opened, unless it is absurdly long."""
    return cut(visible(file), PATH_LENGTH)


def when(condition: str) -> str:
    """A condition as the end of a sentence."""
    return "always" if condition == "always" else f"when{GLUE}{condition_text(condition)}"


def layers_run(ran: PathReport | Site | GraphNode) -> str:
    """The layers of a run, kept on one line; nothing if they are not known."""
    return f"layers {visible(ran.layers)}".replace(" ", GLUE) if ran.layers else ""


def condition_text(text: str) -> str:
    """Let a condition break before ``and`` and ``or`` as long as each part fits on a line."""
    return re.sub(r" (?!(?:and|or) )", GLUE, visible(text))


def prose(text: str, told: frozenset[str]) -> str:
    """A rule's own text, whose line breaks only fold it."""
    folded = visible(" ".join(text.split()))
    return "as above" if folded and text in told else folded


def listed(names: Sequence[str], everything: bool = False) -> str:
    """Names with commas: a few, and how many more there are, or everything."""
    shown = names if everything else names[:_NAMES]
    text = ", ".join(cut(visible(name), PATH_LENGTH) for name in shown)
    return text if len(shown) == len(names) else f"{text} and {len(names) - len(shown)} more"


def counted(number: int, singular: str, plural: str = "") -> str:
    """A number with its noun, in the plural where it needs one."""
    return f"{number} {singular if number == 1 else plural or singular + 's'}"


def source_name(source: Source) -> str:
    """The tree, with its version unless the name has it."""
    label, version = visible(source.label), version_beside(source)
    return f"{label} (version{GLUE}{visible(version)})" if version else label


def version_beside(source: Source) -> str:
    """The version of a tree; nothing if it has none or its name has it."""
    version = source.version or ""
    named = re.search(rf"(?<![\w.]){re.escape(version)}(?![\w.])", visible(source.label))
    return "" if named else version


def answer_of(report: Report) -> Styled:
    """The answer in a few words; it is good news only when something was judged and all holds."""
    counts = report.summary
    numbers = {
        Severity.ERROR: counts.errors,
        Severity.WARNING: counts.warnings,
        Severity.NOTE: counts.notes,
    }
    found = [severity for severity in numbers if numbers[severity]]
    if found:
        return found[0].value, ", ".join(counted(numbers[s], s.value) for s in found)
    if counts.unknown:
        return "unknown", "No findings, but not everything could be decided"
    if not counts.sites and report.files:
        return "good", "No audited path depends on these files"
    if not counts.sites:
        return "warning", "Nothing was judged"
    if counts.holds < counts.sites or counts.gaps or _leaves_out(report):
        return "good", "No findings"
    return "good", "Every path holds"


def left_out_phrases(left: LeftOut | None) -> Iterator[str]:
    """What the settings leave out; said even where that is nothing, if they exclude files."""
    if left is not None:
        findings, gaps = counted(left.findings, "finding"), counted(left.gaps, "gap")
        entries = counted(left.entries, "entry", "entries")
        yield f"left out by `exclude`: {findings}, {entries}, {gaps}"


def _leaves_out(report: Report) -> bool:
    left = report.left_out
    return left is not None and bool(left.findings or left.entries or left.gaps)
