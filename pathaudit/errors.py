"""Errors a user can act on; the command line catches this root and nothing else."""


class PathAuditError(Exception):
    """One line that says what is wrong and where, with a hint that says what to do."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class SourceError(PathAuditError):
    """The tree to audit cannot be found or read."""


class StoreError(PathAuditError):
    """What holds the tree is damaged or not whole; unlike a broken file, that is no part of it."""


class RuleError(PathAuditError):
    """A rule or profile file is wrong; the message starts with file, line and field."""


class UsageError(PathAuditError):
    """The request makes no sense for this tree: an unknown entry or rule, nothing to audit."""


class ConfigError(PathAuditError):
    """A settings file is wrong; the message starts with file, line and key."""
