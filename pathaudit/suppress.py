"""Accepts findings by comment: ``# pathaudit: allow[rule-id] reason``.

A comment behind code is about the statement on its line, one on a line of its own about the line
below it: a statement's, or the first of a function. Accepted findings stay in the report with the
reason. A comment that accepts nothing is reported itself, so that none outlives its cause.
"""

import ast
import hashlib
import re
import tokenize
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches

import msgspec
from msgspec import Struct

from pathaudit.check import Answer
from pathaudit.index import FunctionOutline, Index, ModuleOutline
from pathaudit.index.syntax import first_line, header_lines
from pathaudit.remarks import UNKNOWN, UNUSED, WITHOUT_REASON, Remark
from pathaudit.results import Finding, Reach, Verdict
from pathaudit.ruleset import Ruleset
from pathaudit.sources import Span

_MARK = b"pathaudit:"
# A reason ends where another comment begins on the same line, as in ``... reason  # fmt: skip``.
_ALLOW = re.compile(r"#\s*pathaudit:\s*allow\[([^\]]*)\]((?:(?!\s#\s).)*)")


class Allow(Struct, frozen=True):
    """One comment that accepts findings of some rules; ``alone`` if its line holds no code.

    ``target`` is the line that it is about, ``symbol`` the function around that, if any.
    """

    span: Span
    rules: tuple[str, ...]
    reason: str
    target: int
    alone: bool
    symbol: str


def apply_suppressions(
    index: Index,
    rules: Ruleset,
    answers: Sequence[Answer],
    *,
    whole: bool,
    focus: frozenset[str] = frozenset(),
) -> tuple[Finding, ...]:
    """Return the findings of all answers, accepted ones with the reason, and the comments' own.

    ``rules`` has those that were judged. Unless the ``whole`` tree was, no comment is called
    unused: what it accepts may be on a path that nobody asked about. With ``focus``, comments
    count in these files and those that have a place in the answers, and in no others.
    """
    allows = [item for file in _files(index, answers, focus) for item in _allows(index, file)]
    used: set[tuple[Allow, str]] = set()
    found = []
    for finding in (finding for answer in answers for finding in answer.findings):
        fitting = _fitting(index, finding, allows)
        used.update((item, finding.rule) for item in fitting)
        reason = fitting[0].reason if fitting else finding.suppressed
        found.append(msgspec.structs.replace(finding, suppressed=reason))
    remarks = [(WITHOUT_REASON, item, item.rules) for item in allows if not item.reason]
    remarks += [(UNKNOWN, item, names) for item in allows if (names := _misspelt(item, rules))]
    if whole:
        ids = frozenset(rule.id for rule in rules.rules)
        remarks += [(UNUSED, *item) for item in _unused(allows, used, ids, _undecided(answers))]
    return *found, *_reported(remarks)


# ---- comments ---------------------------------------------------------------------------------


def _files(index: Index, answers: Iterable[Answer], focus: frozenset[str]) -> tuple[str, ...]:
    """The files of the report, and those in focus or the model files, that hold such comments."""
    files = set(focus or index.model_files)
    for answer in answers:
        files.update(finding.file for finding in answer.findings)
        files.update(entry.file for entry in answer.entries)
        files.update(site.file for entry in answer.entries for site in entry.sites)
    return index.tree.find(_MARK, sorted(files))


def _allows(index: Index, file: str) -> Iterator[Allow]:
    """The comments of a file in order; none of one that cannot be read, which is a gap."""
    outline = index.modules.outline(file)
    if outline is None:
        return
    comments = _comments(outline.lines)
    starts = [token.start for token in comments]
    alone = {line for line, column in starts if not outline.lines[line - 1][:column].strip()}
    for token in comments:
        line, column = token.start
        target = line
        while target in alone:
            target += 1
        for match in _ALLOW.finditer(token.string):
            yield Allow(
                span=Span(file, line, column + match.start(), line, column + match.end()),
                rules=tuple(dict.fromkeys(filter(None, re.split(r"[\s,]+", match[1])))),
                reason=_reason(match[2]),
                target=target,
                alone=line in alone,
                symbol=_symbol(outline, target),
            )


def _comments(lines: Iterable[str]) -> list[tokenize.TokenInfo]:
    # The tokenizer knows less ends of a line than the parser does.
    readable = (line.rstrip("\r\n") + "\n" for line in lines)
    try:
        tokens = list(tokenize.generate_tokens(readable.__next__))
    except (tokenize.TokenError, SyntaxError):
        return []
    return [token for token in tokens if token.type == tokenize.COMMENT]


def _reason(text: str) -> str:
    """The reason without space around it; marks alone, such as a dash, are none."""
    return text.strip() if re.search(r"\w", text) else ""


