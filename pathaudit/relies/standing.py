"""What is wrong with where the hunks of a patch stand: lost, in the way, or there already."""

from collections.abc import Iterator

from msgspec import Struct

from pathaudit.relies.hunks import Placed, State
from pathaudit.results import Severity
from pathaudit.ruleset.patches import Hunk, Reliance

NOT_APPLIED = "the patch does not apply"

_SHOWN = 60


class StandingFault(Struct, frozen=True):
    """A hunk that is not as it should be; ``how`` follows on the patch's name."""

    file: str
    line: int
    symbol: str
    how: str
    kind: str
    severity: Severity
    effect: str


def hunk_faults(
    reliance: Reliance, placed: tuple[Placed, ...], lost: frozenset[tuple[str, str]]
) -> Iterator[StandingFault]:
    """Judge where hunks stand, by whether the tree should have the patch.

    Of a hunk in one of the functions that are ``lost``, by file and name, it has been said that
    it cannot fit.
    """
    present = [item for item in placed if item.state is State.PRESENT]
    if placed and len(present) == len(placed):
        if not reliance.patched:
            yield _contained(present, len(placed))
        return
    told: set[str] = set()
    for item in placed:
        if item.state is State.PRESENT or (item.file, item.hunk.symbol) in lost:
            continue
        if reliance.patched:
            yield _missing(item)
        elif item.state is State.BLOCKED and not (item.missing and item.file in told):
            yield _blocked(item)
            told.add(item.file)
    if present and not reliance.patched:
        yield _contained(present, len(placed))


def _contained(present: list[Placed], count: int) -> StandingFault:
    first = present[0]
    if len(present) == count:
        how = "is in this tree already"
        effect = "to apply it fails, or does it twice: drop it"
        severity = Severity.NOTE
    else:
        how = f"is in this tree in part: {len(present)} of {count} hunks, here {_gist(first.hunk)}"
        effect = "it does not apply as a whole, or a merge has lost the rest"
        severity = Severity.WARNING
    return StandingFault(
        first.file, first.line, first.hunk.symbol, how, "contained", severity, effect
    )


def _missing(item: Placed) -> StandingFault:
    """The tree should have the patch, and does not have this hunk: a merge that dropped it."""
    how = f"is lost in this tree: {_gist(item.hunk)} is not there{_place(item)}"
    if item.state is State.FITS:
        how += "; it would fit"
    elif item.missing:
        how += ", nor is the file"
    elif item.expected:
        how += f", nor is {_quoted(item.expected)}, which it needs"
    how += _part(item)
    return _fault(item, how, "lost", Severity.ERROR, "what the patch does is not done")


def _blocked(item: Placed) -> StandingFault:
    if item.missing:
        how = f"changes {item.file}, which is not there"
        return _fault(item, how, "blocked", Severity.ERROR, NOT_APPLIED)
    how = f"does not fit{_place(item)}: "
    if not item.expected:
        between = f" such as {_quoted(item.instead)}" if item.instead else ""
        how += f"its lines are there, but with others between them{between}"
    else:
        how += f"there is no line {_quoted(item.expected)}"
        if item.instead and item.instead != item.expected:
            how += f", but {_quoted(item.instead)}"
    return _fault(item, how + _part(item), "blocked", Severity.WARNING, NOT_APPLIED)


def _part(item: Placed) -> str:
    """That most of what the hunk adds is there, in other words."""
    if item.there * 2 <= item.own:
        return ""
    return f"; {item.there} of the {item.own} lines that it adds are there"


def _fault(item: Placed, how: str, kind: str, severity: Severity, effect: str) -> StandingFault:
    named = f"{kind} {_gist(item.hunk)}"
    return StandingFault(item.file, item.line, item.hunk.symbol, how, named, severity, effect)


def _place(item: Placed) -> str:
    return f" in {item.hunk.symbol}" if item.hunk.symbol else ""


def _gist(hunk: Hunk) -> str:
    """The first line that a hunk adds and that stood nowhere, or takes out."""
    own = [hunk.lines[at][1:] for at in hunk.own if at < len(hunk.lines)]
    others = [text[1:] for text in hunk.lines if text[:1] in ("+", "-") and text[1:].strip()]
    return _quoted(next(iter([*own, *others]), ""))


def _quoted(text: str) -> str:
    plain = text.strip()
    return f"`{plain if len(plain) <= _SHOWN else plain[: _SHOWN - 3] + '...'}`"
