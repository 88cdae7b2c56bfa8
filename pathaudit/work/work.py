"""Does units of work: those that are not known yet, here or in other processes."""

from collections.abc import Sequence
from functools import cached_property

from pathaudit.index import Index, Outlines
from pathaudit.results import Gap
from pathaudit.ruleset import Profile, Rule
from pathaudit.sources import SourceTree
from pathaudit.work.stage import Item, Result, Stage, compute, decode


class Work:
    """All that is done on one tree; ``gaps`` are the files that could not be read for it."""

    def __init__(self, tree: SourceTree, profile: Profile) -> None:
        self.tree = tree
        self.profile = profile
        self.gaps: set[Gap] = set()
        self._outlines = Outlines(tree)

    @cached_property
    def index(self) -> Index:
        """For questions whose answers nothing keeps."""
        return Index(self._outlines, self.profile)

    def run(
        self, stage: Stage[Item, Result], items: Sequence[Item], rule: Rule | None = None
    ) -> list[Result]:
        """The answers of a stage for some items, in their order."""
        found = []
        for item in items:
            record = compute(self._outlines, self.profile, stage, rule, item)
            self.gaps.update(record.gaps)
            found.append(decode(stage, record))
        return found
