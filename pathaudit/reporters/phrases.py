"""Short phrases that say one thing of a result: a place, a condition, a few names, a count."""

import re
from collections.abc import Iterator, Sequence

from pathaudit.reporters.escaping import visible
from pathaudit.reporters.terminal import GLUE, PATH_LENGTH, cut
from pathaudit.results import (
    EntryReport,
    Finding,
    Gap,
    GraphNode,
    PathReport,
    Reach,
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
    label, version = visible(source.label), source.version
    if version is None or re.search(rf"(?<![\w.]){re.escape(version)}(?![\w.])", label):
        return label
    return f"{label} (version{GLUE}{visible(version)})"


def left_out_phrases(left: LeftOut | None) -> Iterator[str]:
    """What the settings leave out; said even where that is nothing, if they exclude files."""
    if left is not None:
        findings, gaps = counted(left.findings, "finding"), counted(left.gaps, "gap")
        entries = counted(left.entries, "entry", "entries")
        yield f"left out by `exclude`: {findings}, {entries}, {gaps}"
