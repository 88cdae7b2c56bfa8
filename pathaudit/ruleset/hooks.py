"""Where hooks on modules fire: what the engine has to know of the framework."""

from msgspec import Struct

from pathaudit.ruleset.anchors import Anchor


class Variant(Struct, frozen=True, forbid_unknown_fields=True):
    """A way to run the forward: the entry method, what is assumed, and the code that shows it.

    One of ``anchors`` has to be there, if there are any. With ``replays`` no Python runs: what the
    first variant does was recorded, ``whole`` or only below the objects that own ``layers``.
    """

    name: str
    title: str
    short: str
    method: str
    assume: tuple[str, ...] = ()
    anchors: tuple[Anchor, ...] = ()
    replays: str = ""


class Hooks(Struct, frozen=True, forbid_unknown_fields=True):
    """Which variants there are, and what counts as using a module.

    ``weights`` are attributes, as globs, that something computes with; ``shapes`` of them only
    tell, as do calls that match ``looks``, of a module that they are given. ``containers`` hold
    modules, ``sequences`` call theirs. ``bases`` are globs of outside classes that modules derive
    from, ``plain`` names of classes beside these that are none. ``callers`` is the code that enters
    a served class, by method.
    """

    variants: tuple[Variant, ...] = ()
    weights: tuple[str, ...] = ()
    shapes: tuple[str, ...] = ()
    looks: tuple[str, ...] = ()
    containers: tuple[str, ...] = ()
    sequences: tuple[str, ...] = ()
    plain: tuple[str, ...] = ()
    bases: tuple[str, ...] = ()
    callers: dict[str, tuple[Anchor, ...]] = {}
