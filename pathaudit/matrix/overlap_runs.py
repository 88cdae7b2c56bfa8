"""The runs of layers that happen only for two overlapping batches, whatever else is on.

Such a path is told by its condition: an attribute of the batch, or a method of the model that asks
for it. What its runner is called does not matter.
"""

import ast
from collections.abc import Iterable, Iterator

from msgspec import Struct, structs

from pathaudit.check.bounds_stages import RunsMonitor, Seen
from pathaudit.check.subjects import OWNERS, Owner
from pathaudit.conditions import Bound, Conjunction, Literal, PathCondition, Test, render, simplify
from pathaudit.index import ClassRef, Index
from pathaudit.index.syntax import parameters
from pathaudit.paths import BudgetExceeded, Executor, Question, plain
from pathaudit.ruleset import AnyRule
from pathaudit.work import Stage, Work


class OverlapRun(Struct, frozen=True, order=True):
    """Layers that run for overlapping batches, and when; ``refused`` where the callee raises."""

    file: str
    line: int
    symbol: str
    handoff: str
    condition: str
    refused: bool


class Overlaps(Struct, frozen=True):
    """The runs of one object; ``cut`` where a budget ended before all paths were seen."""

    owner: str
    runs: tuple[OverlapRun, ...]
    cut: str = ""


def find_overlaps(work: Work, served: Iterable[ClassRef]) -> list[tuple[Overlaps, ...]]:
    """For each served class, what each of its objects that asks for overlap runs then."""
    refs = list(served)
    call = work.profile.modules.call
    owned = [
        [structs.replace(x, entry="") for x in found if x.method == call]
        for found in work.run(OWNERS, refs)
    ]
    items = list(dict.fromkeys(owner for found in owned for owner in found))
    answers = dict(zip(items, work.run(OVERLAPS, items), strict=True))
    return [
        tuple(x for x in (answers[owner] for owner in found) if x.runs or x.cut) for found in owned
    ]


def _find(index: Index, _: AnyRule | None, owner: Owner) -> Overlaps:
    cls = owner.instance.cls
    test, batch = index.profile.matrix.test, index.profile.entries.batch
    function = index.modules.function(owner.root)
    named = any(test in index.attributes_of(ref) for ref in index.closure(cls, owner.root))
    if not test or not named or function is None:
        return Overlaps(cls.name, ())
    if batch and batch not in parameters(function.node):
        return Overlaps(cls.name, ())
    question = Question(index.profile, (), (), {}, {}, frozenset(), owner.stacks)
    monitor = RunsMonitor()
    executor = Executor(index, question, monitor)
    cut = ""
    try:
        executor.run_root(owner.instance, owner.root)
    except BudgetExceeded as reached:
        cut = f"{owner.root.qualname} was not followed to its end: {reached.reason}"
    asking = _asking_methods(index, cls, test)
    runs = sorted(set(_overlapping(executor, monitor.seen, test, asking)))
    return Overlaps(cls.name, tuple(runs), cut)


def _asking_methods(index: Index, cls: ClassRef, test: str) -> frozenset[str]:
    """The methods of a class that ask the batch."""
    found = set()
    for ref in index.modules.mro(cls):
        outline = index.modules.class_outline(ref)
        for name, method in outline.methods.items() if outline is not None else ():
            if test in method.attributes:
                found.add(name)
    return frozenset(found)


def _overlapping(
    executor: Executor, seen: Iterable[Seen], test: str, asking: frozenset[str]
) -> Iterator[OverlapRun]:
    """The runs of which each way needs the test to be true."""
    places: dict[tuple[str, int, str, str], list[Seen]] = {}
    for item in seen:
        run = item.run
        key = (run.file, run.region.line, run.function, run.handoff)
        places.setdefault(key, []).append(item)
    for (file, line, symbol, handoff), group in places.items():
        ways = [part for item in group for part in _outside(executor, item).alternatives]
        if all(any(is_overlap(x, test, asking) for x in way.literals) for way in ways):
            refused = all(item.refused for item in group)
            yield OverlapRun(file, line, symbol, handoff, _told(executor, ways), refused)


def _outside(executor: Executor, item: Seen) -> PathCondition:
    """The condition at the call through which the layers leave, not that inside the callee."""
    if item.run.point < 0:
        return item.condition
    return executor.points[item.run.point].state.condition


def is_overlap(literal: Literal, test: str, asking: frozenset[str] = frozenset()) -> bool:
    """Does a literal say that the batch overlaps with another?"""
    if isinstance(literal, Bound) or not literal.positive:
        return False
    return names_overlap(literal, test, asking)


def names_overlap(literal: Test, test: str, asking: frozenset[str] = frozenset()) -> bool:
    """Does a literal ask if the batch overlaps, whatever the answer?"""
    try:
        node: ast.expr = ast.parse(plain(literal.subject), mode="eval").body
    except SyntaxError:
        return False
    match node:
        case ast.Attribute(_, name) if name == test:
            return True
        case ast.Call(ast.Attribute(ast.Name(), name)):
            return name in asking
        case _:
            return False


def _told(executor: Executor, ways: list[Conjunction]) -> str:
    """When the layers run, without what only says that a counter lies in its range."""
    kept = tuple(
        Conjunction(frozenset(x for x in way.literals if "@" not in repr(x)), way.weakened)
        for way in dict.fromkeys(ways)
    )
    shortest = simplify(PathCondition(kept[:1]), executor.evaluator.facts)
    return render(shortest, plain)


OVERLAPS = Stage("overlaps", _find, Owner, Overlaps, lambda item: item.root.file)
