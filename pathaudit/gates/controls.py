"""What a user controls of the findings of a scan: the flags that select their paths."""

import ast
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from pathaudit.decisions import GateControl
from pathaudit.gates.answers import Answers, literals_of
from pathaudit.gates.places import Place
from pathaudit.gates.scopes import Scope
from pathaudit.index import ClassRef, FunctionOutline, Index
from pathaudit.results import Finding, Reach
from pathaudit.ruleset import AnyRule
from pathaudit.work import Stage, Work

_MOST = 4  # controls that one finding names


class Asked(Struct, frozen=True, order=True):
    """The condition of a finding, and the statement of the finding."""

    condition: str
    file: str
    line: int


def begin_controls(work: Work, findings: Sequence[Finding]) -> None:
    """Start to look for the flags of some findings, all of one rule."""
    for item in _units(findings):
        work.begin(CONTROLS, item)


def with_controls(work: Work, findings: Sequence[Finding]) -> list[Finding]:
    """The findings; those that can be reached name the flags that select their path."""
    units = _units(findings)
    told = {
        asked: controls
        for unit, answer in zip(units, work.run(CONTROLS, units), strict=True)
        for asked, controls in zip(unit, answer, strict=True)
    }
    return [replace(x, controls=told[_asked(x)]) if _wants(x) else x for x in findings]


def _units(findings: Sequence[Finding]) -> list[tuple[Asked, ...]]:
    """What to ask, rule by rule: the conditions of one rule are often the same."""
    asked: dict[str, set[Asked]] = {}
    for finding in findings:
        if _wants(finding):
            asked.setdefault(finding.rule, set()).add(_asked(finding))
    return [tuple(sorted(items)) for _, items in sorted(asked.items())]


def _wants(finding: Finding) -> bool:
    return (
        finding.reach is Reach.REACHABLE
        and not finding.controls
        and finding.condition not in ("", "always")
    )


def _asked(finding: Finding) -> Asked:
    return Asked(finding.condition, finding.file, finding.line)


def _run(
    index: Index, _rule: AnyRule | None, asked: tuple[Asked, ...]
) -> tuple[tuple[str, ...], ...]:
    answers = Answers(index, brief=True)
    found = tuple(_controls(index, answers, item) for item in asked)
    # What is known and void is told where it is asked about; a scan asks for a flag beside.
    index.modules.gaps[:] = [x for x in index.modules.gaps if x.kind != "profile"]
    return found


def _controls(index: Index, answers: Answers, asked: Asked) -> tuple[str, ...]:
    try:
        node = ast.parse(asked.condition, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    scope = _scope_at(index, asked.file, asked.line)
    found: dict[str, None] = {}
    for literal in literals_of(node) if scope is not None else ():
        found.update(dict.fromkeys(_of_literal(answers, literal, scope)))
    return tuple(found)[:_MOST]


def _of_literal(answers: Answers, literal: ast.expr, scope: Scope | None) -> list[str]:
    if scope is None or not any(isinstance(x, ast.Attribute | ast.Call) for x in ast.walk(literal)):
        return []
    controls = answers.at(Place(literal, scope)).controls
    return [_text(x) for x in controls if x.source != "check" and x.kind in ("flag", "environment")]


def _text(control: GateControl) -> str:
    return f"{control.name}, default {default_text(control.default)}"


def default_text(default: str | None) -> str:
    """A default as a user would say it."""
    return {"False": "off", "True": "on", "None": "not set", None: "not set"}.get(default) or (
        str(default)
    )


def _scope_at(index: Index, file: str, line: int) -> Scope | None:
    """The function that a line of a file stands in."""
    outline = index.modules.outline(file)
    if outline is None:
        return None
    for function in outline.functions.values():
        if _holds(function, line):
            return Scope(file, function)
    for cls in outline.classes.values():
        for function in cls.methods.values():
            if _holds(function, line):
                return Scope(file, function, ClassRef(file, cls.name))
    return None


def _holds(function: FunctionOutline, line: int) -> bool:
    return function.first <= line <= function.last


CONTROLS: Stage[tuple[Asked, ...], tuple[tuple[str, ...], ...]] = Stage(
    name="controls",
    run=_run,
    item=tuple[Asked, ...],
    result=tuple[tuple[str, ...], ...],
    home=lambda asked: asked[0].file,
)
