"""Code of the framework that proves a fact about it; data only."""

from msgspec import Struct


class Anchor(Struct, frozen=True, forbid_unknown_fields=True):
    """Code that must be there for a fact to hold: ``text`` in one of ``files`` (globs)."""

    files: tuple[str, ...]
    text: str
