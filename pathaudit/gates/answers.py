"""One answer: what decides a condition at one place, from what is known and from the slice."""

import ast
from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from pathaudit.decisions import GateAnswer, GateCheck, GateControl, GateHop
from pathaudit.gates.checks import Check, Checks
from pathaudit.gates.declarations import Declarations, Declared
from pathaudit.gates.facts import Fact, known_condition, known_entry
from pathaudit.gates.places import Place
from pathaudit.gates.scopes import Scope
from pathaudit.gates.slicing import Slice
from pathaudit.gates.steps import steps_into
from pathaudit.gates.traces import Trace
from pathaudit.index import Index
from pathaudit.ruleset import Predicate

_MOST_CHECKS = 10
_FIXED = {"True", "False", "None"}  # what a dead condition always is


class Answers:
    """Answers conditions of one tree; what one answer found out serves the next."""

    def __init__(self, index: Index, *, brief: bool = False) -> None:
        """With ``brief``, no way is looked for to what is known."""
        self.index = index
        self.declarations = Declarations(index)
        self._checks = Checks(index, self.declarations)
        self._slice = Slice(index, self.declarations)
        self._ways: dict[Predicate, dict[str, tuple[GateHop, ...]]] = {}
        self._brief = brief

    def at(self, place: Place, condition: str = "") -> GateAnswer:
        """What decides the expression at a place."""
        text = condition or ast.unparse(place.node)
        hop = GateHop(
            kind="condition", file=place.scope.file, line=place.node.lineno, text=_short(text)
        )
        controls: list[GateControl] = []
        loose: list[Trace] = []
        for literal in literals_of(place.node):
            found, rest = self._literal(literal, place.scope, hop)
            controls += found
            loose += rest
        return self._answer(text, place.scope, hop, controls, loose)

    def entry(self, symbol: str, method: str, place: Place | None) -> GateAnswer | None:
        """What decides whether an entry method is run; ``place`` is a call of it."""
        fact = known_entry(self.index, method)
        if fact is None or place is None:
            return None
        hop = place.scope.hop("call", place.node)
        controls = self._known(fact, (hop, fact.hop), {})
        return self._answer(symbol, place.scope, hop, controls, [])

    def declared(self, declared: Declared, text: str) -> GateAnswer:
        """What is declared under the name of a setting itself."""
        control = self._of(declared, (), "declared")
        return self._answer(text, Scope(declared.file), control.chain[0], [control], [])

    # ---- literals ----

    def _literal(
        self, node: ast.expr, scope: Scope, hop: GateHop
    ) -> tuple[list[GateControl], list[Trace]]:
        fact = known_condition(self.index, node)
        if fact is not None and fact.predicate.constant is not None:
            return [self._constant(fact, node, scope, hop)], []
        if fact is not None:
            steps = (hop, *steps_into(self._slice, node, scope), fact.hop)
            return self._known(fact, steps, self._way(fact, node, scope)), []
        traces = self._slice.nearest(node, scope)
        found = [self._control(x, hop) for x in _shortest(traces)]
        return found, [x for x in traces if not x.origin.controls]

    def _way(self, fact: Fact, node: ast.expr, scope: Scope) -> dict[str, tuple[GateHop, ...]]:
        """How the slice leads to the settings of a fact; looked for once, at the first place."""
        key = fact.predicate
        if key not in self._ways:
            traces = () if self._brief else self._slice.nearest(node, scope)
            ordered = sorted(traces, key=lambda x: -len(x.hops))
            self._ways[key] = {x.origin.name: x.hops for x in ordered if x.origin.controls}
        return self._ways[key]

    def _constant(self, fact: Fact, node: ast.expr, scope: Scope, hop: GateHop) -> GateControl:
        chain = (hop, *steps_into(self._slice, node, scope), fact.hop)
        return GateControl(
            kind="constant",
            name=str(fact.predicate.constant),
            field="",
            default=None,
            source="known",
            chain=chain,
            reason=fact.predicate.reason,
        )

    def _known(
        self, fact: Fact, steps: tuple[GateHop, ...], ways: dict[str, tuple[GateHop, ...]]
    ) -> list[GateControl]:
        """The settings of a fact; where the slice leads to the same one, by its way."""
        found = []
        for field in fact.predicate.controls:
            declared = self.declarations.find(field)
            if declared is not None:
                way = ways.get(field)
                chain = (steps[0], *way, fact.hop) if way else steps
                control = self._of(declared, chain, "known")
                found.append(replace(control, reason=fact.predicate.reason))
        return found

    def _control(self, trace: Trace, hop: GateHop) -> GateControl:
        origin = trace.origin
        chain = (hop, *trace.hops)
        if origin.declared is not None:
            return replace(self._of(origin.declared, chain, "slice"), default=origin.default)
        file = self.index.profile.settings.model.file
        name = f"{file}: {origin.name}" if origin.kind == "config" else origin.name
        return GateControl(
            kind=origin.kind,
            name=name,
            field=origin.name,
            default=origin.default,
            source="slice",
            chain=_thinned(chain),
        )

    def _of(self, declared: Declared, chain: tuple[GateHop, ...], source: str) -> GateControl:
        kind = "environment" if declared.variable else "flag" if declared.flags else "setting"
        return GateControl(
            kind=kind,
            name=declared.field if declared.variable else declared.name,
            field=declared.field,
            default=declared.default,
            source=source,
            chain=(*_thinned(chain), *_declaration(declared)),
        )

    # ---- the whole ----

    def _answer(
        self,
        text: str,
        scope: Scope,
        hop: GateHop,
        controls: list[GateControl],
        loose: list[Trace],
    ) -> GateAnswer:
        controls = list({(x.kind, x.name): x for x in reversed(controls)}.values())[::-1]
        checks = [y for x in controls if x.kind == "flag" for y in self._checks.of(x.field)]
        controls += self._needed(controls, hop)
        status, value = _status(controls, loose)
        return GateAnswer(
            condition=text,
            symbol=scope.symbol,
            file=hop.file,
            line=hop.line,
            status=status,
            value=value,
            controls=tuple(controls),
            checks=_told(checks),
            run_time=_names(loose, "run time"),
            unresolved=_names(loose, "unresolved"),
        )

    def _needed(self, controls: list[GateControl], hop: GateHop) -> list[GateControl]:
        """Settings that a startup check asks for wherever a flag of the condition is on."""
        known = {x.field for x in controls}
        found: dict[str, GateControl] = {}
        for control in controls:
            if control.kind != "flag" or control.default != "False":
                continue
            for check in self._checks.of(control.field):
                for field in sorted(check.fields - known) if _is_plain(check, control) else ():
                    declared = self.declarations.find(field)
                    if declared is not None and declared.flags:
                        found.setdefault(field, self._by_check(declared, check, hop))
        return list(found.values())

    def _by_check(self, declared: Declared, check: Check, hop: GateHop) -> GateControl:
        told = check.told
        step = GateHop(kind="check", file=told.file, line=told.line, text=_short(told.condition))
        control = self._of(declared, (hop, step), "check")
        return replace(control, reason=f"startup is refused if {told.condition}")


