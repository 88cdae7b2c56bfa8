"""The kind ``once``: no later definition silently replaces a hook of a served model.

A hook is a method that the framework calls or probes by its name, and a module class: one of the
two definitions then never runs, though both read as if they did.
"""

from collections.abc import Iterator

from pathaudit import ir
from pathaudit.check.answer import Answer, Fault, merge_faults
from pathaudit.check.subjects import find_entries
from pathaudit.index import ClassRef, Index
from pathaudit.index.shadows import Shadowed
from pathaudit.results import Severity, Step
from pathaudit.ruleset import OnceRule, Rule
from pathaudit.work import Stage, Work


def check_once(work: Work, rule: OnceRule, entry: str | None) -> Answer:
    """Judge the files that define the served classes and their bases, drafts included."""
    served = [ref for ref in find_entries(work) if entry in (None, ref.name)]
    faults = [fault for found in work.run(SHADOWED, served, rule) for fault in found]
    return Answer(merge_faults(rule, faults), (), (), len(served))


def _find_shadowed(index: Index, rule: Rule | None, entry: ClassRef) -> tuple[Fault, ...]:
    if not isinstance(rule, OnceRule):
        raise AssertionError("a rule of this kind is needed")
    files = sorted({cls.file for cls in index.modules.mro(entry) if index.is_model(cls.file)})
    return tuple(x for file in files for x in _faults(index, rule, entry, file))


def _faults(index: Index, rule: OnceRule, entry: ClassRef, file: str) -> Iterator[Fault]:
    outline = index.modules.outline(file)
    if outline is None:
        return
    for item in outline.shadowed:
        if item.kind == "class":
            yield _fault(index, rule, entry, file, "", item)
    for cls in outline.classes.values():
        for item in cls.shadowed:
            if item.kind == "function" and _caller(index, rule, item.name):
                yield _fault(index, rule, entry, file, cls.name, item)


def _fault(
    index: Index, rule: OnceRule, entry: ClassRef, file: str, owner: str, item: Shadowed
) -> Fault:
    symbol = f"{owner}.{item.name}" if owner else item.name
    caller = _caller(index, rule, item.name) if owner else ""
    return Fault(
        file=file,
        region=_line(index, file, item.line, item.column),
        symbol=symbol,
        entry=symbol,
        message=_message(rule, symbol, item, caller),
        kind=item.kind,
        severity=Severity.NOTE if item.same or _is_helper(index, item, entry) else None,
        steps=tuple(_steps(index, file, item)),
        architectures=(entry.name,),
    )


def _is_helper(index: Index, item: Shadowed, entry: ClassRef) -> bool:
    """Is it a class that the framework does not ask for, so that only its own file is misled?"""
    served = {cls.name for cls in index.modules.mro(entry)}
    return item.kind == "class" and item.name not in served


def _message(rule: OnceRule, symbol: str, item: Shadowed, caller: str) -> str:
    text = rule.message.format(name=symbol, first=item.first)
    if item.by != item.kind:
        text += f" by a {item.by}"
    if item.same:
        text += ", by its like"
    return f"{text}; {caller} calls it by name" if caller else text


def _caller(index: Index, rule: OnceRule, name: str) -> str:
    """Who in the framework calls or probes a method by name; nothing if nobody does."""
    profile = index.profile
    if name in (*profile.entries.methods, profile.modules.call):
        return "the framework"
    outside = (*rule.files, *(f"!{glob}" for glob in profile.models))
    for text in (f".{name}(", f'"{name}"'):
        found = index.modules.find(outside, text)
        if found is not None:
            return f"{found[0]}:{found[1]}"
    return "the framework" if profile.is_setter(name) else ""


def _line(index: Index, file: str, line: int, column: int) -> ir.Region:
    """The rest of a line: the head of a definition."""
    outline = index.modules.outline(file)
    text = outline.lines[line - 1].rstrip() if outline else ""
    return ir.Region(line, column, line, max(len(text), column + 1))


def _steps(index: Index, file: str, item: Shadowed) -> Iterator[Step]:
    found = ((item.first, "is replaced"), (item.line, "replaces it"))
    for line, text in found:
        region = _line(index, file, line, item.column)
        yield Step(
            file=file,
            line=region.line,
            column=region.column,
            end_line=region.end_line,
            end_column=region.end_column,
            kind="event",
            text=text,
        )


SHADOWED = Stage(
    "shadowed", _find_shadowed, ClassRef, tuple[Fault, ...], lambda item: item.file, judges=True
)
