"""What the table of served classes asks of each, as data."""

from msgspec import Struct


class CodeFact(Struct, frozen=True, forbid_unknown_fields=True):
    """What the framework says of a column as a whole: ``text`` in one of ``files`` (globs).

    Of several facts for the same ``about``, the first whose code is in the tree is told.
    """

    says: str
    files: tuple[str, ...]
    text: str
    about: str = ""


class ColumnFacts(Struct, frozen=True, forbid_unknown_fields=True):
    """A column: its ``title``, what it ``says``, and the rules whose findings answer it.

    ``judge`` is the rule that judges each path, ``breaks`` are those whose errors make the answer
    ``no``, ``remarks`` those that are told beside it.
    """

    title: str
    says: str
    judge: str = ""
    breaks: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    facts: tuple[CodeFact, ...] = ()


class MarkedFeature(Struct, frozen=True, forbid_unknown_fields=True):
    """A feature by its setter; ``mark`` stands for it where there is little room."""

    setter: str
    title: str
    mark: str


class MatrixFacts(Struct, frozen=True, forbid_unknown_fields=True):
    """The columns by their ids, in order; the marks of features.

    ``method`` is the entry of split prefill. ``test`` is the attribute of a batch that selects
    two-batch overlap.
    """

    columns: dict[str, ColumnFacts] = {}
    features: tuple[MarkedFeature, ...] = ()
    method: str = ""
    test: str = ""
