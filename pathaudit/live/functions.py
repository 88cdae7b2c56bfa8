"""Works out a function of the framework on numbers, from its code."""

import ast
from collections.abc import Sequence

from pathaudit.index import Index, compile_globs
from pathaudit.live.arithmetic import Scope, UnclearError, evaluate

_STEPS = 20_000


class _ReturnedError(Exception):
    def __init__(self, value: object) -> None:
        self.value = value


def result_of(
    index: Index, files: tuple[str, ...], name: str, given: Sequence[object]
) -> object | None:
    """What a module's function returns for some numbers; None where it cannot be told.

    A variable of the environment is taken not to be set.
    """
    globs = compile_globs(files)
    for path in filter(globs.match_file, index.tree.paths):
        outline = index.modules.outline(path)
        function = outline.functions.get(name) if outline else None
        if function is not None:
            names = [x.arg for x in function.node.args.args]
            runner = _Runner(dict(zip(names, given, strict=False)))
            try:
                runner.block(function.node.body)
            except _ReturnedError as returned:
                return returned.value
            except (UnclearError, RecursionError):
                return None
    return None


class _Runner(Scope):
    def __init__(self, names: dict[str, object]) -> None:
        super().__init__(names)
        self._steps = 0

    def call(self, node: ast.Call) -> object:
        if ast.unparse(node.func) in ("os.getenv", "os.environ.get"):
            return None
        raise UnclearError(ast.unparse(node.func))

    def block(self, body: Sequence[ast.stmt]) -> None:
        for statement in body:
            self._steps += 1
            if self._steps > _STEPS:
                raise UnclearError("too long")
            self._statement(statement)

    def _statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Assign([ast.Name(id)], value):
                self.names[id] = evaluate(value, self)
            case ast.AugAssign(ast.Name(id) as target, op, value):
                self.names[id] = evaluate(ast.BinOp(target, op, value), self)
            case ast.If(test, body, orelse):
                self.block(body if evaluate(test, self) else orelse)
            case ast.Return(ast.expr() as value):
                raise _ReturnedError(evaluate(value, self))
            case ast.Expr(ast.Constant()):
                pass
            case _:
                raise UnclearError(type(node).__name__)
