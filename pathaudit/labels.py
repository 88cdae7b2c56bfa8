"""Labelled source files: audits one, and compares what is found with what its comments say.

A comment on the line above a statement labels it: ``# expect: ID`` where the rule ID must find a
fault, ``# or: ID`` where the one fault expected in this file may stand instead, ``# ok: ID`` where
it must find nothing, and ``# todo: ID`` where its answer is known to be wrong.
"""

import ast
import io
import re
import tokenize
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from pathaudit.audit import audit
from pathaudit.errors import RuleError
from pathaudit.index.syntax import header_lines
from pathaudit.relies.book import read_book
from pathaudit.results import Finding, Gap, Reach, Severity, Verdict
from pathaudit.ruleset import Rule, Ruleset
from pathaudit.ruleset.patches import Reliance
from pathaudit.sources import from_text

LABEL = re.compile(r"# (expect|or|ok|todo): ([a-z0-9-]+)")


class Label(Struct, frozen=True):
    """What a comment says of a statement; ``lines`` are those of its header or of all of it."""

    kind: str
    rule: str
    lines: range


class Outcome(Struct, frozen=True):
    """What is not as the labels say, one text each; empty when all is."""

    missing: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()
    unexpected: tuple[str, ...] = ()


# ---- labels -----------------------------------------------------------------------------------


def read_labels(source: str) -> tuple[Label, ...]:
    """Return the labels of a file in order; ValueError for one that stands above no statement.

    Raises ``SyntaxError`` for a file that does not parse.
    """
    statements = {
        node.lineno: header_lines(node)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.stmt)
    }
    comments = dict(_comments(source))
    labels = []
    for number, text in comments.items():
        if match := LABEL.fullmatch(text):
            below = number + 1
            while below in comments:
                below += 1
            if below not in statements:
                raise ValueError(f"line {number}: {text!r} stands above no statement")
            labels.append(Label(match[1], match[2], statements[below]))
    return tuple(labels)


def _comments(source: str) -> Iterator[tuple[int, str]]:
    """Yield the lines that hold a comment and nothing else."""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT and token.line.strip() == token.string:
            yield token.start[0], token.string


# ---- the comparison ---------------------------------------------------------------------------


def compare(
    labels: Iterable[Label], findings: Iterable[Finding], severity: Severity = Severity.ERROR
) -> Outcome:
    """Compare the findings of one rule in one file with the labels for that rule.

    A fault is a finding of the rule's ``severity``. ValueError for an ``or`` in a file that does
    not expect one fault.
    """
    labels, findings = list(labels), list(findings)
    expected = [label for label in labels if label.kind == "expect"]
    instead = [label for label in labels if label.kind == "or"]
    if instead and len(expected) != 1:
        raise ValueError(f"an 'or' goes with one 'expect', not with {len(expected)}")
    missing = (_missing([label, *instead], findings, severity) for label in expected)
    return Outcome(
        missing=tuple(filter(None, missing)),
        wrong=tuple(_describe(f) for f in findings if _is_at(f, labels, "ok")),
        unexpected=tuple(
            _describe(f) for f in findings if not _is_at(f, labels, "expect", "or", "ok", "todo")
        ),
    )


def _missing(places: Sequence[Label], findings: Sequence[Finding], severity: Severity) -> str:
    """Say what stands at the first of some places if no fault that can happen is at any."""
    here = [f for f in findings if _is_at(f, places, "expect", "or")]
    fault = (severity, Verdict.VIOLATED, Reach.REACHABLE)
    if any((f.severity, f.verdict, f.reach) == fault for f in here):
        return ""
    return f"line {places[0].lines[0]}: {'; '.join(map(_describe, here)) or 'no finding'}"


def _is_at(finding: Finding, labels: Iterable[Label], *kinds: str) -> bool:
    return any(finding.line in label.lines for label in labels if label.kind in kinds)


def _describe(finding: Finding) -> str:
    kind = f"{finding.severity}, {finding.verdict}, {finding.reach}"
    return f"line {finding.line}: {kind}, when {finding.condition}"


# ---- the example of a rule --------------------------------------------------------------------


class Trial(Struct, frozen=True):
    """The labelled example of a rule, tried; without ``labels`` nothing was tested.

    ``gaps`` are those of the example itself.
    """

    labels: tuple[Label, ...]
    outcome: Outcome
    gaps: tuple[Gap, ...]

    @property
    def passed(self) -> bool:
        return bool(self.labels) and self.outcome == Outcome() and not self.gaps


def example_of(rules: Ruleset, rule: Rule) -> Path:
    """Return the path of the labelled example beside a rule; it may not exist."""
    return Path(rules.directory) / f"{rule.id}.py"


def read_example(path: Path) -> str:
    """Return the text of an example, empty if there is none; RuleError if it cannot be read."""
    try:
        return path.read_text(encoding="utf-8") if path.exists() else ""
    except (OSError, UnicodeDecodeError) as error:
        raise RuleError(f"{path}: cannot be read: {error}") from None


def try_example(rules: Ruleset, rule: Rule) -> Trial:
    """Audit the labelled example of one rule, and compare what is found with its labels.

    Raises ``RuleError`` for an example that cannot be read or is labelled wrongly, ``UsageError``
    for one that serves no model.
    """
    path = example_of(rules, rule)
    source = read_example(path)
    try:
        labels = tuple(label for label in read_labels(source) if label.rule == rule.id)
        return _try(rules, rule, path, source, labels) if labels else Trial((), Outcome(), ())
    except SyntaxError as error:
        raise RuleError(f"{path}:{error.lineno or 1}: does not parse: {error.msg}") from None
    except ValueError as error:
        raise RuleError(f"{path}: {error}") from None


def _try(rules: Ruleset, rule: Rule, path: Path, source: str, labels: tuple[Label, ...]) -> Trial:
    file = f"{rules.profile.model_folder}/example.py"
    tree = from_text({file: source}, package=rules.profile.package, label=str(path))
    patches = _example_patches(rules, rule)
    report = audit(tree, msgspec.structs.replace(rules, rules=(rule,), patches=patches))
    findings = [f for f in report.findings if (f.rule, f.file) == (rule.id, file)]
    gaps = tuple(gap for gap in report.gaps if gap.file == file)
    return Trial(labels, compare(labels, findings, rule.severity), gaps)


def _example_patches(rules: Ruleset, rule: Rule) -> tuple[Reliance, ...]:
    """The patches that the example of a rule is about, in ``ID.patches.json`` beside it."""
    path = Path(rules.directory) / f"{rule.id}.patches.json"
    return read_book(str(path)).patches if path.exists() else ()
