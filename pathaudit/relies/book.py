"""The file that keeps what patches rely on: read, changed, and written as text."""

import json
from pathlib import Path

import msgspec

from pathaudit.errors import UsageError
from pathaudit.hints import did_you_mean
from pathaudit.ruleset.patches import PatchBook, Reliance

BOOK_FILE = "pathaudit-patches.json"

_HINT = "write one with: pathaudit patch add FIX.diff"


def read_book(path: str) -> PatchBook:
    """Read a file of patches. UsageError if it cannot be read or holds something else."""
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}", _HINT) from None
    try:
        found = msgspec.json.decode(data, type=PatchBook)
    except msgspec.ValidationError as error:
        raise UsageError(f"{path}: is no file of patches: {error}", _HINT) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"{path}: is not JSON: {error}", _HINT) from None
    if found.schema != 1:
        raise UsageError(f"{path}: is of schema {found.schema}, not 1", "update pathaudit")
    names = [item.name for item in found.patches]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise UsageError(f"{path}: two patches are called {twice!r}", "give one another name")
    return found


def book_text(book: PatchBook) -> str:
    """The file as text, in an order that does not change."""
    ordered = PatchBook(book.schema, tuple(sorted(book.patches, key=lambda item: item.name)))
    return json.dumps(msgspec.to_builtins(ordered), indent=1, ensure_ascii=True) + "\n"


def with_patch(book: PatchBook, item: Reliance) -> PatchBook:
    """The book with a patch; one of that name is replaced, and its reason kept if none is given."""
    old = next((x for x in book.patches if x.name == item.name), None)
    if old is not None and not item.reason:
        item = msgspec.structs.replace(item, reason=old.reason)
    others = tuple(x for x in book.patches if x.name != item.name)
    return PatchBook(patches=(*others, item))


def chosen(book: PatchBook, names: tuple[str, ...], path: str) -> tuple[Reliance, ...]:
    """The patches of some names, or all. UsageError for a name that there is not."""
    known = {item.name: item for item in book.patches}
    for name in names:
        if name not in known:
            hint = did_you_mean(name, known, f"{len(known)} patches are kept there")
            raise UsageError(f"{path}: holds no patch {name!r}", hint)
    return tuple(known[name] for name in sorted(known) if not names or name in names)


def without_patch(book: PatchBook, name: str, path: str) -> PatchBook:
    """The book without a patch. UsageError if there is none of that name."""
    (gone,) = chosen(book, (name,), path)
    return PatchBook(patches=tuple(item for item in book.patches if item is not gone))
