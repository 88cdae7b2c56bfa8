"""Labelled source files: audits one, and compares what is found with what its comments say.

A comment on the line above a statement labels it: ``# expect: ID`` where the rule ID must find an
error, ``# or: ID`` where the one error expected in this file may stand instead, ``# ok: ID`` where
it must find nothing, and ``# todo: ID`` where its answer is known to be wrong.
"""

import ast
import io
import re
import tokenize
from collections.abc import Iterable, Iterator
from functools import cache

from msgspec import Struct

from pathaudit.audit import audit
from pathaudit.results import Finding, Reach, Report, Severity, Verdict
from pathaudit.ruleset import Ruleset, load_ruleset, rules_directory
from pathaudit.sources import from_text

LABEL = re.compile(r"# (expect|or|ok|todo): ([a-z0-9-]+)")
MODELS = "sglang/srt/models"

# What a labelled file imports and an audit needs to follow; it mirrors SGLang's own.
SUPPORT = {
    "sglang/srt/utils.py": '''
from torch import nn


def make_layers(num_hidden_layers, layer_fn, pp_rank=None, pp_size=None, prefix=""):
    start_layer, end_layer = get_pp_indices(num_hidden_layers, pp_rank, pp_size)
    modules = nn.ModuleList(
        [nn.Identity() for _ in range(start_layer)]
        + [layer_fn(idx=idx, prefix=prefix) for idx in range(start_layer, end_layer)]
        + [nn.Identity() for _ in range(end_layer, num_hidden_layers)]
    )
    return modules, start_layer, end_layer
''',
}


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
    """Return the labels of a file in order; ValueError for one that stands above no statement."""
    statements = {
        node.lineno: _lines(node)
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


def _lines(node: ast.stmt) -> range:
    body = getattr(node, "body", None)
    last = body[0].lineno - 1 if body else node.end_lineno
    return range(node.lineno, max(node.lineno, last or 0) + 1)


# ---- the comparison ---------------------------------------------------------------------------


def compare(labels: Iterable[Label], findings: Iterable[Finding], rule: str) -> Outcome:
    """Compare the findings of one rule in one file with the labels for it."""
    mine = [label for label in labels if label.rule == rule]
    found = [finding for finding in findings if finding.rule == rule]
    expected = [label for label in mine if label.kind == "expect"]
    instead = [label for label in mine if label.kind == "or"]
    if instead and len(expected) != 1:
        raise ValueError(f"an 'or' goes with one 'expect', not with {len(expected)}")
    allowed = {id(label): [label, *instead] for label in expected}
    return Outcome(
        missing=tuple(
            f"line {label.lines[0]}: {_told(found, allowed[id(label)])}"
            for label in expected
            if not any(_counts(f) for f in _at(found, allowed[id(label)]))
        ),
        wrong=tuple(_describe(f) for f in _at(found, [x for x in mine if x.kind == "ok"])),
        unexpected=tuple(_describe(f) for f in found if not _at([f], mine)),
    )


def _at(findings: Iterable[Finding], labels: Iterable[Label]) -> list[Finding]:
    lines = {line for label in labels for line in label.lines}
    return [finding for finding in findings if finding.line in lines]


def _counts(finding: Finding) -> bool:
    """Is this what a label expects: an error that can happen?"""
    kind = (finding.severity, finding.verdict, finding.reach)
    return kind == (Severity.ERROR, Verdict.VIOLATED, Reach.REACHABLE)


def _told(findings: Iterable[Finding], labels: Iterable[Label]) -> str:
    return "; ".join(_describe(finding) for finding in _at(findings, labels)) or "no finding"


def _describe(finding: Finding) -> str:
    kind = f"{finding.severity}, {finding.verdict}, {finding.reach}"
    return f"line {finding.line}: {kind}, when {finding.condition}"


# ---- the audit --------------------------------------------------------------------------------


@cache
def shipped_rules() -> Ruleset:
    """The rules for SGLang that pathaudit ships."""
    return load_ruleset(rules_directory() / "sglang")


def audit_model(name: str, source: str) -> Report:
    """Audit one file as the only model of a tree."""
    tree = from_text({**SUPPORT, model_path(name): source})
    return audit(tree, shipped_rules())


def model_path(name: str) -> str:
    """Where ``audit_model`` puts a file."""
    return f"{MODELS}/{name}.py"


def judge(name: str, source: str, rule: str) -> Outcome:
    """Audit a labelled file, and compare what a rule finds in it with its labels."""
    report = audit_model(name, source)
    elsewhere = [f for f in report.findings if f.file != model_path(name)]
    outcome = compare(read_labels(source), set(report.findings) - set(elsewhere), rule)
    return outcome
