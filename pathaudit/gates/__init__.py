"""Which settings decide a condition, traced through the code that is audited.

``find_gates`` is the verb. It answers from two sources and says which: what the profile knows of a
predicate, with an anchor in the tree, and a bounded backward slice.
"""

import ast

from msgspec import Struct
from msgspec.structs import replace

from pathaudit import __version__
from pathaudit.decisions import GateAnswer, GatesReport
from pathaudit.errors import UsageError
from pathaudit.gates.answers import Answers
from pathaudit.gates.controls import begin_controls, with_controls
from pathaudit.gates.entries import caller_of, entry_places, find_served
from pathaudit.gates.facts import known_entry
from pathaudit.gates.places import find_places, parse_condition
from pathaudit.index import ClassRef, Index
from pathaudit.results import Source
from pathaudit.ruleset import AnyRule
from pathaudit.work import Stage, Work

__all__ = ["begin_controls", "find_gates", "with_controls"]


class Request(Struct, frozen=True):
    """What is asked: a condition or an entry, and where to look for the condition."""

    text: str
    within: str = ""


def find_gates(work: Work, text: str, *, within: str = "") -> GatesReport:
    """What decides a condition, or each condition on the paths of a served class.

    ``text`` is an expression, a served class or ``Class.method``; ``within`` narrows where the
    condition is looked for: a file, ``file.py:LINE``, a class or a method. Raises ``UsageError``
    where nothing in the tree reads it.
    """
    (answers,) = work.run(GATES, [Request(text, within)])
    if not answers:
        where = f" in {within}" if within else ""
        raise UsageError(
            f"nothing in {work.tree.label} reads {text!r}{where}",
            hint="give a condition as the code has it, or a class that is served",
        )
    return GatesReport(
        tool=f"pathaudit {__version__}",
        request=text,
        source=Source(label=work.tree.label, version=work.tree.version),
        answers=answers,
        gaps=tuple(sorted(work.gaps, key=lambda x: (x.file, x.line, x.message))),
    )


def _run(index: Index, _rule: AnyRule | None, request: Request) -> tuple[GateAnswer, ...]:
    answers = Answers(index)
    name, _, method = request.text.partition(".")
    cls = find_served(index, name) if name.isidentifier() else None
    if cls is not None and (not method or index.modules.method(cls, method)):
        methods = (method,) if method else index.profile.entries.methods
        found = [x for each in methods for x in _of_entry(answers, cls, each)]
    else:
        found = _of_condition(answers, request)
    return tuple(_merged(found))


def _of_condition(answers: Answers, request: Request) -> list[GateAnswer]:
    node = parse_condition(request.text)
    text = ast.unparse(node)
    places = find_places(answers.index, node, request.within)
    return [answers.at(place, text) for place in places] or _stated(answers, request.text)


def _stated(answers: Answers, text: str) -> list[GateAnswer]:
    """A flag or a field itself, of which only the declaration can be told."""
    name = text.strip()
    declared = answers.declarations.with_flag(name) or answers.declarations.find(name)
    return [answers.declared(declared, name)] if declared is not None else []


def _of_entry(answers: Answers, cls: ClassRef, method: str) -> list[GateAnswer]:
    index = answers.index
    found = []
    if known_entry(index, method) is not None and index.modules.method(cls, method):
        place = caller_of(index, method)
        told = answers.entry(f"{cls.name}.{method}", method, place)
        found += [told] if told else []
    return found + [answers.at(place) for place in entry_places(index, cls, method)]


def _merged(answers: list[GateAnswer]) -> list[GateAnswer]:
    """Answers that say the same of one condition are one, at the first of their places."""
    found: dict[tuple[object, ...], GateAnswer] = {}
    for item in answers:
        controls = tuple((x.kind, x.name) for x in item.controls)
        key = (item.condition, item.status, item.value, controls)
        known = found.get(key)
        found[key] = replace(known, places=known.places + 1) if known else item
    return list(found.values())


GATES: Stage[Request, tuple[GateAnswer, ...]] = Stage(
    name="gates",
    run=_run,
    item=Request,
    result=tuple[GateAnswer, ...],
    home=lambda request: request.text,
)
