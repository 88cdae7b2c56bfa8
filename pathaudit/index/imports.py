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
    starts = list(starts)
    importers: dict[str, set[str]] = {}
    seen: set[str] = set()
    pending = list(starts)
    while pending:
        file = pending.pop()
        if file not in seen:
            seen.add(file)
            for imported in _imports(tree, file):
                importers.setdefault(imported, set()).add(file)
                pending.append(imported)
    reached = set(targets)
    pending = list(targets)
    while pending:
        fresh = importers.get(pending.pop(), set()) - reached
        reached |= fresh
        pending += fresh
    return frozenset(file for file in starts if file in reached)


def _imports(tree: SourceTree, file: str) -> Iterator[str]:
    """The files that one may import, with the packages that hold them."""
    try:
        text = tree.read_once(file)
    except SourceError:
        return
    for match in _IMPORT.finditer(text):
        for dotted in _dotted(file, match):
            parts = tree.here(dotted).split(".")
            for depth in range(1, len(parts) + 1) if parts[0] == tree.package else ():
                base = "/".join(parts[:depth])
                yield from (x for x in (f"{base}.py", f"{base}/__init__.py") if x in tree)


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
