"""Which files may lead to which: import statements, found without parsing.

An over-approximation made for speed: it follows imports at any depth, names that may be modules,
and packages of what is imported. What it does not connect, no name resolution connects.
"""

import re
from collections.abc import Iterable, Iterator

from pathaudit.errors import SourceError
from pathaudit.sources import SourceTree

_IMPORT = re.compile(
    rb"^[ \t]*(?:from[ \t]+([.\w]+)[ \t]+import[ \t]*(\([^)]*\)|(?:[^\n#;\\]|\\\r?\n)*)"
    rb"|import[ \t]+((?:[^\n#;\\]|\\\r?\n)+))",
    re.MULTILINE,
)
_NAME = re.compile(rb"[\w.]+")


def lead_to(tree: SourceTree, starts: Iterable[str], targets: frozenset[str]) -> frozenset[str]:
    """Those of the files ``starts`` that are, or import at some remove, one of ``targets``."""
    return Imports(tree).lead_to(starts, targets)


class Imports:
    """The imports of a tree, each file looked at once and only when it is asked about."""

    def __init__(self, tree: SourceTree) -> None:
        self._tree = tree
        self._known: dict[str, frozenset[str]] = {}
        self._modules: dict[str, frozenset[str]] = {}

    def lead_to(self, starts: Iterable[str], targets: frozenset[str]) -> frozenset[str]:
        """As the function of this name, for several questions about one tree."""
        starts = list(starts)
        importers = self._importers(starts)
        reached = set(targets)
        pending = list(targets)
        while pending:
            fresh = importers.get(pending.pop(), set()) - reached
            reached |= fresh
            pending += fresh
        return frozenset(file for file in starts if file in reached)

    def _importers(self, starts: Iterable[str]) -> dict[str, set[str]]:
        """Which files import a file, as far as one comes from ``starts``."""
        importers: dict[str, set[str]] = {}
        seen = set(starts)
        pending = list(seen)
        while pending:
            file = pending.pop()
            imported = self._imports(file)
            for other in imported:
                importers.setdefault(other, set()).add(file)
            fresh = imported - seen
            seen |= fresh
            pending += fresh
        return importers

    def _imports(self, file: str) -> frozenset[str]:
        if file not in self._known:
            self._known[file] = frozenset().union(*map(self._files_of, _named(self._tree, file)))
        return self._known[file]

    def _files_of(self, dotted: str) -> frozenset[str]:
        """The files that a module may be, with the packages that hold it."""
        if dotted not in self._modules:
            self._modules[dotted] = frozenset(_files_of(self._tree, dotted))
        return self._modules[dotted]


def _files_of(tree: SourceTree, dotted: str) -> Iterator[str]:
    parts = tree.here(dotted).split(".")
    for depth in range(1, len(parts) + 1) if parts[0] == tree.package else ():
        base = "/".join(parts[:depth])
        yield from (x for x in (f"{base}.py", f"{base}/__init__.py") if x in tree)


def _named(tree: SourceTree, file: str) -> set[str]:
    """The modules that a file names in its import statements."""
    try:
        text = tree.read_once(file)
    except SourceError:
        return set()
    return {dotted for match in _IMPORT.finditer(text) for dotted in _dotted(file, match)}


def _dotted(file: str, match: re.Match[bytes]) -> Iterator[str]:
    if match[3]:
        yield from (name.decode() for name in _NAME.findall(match[3]) if name.isascii())
        return
    module = match[1].decode(errors="replace")
    level = len(module) - len(module.lstrip("."))
    if level:
        parts = file.removesuffix(".py").split("/")
        module = ".".join([*parts[: len(parts) - level], *filter(None, [module[level:]])])
    yield module
    yield from (f"{module}.{name.decode(errors='replace')}" for name in _NAME.findall(match[2]))
