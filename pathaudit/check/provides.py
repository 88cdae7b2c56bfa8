"""The kind ``provides``: a class that declares a capability has all that the framework uses of it.

The framework asks a served class by name whether it can do something, and later reads from it what
belongs to that, without asking again.
"""

import ast
from collections.abc import Iterator

from pathaudit import ir
from pathaudit.check.answer import Answer, Fault, merge_faults
from pathaudit.check.subjects import find_entries
from pathaudit.index import ClassRef, FunctionOutline, Index
from pathaudit.results import Step
from pathaudit.ruleset import Capability, ProvidesRule, Rule
from pathaudit.work import Stage, Work


def check_provides(work: Work, rule: ProvidesRule, entry: str | None) -> Answer:
    """Judge the served classes that are no drafts, or one of them."""
    served = [
        ref
        for ref in find_entries(work)
        if entry in (None, ref.name) and not work.profile.is_draft(ref.name, ref.file)
    ]
    faults = [fault for found in work.run(INCOMPLETE, served, rule) for fault in found]
    return Answer(merge_faults(rule, faults), (), (), len(served))


def _find_incomplete(index: Index, rule: Rule | None, entry: ClassRef) -> tuple[Fault, ...]:
    if not isinstance(rule, ProvidesRule):
        raise AssertionError("a rule of this kind is needed")
    known = index.profile.capabilities
    return tuple(x for item in known for x in _judge(index, rule, entry, item))


def _judge(index: Index, rule: Rule, entry: ClassRef, item: Capability) -> Iterator[Fault]:
    found = index.modules.method(entry, item.declares)
    if found is None or index.modules.has_unknown_base(entry) or _asks(found[1], item.declares):
        return
    owner = index.modules.owner(found[0])
    missing = [name for name in item.needs if not _provides(index, entry, name)]
    for name in missing if owner is not None else ():
        reader = index.modules.find(item.readers, f".{name}")
        # Without the files that would read it, a tree does not say.
        unknown = reader is None and index.modules.find(item.readers, "def ") is None
        if owner is not None and (reader is not None or unknown):
            yield _fault(index, rule, entry, owner, item, name, reader, found[1])


def _asks(function: FunctionOutline, name: str) -> bool:
    """Does a declaration ask an object by name for its own? Then that object is not known."""
    return any(isinstance(node, ast.Constant) and node.value == name for node in function.nodes)


def _provides(index: Index, entry: ClassRef, name: str) -> bool:
    """Is an attribute there, as a method, a property, a stored value, or an answer to any name?"""
    if any(index.modules.method(entry, x) is not None for x in (name, "__getattr__")):
        return True
    outlines = [index.modules.class_outline(cls) for cls in index.modules.mro(entry)]
    return any(
        name in outline.attributes or any(store.name == name for store in outline.stores)
        for outline in outlines
        if outline is not None
    )


def _fault(
    index: Index,
    rule: Rule,
    entry: ClassRef,
    owner: ClassRef,
    item: Capability,
    name: str,
    reader: tuple[str, int] | None,
    declaration: FunctionOutline,
) -> Fault:
    outline = index.modules.class_outline(owner)
    if outline is None:
        raise AssertionError("a class that defines a method has an outline")
    said = _line(index, owner.file, declaration.line)
    return Fault(
        file=owner.file,
        region=_line(index, owner.file, outline.line),
        symbol=owner.name,
        entry=entry.name,
        message=rule.message.format(
            name=owner.name,
            declares=item.declares,
            needs=name,
            reader=f"{reader[0]}:{reader[1]}" if reader else "the framework",
        ),
        kind=f"lacks {name}",
        effect=item.effect,
        steps=(_step(owner.file, said, "declares it"), *_reading(index, reader, name)),
        architectures=(entry.name,),
    )


def _reading(index: Index, reader: tuple[str, int] | None, name: str) -> Iterator[Step]:
    if reader is not None:
        yield _step(reader[0], _line(index, *reader), f"reads {name}")


def _line(index: Index, file: str, line: int) -> ir.Region:
    """A line without its margin."""
    outline = index.modules.outline(file)
    text = outline.lines[line - 1].rstrip() if outline else ""
    column = len(text) - len(text.lstrip())
    return ir.Region(line, column, line, max(len(text), column + 1))


def _step(file: str, region: ir.Region, text: str) -> Step:
    return Step(
        file=file,
        line=region.line,
        column=region.column,
        end_line=region.end_line,
        end_column=region.end_column,
        kind="event",
        text=text,
    )


INCOMPLETE = Stage(
    "incomplete",
    _find_incomplete,
    ClassRef,
    tuple[Fault, ...],
    lambda entry: entry.file,
    judges=True,
)
