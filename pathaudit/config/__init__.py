"""Settings that a project keeps in a file: found, read, checked, and made to hold."""

from pathaudit.config.discovery import Found, find_settings
from pathaudit.config.holding import settled, settled_profile
from pathaudit.config.keys import KEYS, Settings
from pathaudit.config.reading import Kept, load_settings

__all__ = [
    "KEYS",
    "Found",
    "Kept",
    "Settings",
    "find_settings",
    "load_settings",
    "settled",
    "settled_profile",
]
