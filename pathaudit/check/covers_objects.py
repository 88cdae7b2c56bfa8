"""Which objects the expressions of a method stand for, as far as attributes lead there.

What a call returns is not asked: a module is held by an attribute or a stack, and to follow every
tensor operation would cost more than the rest.
"""

import ast
from collections.abc import Mapping

from pathaudit.index import Index, Types
from pathaudit.index.resolve import ClassRef, FunctionRef
from pathaudit.index.types import UNKNOWN, ClassType, FunctionType, Scope, union


class Objects:
    """Answers for the expressions of one function; ``bound`` is what its names are given."""

    def __init__(
        self, index: Index, scope: Scope, bound: Mapping[str, tuple[ast.expr, ...]]
    ) -> None:
        self._index = index
        self._scope = scope
        self._names: dict[str, Types] = dict(scope.arguments)
        self._imported = dict(scope.function.imports) if scope.function is not None else {}
        if scope.receiver is not None:
            self._names["self"] = Types((scope.receiver,))
        self._assigned = bound

    def of(self, node: ast.expr) -> Types:
        """The types of a chain of attributes and subscripts; unknown for all else."""
        match node:
            case ast.Name(name):
                return self._named(name)
            case ast.Attribute(value, name):
                return self._attribute(value, name)
            case ast.Subscript(value):
                types = self.of(value)
                stacks = types.stacks()
                return union(stack.elements for stack in stacks) if stacks else types
            case ast.IfExp(_, body, orelse):
                return union((self.of(body), self.of(orelse)))
            case ast.Call(ast.Name("enumerate" | "reversed" | "iter"), [value, *_]):
                return self.of(value)
            case _:
                return UNKNOWN

    def _named(self, name: str) -> Types:
        if name not in self._names:
            self._names[name] = UNKNOWN  # answers a name that is made of itself
            self._names[name] = self._found(name)
        return self._names[name]

    def _found(self, name: str) -> Types:
        if name in self._assigned:
            return union(self.of(value) for value in self._assigned[name])
        return self._symbol(name)

    def _attribute(self, value: ast.expr, name: str) -> Types:
        found = [self._index.types.attribute(x, name) for x in self.of(value).instances()]
        if found:
            return union(found)
        return self._symbol(ast.unparse(value) + f".{name}") if _is_dotted(value) else UNKNOWN

    def _symbol(self, text: str) -> Types:
        """A class or function of the tree, by the name that the file or the function gives it."""
        modules = self._index.modules
        head, _, rest = text.partition(".")
        symbol = self._imported.get(head)
        if symbol is not None and symbol.attribute and not rest:
            file = modules.file_of(modules.absolute(self._scope.file, symbol))
            found = modules.resolve(file, symbol.attribute) if file is not None else None
        elif head in self._assigned or symbol is not None:
            return UNKNOWN
        else:
            found = modules.resolve(self._scope.file, text)
        match found:
            case ClassRef():
                return Types((ClassType(found),))
            case FunctionRef():
                return Types((FunctionType(found),))
            case _:
                return UNKNOWN


def _is_dotted(node: ast.expr) -> bool:
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)
