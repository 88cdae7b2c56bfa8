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


def with_controls(work: Work, findings: Sequence[Finding]) -> list[Finding]:
    """The findings; those that can be reached name the flags that select their path."""
    asked = {finding.fingerprint: _asked(finding) for finding in findings if _wants(finding)}
    items = tuple(sorted(set(asked.values())))
    told = dict(zip(items, work.run(CONTROLS, [items])[0], strict=True)) if items else {}
    return [
        replace(x, controls=told[asked[x.fingerprint]]) if x.fingerprint in asked else x
        for x in findings
    ]


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
