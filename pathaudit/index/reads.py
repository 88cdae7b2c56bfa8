"""What an analysis asks of a tree, noted, so that an answer can be kept until one would change."""

import re
from collections.abc import Iterable
from functools import cached_property, lru_cache

import pathspec
from msgspec import Struct

from pathaudit.errors import SourceError
from pathaudit.index.outline import ModuleOutline, outline_module
from pathaudit.results import Gap
from pathaudit.sources import SourceTree

_WORD = re.compile(r"\w+", re.ASCII)


class Search(Struct, frozen=True, order=True):
    """Which of the files under some globs hold a text?"""

    globs: tuple[str, ...]
    text: str


class Found(Struct, frozen=True, order=True):
    """A search with its answer: the files, in order."""

    search: Search
    files: tuple[str, ...]


class Reads(Struct, frozen=True, array_like=True):
    """Everything that was asked: files read, paths and folders looked for, texts searched."""

    files: frozenset[str]
    paths: frozenset[str]
    folders: frozenset[str]
    found: frozenset[Found]


class Outlines:
    """The outlines of a tree, kept for all who ask; of a file that has none, the gap.

    Also what else can be asked of a tree as a whole.
    """

    def __init__(self, tree: SourceTree) -> None:
        self.tree = tree
        self._known: dict[str, ModuleOutline | Gap] = {}
        self._found: dict[Search, tuple[str, ...]] = {}

    @cached_property
    def paths(self) -> frozenset[str]:
        return frozenset(self.tree.paths)

    @cached_property
    def folders(self) -> frozenset[str]:
        return folders_of(self.tree.paths)

    def get(self, file: str) -> ModuleOutline | Gap | None:
        """The outline of a file, the gap if it cannot be read or parsed, ``None`` if not there."""
        if file not in self.paths:
            return None
        if file not in self._known:
            self._known[file] = self._load(file)
        return self._known[file]

    def search(self, asked: Search) -> tuple[str, ...]:
        """The files that a search finds, in order."""
        if asked not in self._found:
            self._found[asked] = self.tree.find(asked.text.encode(), self._candidates(asked))
        return self._found[asked]

    def _candidates(self, asked: Search) -> tuple[str, ...]:
        """Where to look: a text is only where its longest word is, and one word is often asked."""
        word = max(_WORD.findall(asked.text), key=len, default="")
        if word not in ("", asked.text):
            return self.search(Search(asked.globs, word))
        return paths_under(self.tree, asked.globs)

    def _load(self, file: str) -> ModuleOutline | Gap:
        try:
            return outline_module(file, self.tree.text(file))
        except SourceError as error:
            return _gap(file, 1, error.message)
        except SyntaxError as error:
            return _gap(file, error.lineno or 1, f"does not parse: {error.msg}")
        except ValueError as error:
            return _gap(file, 1, f"does not parse: {error}")
        except (RecursionError, MemoryError):
            return _gap(file, 1, "is nested too deeply to parse")


def _gap(file: str, line: int, message: str) -> Gap:
    return Gap(kind="file", file=file, line=line, message=message)


def folders_of(paths: Iterable[str]) -> frozenset[str]:
    """The folders that hold files of a tree, and those that hold only folders."""
    found: set[str] = set()
    for path in paths:
        folder = path.rpartition("/")[0]
        while folder and folder not in found:
            found.add(folder)
            folder = folder.rpartition("/")[0]
    return frozenset(found)


@lru_cache(maxsize=64)
def compile_globs(globs: tuple[str, ...]) -> pathspec.GitIgnoreSpec:
    """Globs as ``.gitignore`` has them, to match paths of a tree with."""
    return pathspec.GitIgnoreSpec.from_lines(globs)


def paths_under(tree: SourceTree, globs: tuple[str, ...]) -> tuple[str, ...]:
    """The paths of a tree that globs match, in order."""
    return _matching(globs, tree.paths)


@lru_cache(maxsize=64)
def _matching(globs: tuple[str, ...], paths: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(filter(compile_globs(globs).match_file, paths))