def literals_of(node: ast.expr) -> Iterator[ast.expr]:
    """The parts of a condition that ``and``, ``or`` and ``not`` join."""
    match node:
        case ast.BoolOp(_, values):
            for value in values:
                yield from literals_of(value)
        case ast.UnaryOp(ast.Not(), operand) if isinstance(operand, ast.BoolOp | ast.UnaryOp):
            yield from literals_of(operand)
        case _:
            yield node


def _is_plain(check: Check, control: GateControl) -> bool:
    """Does a check apply wherever a flag is on, and ask for little else?"""
    return check.plain and check.switched == {control.field} and len(check.fields) == 2


def _told(checks: list[Check]) -> tuple[GateCheck, ...]:
    """Checks that combine a flag with others, the simplest first."""
    combined = {x.told: None for x in sorted(checks, key=_size) if len(x.fields) > 1 and x.plain}
    return tuple(combined)[:_MOST_CHECKS]


def _size(check: Check) -> tuple[int, int, str, int]:
    return (len(check.fields), len(check.told.condition), check.told.file, check.told.line)


def _status(controls: list[GateControl], loose: list[Trace]) -> tuple[str, str]:
    if any(x.kind == "constant" for x in controls):
        return "dead", controls[0].name
    if controls:
        return "decided", ""
    kinds = {x.origin.kind for x in loose}
    values = {x.origin.name for x in loose}
    if kinds == {"constant"} and len(values) == 1 and values <= _FIXED:
        return "dead", values.pop()
    return ("run time" if "run time" in kinds else "not resolved"), ""


def _names(traces: list[Trace], kind: str) -> tuple[str, ...]:
    names = dict.fromkeys(x.origin.name for x in traces if x.origin.kind == kind)
    return tuple(_short(x) for x in names if x not in ("True", "False", "None"))


def _shortest(traces: Iterable[Trace]) -> list[Trace]:
    """One trace for each thing that a user states, that of the fewest steps."""
    found: dict[tuple[str, str], Trace] = {}
    for trace in sorted(traces, key=lambda x: len(x.hops)):
        if trace.origin.controls:
            found.setdefault((trace.origin.kind, trace.origin.name), trace)
    stated = [x for x in found.values() if x.origin.stated]
    return stated or list(found.values())


def _thinned(chain: tuple[GateHop, ...]) -> tuple[GateHop, ...]:
    """A chain without the steps that show a line again."""
    kept: list[GateHop] = []
    for hop in chain:
        if not kept or (hop.file, hop.line) != (kept[-1].file, kept[-1].line):
            kept.append(hop)
    return tuple(kept)


def _declaration(declared: Declared) -> Iterator[GateHop]:
    if declared.path:
        yield GateHop(
            kind="namespace",
            file=declared.file,
            line=declared.path_line or declared.line,
            text=declared.path,
        )
    default = f" = {declared.default}" if declared.default is not None else ""
    yield GateHop(
        kind="declared", file=declared.file, line=declared.line, text=declared.field + default
    )
    if declared.flags:
        flags = ", ".join(declared.flags)
        yield GateHop(kind="flag", file=declared.flag_file, line=declared.flag_line, text=flags)


def _short(text: str) -> str:
    return text if len(text) <= 120 else f"{text[:117]}..."
