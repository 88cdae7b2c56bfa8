"""What calls and their targets are called, and which of several is meant."""

from collections.abc import Iterator

from pathaudit import ir
from pathaudit.conditions import Literal, Test
from pathaudit.index import FunctionRef, Instance
from pathaudit.paths.values import Callee
from pathaudit.paths.walking import all_statements


def is_named(node: ir.Call, function: Callee) -> bool:
    """Does a call name the function itself, not an attribute that may hold others as well?"""
    return not isinstance(node.function, ir.Attribute) or node.function.name == name_of(
        function.ref
    )


def choice_of(
    node: ir.Call,
    targets: list[tuple[FunctionRef, Instance | None]],
    owner: str,
    ref: FunctionRef,
    instance: Instance,
) -> Literal:
    """What is said of a call that runs this target, and not one of the others."""
    same = [other for other, receiver in targets if receiver == instance]
    if len(same) > 1:
        name = node.function.name if isinstance(node.function, ir.Attribute) else "method"
        return Test("equals", f"{owner}.{name}", name_of(ref))
    return Test("isinstance", owner, instance.cls.name)


def deep(body: tuple[ir.Statement, ...]) -> Iterator[ir.Statement]:
    """All statements, also those of functions inside."""
    for statement in all_statements(body):
        yield statement
        if isinstance(statement, ir.Define):
            yield from deep(statement.function.body)


def name_of(ref: FunctionRef) -> str:
    return ref.qualname.rpartition(".")[2]
