"""Whether a target runs on every path, as data; the answer of ``reach``."""

from enum import StrEnum

from msgspec import Struct

from pathaudit.results import Gap, Source


class Extent(StrEnum):
    """On which paths a target runs."""

    EVERY = "every"
    SOME = "some"
    NONE = "none"
    UNKNOWN = "unknown"


class Hop(Struct, frozen=True, kw_only=True):
    """A function on the way from an entry to the target, and where it is defined."""

    symbol: str
    file: str
    line: int


class Range(Struct, frozen=True, kw_only=True):
    """Layers that run with the target, or without it, at one place that runs layers.

    ``condition`` says when (``always`` without any). ``by`` names the callee that the layers go to,
    ``variant`` what the framework calls such a path. ``controls`` are the flags that select it.
    ``beside`` where the same place also runs layers the other way.
    """

    layers: str
    condition: str
    file: str
    line: int
    symbol: str = ""
    by: str = ""
    variant: str = ""
    controls: tuple[str, ...] = ()
    beside: bool = False


class EntryReach(Struct, frozen=True, kw_only=True):
    """A target and one method of served classes that share the answer.

    Of a target that belongs to layers, ``runs`` and ``bypasses`` tell of layers; of any other,
    they tell of whole calls of the method, and their ``layers`` are empty. ``classes`` are those
    that are served, ``drafts`` those of them that are drafts. ``raises`` are conditions of paths
    that run the target and then raise. ``reason`` says why it runs on no path, or why that is
    not known.
    """

    method: str
    extent: Extent
    classes: tuple[str, ...]
    drafts: tuple[str, ...]
    runs: tuple[Range, ...]
    bypasses: tuple[Range, ...]
    chain: tuple[Hop, ...]
    raises: tuple[str, ...] = ()
    given: tuple[str, ...] = ()
    reason: str = ""


class TargetReach(Struct, frozen=True, kw_only=True):
    """One target, or one part of a patch.

    ``extent`` is over all that can reach it. ``places`` are where it stands, more than one for a
    pattern. ``within`` is the line of a part around it, 0 without one. ``reason`` says why nothing
    reaches it, and ``notes`` what else there is to know.
    """

    file: str
    line: int
    last: int
    symbol: str
    text: str
    extent: Extent
    entries: tuple[EntryReach, ...]
    absent: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    within: int = 0
    reason: str = ""
    notes: tuple[str, ...] = ()


class VariantNote(Struct, frozen=True, kw_only=True):
    """A way to run that has no Python of its own: a fact of the profile whose code is there."""

    title: str
    remark: str


class ReachReport(Struct, frozen=True, kw_only=True):
    """The answer of ``reach``.

    ``standing`` of a patch says whether the tree has it: ``patched`` or ``unpatched``; the answer
    is that of the tree with it. ``others`` are files of the patch that are no part of the tree.
    """

    tool: str
    request: str
    source: Source
    targets: tuple[TargetReach, ...]
    entries: int
    variants: tuple[VariantNote, ...] = ()
    standing: str = ""
    others: tuple[str, ...] = ()
    gaps: tuple[Gap, ...] = ()
    schema: int = 1
