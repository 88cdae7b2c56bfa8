"""Labelled source files: audits one, and compares what is found with what its comments say.

A comment on the line above a statement labels it: ``# expect: ID`` where the rule ID must find an
error, ``# or: ID`` where the one error expected in this file may stand instead, ``# ok: ID`` where
it must find nothing, and ``# todo: ID`` where its answer is known to be wrong.
"""

import ast
import io
import re
import tokenize
from collections.abc import Iterable, Iterator, Sequence
from functools import cache

from msgspec import Struct

from pathaudit.audit import audit
from pathaudit.results import Finding, Report
from pathaudit.ruleset import Ruleset, load_ruleset, rules_directory
from pathaudit.sources import from_text

LABEL = re.compile(r"# (expect|or|ok|todo): ([a-z0-9-]+)")
MODELS = "sglang/srt/models"

# What a labelled file imports and an audit needs to follow; it mirrors SGLang's own.
SUPPORT = {
    "sglang/srt/utils.py": """
from torch import nn


def make_layers(num_hidden_layers, layer_fn, pp_rank=None, pp_size=None, prefix=""):
    start_layer, end_layer = get_pp_indices(num_hidden_layers, pp_rank, pp_size)
    modules = nn.ModuleList(
        [nn.Identity() for _ in range(start_layer)]
        + [layer_fn(idx=idx, prefix=prefix) for idx in range(start_layer, end_layer)]
        + [nn.Identity() for _ in range(end_layer, num_hidden_layers)]
    )
    return modules, start_layer, end_layer
""",
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


def compare(labels: Iterable[Label], findings: Iterable[Finding]) -> Outcome:
    """Compare the findings of one rule in one file with the labels for that rule."""
    labels, findings = list(labels), list(findings)
    expected = [label for label in labels if label.kind == "expect"]
    instead = [label for label in labels if label.kind == "or"]
    if instead and len(expected) != 1:
        raise ValueError(f"an 'or' goes with one 'expect', not with {len(expected)}")
    return Outcome(
        missing=tuple(filter(None, (_missing([label, *instead], findings) for label in expected))),
        wrong=tuple(_describe(f) for f in findings if _is_at(f, labels, "ok")),
        unexpected=tuple(
            _describe(f) for f in findings if not _is_at(f, labels, "expect", "or", "ok", "todo")
        ),
    )


def _missing(places: Sequence[Label], findings: Sequence[Finding]) -> str:
    """Say what stands at the first of some places if no error that can happen is at any."""
    here = [f for f in findings if _is_at(f, places, "expect", "or")]
    if any(_kind(f) == "error, violated, reachable" for f in here):
        return ""
    return f"line {places[0].lines[0]}: {'; '.join(map(_describe, here)) or 'no finding'}"


def _is_at(finding: Finding, labels: Iterable[Label], *kinds: str) -> bool:
    return any(finding.line in label.lines for label in labels if label.kind in kinds)


def _describe(finding: Finding) -> str:
    return f"line {finding.line}: {_kind(finding)}, when {finding.condition}"


def _kind(finding: Finding) -> str:
    return f"{finding.severity}, {finding.verdict}, {finding.reach}"


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


def judge(report: Report, name: str, source: str, rule: str) -> Outcome:
    """Compare what a rule finds in a labelled file with the labels for it."""
    labels = [label for label in read_labels(source) if label.rule == rule]
    here = [f for f in report.findings if (f.rule, f.file) == (rule, model_path(name))]
    return compare(labels, here)
