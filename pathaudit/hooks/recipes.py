"""Layers that are handed to a runner which picks a recipe by their class."""

import ast
from collections.abc import Iterator

from msgspec import Struct

from pathaudit.check.dispatches_recipe import Listed, operations
from pathaudit.check.dispatches_runner import Runner
from pathaudit.hooks.events import RAISES, RECIPE, Event
from pathaudit.hooks.objects import Objects
from pathaudit.hooks.values import Function, Thing, modules_in
from pathaudit.index import FunctionRef

_SHOWN = 3  # operations that are told by name


class Ran(Struct, frozen=True, eq=False):
    """What a recipe does with one layer: its events, and the methods that it runs."""

    events: tuple[Event, ...]
    methods: tuple[Function, ...]


def run_recipe(objects: Objects, callee: FunctionRef, name: str, layer: Thing) -> Ran | None:
    """What becomes of a layer among those given to a parameter; ``None`` if no recipe is picked."""
    runner = Runner(objects.index, layer.cls)
    refused = runner.refusals(callee, name)
    if refused:
        first = refused[0]
        last = first.node.end_lineno or first.node.lineno
        text = f"raise {first.error}"
        where = (first.ref.file, first.node.lineno, last, first.ref.qualname)
        return Ran((Event(layer, RAISES, *where, text),), ())
    listed = [x for recipe in runner.recipes for x in operations(objects.index, recipe)]
    if not listed:
        return None
    methods = [x for item in listed for x in _methods(objects, item, layer)]
    return Ran(tuple(_events(objects, listed, layer)), tuple(dict.fromkeys(methods)))


def _methods(objects: Objects, item: Listed, layer: Thing) -> Iterator[Function]:
    for holder in _holders(objects, item, layer):
        for value in objects.attribute(holder, item.path[-1]):
            if isinstance(value, Function):
                yield value


def _holders(objects: Objects, item: Listed, layer: Thing) -> list[Thing]:
    """The objects at the path of an operation."""
    found = [layer]
    for name in item.path[:-1]:
        inner = [objects.attribute(thing, name) for thing in found]
        found = [x for values in inner for x in modules_in(values) if isinstance(x, Thing)]
    return found


def _events(objects: Objects, listed: list[Listed], layer: Thing) -> Iterator[Event]:
    """One event for each recipe and module: the layer itself, and what it holds."""
    groups: dict[tuple[FunctionRef, Thing], list[ast.Attribute]] = {}
    for item in listed:
        groups.setdefault((item.ref, layer), []).append(item.node)
        for holder in _holders(objects, item, layer) if len(item.path) > 1 else ():
            if objects.index.modules.method(holder.cls, item.path[-1]) is not None:
                groups.setdefault((item.ref, holder), []).append(item.node)
    for (ref, holder), nodes in groups.items():
        lines = [node.lineno for node in nodes]
        yield Event(
            holder, RECIPE, ref.file, min(lines), max(lines), ref.qualname, operations_text(nodes)
        )


def operations_text(nodes: list[ast.Attribute]) -> str:
    """The names of some operations."""
    names = list(dict.fromkeys(node.attr for node in nodes))
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
