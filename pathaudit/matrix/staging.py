"""How a served class and the objects in it that run layers take part in a pipeline."""

import ast
from collections.abc import Iterable, Iterator

from msgspec import Struct

from pathaudit.check.subjects import Owner
from pathaudit.index import ClassRef, FunctionOutline, FunctionRef, Index
from pathaudit.index.syntax import dotted_name, parameters
from pathaudit.results.matrices import Evidence


class Staged(Struct, frozen=True):
    """How an object that runs decoder layers takes part in a pipeline.

    ``split`` is where its layers are made, if each stage gets its own; ``reads`` where it takes
    what the stage before made; ``hands`` where it asks if it is the last stage.
    """

    owner: str
    split: Evidence | None
    reads: Evidence | None
    hands: Evidence | None


def staged_of(index: Index, owners: Iterable[Owner]) -> tuple[Staged, ...]:
    """The objects that run decoder layers, each once: those that are given the batch."""
    call, batch = index.profile.modules.call, index.profile.entries.batch
    found: dict[Staged, None] = {}
    for owner in owners:
        function = index.modules.function(owner.root)
        if owner.method != call or function is None:
            continue
        if not batch or batch in parameters(function.node):
            found[_stage(index, owner)] = None
    return tuple(found)


def makes_logits_anyway(index: Index, entry: ClassRef, root: FunctionRef) -> Evidence | None:
    """Where a served class makes logits of what its model returns, and never asks for the stage.

    On a stage that is not the last, that is what the next one is to be handed.
    """
    closure = index.closure(entry, root)
    last = index.profile.stages.last
    if not last or any(last in index.attributes_of(ref) for ref in closure):
        return None
    makers = set(_makers(index, entry))
    for ref, function in _functions(index, closure):
        for node in function.nodes:
            match node:
                case ast.Call(ast.Attribute(ast.Name("self"), name)) if name in makers:
                    return Evidence(ref.file, node.lineno, f"self.{name}(...)")
    return None


def _makers(index: Index, entry: ClassRef) -> Iterator[str]:
    """The attributes of a class that make logits."""
    for ref in index.modules.mro(entry):
        outline = index.modules.class_outline(ref)
        for store in outline.stores if outline is not None else ():
            if isinstance(store.value, ast.Call):
                made = dotted_name(store.value.func).rpartition(".")[2]
                if made in index.profile.features.generators:
                    yield store.name


def _stage(index: Index, owner: Owner) -> Staged:
    cls, pipeline = owner.instance.cls, index.profile.pipeline
    closure = index.closure(cls, owner.root)
    return Staged(
        cls.name,
        next(_splits(index, cls, owner.stacks), None),
        next(_loads(index, closure, pipeline.parameter if pipeline is not None else ""), None),
        next(_hands(index, closure), None),
    )


def _splits(index: Index, cls: ClassRef, stacks: frozenset[str]) -> Iterator[Evidence]:
    """Where a stack is made together with the range of a stage."""
    for ref in index.modules.mro(cls):
        outline = index.modules.class_outline(ref)
        for store in outline.stores if outline is not None else ():
            value = store.value
            if store.name in stacks and store.position == 0 and isinstance(value, ast.Call):
                yield Evidence(ref.file, value.lineno, f"{dotted_name(value.func)}(...)")


def _loads(index: Index, closure: Iterable[FunctionRef], name: str) -> Iterator[Evidence]:
    """Where a parameter is read otherwise than to ask if it is there."""
    for ref, function in _functions(index, closure):
        asked = {id(x) for node in function.nodes for x in _asked_of(node)}
        names = (x for x in function.nodes if isinstance(x, ast.Name) and x.id == name)
        for node in names:
            if isinstance(node.ctx, ast.Load) and id(node) not in asked:
                yield Evidence(ref.file, node.lineno, f"reads {name}")


def _asked_of(node: ast.AST) -> Iterator[ast.AST]:
    """The names that are only compared with ``None``."""
    match node:
        case ast.Compare(ast.Name() as name, [ast.Is() | ast.IsNot()], [ast.Constant(None)]):
            yield name


def _hands(index: Index, closure: Iterable[FunctionRef]) -> Iterator[Evidence]:
    """Where something is returned on a stage that is not the last, or else where that is asked."""
    last = index.profile.stages.last
    asked = []
    for ref, function in _functions(index, closure):
        for node in function.nodes if last in function.attributes else ():
            if isinstance(node, ast.If) and _names(node.test, last):
                for found in _returns(node):
                    text = f"returns what the next stage needs, by {ast.unparse(node.test)}"
                    yield Evidence(ref.file, found.lineno, text)
            elif isinstance(node, ast.Attribute) and node.attr == last:
                asked.append(Evidence(ref.file, node.lineno, f"asks {ast.unparse(node)}"))
    yield from asked


def _names(test: ast.expr, name: str) -> bool:
    return any(isinstance(x, ast.Attribute) and x.attr == name for x in ast.walk(test))


def _returns(node: ast.If) -> Iterator[ast.Return]:
    """The return of the arm for stages that are not the last."""
    negated = isinstance(node.test, ast.UnaryOp) and isinstance(node.test.op, ast.Not)
    for statement in node.body if negated else node.orelse:
        yield from (x for x in ast.walk(statement) if isinstance(x, ast.Return))


def _functions(
    index: Index, closure: Iterable[FunctionRef]
) -> Iterator[tuple[FunctionRef, FunctionOutline]]:
    for ref in closure:
        function = index.modules.function(ref)
        if function is not None:
            yield ref, function
