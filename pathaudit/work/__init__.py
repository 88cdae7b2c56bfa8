"""Analyses in units: each answers from a tree alone, wherever and in whatever order it is run.

``Work.run`` is the verb. A unit sees an index of its own over shared outlines, so that nothing
that was asked before can change its answer, and so that what it asked of the tree is known.
"""

from pathaudit.work.stage import Stage, compute
from pathaudit.work.work import Work

__all__ = ["Stage", "Work", "compute"]
