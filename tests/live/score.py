"""Compares what is read from a sample, and what is said of it, with its label."""

import json
from pathlib import Path

from pathaudit.live import Question, declared_for, live, read_stated
from pathaudit.live.stated import Stated
from pathaudit.results.live import LiveReport
from pathaudit.ruleset import load_ruleset, rules_directory
from pathaudit.sources import SourceTree

SAMPLES = Path(__file__).parent / "samples"
LABELS: dict[str, dict[str, object]] = json.loads((SAMPLES / "expected.json").read_text())
COMBINED = LABELS.pop("combined_verdicts")
del LABELS["_about"]
RULES = load_ruleset(rules_directory() / "sglang", only=("skipped-aux-capture",))
SERVING = RULES.profile.serving


def question(name: str, **more: str) -> Question:
    """The question about a sample by the kind of its file."""
    path = str(SAMPLES / name)
    if name.endswith((".sh", ".yaml")):
        return Question(command=path, **more)
    return Question(log=path, **more)


def wrong(name: str, label: dict[str, object], tree: SourceTree | None) -> list[str]:
    """What differs from a label, a line each."""
    asked = question(name)
    stated = read_stated(asked, SERVING, declared_for(tree, SERVING))
    report = live(asked, tree, RULES)
    return [
        line
        for key, expected in label.items()
        if key in _CHECKS
        for line in _CHECKS[key](expected, stated, report)
    ]


def _equal(key: str, expected: object, found: object) -> list[str]:
    same = expected == found and type(expected) is type(found)
    return [] if same else [f"{key}: {found!r}, not {expected!r}"]


def _form(expected: object, stated: Stated, report: LiveReport) -> list[str]:
    return _equal("format", expected, stated.form) + _equal("format", expected, report.form)


def _values(expected: object, stated: Stated, _: LiveReport) -> list[str]:
    assert isinstance(expected, dict)
    found: list[str] = []
    for name, value in expected.items():
        if isinstance(value, dict) and "unresolved" in value:
            written = stated.written.get(name) or stated.unresolved.get(name)
            found += _equal(name, value["unresolved"], written)
            resolved = value.get("resolved_from_export")
            found += _equal(name, resolved, stated.values.get(name))
        else:
            found += _equal(name, (True, value), stated.find(name))
    return found


def _not_stated(expected: object, stated: Stated, report: LiveReport) -> list[str]:
    assert isinstance(expected, list)
    states = {item.name: item.state for item in report.arguments}
    return [x for name in expected for x in _equal(name, (False, None), stated.find(name))] + [
        x for name in expected for x in _equal(name, "not stated", states.get(name, "not stated"))
    ]


def _verdict(expected: object, _: Stated, report: LiveReport) -> list[str]:
    assert isinstance(expected, dict)
    found = {item.name: f"{item.state} ({item.reason})" for item in report.variants}
    return [
        f"{name}: {found[name]}, not {verdict}"
        for name, verdict in expected.items()
        if not (found[name] == verdict or found[name].split(" ", 1)[0] == verdict)
    ]


def _no_effect(expected: object, _: Stated, report: LiveReport) -> list[str]:
    assert isinstance(expected, list)
    return _equal(
        "no effect", [x.split()[0] for x in expected], [x.split()[0] for x in report.ignored]
    )


def _defaults(expected: object, _: Stated, report: LiveReport) -> list[str]:
    assert isinstance(expected, dict)
    defaults = {item.name: item.default for item in report.arguments}
    return [x for name, value in expected.items() for x in _equal(name, str(value), defaults[name])]


_CHECKS = {
    "format": _form,
    "complete": lambda x, stated, _: _equal("complete", x, stated.complete),
    "logger_prefix": lambda x, _, report: _equal("logger_prefix", x, report.prefix),
    "version_hint": lambda x, stated, _: _equal("version_hint", x, stated.version),
    "values": _values,
    "env": lambda x, _, report: _equal("env", x, report.environment),
    "unresolved": lambda x, _, report: _equal("unresolved", x, list(report.unresolved)),
    "not_stated": _not_stated,
    "verdict": _verdict,
    "no_op_flags": _no_effect,
    "defaults_if_version_known": _defaults,
}