def _symbol(outline: ModuleOutline, line: int) -> str:
    """The qualified name of the innermost function at a line."""
    around = [item for item in _functions(outline) if item.first <= line <= item.last]
    return max(around, key=lambda item: item.line).qualname if around else ""


def _functions(outline: ModuleOutline) -> Iterator[FunctionOutline]:
    yield from outline.functions.values()
    for cls in outline.classes.values():
        yield from cls.methods.values()


def _holds(node: ast.stmt, line: int) -> bool:
    return first_line(node) <= line <= (node.end_lineno or node.lineno)


# ---- what they accept -------------------------------------------------------------------------


def _fitting(index: Index, finding: Finding, allows: Iterable[Allow]) -> list[Allow]:
    """The comments that accept a finding, those at its statement before those above a function."""
    here = [item for item in allows if item.reason and item.span.file == finding.file]
    named = [item for item in here if finding.rule in item.rules]
    outline = index.modules.outline(finding.file) if named else None
    if outline is None:
        return []
    around = [node for item in _functions(outline) for node in _around(item, finding.line)]
    statement = _statement(around, finding)
    functions = {first_line(node) for node in around if _is_function(node)}
    near = [item for item in named if item.target in statement]
    return near + [item for item in named if item.alone and item.target in functions]


def _around(function: FunctionOutline, line: int) -> Iterator[ast.stmt]:
    """The statements of a function, itself included, that a line belongs to."""
    for node in function.nodes if function.first <= line <= function.last else ():
        if isinstance(node, ast.stmt) and _holds(node, line):
            yield node


def _is_function(node: ast.stmt) -> bool:
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)


def _statement(around: Iterable[ast.stmt], finding: Finding) -> range:
    """The lines of the statement that a finding is in; of one with a body, those of its header."""
    headers = [header_lines(node) for node in around]
    inside = [header for header in headers if finding.line in header]
    nearest = max(inside, key=lambda header: header.start, default=range(0))
    return nearest or range(finding.line, finding.end_line + 1)


# ---- what is wrong with them ------------------------------------------------------------------


def _misspelt(item: Allow, rules: Ruleset) -> tuple[str, ...]:
    """Ids that are nearly those of rules; others may be of rules that are not loaded here."""
    unknown = (name for name in item.rules if name not in rules.known)
    return tuple(name for name in unknown if get_close_matches(name, rules.known, cutoff=0.85))


def _undecided(answers: Iterable[Answer]) -> frozenset[str]:
    """Files where a finding may be missing, as an analysis was not brought to its end."""
    gaps = [gap for answer in answers for gap in answer.gaps]
    cut = {name for gap in gaps for name in gap.entries}
    entries = (entry for answer in answers for entry in answer.entries)
    files = {entry.file for entry in entries if cut.intersection(entry.architectures)}
    return frozenset(files | {gap.file for gap in gaps})


def _unused(
    allows: Iterable[Allow],
    used: set[tuple[Allow, str]],
    judged: frozenset[str],
    undecided: frozenset[str],
) -> Iterator[tuple[Allow, tuple[str, ...]]]:
    """The comments with those of their rules that were judged and accept nothing."""
    for item in allows:
        idle = tuple(x for x in item.rules if x in judged and (item, x) not in used)
        if idle and item.reason and item.span.file not in undecided:
            yield item, idle


def _reported(remarks: Iterable[tuple[Remark, Allow, tuple[str, ...]]]) -> Iterator[Finding]:
    ordinals: Counter[tuple[str, ...]] = Counter()
    for remark, item, rules in remarks:
        key = (remark.id, item.symbol or item.span.file, *rules)
        ordinals[key] += 1
        text = "|".join((*key, str(ordinals[key])))
        yield _finding(remark, item, rules, hashlib.sha256(text.encode()).hexdigest()[:16])


def _finding(remark: Remark, item: Allow, rules: tuple[str, ...], fingerprint: str) -> Finding:
    """A finding about a comment: it has a place, and no path leads there."""
    return Finding(
        rule=remark.id,
        title=remark.title,
        severity=remark.severity,
        verdict=Verdict.VIOLATED,
        reach=Reach.REACHABLE,
        entry="",
        symbol=item.symbol,
        file=item.span.file,
        line=item.span.line,
        column=item.span.column,
        end_line=item.span.end_line,
        end_column=item.span.end_column,
        message=remark.message.format(rules=", ".join(rules)),
        condition="",
        layers="",
        witness=(),
        steps=(),
        paths=(),
        features=(),
        receivers=(),
        entries=(),
        siblings=(),
        controls=(),
        why=remark.why,
        fix=remark.fix,
        fingerprint=fingerprint,
    )
