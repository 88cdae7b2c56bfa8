"""What a node of the call graph is told by: is a value made of layers, and how is a loop named?"""

from collections.abc import Iterator

from pathaudit import ir
from pathaudit.index import FunctionRef
from pathaudit.lower import render
from pathaudit.paths.values import (
    Element,
    Items,
    Made,
    Member,
    Sequence,
    Stack,
    Value,
    View,
    plain,
)
from pathaudit.paths.walking import children


def is_layers(value: Value) -> bool:
    match value:
        case Stack() | View() | Element() | Made(Element()):
            return True
        case Items(items):
            return any(is_layers(item) for item in items)
        case _:
            return False


def is_layer_method(value: Value) -> bool:
    return isinstance(value, Member) and isinstance(value.owner, Element)


def stack_of(value: Value | None) -> Stack | None:
    match value:
        case Stack():
            return value
        case View(stack, _, _) | Element(stack, _):
            return stack
        case Sequence(_, _, _, view, _, parts):
            inner = (stack_of(part) for part in parts)
            return view.stack if view else next((stack for stack in inner if stack), None)
        case _:
            return None


def layers_text(value: Value) -> str:
    stack = stack_of(value)
    return f"over {plain(stack.text)}" if stack is not None else ""


def loop_label(statement: ir.Loop) -> str:
    if statement.test is not None:
        return f"while {render(statement.test)}"
    target = render(statement.target) if statement.target is not None else "_"
    return f"for {target} in {render(statement.iterable) if statement.iterable else ''}"


def names_in(target: ir.Expression) -> Iterator[ir.Name]:
    if isinstance(target, ir.Name):
        yield target
    for child in children(target):
        yield from names_in(child)


def receiver_note(ref: FunctionRef, owner: str) -> str:
    defined = ref.qualname.rpartition(".")[0]
    return f"of {owner}" if owner and owner != defined else ""
