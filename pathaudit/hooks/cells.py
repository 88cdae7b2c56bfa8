"""What the events of a module come to: which kinds of hook fire."""

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from pathaudit.hooks.events import CALLED, FORWARD, HANDED, RAISES, Event
from pathaudit.results.hooks import HookCell, HookPlace

FIRES, NO, PARTLY, NOT_RUN, UNKNOWN = "fires", "no", "partly", "not run", "unknown"
PATCH_ONLY, HOOK_ONLY, REPLAY, RAISED = "patch only", "hook only", "replay", "raises"


def cell_of(variant: str, events: Sequence[Event], *, elsewhere: bool) -> HookCell:
    """The cell of one module; ``elsewhere`` if another variant runs it, so that this one may not.

    With no place at all it is not known whether, or how, the module runs.
    """
    places = tuple(_place(event) for event in events)
    known = [event.how for event in events if event.how != HANDED]
    if not known:
        answer = NOT_RUN if elsewhere and not events else UNKNOWN
        return HookCell(
            variant=variant,
            answer=answer,
            registered=answer,
            patched=answer,
            around=answer,
            places=places,
        )
    registered = _share(known, {CALLED})
    patched = _share(known, {CALLED, FORWARD})
    raises = all(how == RAISES for how in known)
    return HookCell(
        variant=variant,
        answer=RAISED if raises else _answer(registered, patched),
        registered=registered,
        patched=patched,
        around=NO if raises else FIRES,
        places=places,
        open=len(known) < len(events),
    )


def replayed(cell: HookCell, *, whole: bool) -> HookCell:
    """The cell where what runs the module was recorded: the ``whole`` forward, or a part of it."""
    if cell.answer in (NOT_RUN, UNKNOWN):
        return cell
    answer = cell.answer if cell.answer in (NO, RAISED) else REPLAY
    around = NO if whole else cell.around
    return replace(cell, answer=answer, registered=NO, patched=NO, around=around)


def replaced(cell: HookCell) -> HookCell:
    """The cell of a module whose own forward is replaced by one that replays."""
    if cell.registered == FIRES:
        return replace(cell, answer=HOOK_ONLY, patched=NO)
    return replayed(cell, whole=False)


def undecided(cell: HookCell) -> HookCell:
    """The cell of a variant that replays what was not found."""
    return replace(
        cell, answer=UNKNOWN, registered=UNKNOWN, patched=UNKNOWN, around=UNKNOWN, places=()
    )


def _share(known: Iterable[str], firing: set[str]) -> str:
    found = {how in firing for how in known}
    return PARTLY if len(found) == 2 else FIRES if True in found else NO


def _answer(registered: str, patched: str) -> str:
    return PATCH_ONLY if registered == NO and patched == FIRES else registered


def _place(event: Event) -> HookPlace:
    return HookPlace(
        how=event.how,
        file=event.file,
        line=event.line,
        end_line=event.end_line,
        within=event.within,
        text=event.text,
        when=event.when,
        layers=event.layers,
        via=event.via,
    )
