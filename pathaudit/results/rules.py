"""What reports tell of a rule beside its findings, as data."""

from msgspec import Struct

from pathaudit.results import Severity


class RuleDoc(Struct, frozen=True, kw_only=True):
    """A rule, or a remark on comments, for people who read a report.

    Prose is plain text whose line breaks only fold it. ``page`` is all of it in Markdown, as
    ``pathaudit rules docs`` writes it.
    """

    id: str
    title: str
    severity: Severity
    why: str
    fix: str
    page: str = ""
