"""Which served classes can lead to some functions at all: by the names of what makes objects.

An object has a class that some code names, which itself stands in a class or function that some
code names, and so on up to what is served. Files are searched as text, and nothing is parsed. It is
an over-approximation made for speed: what is found may lead nowhere.
"""

import re
from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence

from pathaudit.errors import SourceError
from pathaudit.index import FunctionRef, compile_globs
from pathaudit.ruleset import Profile
from pathaudit.sources import SourceTree

# Code that more names lead to is used everywhere.
MOST_NAMES = 150

# What begins at the start of a line: a definition, an assignment, or a statement without a name.
_TOP = re.compile(
    rb"^(?:class|def|async def)[ \t]+(\w+)|^(\w+)[ \t]*(?::[^=\n]*)?=|^(?:[^\s#)\]}@\"'])", re.M
)
_IMPORT = re.compile(rb"(?:from|import)\b")


def mentioning(
    tree: SourceTree, profile: Profile, refs: Collection[FunctionRef]
) -> frozenset[str] | None:
    """The names of all that may make what leads to some functions; ``None`` if that is too much.

    What a model file defines is made in model files.
    """
    models = tuple(filter(compile_globs(profile.models).match_file, tree.paths))
    inside = frozenset(models)
    names = {ref.qualname.partition(".")[0]: ref.file in inside for ref in refs}
    pending = sorted(names)
    while pending:
        name = pending.pop()
        for file, found in _around(tree, name, models if names[name] else tree.paths):
            if found not in names and found not in ("", profile.entries.variable):
                names[found] = file in inside
                pending.append(found)
        if len(names) > MOST_NAMES:
            return None
    return frozenset(names)


def _around(tree: SourceTree, name: str, paths: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The definitions and variables in which a name occurs, and ``""`` for other code, by file.

    What a call at the top of a module registers is not found by its class, by nobody.
    """
    word = re.compile(rb"(?<!\w)" + re.escape(name.encode()) + rb"(?!\w)")
    # Prose goes on after "as the", an import does not.
    alias = re.compile(word.pattern + rb"[ \t]+as[ \t]+(\w+)[ \t]*(?=[,)#\r\n]|\Z)")
    for file in tree.find(name.encode(), paths):
        try:
            text = tree.read(file)
        except SourceError:
            continue
        yield from ((file, found[1].decode()) for found in alias.finditer(text))
        tops: list[re.Match[bytes]] | None = None
        for found in word.finditer(text):
            tops = list(_TOP.finditer(text)) if tops is None else tops
            at = bisect_right(tops, found.start(), key=re.Match.start) - 1
            if at < 0 or _IMPORT.match(text, tops[at].start()) or _is_told(text, found.start()):
                continue
            yield file, (tops[at][1] or tops[at][2] or b"").decode()


def _is_told(text: bytes, at: int) -> bool:
    """Does a name stand in a comment, in a string, or in an import inside a function?"""
    line = text[text.rfind(b"\n", 0, at) + 1 : at]
    quoted = line.count(b'"') % 2 or line.count(b"'") % 2
    start = line.lstrip()
    return bool(quoted) or b"#" in line or start.startswith((b"from ", b"import "))
