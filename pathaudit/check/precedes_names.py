"""What the names of a function stand for, in the terms of the function under audit."""

from pathaudit import ir
from pathaudit.check.precedes_state import State
from pathaudit.check.precedes_tests import is_plain, marked, object_path, placed
from pathaudit.paths.walking import all_statements, assigned_names, last_name, stored


def receiver_of(node: ir.Call, state: State) -> ir.Expression:
    """The object whose method is called; of ``super()`` the object itself."""
    match node.function:
        case ir.Attribute(ir.Call(ir.Name("super"), _, _), _):
            return placed(ir.Name("self"), state.names)
        case ir.Attribute(value, _):
            return placed(value, state.names)
        case _:
            return ir.Constant(None)


def bound_parameters(
    function: ir.Function, node: ir.Call, receiver: ir.Expression | None, state: State
) -> dict[str, ir.Expression]:
    """What the parameters of a callee stand for; one that is not known is given a mark."""
    line = node.region.line
    names: dict[str, ir.Expression] = {}
    for parameter in function.parameters:
        default = parameter.default if isinstance(parameter.default, ir.Constant) else None
        names[parameter.name] = default or marked(parameter.name, line)
    order = [x.name for x in function.parameters if x.kind.startswith("positional")]
    if receiver is not None and order and "staticmethod" not in function.decorators:
        names[order.pop(0)] = receiver
    positional = [x for x in node.arguments if x.keyword is None]
    for name, argument in zip(order, positional, strict=False):
        if argument.star:
            break
        names[name] = _value(argument.value, name, line, state)
    for argument in node.arguments:
        if argument.keyword in names:
            names[argument.keyword] = _value(argument.value, argument.keyword, line, state)
    if any(argument.star for argument in node.arguments):
        given = {x.keyword for x in node.arguments} | {order[0] if order else ""}
        names.update((x, marked(x, line)) for x in order[1:] if x not in given)
    return names


def _value(node: ir.Expression, name: str, line: int, state: State) -> ir.Expression:
    value = placed(node, state.names)
    return value if is_plain(value) else marked(name, line)


def assigned_by(statement: ir.Assign | ir.AugmentedAssign, state: State) -> State:
    plain = isinstance(statement, ir.Assign)
    for target in stored(statement):
        whole = plain and isinstance(statement, ir.Assign) and target in statement.targets
        name = last_name(target)
        value = marked(name, statement.region.line)
        kept = _value(statement.value, name, statement.region.line, state) if whole else value
        match target:
            case ir.Name(id):
                state = state.forget(value.id).bind(id, kept)
            case ir.Attribute():
                path = attribute_path(target, state)
                state = state.store(path, kept) if path else state
                if "@" in path.partition(".")[0] and object_path(kept):
                    state = state.bind(path, kept)
    return state


def attribute_path(node: ir.Attribute, state: State) -> str:
    """The path that is stored to: what an attribute of the object stood for does not count."""
    owner = object_path(placed(node.value, state.names))
    return f"{owner}.{node.name}" if owner else ""


def aliases(state: State) -> dict[str, ir.Expression]:
    """What the attributes of new objects stand for, in whatever function."""
    return {name: value for name, value in state.names.items() if "." in name}


def without_bound(statement: ir.Statement, state: State) -> State:
    """A statement without events or jumps: what it may bind is not known after it."""
    line = getattr(statement, "region", ir.NOWHERE).line
    for name in sorted(assigned_names([statement])):
        state = state.forget(marked(name, line).id).bind(name, marked(name, line))
    for inner in all_statements((statement,)):
        for target in stored(inner):
            path = attribute_path(target, state) if isinstance(target, ir.Attribute) else ""
            if path:
                state = state.forget(path)
    return state


def without_targets(statement: ir.With, state: State) -> State:
    for item in statement.items:
        if isinstance(item.target, ir.Name):
            state = state.bind(item.target.id, marked(item.target.id, statement.region.line))
    return state


def next_round(statement: ir.Loop, state: State) -> State:
    """What a round of a loop binds, it binds anew."""
    line = statement.region.line
    for name in sorted(assigned_names([statement])):
        mark = marked(name, line)
        state = state.renewed(mark.id).bind(name, mark)
    return state
