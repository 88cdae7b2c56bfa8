"""What happens when layers ran without capture, as far as the code around them tells."""

import ast
from collections.abc import Iterator

from msgspec import Struct

from pathaudit.index import ClassRef, Feature, FunctionRef, Index
from pathaudit.index.syntax import dotted_name


class Effect(Struct, frozen=True):
    """What happens where no layer is captured, and where only some are."""

    whole: str = ""
    part: str = ""


def unpacking_method(index: Index, feature: Feature) -> str:
    """The method of the served class that takes a pair apart once the setter's flag is set."""
    flags = frozenset(write.name for write in feature.writes if not write.path)
    for method in index.profile.entries.methods:
        found = index.modules.method(feature.entry, method)
        if found is None or not found[1].attributes & flags:
            continue
        for node in found[1].nodes:
            match node:
                case ast.If(test, body) if _names_flag(test, flags) and any(map(_unpacks, body)):
                    return found[0].qualname
    return ""


def _names_flag(test: ast.expr, flags: frozenset[str]) -> bool:
    return isinstance(test, ast.Attribute) and test.attr in flags


def _unpacks(statement: ast.stmt) -> bool:
    match statement:
        case ast.Assign([ast.Tuple([_, _])], ast.Name()):
            return True
        case _:
            return False


def effect_of(index: Index, root: FunctionRef, unpacking: str) -> Effect:
    """What happens when layers of a method run uncaptured; ``unpacking`` is its caller."""
    checked = next(_checks(index, root), "")
    part = "silent: the draft gets fewer states than it asked for, or a width that does not fit"
    if checked:
        part = f"loud: {checked} counts what was collected, and raises"
    if unpacking and _returns_bare(index, root):
        return Effect(
            f"loud: nothing is collected, so {root.qualname} returns one tensor, and {unpacking} "
            "unpacks a pair; silent in a batch of two rows",
            part,
        )
    none = "silent: the draft gets none of the states that it asked for"
    return Effect(part if checked else none, part)


def _returns_bare(index: Index, root: FunctionRef) -> bool:
    """Does a method return one value where a list is empty, and several where it is not?"""
    function = index.modules.function(root)
    for node in function.nodes if function is not None else ():
        if isinstance(node, ast.If) and "len(" in ast.unparse(node.test):
            values = [x.value for x in node.body if isinstance(x, ast.Return)]
            if values and not isinstance(values[0], ast.Tuple):
                return True
    return False


def _checks(index: Index, root: FunctionRef) -> Iterator[str]:
    """Methods that are called on what the layers collect into, and raise where a count is wrong."""
    function = index.modules.function(root)
    if function is None:
        return
    for name, values in function.locals.items():
        for assigned in values:
            cls = _made(index, root.file, assigned.value)
            for method in sorted(_called(function.node, name)) if cls is not None else ():
                found = index.modules.method(cls, method) if cls is not None else None
                if found is not None and _counts(found[1].node):
                    yield found[0].qualname


def _made(index: Index, file: str, value: ast.expr) -> ClassRef | None:
    """The class that an expression makes an object of: ``Packer(...)`` or ``Packer.of(...)``."""
    text = dotted_name(value.func) if isinstance(value, ast.Call) else ""
    found = index.modules.resolve(file, text) if text else None
    if isinstance(found, FunctionRef):
        found = index.modules.owner(found)
    return found if isinstance(found, ClassRef) else None


def _called(node: ast.AST, name: str) -> frozenset[str]:
    calls = (x.func for x in ast.walk(node) if isinstance(x, ast.Call))
    methods = (x for x in calls if isinstance(x, ast.Attribute))
    return frozenset(x.attr for x in methods if dotted_name(x.value) == name)


def _counts(node: ast.AST) -> bool:
    """Is there a test that compares a number of things, and raises?"""
    return any(
        isinstance(item, ast.If)
        and any(isinstance(test, ast.Compare) for test in ast.walk(item.test))
        and any(isinstance(inner, ast.Raise) for inner in item.body)
        for item in ast.walk(node)
    )
