"""What a user controls of the findings of a scan: the flags that select their paths."""

import ast
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from pathaudit.gates.answers import Answers, literals_of
from pathaudit.gates.places import Place
from pathaudit.gates.scopes import Scope
from pathaudit.index import ClassRef, FunctionOutline, Index
from pathaudit.results import Finding, GateControl, Reach
from pathaudit.ruleset import AnyRule
from pathaudit.work import Stage, Work

_MOST = 4  # controls that one finding names


class Asked(Struct, frozen=True):
    """The condition of a finding, and the statement of the finding."""

    condition: str
    file: str
    line: int


def with_controls(work: Work, findings: Sequence[Finding]) -> list[Finding]:
    """The findings; those that can be reached name the flags that select their path."""
    asked = {finding.fingerprint: _asked(finding) for finding in findings if _wants(finding)}
    items = list(dict.fromkeys(asked.values()))
    told = dict(zip(items, work.run(CONTROLS, items), strict=True))
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


def _run(index: Index, _rule: AnyRule | None, asked: Asked) -> tuple[str, ...]:
    try:
        node = ast.parse(asked.condition, mode="eval").body
    except (SyntaxError, ValueError):
        return ()
    scope = _scope_at(index, asked.file, asked.line)
    if scope is None:
        return ()
    answers = Answers(index)
    found: dict[str, None] = {}
    for literal in literals_of(node):
        answer = answers.at(Place(ast.copy_location(literal, node), scope))
        for control in answer.controls:
            if control.source != "check" and control.kind in ("flag", "environment"):
                found[_text(control)] = None
    return tuple(found)[:_MOST]


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


CONTROLS: Stage[Asked, tuple[str, ...]] = Stage(
    name="controls",
    run=_run,
    item=Asked,
    result=tuple[str, ...],
    home=lambda asked: asked.file,
)
