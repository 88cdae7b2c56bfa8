"""Which served class supports what, as data: one row a class, one cell a question.

Lines count from 1; ``line`` 0 means the file as a whole. Files are relative to the tree.
"""

from enum import StrEnum

from msgspec import Struct

from pathaudit.results import Gap, Source


class Support(StrEnum):
    """What a cell says, from the worst to the best; ``-`` is what a class does not have at all.

    ``no``: it has it, and it fails or is lost on a path that can run. ``blocked``: the code raises
    before it runs. ``gated``: it is left out, or can lose nothing, where the code says so.
    """

    NO = "no"
    UNKNOWN = "unknown"
    BLOCKED = "blocked"
    GATED = "gated"
    YES = "yes"
    NONE = "-"


class Evidence(Struct, frozen=True, order=True):
    """A place of the code, and what is to be seen there."""

    file: str
    line: int
    text: str


class Part(Struct, frozen=True, kw_only=True):
    """An answer for some features, named by their setters; without them it holds for all.

    ``rule`` decided it, ``detail`` says when and why.
    """

    support: Support
    detail: str
    evidence: tuple[Evidence, ...] = ()
    rule: str = ""
    features: tuple[str, ...] = ()


class Cell(Struct, frozen=True, kw_only=True):
    """The answer of a column for a class: the worst of its parts.

    ``remarks`` do not decide it, and are worth knowing. ``was`` is the answer of the tree that
    this one is compared with, where it differs.
    """

    column: str
    support: Support
    parts: tuple[Part, ...]
    remarks: tuple[Part, ...] = ()
    was: Support | None = None


class Row(Struct, frozen=True, kw_only=True):
    """A served class, where it is defined, and a cell for each column of the matrix."""

    name: str
    file: str
    line: int
    cells: tuple[Cell, ...]
    new: bool = False


class Column(Struct, frozen=True, kw_only=True):
    """A question: ``title`` heads it, ``says`` is what each answer means."""

    id: str
    title: str
    says: str


class FeatureName(Struct, frozen=True, kw_only=True):
    """A feature by its setter; ``mark`` stands for it where there is little room."""

    setter: str
    title: str
    mark: str


class Matrix(Struct, frozen=True, kw_only=True):
    """All served classes by name; ``drafts`` were left out.

    ``facts`` are what the framework itself says about a column as a whole. ``against`` is the tree
    that it is compared with, ``gone`` the classes that only that one serves.
    """

    tool: str
    source: Source
    columns: tuple[Column, ...]
    features: tuple[FeatureName, ...]
    rows: tuple[Row, ...]
    drafts: tuple[str, ...] = ()
    facts: tuple[Part, ...] = ()
    gaps: tuple[Gap, ...] = ()
    against: Source | None = None
    gone: tuple[str, ...] = ()
    schema: int = 1
