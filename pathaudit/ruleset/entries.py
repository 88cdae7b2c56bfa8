"""Which classes a framework serves, as data."""

from msgspec import Struct


class Entries(Struct, frozen=True, forbid_unknown_fields=True):
    """Which classes are served, and which of their methods the framework calls.

    ``batch`` is the parameter through which what runs decoder layers is given the batch; ``assume``
    names what is assumed of it where somebody asks which code runs.
    """

    variable: str
    methods: tuple[str, ...]
    batch: str = ""
    assume: tuple[str, ...] = ()
