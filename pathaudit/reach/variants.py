"""What the framework calls the paths that bypass a target, and which flags select them."""

import ast
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase

from msgspec.structs import replace

from pathaudit.gates.controls import CONTROLS
from pathaudit.gates.controls import Asked as Condition
from pathaudit.results.reaches import EntryReach, Range, TargetReach, VariantNote
from pathaudit.ruleset.serving import Control
from pathaudit.work import Work


def name_variants(work: Work, targets: Sequence[TargetReach]) -> tuple[TargetReach, ...]:
    """The targets; their bypasses have the names and the flags of the paths."""
    asked = tuple(sorted({_condition(target, x) for target in targets for x in _bypasses(target)}))
    told = dict(zip(asked, work.run(CONTROLS, [asked])[0], strict=True)) if asked else {}
    known = _controls(work)
    return tuple(
        replace(
            target, entries=tuple(_named(target, entry, told, known) for entry in target.entries)
        )
        for target in targets
    )


def graph_notes(work: Work) -> tuple[VariantNote, ...]:
    """The ways to run that no test in the code selects, nor a method: they have no Python."""
    return tuple(
        VariantNote(title=item.title, remark=" ".join(item.remark.split()))
        for item in _controls(work)
        if item.selects and not item.predicates and not item.method
    )


def _controls(work: Work) -> tuple[Control, ...]:
    """The variants of the profile whose code is in the tree."""
    find = work.index.modules.find
    return tuple(
        item
        for item in work.profile.serving.controls
        if item.anchor is None or find(item.anchor.files, item.anchor.text) is not None
    )


def _bypasses(target: TargetReach) -> Iterator[Range]:
    for entry in target.entries:
        yield from (x for x in entry.bypasses if x.condition not in ("always", "never"))


def _condition(target: TargetReach, found: Range) -> Condition:
    place = (found.file, found.line) if found.file else (target.file, target.line)
    return Condition(found.condition, *place)


def _named(
    target: TargetReach,
    entry: EntryReach,
    told: dict[Condition, tuple[str, ...]],
    known: tuple[Control, ...],
) -> EntryReach:
    bypasses = tuple(
        replace(
            x, variant=_variant(x.condition, known), controls=told.get(_condition(target, x), ())
        )
        for x in entry.bypasses
    )
    return replace(entry, bypasses=bypasses)


def _variant(condition: str, known: tuple[Control, ...]) -> str:
    """The title of the variant that a condition holds only on, where it says so itself."""
    try:
        node = ast.parse(condition, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""
    parts = node.values if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And) else [node]
    texts = [ast.unparse(part) for part in parts]
    for item in known:
        if any(_means(text, glob) for text in texts for glob in item.predicates):
            return item.title
    return ""


def _means(text: str, glob: str) -> bool:
    """Is a test one of a variant, and not its opposite?"""
    return text.startswith("not ") == glob.startswith("not ") and fnmatchcase(text, glob)
