"""Which layer a requested id means: what a setter stores, and on which side of a layer it is read.

An id that is stored as it is and asked for after the layer means the output of that layer; so does
one that is shifted by one and asked for before the next.
"""

import ast
from collections import Counter
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase

from msgspec import Struct

from pathaudit import ir
from pathaudit.check.answer import Fault
from pathaudit.check.bounds_ids import Asked, asked_by
from pathaudit.check.bounds_loops import Asking, askings
from pathaudit.check.parity_calls import is_element, layers_in
from pathaudit.check.places import region_of
from pathaudit.index import ClassRef, FunctionRef, Index, Instance
from pathaudit.ruleset import BoundsRule

# A convention is one once this many served classes follow it.
USUAL = 3


class Meaning(Struct, frozen=True, order=True):
    """What the ids of a setter mean where the attribute ``name`` is read.

    ``offset`` is the layer whose output is taken, counted from the id, ``None`` where reading does
    not tell. ``shifts`` are what the branches of the setter add, ``side`` where the layer is asked.
    """

    entry: str
    setter: str
    file: str
    symbol: str
    region: ir.Region
    name: str
    shifts: tuple[int, ...]
    side: str
    offset: int | None


def meanings_of(index: Index, entry: ClassRef) -> tuple[Meaning, ...]:
    """What the requested ids mean, for each setter of a served class."""
    return tuple(x for item in index.features(entry) for x in _meanings(index, entry, item.setter))


def _meanings(index: Index, entry: ClassRef, setter: str) -> Iterator[Meaning]:
    asked: Asked = asked_by(index, entry, setter)
    for path, name in sorted({(item.path, item.name) for item in asked.stored}):
        shifts = sorted({x.shift for x in asked.stored if (x.path, x.name) == (path, name)})
        sides = {
            _side(index, instance, asking)
            for instance in index.at(entry, path)
            for asking in askings(index, instance, name)
        }
        side = sides.pop() if len(sides) == 1 else ""
        found = _place(index, entry, setter, path, name)
        if found is not None:
            known = bool(side) and len(shifts) == 1
            offset = shifts[0] - (side == "before") if known else None
            ref, region = found
            yield Meaning(
                entry.name,
                setter,
                ref.file,
                ref.qualname,
                region,
                name,
                tuple(shifts),
                side,
                offset,
            )


def _side(index: Index, instance: Instance, asking: Asking) -> str:
    """Is a layer asked for before or after it runs in the same iteration?"""
    function = index.modules.function(asking.ref)
    if function is None:
        return ""
    stacks = index.stacks_of(instance)
    elements = layers_in(asking.loop, function, stacks)
    runs = index.profile.modules.runs
    calls = [
        node
        for node in ast.walk(asking.loop)
        if isinstance(node, ast.Call) and _runs(node.func, elements, stacks, runs)
    ]
    test = asking.around[-1]
    if not calls or not isinstance(test, ast.expr):
        return ""
    if any(node is test for call in calls for node in ast.walk(call)):
        return ""  # the layer is told, and captures itself
    before = [test.lineno < call.lineno for call in calls]
    return "before" if all(before) else "" if any(before) else "after"


def _runs(
    node: ast.expr, elements: frozenset[str], stacks: frozenset[str], runs: tuple[str, ...]
) -> bool:
    if isinstance(node, ast.Attribute) and any(fnmatchcase(node.attr, glob) for glob in runs):
        return is_element(node.value, elements, stacks)
    return is_element(node, elements, stacks)


def _place(
    index: Index, entry: ClassRef, setter: str, path: tuple[str, ...], name: str
) -> tuple[FunctionRef, ir.Region] | None:
    """Where the ids are stored, by the setter or one of its name that it calls; else its head."""
    holders = [x for depth in range(len(path) + 1) for x in index.at(entry, path[:depth])]
    methods = [index.modules.method(holder.cls, setter) for holder in holders]
    found = list(dict.fromkeys(method[0] for method in methods if method is not None))
    for ref in found:
        function = index.modules.function(ref)
        for node in function.nodes if function is not None else ():
            match node:
                case ast.Assign([ast.Attribute(_, attribute)], value) if (
                    attribute == name and not isinstance(value, ast.List)
                ):
                    return ref, region_of(index, ref.file, node)
    return (found[0], _head(index, found[0])) if found else None


def _head(index: Index, ref: FunctionRef) -> ir.Region:
    outline, function = index.modules.outline(ref.file), index.modules.function(ref)
    line = function.line if function is not None else 1
    text = outline.lines[line - 1].rstrip() if outline is not None else ""
    column = len(text) - len(text.lstrip())
    return ir.Region(line, column, line, max(len(text), column + 1))


# ---- all served classes ----


def unusual(rule: BoundsRule, meanings: Iterable[Meaning], entry: str | None) -> Iterator[Fault]:
    """The setters whose ids mean another layer than usual, or another one in each branch."""
    found = list(meanings)
    usual = _usual(found)
    for item in found:
        if entry not in (None, item.entry):
            continue
        if len(item.shifts) > 1:
            yield _fault(rule, item, f"{_branches(item.shifts)}: they mean two layers")
        elif usual is not None and item.offset not in (None, usual):
            yield _fault(rule, item, _differs(item, usual))


def _usual(meanings: Iterable[Meaning]) -> int | None:
    """The offset that most places agree on; nothing where hardly any say something."""
    places = {(x.file, x.region, x.offset) for x in meanings if x.offset is not None}
    counts = Counter(offset for _, _, offset in places)
    if not counts:
        return None
    (offset, count), *others = counts.most_common()
    clear = count >= USUAL and all(count > 2 * other for _, other in others)
    return offset if clear else None


def _branches(shifts: tuple[int, ...]) -> str:
    stored = ["as they are" if shift == 0 else f"shifted by {shift}" for shift in shifts]
    return f"ids are stored {' in one branch, '.join(stored)} in another"


def _differs(item: Meaning, usual: int) -> str:
    stored = "stored as they are" if item.shifts == (0,) else f"shifted by {item.shifts[0]}"
    layer = "the layer itself" if item.offset == 0 else _counted(item.offset or 0)
    other = "the layer itself" if usual == 0 else _counted(usual)
    return (
        f"ids are {stored} and asked for {item.side} the layer runs, which takes the output of "
        f"{layer}; the other setters take that of {other}"
    )


def _counted(offset: int) -> str:
    side = "after" if offset > 0 else "before"
    return f"the layer {side} it" if abs(offset) == 1 else f"{abs(offset)} layers {side} it"


def _fault(rule: BoundsRule, item: Meaning, how: str) -> Fault:
    return Fault(
        file=item.file,
        region=item.region,
        symbol=item.symbol,
        entry=f"{item.entry}.{item.setter}",
        message=rule.message.format(how=how),
        kind=item.name,
        features=(item.setter,),
        architectures=(item.entry,),
    )
