"""What users' patches rely on: noted when a patch is added, checked on every other version."""

from pathaudit.relies.relies import answers_of, check_relies

__all__ = ["answers_of", "check_relies"]
