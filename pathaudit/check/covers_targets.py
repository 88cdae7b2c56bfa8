"""Which served class a draft is the draft of: the one that it shares most of its classes with."""

from collections.abc import Iterable, Iterator

from pathaudit.check.subjects import reachable
from pathaudit.index import ClassRef, Index, Instance

HELD_DEPTH = 4
LAYER_DEPTH = 2


def find_targets(
    index: Index, draft: ClassRef, passed: Iterable[ClassRef] = ()
) -> tuple[ClassRef, ...]:
    """The served classes that share most with a draft, among those of the files it builds on.

    ``passed`` are classes that its control is known to go through. Several are found where they
    share as much, as all that serve one decoder do; none where a draft brings all its classes.
    """
    bases = {cls for ref in passed for cls in index.modules.mro(ref)}
    own = parts_of(index, draft) | {cls for cls in bases if _is_shared(index, cls)}
    files = sorted({*_imported(index, draft.file), *(cls.file for cls in own)})
    candidates = {x for file in files for x in index.served(file) if not index.is_draft(x)}
    shared = {x: len(own & parts_of(index, x)) for x in sorted(candidates)}
    most = max(shared.values(), default=0)
    return tuple(x for x, count in shared.items() if count == most and most)


def parts_of(index: Index, entry: ClassRef) -> frozenset[ClassRef]:
    """The classes of the model files that a served class is made of, bases included; no drafts."""
    found: set[ClassRef] = set()
    for _, instance in reachable(index, Instance(entry), (), HELD_DEPTH):
        found.update(index.modules.mro(instance.cls))
        for layer in _layers(index, instance):
            for _, part in reachable(index, layer, (), LAYER_DEPTH):
                found.update(index.modules.mro(part.cls))
    return frozenset(cls for cls in found if _is_shared(index, cls))


def _is_shared(index: Index, cls: ClassRef) -> bool:
    """Can targets be made of a class too?"""
    return index.is_model(cls.file) and not index.is_draft(cls)


def _layers(index: Index, instance: Instance) -> Iterator[Instance]:
    for name in sorted(index.attributes_stored(instance.cls)):
        for stack in index.types.attribute(instance, name).stacks():
            yield from stack.elements.instances()


def _imported(index: Index, file: str) -> Iterator[str]:
    """The model files that a file imports from."""
    outline = index.modules.outline(file)
    for symbol in outline.imports.values() if outline is not None else ():
        found = index.modules.file_of(index.modules.absolute(file, symbol))
        if found is not None and index.is_model(found):
            yield found
