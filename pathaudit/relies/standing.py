"""What is wrong with where the hunks of a patch stand: lost, in the way, or there already."""

from collections.abc import Iterator

from msgspec import Struct

from pathaudit.relies.hunks import Placed, State
from pathaudit.results import Severity
from pathaudit.ruleset.patches import Hunk, Reliance

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

    Of a hunk in one of the functions that are ``lost``, by the patch's path and name, it has been
    said that it cannot fit.
    """
    present = [item for item in placed if item.state is State.PRESENT]
    if placed and len(present) == len(placed):
        if not reliance.patched:
            yield _contained(present, len(placed))
        return
    known = {(file.path, hunk) for file in reliance.files for hunk in file.hunks}
    for item in placed:
        here = next(path for path, hunk in known if hunk is item.hunk)
        if (here, item.hunk.symbol) in lost or item.state is State.PRESENT:
            continue
        if reliance.patched:
            yield _missing(item)
        elif item.state is State.BLOCKED:
            yield _blocked(item)
    if present and not reliance.patched:
        yield _contained(present, len(placed))


def _contained(present: list[Placed], count: int) -> StandingFault:
    first = present[0]
    if len(present) == count:
        how = "is in this tree already"
        effect = "to apply it fails, or does it twice: drop it"
        severity = Severity.NOTE
    else:
        how = f"is in this tree in part: {len(present)} of {count} hunks"
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
        how += "; the file is gone"
    elif item.expected:
        how += f"; nor is {_quoted(item.expected)}, which it needs"
    return _fault(item, how, "lost", Severity.ERROR, "what the patch does is not done")


def _blocked(item: Placed) -> StandingFault:
    if item.missing:
        how = f"changes {item.file}, which is gone"
        return _fault(item, how, "blocked", Severity.ERROR, "the patch does not apply")
    how = f"does not fit any more{_place(item)}: "
    if not item.expected:
        how += "its lines are there, but not one after the other"
    else:
        how += f"there is no line {_quoted(item.expected)}"
        if item.instead and item.instead != item.expected:
            how += f", but {_quoted(item.instead)}"
    return _fault(item, how, "blocked", Severity.WARNING, "the patch does not apply")


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
