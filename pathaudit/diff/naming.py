"""Which class of one version is which of the other: itself, renamed, or moved to another file."""

import ast
import warnings
from collections.abc import Callable, Iterable, Iterator
from difflib import SequenceMatcher
from functools import cache
from posixpath import basename

from msgspec import Struct

from pathaudit.errors import SourceError
from pathaudit.sources import SourceTree

Defines = Callable[[str, str], bool]

# How alike two classes must be, of 1, to be the same one under another name.
_ALIKE = 0.6


class Owner(Struct, frozen=True, order=True):
    """A class, or a function outside classes, by its file."""

    file: str
    name: str


class Naming(Struct, frozen=True, eq=False):
    """The owners that have another name or file in the new version; all others are the same."""

    renamed: dict[Owner, Owner] = {}

    def translate(self, file: str, symbol: str) -> tuple[str, str]:
        """The file and the qualified name in the new version."""
        name, dot, rest = symbol.partition(".")
        now = self.renamed.get(Owner(file, name), Owner(file, name))
        return now.file, f"{now.name}{dot}{rest}"

    def remark(self, file: str, symbol: str) -> str:
        """What became of the owner of a symbol; nothing if it is where it was."""
        owner = owner_of(file, symbol)
        now = self.renamed.get(owner, owner)
        parts = [f"was {owner.name}"] if now.name != owner.name else []
        if now.file != owner.file:
            parts.append(f"was in {owner.file}")
        return ", ".join(parts)


def owner_of(file: str, symbol: str) -> Owner:
    return Owner(file, symbol.partition(".")[0])


def find_names(
    old: dict[Owner, frozenset[str]],
    new: dict[Owner, frozenset[str]],
    *,
    old_has: Defines,
    new_has: Defines,
) -> Naming:
    """Pair the owners that only one version has, the most alike first.

    Both maps give the served classes that lead to an owner.
    """
    lost = [x for x in sorted(old.keys() - new.keys()) if not new_has(x.file, x.name)]
    come = [x for x in sorted(new.keys() - old.keys()) if not old_has(x.file, x.name)]
    pairs = [(_likeness(a, b, old[a], new[b]), a, b) for a in lost for b in come]
    renamed: dict[Owner, Owner] = {}
    for likeness, before, now in sorted(pairs, key=lambda pair: (-pair[0], pair[1:])):
        if likeness >= _ALIKE and before not in renamed and now not in renamed.values():
            renamed[before] = now
    return Naming(renamed)


def _likeness(old: Owner, new: Owner, served: frozenset[str], serves: frozenset[str]) -> float:
    """How alike two owners are, from 0 to 1: a class that only moved is the same."""
    if old.name == new.name:
        return 0.8 + 0.2 * alike(old.file, new.file)
    shared = len(served & serves) / min(len(served), len(serves)) if served and serves else 0.0
    files = alike(basename(old.file), basename(new.file))
    return 0.5 * alike(old.name, new.name) + 0.2 * files + 0.3 * shared


def alike(left: str, right: str) -> float:
    """How alike two texts are, from 0 to 1."""
    return SequenceMatcher(None, left, right, autojunk=False).ratio()


def definitions(tree: SourceTree) -> Defines:
    """Tells whether a file of the tree defines a class, a method of one, or a function."""

    @cache
    def names(file: str) -> frozenset[str]:
        return frozenset(_defined(_parse(tree, file).body)) if file in tree else frozenset()

    return lambda file, name: name in names(file)


def _parse(tree: SourceTree, file: str) -> ast.Module:
    """The syntax of a file; empty if it has none."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(tree.text(file))
    except (SourceError, SyntaxError, ValueError, RecursionError, MemoryError):
        return ast.Module(body=[], type_ignores=[])


def _defined(body: Iterable[ast.stmt], inside: str = "") -> Iterator[str]:
    """The qualified names that statements define, also in the arms of an ``if`` or ``try``."""
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield inside + node.name
            yield from _defined(node.body, f"{inside}{node.name}.")
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield inside + node.name
        else:
            for field in ("body", "orelse", "finalbody"):
                inner = getattr(node, field, None)
                yield from _defined(inner, inside) if isinstance(inner, list) else ()
