"""Keeps answers by content, in one SQLite file, until what was asked for them would change.

``open_cache`` is the verb. An answer is kept with every question that its analysis put to the
tree: the files read, the paths and folders looked for, the texts searched. It is given again only
where all of them are answered as before, so that a file that is added, removed or changed takes
away exactly the answers that could depend on it.
"""

from pathaudit.cache.known import NOTHING_ASKED, Known, Record
from pathaudit.cache.manifest import Manifest, take_manifest
from pathaudit.cache.store import Cache, CacheInfo, cache_path, open_cache

__all__ = [
    "NOTHING_ASKED",
    "Cache",
    "CacheInfo",
    "Known",
    "Manifest",
    "Record",
    "cache_path",
    "open_cache",
    "take_manifest",
]
