"""Does units of work: those that are not known yet, here or in other processes."""

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property

import msgspec

from pathaudit.cache import Known, Record
from pathaudit.cache.manifest import digest_of
from pathaudit.index import Index, Outlines
from pathaudit.index.imports import Imports
from pathaudit.results import Gap
from pathaudit.ruleset import AnyRule, Profile
from pathaudit.sources import SourceTree
from pathaudit.work.crew import Crew
from pathaudit.work.stage import Item, Result, Stage, compute, decode

# Processes are started for more units than this: to start them takes as long as a few units.
_FEW = 12
# Of what depends on some files most is known, and to wait for processes takes longer than the rest.
_FEW_OF_FILES = 64

Progress = Callable[[int, int], None]

_ENCODER = msgspec.msgpack.Encoder(order="deterministic")


class Work:
    """All that is done on one tree; ``gaps`` are the files that could not be read for it.

    ``known`` are answers kept from before. ``jobs`` processes do what is left; ``progress`` is
    told how many of how many units are done. Neither changes an answer. With ``focus``, only what
    depends on one of these files is judged. ``salt`` is what made the tree of the one that answers
    are known of, if that is another.
    """

    def __init__(
        self,
        tree: SourceTree,
        profile: Profile,
        *,
        known: Known | None = None,
        focus: frozenset[str] = frozenset(),
        jobs: int = 1,
        progress: Progress | None = None,
        salt: bytes = b"",
    ) -> None:
        self.tree = tree
        self.profile = profile
        self.gaps: set[Gap] = set()
        self.focus = focus
        self._outlines = Outlines(tree)
        self._imports = Imports(tree)
        self._known = known
        self._answers: dict[bytes, Record] = {}  # of this work: several rules ask the same
        self._salt = salt
        self._crew = Crew(tree, profile, jobs)
        self._begun: dict[bytes, Callable[[], Record]] = {}
        self._progress = progress
        self._done = self._asked = 0

    @cached_property
    def index(self) -> Index:
        """For questions whose answers nothing keeps."""
        return Index(self._outlines, self.profile)

    def begin(self, stage: Stage[Item, Result], item: Item, rule: AnyRule | None = None) -> None:
        """Start one long unit, to be worked out beside others until ``run`` asks for it.

        Not if a focus may leave it out.
        """
        (key,) = self._keys(stage, [item], rule)
        narrowed = bool(self.focus) and stage.judges
        if self._crew.size > 1 and not (narrowed or key in self._begun or self._recall(key)):
            self._begun[key] = self._crew.begin(stage, item, rule)

    def run(
        self, stage: Stage[Item, Result], items: Sequence[Item], rule: AnyRule | None = None
    ) -> list[Result]:
        """The answers of a stage for some items, in their order.

        Answers that depend on no file in focus are left out, if the stage judges.
        """
        return [answer for _, answer in self.pairs(stage, items, rule)]

    def pairs(
        self, stage: Stage[Item, Result], items: Sequence[Item], rule: AnyRule | None = None
    ) -> list[tuple[Item, Result]]:
        """As ``run``, each answer with its item: where a stage judges, some may be left out."""
        narrowed = self.focus if stage.judges else frozenset[str]()
        found = self._records(stage, items, rule, narrowed)
        if narrowed:
            found = [x for x in found if _concerns(stage, *x, narrowed)]
        self.gaps.update(gap for _, record in found for gap in record.gaps)
        return [(item, decode(stage, record)) for item, record in found]

    def over(self, tree: SourceTree, salt: bytes) -> "Work":
        """Work on a tree that ``salt`` tells how it was made of this one; answers are kept too."""
        return Work(tree, self.profile, known=self._known, jobs=self._crew.size, salt=salt)

    def stop(self) -> None:
        """End what was started for this work."""
        self._crew.stop()

    def _records(
        self,
        stage: Stage[Item, Result],
        items: Sequence[Item],
        rule: AnyRule | None,
        narrowed: frozenset[str],
    ) -> list[tuple[Item, Record]]:
        """The answers for some items; if ``narrowed``, without some that depend on none of it."""
        keys = self._keys(stage, items, rule)
        wanted = dict(zip(keys, items, strict=True))
        unknown = {key: item for key, item in wanted.items() if not self._recall(key)}
        if narrowed:
            unknown = self._leading(unknown, narrowed)
        begun = [key for key in unknown if key in self._begun]
        rest = {key: item for key, item in unknown.items() if key not in self._begun}
        fresh = self._compute(stage, list(rest.values()), rule)
        self._learn(zip(rest, fresh, strict=True))
        self._learn((key, self._begun.pop(key)()) for key in begun)
        pairs = zip(items, keys, strict=True)
        return [(item, self._answers[key]) for item, key in pairs if key in self._answers]

    def _learn(self, found: Iterable[tuple[bytes, Record]]) -> None:
        for key, record in found:
            self._answers[key] = record
            if self._known is not None:
                self._known.keep(key, record)

    def _leading(self, items: dict[bytes, Item], narrowed: frozenset[str]) -> dict[bytes, Item]:
        """The items that may lead to a file: they did before, or what they name imports it."""
        known = self._known
        asked = {key for key in items if known is None or not known.depended(key, narrowed)}
        named = {key: _files_in(items[key]) for key in asked}
        starts = {file for files in named.values() for file in files}
        leading = self._imports.lead_to(starts, narrowed)
        lost = {key for key, files in named.items() if leading.isdisjoint(files)}
        return {key: item for key, item in items.items() if key not in lost}

    def _recall(self, key: bytes) -> bool:
        """Is an answer there, or kept from before and still true?"""
        if key in self._answers:
            return True
        found = self._known.find(key) if self._known is not None else None
        if found is not None:
            self._answers[key] = found
        return found is not None

    def _compute(
        self, stage: Stage[Item, Result], items: Sequence[Item], rule: AnyRule | None
    ) -> list[Record]:
        self._asked += len(items)
        few = 1 if stage.long else _FEW_OF_FILES if self.focus else _FEW
        if self._crew.started or (self._crew.size > 1 and len(items) > few):
            return self._crew.run(stage, items, rule, self._tell)
        found = []
        for item in items:
            found.append(compute(self._outlines, self.profile, stage.run, rule, item))
            self._tell(1)
        return found

    def _tell(self, done: int) -> None:
        self._done += done
        if self._progress is not None:
            self._progress(self._done, self._asked)

    def _keys(
        self, stage: Stage[Item, Result], items: Sequence[Item], rule: AnyRule | None
    ) -> list[bytes]:
        asked = digest_of(self._basis, _ENCODER.encode((stage.name, rule)))
        return [digest_of(asked, _ENCODER.encode(item)) for item in items]

    @cached_property
    def _basis(self) -> bytes:
        return _ENCODER.encode((self.profile, self.tree.package, self.tree.guests, self._salt))


def _concerns(
    stage: Stage[Item, Result], item: Item, record: Record, files: frozenset[str]
) -> bool:
    return not (files.isdisjoint(record.reads.files) and files.isdisjoint(stage.about(item)))


def _files_in(item: object) -> frozenset[str]:
    """The files that an item names anywhere."""
    found: set[str] = set()
    pending = [msgspec.to_builtins(item)]
    while pending:
        value = pending.pop()
        if isinstance(value, str) and value.endswith(".py"):
            found.add(value)
        elif isinstance(value, dict):
            pending += value.values()
        elif isinstance(value, list | tuple):
            pending += value
    return frozenset(found)
