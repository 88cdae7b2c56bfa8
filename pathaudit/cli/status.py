"""Exit statuses, by name."""

from enum import IntEnum


class Status(IntEnum):
    """What the process tells its caller. Any other number is a fault of pathaudit's own."""

    CLEAN = 0
    FINDINGS = 1
    USER_ERROR = 2
    INTERRUPTED = 130  # as a shell reports a process that SIGINT ended
