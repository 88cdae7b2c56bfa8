"""What a served class holds: objects and layers, at any depth that models have."""

from collections.abc import Iterator

from msgspec import Struct

from pathaudit.index import ClassRef, Index, Instance
from pathaudit.ruleset import Rule
from pathaudit.work import Stage

HELD_DEPTH = 4


class Held(Struct, frozen=True, order=True):
    """An object that a served class holds at an attribute path, or a layer in a stack there.

    ``runs`` if it owns a stack of decoder layers.
    """

    path: tuple[str, ...]
    cls: ClassRef
    element: bool = False
    runs: bool = False


def find_held(index: Index, _: Rule | None, entry: ClassRef) -> tuple[Held, ...]:
    """The object of a served class, those it holds in model files, and the layers of all."""
    return tuple(dict.fromkeys(_held(index, (), Instance(entry), (entry,))))


def _held(
    index: Index, path: tuple[str, ...], instance: Instance, holders: tuple[ClassRef, ...]
) -> Iterator[Held]:
    yield Held(path, instance.cls, runs=bool(index.stacks_of(instance)))
    if len(holders) > HELD_DEPTH:
        return
    for name in sorted(index.attributes_stored(instance.cls)):
        types = index.types.attribute(instance, name)
        inside = (*path, name)
        for inner in types.instances():
            if index.is_model(inner.cls.file) and inner.cls not in holders:
                yield from _held(index, inside, inner, (*holders, inner.cls))
        for stack in types.stacks():
            layers = stack.elements.instances() if stack.decoder else ()
            yield from (Held(inside, layer.cls, element=True) for layer in layers)


HELD = Stage("held", find_held, ClassRef, tuple[Held, ...], lambda entry: entry.file)
