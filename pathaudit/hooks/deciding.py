"""Which way a test goes on a variant of the forward, as far as what is assumed of it tells."""

import ast

from pathaudit.hooks.evaluate import Evaluator
from pathaudit.hooks.values import Constant, Frame, Function
from pathaudit.ruleset import Profile, text_pattern

CHAIN = 4  # locals that are looked through


class Assumed:
    """What is assumed of a batch on one variant; ``used`` are the assumptions that decided one."""

    def __init__(self, profile: Profile, names: tuple[str, ...]) -> None:
        self.used: set[str] = set()
        self._known = [(name, item) for name in names for item in profile.assumptions[name]]

    def value(self, text: str) -> bool | str | None:
        """True, false, ``some`` or ``positive``; ``None`` where nothing is assumed."""
        for name, item in self._known:
            if text_pattern(item.expression).fullmatch(text):
                self.used.add(name)
                return item.value
        return None


class Decider:
    """Decides tests of functions on one variant."""

    def __init__(self, evaluator: Evaluator, assumed: Assumed) -> None:
        self._evaluator = evaluator
        self.assumed = assumed

    def decide(self, test: ast.expr, frame: Frame, depth: int = 0) -> bool | None:
        """Is a test true, false, or not known?"""
        match test:
            case ast.Constant(value):
                return bool(value)
            case ast.UnaryOp(ast.Not(), operand):
                inner = self.decide(operand, frame, depth)
                return None if inner is None else not inner
            case ast.BoolOp(operator, parts):
                found = [self.decide(part, frame, depth) for part in parts]
                short = isinstance(operator, ast.Or)
                return short if short in found else None if None in found else not short
            case ast.Compare(left, [operator], [ast.Constant(value)]):
                return self._compared(left, operator, Constant(value), frame)  # type: ignore[arg-type]
            case ast.Call(ast.Name("bool"), [inner]):
                return self.decide(inner, frame, depth)
            case _:
                return self._plain(test, frame, depth)

    def _plain(self, test: ast.expr, frame: Frame, depth: int) -> bool | None:
        found = self.assumed.value(self._evaluator.text(test))
        if found is not None:
            return bool(found)
        constant = self._evaluator.constant(test, frame)
        if constant is not None:
            return bool(constant.value)
        if isinstance(test, ast.Name) and depth < CHAIN and test.id not in frame.names:
            assigned = frame.locals.get(test.id, [])
            if len(assigned) == 1 and assigned[0].position is None:
                return self.decide(assigned[0].value, frame, depth + 1)
        if isinstance(test, ast.Call) and depth < CHAIN:
            return self._returned(test, frame, depth + 1)
        return None

    def _returned(self, call: ast.Call, frame: Frame, depth: int) -> bool | None:
        """What a function that is one expression, after all, returns."""
        callees = self._evaluator.evaluate(call.func, frame)
        if len(callees) != 1 or not isinstance(callees[0], Function):
            return None
        inner = self._evaluator.called_frame(callees[0], call, frame)
        results = self._evaluator.results(inner.node) if inner is not None else ()
        if inner is None or len(results) != 1:
            return None
        return self.decide(results[0], inner, depth)

    def _compared(
        self, left: ast.expr, operator: ast.cmpop, right: Constant, frame: Frame
    ) -> bool | None:
        """A comparison with a literal: of a parameter that is given one, or of what is assumed."""
        constant = self._evaluator.constant(left, frame)
        if constant is not None and isinstance(operator, ast.Is | ast.IsNot | ast.Eq | ast.NotEq):
            return (constant == right) is isinstance(operator, ast.Is | ast.Eq)
        found = self.assumed.value(self._evaluator.text(left))
        if found is None:
            return None
        if right.value is None and isinstance(operator, ast.Is | ast.IsNot):
            return isinstance(operator, ast.IsNot) if found == "some" else None
        if found == "positive" and right.value == 0:
            positive = {ast.Gt: True, ast.NotEq: True, ast.Eq: False, ast.LtE: False}
            return positive.get(type(operator))
        return None
