"""The kind ``dispatches``: layers go to a runner that knows their class, and has a recipe for it.

A runner that chooses by the name of the class of the first layer knows the classes that it names
and no subclass of them; its recipe lists methods that the layer, or what it holds, must have.
"""

from collections.abc import Iterable, Iterator

from msgspec import structs

from pathaudit import ir
from pathaudit.check.answer import Answer, Fault, merge_faults
from pathaudit.check.dispatches_recipe import lacks, operations
from pathaudit.check.dispatches_runner import Refusal, Runner
from pathaudit.check.places import region_of
from pathaudit.check.sites import Handoff, find_handing, handoffs, layer_classes
from pathaudit.check.subjects import Owner, find_owners
from pathaudit.index import ClassRef, Index, Instance
from pathaudit.results import Step
from pathaudit.ruleset import DispatchesRule, Rule
from pathaudit.work import Stage, Work


def check_dispatches(work: Work, rule: DispatchesRule, entry: str | None) -> Answer:
    """Judge every method that runs layers, of a tree or of one served class."""
    owners = find_handing(work, entry)
    faults = []
    for owner, found in work.pairs(UNSUPPORTED, list(owners), rule):
        faults += [structs.replace(fault, architectures=owners[owner]) for fault in found]
    return Answer(merge_faults(rule, faults), (), (), len(find_owners(work, entry)))


def _find_unsupported(index: Index, rule: Rule | None, owner: Owner) -> tuple[Fault, ...]:
    if not isinstance(rule, DispatchesRule):
        raise AssertionError("a rule of this kind is needed")
    return tuple(x for item in handoffs(index, owner) for x in _judge(index, rule, owner, item))


def _judge(index: Index, rule: Rule, owner: Owner, item: Handoff) -> Iterator[Fault]:
    classes = layer_classes(index, owner.instance, item.stack)
    runners = [Runner(index, cls) for cls in classes]
    refused = [runner.refusals(item.callee, item.name) for runner in runners]
    if classes and all(refused):
        known = {name: None for runner in runners for name in runner.known}
        how = f"which knows only {_listed(known)}" if known else "which refuses every class"
        first = refused[0][0]
        effect = f"loud: {first.error} when the first such batch runs"
        yield _fault(index, rule, owner, item, classes, how, effect, [_refusal_step(index, first)])
        return
    for runner, refusals in zip(runners, refused, strict=True):
        missing = [] if refusals else list(_missing(index, runner))
        if missing:
            names = {text: None for text, _ in missing}
            how = f"whose recipe lists {_listed(names)}, which it lacks"
            effect = "loud: an AttributeError when the first such batch runs"
            steps = [missing[0][1]]
            yield _fault(index, rule, owner, item, (runner.cls,), how, effect, steps)


def _missing(index: Index, runner: Runner) -> Iterator[tuple[str, Step]]:
    for recipe in runner.recipes:
        for item in operations(index, recipe):
            if lacks(index, runner.cls, item.path):
                region = region_of(index, item.ref.file, item.node)
                yield ".".join(item.path), _step(item.ref.file, region, "names it in the recipe")


def _fault(
    index: Index,
    rule: Rule,
    owner: Owner,
    item: Handoff,
    classes: tuple[ClassRef, ...],
    how: str,
    effect: str,
    steps: list[Step],
) -> Fault:
    bringer = _bringer(index, owner, item, classes)
    here = region_of(index, item.ref.file, item.call)
    inherited = bringer is not None
    handed = _step(item.ref.file, here, f"hands the layers to {item.callee.qualname}")
    return Fault(
        file=bringer.file if bringer else item.ref.file,
        region=_header(index, bringer) if bringer else here,
        symbol=bringer.name if bringer else item.ref.qualname,
        entry=f"{owner.instance.cls.name}.{owner.method}",
        message=rule.message.format(
            layers=_listed(cls.name for cls in classes),
            runner=item.callee.qualname,
            how=how + (f" (in {item.ref.qualname}, which is inherited)" if inherited else ""),
        ),
        kind=f"{item.stack} unsupported",
        effect=effect,
        steps=(handed, *steps),
    )


def _bringer(
    index: Index, owner: Owner, item: Handoff, classes: tuple[ClassRef, ...]
) -> ClassRef | None:
    """The class that gives an inherited method layers which the method was not written for.

    It is the most basic one that has these layers; nothing where that is the method's own class.
    """
    home = index.modules.owner(item.ref)
    for base in reversed(index.modules.mro(owner.instance.cls)):
        instance = owner.instance if base == owner.instance.cls else Instance(base)
        if layer_classes(index, instance, item.stack) == classes:
            above = home is not None and base in index.modules.mro(home)
            return None if above else base
    return None


def _refusal_step(index: Index, refusal: Refusal) -> Step:
    region = region_of(index, refusal.ref.file, refusal.node)
    return _step(refusal.ref.file, region, f"raises {refusal.error} for every other class")


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


def _header(index: Index, cls: ClassRef) -> ir.Region:
    outline, module = index.modules.class_outline(cls), index.modules.outline(cls.file)
    if outline is None or module is None:
        raise AssertionError("a class that was outlined stands in a file")
    text = module.lines[outline.line - 1].rstrip()
    return ir.Region(outline.line, 0, outline.line, len(text))


def _listed(names: Iterable[str]) -> str:
    *first, last = list(dict.fromkeys(names)) or ["nothing"]
    return f"{', '.join(first)} and {last}" if first else last


UNSUPPORTED = Stage(
    "unsupported", _find_unsupported, Owner, tuple[Fault, ...], lambda x: x.root.file, judges=True
)
